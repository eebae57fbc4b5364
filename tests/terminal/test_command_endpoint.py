"""Commands over HTTP: for the agent of one trial, while it is the agent's time, written down."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from proctor.terminal import command_endpoint, environments
from proctor.terminal.command_endpoint import Access, CommandEndpoint
from proctor.terminal.recording import Recordings
from tests.sentences import says
from tests.terminal.conftest import Trial, Trials
from tests.terminal.writing import format_two
from tests.waiting import PATIENCE


class Agent:
    """What an agent on another machine has: an address and a token."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.http = httpx.AsyncClient(timeout=PATIENCE, headers={"Authorization": f"Bearer {access.token}"})

    async def ask(self, method: str, path: str = "", **body: Any) -> tuple[int, dict[str, Any]]:
        answer = await self.http.request(method, self.access.url + path, json=body or None)
        return answer.status_code, answer.json()


@pytest.fixture
async def trial(trials: Trials, tmp_path: Path) -> Trial:
    return await trials.of(format_two(tmp_path / "task"))


@pytest.fixture
def recordings(tmp_path: Path) -> Recordings:
    return Recordings(tmp_path / "recordings")


@pytest.fixture
async def endpoint(trials: Trials, recordings: Recordings) -> AsyncIterator[CommandEndpoint]:
    endpoint = CommandEndpoint(trials.engine, "secret", recordings)
    yield endpoint
    await endpoint.aclose()


@pytest.fixture
async def agent(endpoint: CommandEndpoint, trial: Trial) -> AsyncIterator[Agent]:
    agent = Agent(await endpoint.open(trial.ref))
    yield agent
    await agent.http.aclose()


async def test_commands_in_every_way(agent: Agent, recordings: Recordings, trial: Trial) -> None:
    status, about = await agent.ask("GET")
    assert status == 200
    assert about["workdir"] == "/app"
    assert any(name.startswith("POST") for name in about["requests"])

    status, done = await agent.ask("POST", "/exec", command="pwd; echo wrong >&2; exit 3")
    assert (status, done["exit_code"], done["output"], done["timed_out"]) == (200, 3, "/app\nwrong\n", False)
    _, done = await agent.ask("POST", "/exec", command="pwd", cwd="/etc")
    assert done["output"] == "/etc\n"
    _, done = await agent.ask("POST", "/exec", command="sleep 1000", timeout=0.5)
    assert (done["exit_code"], done["timed_out"]) == (None, True)
    _, done = await agent.ask("POST", "/exec", command="seq 100000", output_cap=1000)
    assert done["dropped"] > 500_000
    assert done["output"].startswith("1\n2\n")
    assert done["output"].endswith("100000\n")

    _, begun = await agent.ask("POST", "/exec", command="echo begun; sleep 1000", background=True, timeout=600)
    assert begun["running"]
    while not (told := (await agent.ask("GET", f"/exec/{begun['id']}"))[1])["output"]:
        await asyncio.sleep(0.05)
    assert (told["running"], told["output"]) == (True, "begun\n")
    _, ended = await agent.ask("DELETE", f"/exec/{begun['id']}")
    assert (ended["running"], ended["killed"]) == (False, True)

    status, shown = await agent.ask("POST", "/tmux/keys", keys=["cd /tmp && echo $((40 + 2))", "Enter"])
    assert status == 200
    while "\n42" not in shown["screen"]:
        _, shown = await agent.ask("GET", "/tmux/screen")
    _, shown = await agent.ask("POST", "/tmux/keys", keys=["pwd", "Enter"], wait=0.1)
    while "\n/tmp" not in shown["screen"]:
        _, shown = await agent.ask("GET", "/tmux/screen?whole=1")

    recorded = recordings.files_of(trial.name)
    lines = [json.loads(line) for line in recorded["transcript.jsonl"].read_text().splitlines()]
    ran = [line["command"] for line in lines if line["kind"] == "command"]
    assert ran[:2] == ["pwd; echo wrong >&2; exit 3", "pwd"]
    assert next(line for line in lines if line["kind"] == "command")["output"] == "/app\nwrong\n"
    assert [line["keys"] for line in lines if line["kind"] == "keys"][1] == ["pwd", "Enter"]
    header, *events = [json.loads(line) for line in recorded["agent.cast"].read_text().splitlines()]
    assert header["version"] == 2
    assert [event[0] for event in events] == sorted(event[0] for event in events)
    shown_first = "\x1b[1m$ pwd; echo wrong >&2; exit 3\x1b[0m\r\n/app\r\nwrong\r\n"
    assert "".join(event[2] for event in events if event[1] == "o").startswith(shown_first)
    recordings.forget(trial.name)
    assert recordings.files_of(trial.name) == {}


