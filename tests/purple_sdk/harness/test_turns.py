"""A CLI agent's turns: its session, tries that are repeated, its processes, its keys, and each fault in a sentence."""

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from purple_sdk.harness.budget import Budget
from purple_sdk.harness.declared import HarnessError
from purple_sdk.harness.relay import Relay
from purple_sdk.harness.tools import SimulationTools
from purple_sdk.harness.upstream import find_upstream
from purple_sdk.processes.landlock import landlock_version
from purple_sdk.settings.config import HarnessConfig
from tests.purple_sdk.harness.playing import KEY, fake_agent, simulated, speaks
from tests.scripted_model import INPUT, OUTPUT, ScriptedModel
from tests.sentences import says
from tests.work import only_nightly


def _turns_in(request: dict[str, Any]) -> list[str]:
    return [turn for text in _texts(request) for turn in re.findall(r"This is (turn \d+)", text)]


def _texts(request: dict[str, Any]) -> list[str]:
    return [str(message.get("content")) for message in request["messages"] if message["role"] == "user"]


def _processes_of(homes: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("HOME", "").startswith(str(homes)) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


async def test_turns_continue_one_session_are_counted_and_leak_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANOTHER_TOKEN", KEY)
    async with simulated() as day:
        with ScriptedModel({1: speaks("one", "two"), 2: speaks("three")}) as model:
            agent = fake_agent(tmp_path, model.url)
            await day.greet(agent)
            day.begin(agent, 1)
            first = await agent.play_turn()
            day.begin(agent, 2)
            second = await agent.play_turn()
            kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
        assert await day.texts() == ["one", "two", "three"]
        assert [entry.action for entry in first.actions or []] == ["chat.send_message"] * 2
        (usage,) = second.model_usage
        assert (usage.calls, usage.input_tokens, usage.output_tokens) == (2, 2 * INPUT, 2 * OUTPUT)
        assert _turns_in(model.requests[-1]) == ["turn 1", "turn 2"]
        assert set(model.keys) == {f"Bearer {KEY}"}
        assert not any(secret.encode() in content for content in kept for secret in (KEY, agent.api_key))
        await agent.aclose()


async def test_a_repeated_try_begins_with_the_home_from_before_the_turn(tmp_path: Path) -> None:
    hangs = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang(request: dict[str, Any]) -> None:
        if _turns_in(request)[-1] == "turn 2" and not hangs.is_set():
            loop.call_soon_threadsafe(hangs.set)
            while _processes_of(tmp_path):
                time.sleep(0.02)

    async with simulated() as day:
        with ScriptedModel({1: speaks("one"), 2: speaks("two")}, before_answer=hang) as model:
            agent = fake_agent(tmp_path, model.url)
            await day.greet(agent)
            day.begin(agent, 1)
            await agent.play_turn()
            day.begin(agent, 2)
            cancelled = asyncio.create_task(agent.play_turn())
            await hangs.wait()
            cancelled.cancel()
            await asyncio.wait({cancelled})
            assert cancelled.cancelled()
            assert _processes_of(tmp_path) == []

            again = fake_agent(tmp_path, model.url)  # as after a restart of the agent's server
            await day.greet(again, resumes_turn=2)
            day.begin(again, 2, attempt=2)
            await again.play_turn()
            assert _turns_in(model.requests[-1]) == ["turn 1", "turn 2"]
        assert await day.texts() == ["one", "two"]


async def test_an_agent_without_the_session_is_told_that_others_played(tmp_path: Path) -> None:
    async with simulated() as day:
        with ScriptedModel({}) as model:
            agent = fake_agent(tmp_path, model.url)
            await day.greet(agent, resumes_turn=3)
            day.begin(agent, 3)
            await agent.play_turn()
            assert "played by someone else" in _texts(model.requests[-1])[0]


async def test_a_new_assessment_of_the_same_context_begins_with_an_empty_home(tmp_path: Path) -> None:
    async with simulated() as day:
        with ScriptedModel({}) as model:
            for _ in range(2):
                agent = fake_agent(tmp_path, model.url)
                await day.greet(agent)
                day.begin(agent, 1)
                await agent.play_turn()
            assert _turns_in(model.requests[-1]) == ["turn 1"]


async def test_the_key_of_a_turn_opens_nothing_after_it(tmp_path: Path) -> None:
    async with simulated() as day:
        with ScriptedModel({}) as model:
            agent = fake_agent(tmp_path, model.url)
            await day.greet(agent)
            tools = SimulationTools(f"{agent.ues_url}/mcp", agent.api_key)
            async with Relay(agent._starter.upstream, tools, Budget(agent.config)) as relay:
                call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
                headers = {"Authorization": f"Bearer {relay.token}", "Accept": "application/json, text/event-stream"}
                async with httpx.AsyncClient(base_url=relay.address, headers=headers, trust_env=False) as http:
                    assert (await http.post("/mcp", json=call)).status_code == 200
                    assert (
                        await http.post("/mcp", json=call, headers={"Authorization": "Bearer x"})
                    ).status_code == 401
                    relay._is_closed = True
                    assert (await http.post("/mcp", json=call)).status_code == 401
            with pytest.raises(httpx.ConnectError):
                await httpx.AsyncClient(trust_env=False).post(f"{relay.address}/mcp", json=call)


async def test_a_call_that_is_under_way_is_done_when_the_relay_has_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, done = asyncio.Event(), asyncio.Event()

    async def slow(*_: object, **__: object) -> httpx.Response:
        begun.set()
        await asyncio.sleep(0.2)
        done.set()
        return httpx.Response(200, json={"result": {}})

    relay = Relay(
        find_upstream("chat", "http://127.0.0.1:9"),
        SimulationTools("http://127.0.0.1:9/mcp", "key"),
        Budget(HarnessConfig()),
    )
    async with relay, httpx.AsyncClient(trust_env=False) as http:
        monkeypatch.setattr(relay._http, "request", slow)
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "email_send"}}
        headers = {"Authorization": f"Bearer {relay.token}"}
        asking = asyncio.create_task(http.post(f"{relay.address}/mcp", json=call, headers=headers))
        await begun.wait()
        await relay.__aexit__()
        assert done.is_set()
        assert [used.name for used in relay.record.used_tools] == ["email_send"]
        await asyncio.wait({asking})