async def test_what_is_refused(agent: Agent, trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    async with httpx.AsyncClient(timeout=PATIENCE) as stranger:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": agent.access.token}):
            answer = await stranger.post(f"{agent.access.url}/exec", json={"command": "id"}, headers=headers)
            assert (answer.status_code, answer.json()) == (
                401,
                {"error": says()},
            )
        elsewhere = agent.access.url.replace(trial.ref.container, "proctor-other-000000000000")
        assert (await stranger.get(elsewhere, headers=dict(agent.http.headers))).status_code == 401
    for body, sentence in (
        ({"comand": "id"}, "command is missing"),
        ({"command": ""}, "command is"),
        ({"command": "id", "timeout": -1}, "timeout is -1"),
        ({"command": "x" * 200_000}, "longer than 100,000 bytes"),
        ({"command": "x" * 2_000_000}, "more than 1,000,000 bytes"),
    ):
        status, said = await agent.ask("POST", "/exec", **body)
        assert status in (413, 422), said
        assert sentence in said["error"]
    answer = await agent.http.post(f"{agent.access.url}/exec", content=b"{")
    assert (answer.status_code, "isn't JSON" in answer.json()["error"]) == (422, True)
    assert (await agent.ask("GET", "/exec/nothing"))[0] == 404
    assert (await agent.ask("GET", "/tmux/screen?session=a%20b"))[0] == 422
    monkeypatch.setattr(command_endpoint, "AT_ONCE", 1)
    await agent.ask("POST", "/exec", command="sleep 1000", background=True)
    assert (await agent.ask("POST", "/exec", command="true"))[0] == 429


async def test_when_the_agents_time_is_over(
    agent: Agent, endpoint: CommandEndpoint, trial: Trial, trials: Trials, recordings: Recordings
) -> None:
    another = CommandEndpoint(trials.engine, "secret", recordings)
    try:
        access = await another.open(trial.ref)
        assert access.token == agent.access.token, "another worker answers at the same token"
        taken_over = Agent(access)
        assert (await taken_over.ask("POST", "/exec", command="echo here"))[1]["output"] == "here\n"
        _, begun = await agent.ask("POST", "/exec", command="sleep 1000", background=True)
        await endpoint.close(trial.name)
        status, said = await agent.ask("POST", "/exec", command="touch /app/done")
        assert (status, said["error"]) == (410, says())
        assert begun["running"]
        assert (await trial.act("ps -e | grep -c [s]leep")).output == "1\n", "only the container's own is left"
        # The other worker knows it from the container, once that is closed.
        await environments.close_to_agent(trials.engine, trial.ref, trial.task)
        assert (await taken_over.ask("POST", "/exec", command="touch /app/done"))[0] == 410
        assert not (await trial.test()).is_resolved
        await taken_over.http.aclose()
    finally:
        await another.aclose()


async def test_commands_under_way_can_be_left_running(agent: Agent, endpoint: CommandEndpoint, trial: Trial) -> None:
    await agent.ask("POST", "/exec", command="echo $$ > /tmp/left; exec sleep 1001", background=True)
    await trial.act("until [ -s /tmp/left ]; do sleep 0.05; done")
    await endpoint.close(trial.name, leave_commands=True)
    assert (await agent.ask("POST", "/exec", command="touch /app/done"))[0] == 410
    assert (await trial.act("kill $(cat /tmp/left)")).exit_code == 0, "it still ran"


async def test_a_lost_container_is_said(agent: Agent, trial: Trial, trials: Trials) -> None:
    await trials.engine.ask("POST", f"containers/{trial.ref.container_id}/kill")
    status, said = await agent.ask("POST", "/exec", command="true")
    assert status == 409
    assert says().within(said["error"])