PRINTED = re.compile(r"(?s)(?<=ends with: ).*?(?=: it \w+ |\Z)")
"""The end of what a CLI agent printed, which depends on the machine."""

LIMIT = re.compile(r"(?<=within )[\d.]+(?= s and was stopped)")
"""What a turn's preparation has left of its time."""


@pytest.mark.parametrize(
    "model_name",
    [
        "login",
        "no-json",
        pytest.param("no-end", marks=only_nightly),
        "no-mcp",
        pytest.param(
            "writes-outside",
            marks=pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock"),
        ),
        "waits",
    ],
)
async def test_a_fault_is_a_sentence_with_the_remedy(model_name: str, tmp_path: Path) -> None:
    async with simulated() as day:
        with ScriptedModel({}) as model:
            agent = fake_agent(tmp_path, model.url, model_name, turn_seconds=3 if model_name == "waits" else 60)
            await day.greet(agent)
            day.begin(agent, 1)
            with pytest.raises(HarnessError, check=says(output=PRINTED, limit=LIMIT)):
                await agent.play_turn()
            assert _processes_of(tmp_path) == []


async def test_a_turn_ends_at_its_limit_of_tokens(tmp_path: Path) -> None:
    async with simulated() as day:
        with ScriptedModel({1: speaks(*map(str, range(9)))}) as model:
            agent = fake_agent(tmp_path, model.url, tokens_per_turn=2 * (INPUT + OUTPUT))
            await day.greet(agent)
            day.begin(agent, 1)
            with pytest.raises(HarnessError, check=says("2100")):
                await agent.play_turn()
            assert len(model.requests) == 2
            assert len(agent.actions) == 2  # what it did is reported all the same


async def test_what_is_done_before_the_program_starts_is_part_of_the_turns_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    async def play(_prompt: str, _folders: Any, _relay: Any, seconds: float) -> Any:
        given.append(seconds)
        raise HarnessError("enough")

    async with simulated() as day:
        agent = fake_agent(tmp_path, "http://127.0.0.1:9", turn_seconds=60)
        await day.greet(agent)
        day.begin(agent, 1)
        monkeypatch.setattr(agent._starter, "play", play)
        with pytest.raises(HarnessError, match="enough"):
            await agent.play_turn()
    assert 1 <= given[0] < 60
