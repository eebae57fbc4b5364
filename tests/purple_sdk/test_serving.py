"""The process around an agent: how it starts, what it shows of itself, how it ends."""

import asyncio
import os
import signal
import socket
from datetime import UTC, datetime
from types import SimpleNamespace

import httpx
import pytest
from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import ListTasksRequest, Task

from purple_sdk import create_app
from purple_sdk.conversations import Conversations, NoAssessmentError
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.messages import AssessmentStartMessage, TurnStartMessage
from purple_sdk.server import BoundedTaskStore, serve
from purple_sdk.settings.config import PurpleAgentConfig
from tests.programs import serving
from tests.purple_sdk.evaluator import Evaluator, Heard, start, turn
from tests.purple_sdk.probe_agent import ProbeAgent
from tests.sentences import says
from tests.waiting import PATIENCE

PROBE = ("tests.purple_sdk.probe_agent", "--host", "127.0.0.1", "--port", "0")


def test_the_card_says_where_and_how(probe: tuple[str, object]) -> None:
    card = httpx.get(f"{probe[0]}/.well-known/agent-card.json").json()
    assert httpx.get(f"{probe[0]}/.well-known/agent.json").json() == card  # where early callers look
    assert card["name"] == "probe"
    assert {(i["protocolBinding"], i["protocolVersion"], i["url"]) for i in card["supportedInterfaces"]} == {
        (binding, version, url)
        for binding, url in (("JSONRPC", f"{probe[0]}/"), ("HTTP+JSON", probe[0]))
        for version in ("1.0", "0.3")
    }
    assert card["url"] == f"{probe[0]}/"  # what a 0.3 caller looks for
    assert card["capabilities"]["streaming"] is True


async def test_an_agent_may_be_told_under_which_address_it_sees_the_simulator() -> None:
    named = "http://127.0.0.1:8100/simulations/s1"
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    agent = ProbeAgent(PurpleAgentConfig(ues_url="http://10.1.1.1:20000/"))
    agent.initialize(named, "k", now)
    assert agent.ues.base_url == "http://10.1.1.1:20000/simulations/s1"
    await agent.get_in_by("http://127.0.0.1:8100/simulations/s2", "another key")
    assert agent.ues.base_url == "http://10.1.1.1:20000/simulations/s2"
    await agent.aclose()
    for nothing in (None, ""):  # as where a platform's variable is empty
        agent = ProbeAgent(PurpleAgentConfig(ues_url=nothing))
        agent.initialize(named, "k", now)
        assert agent.ues.base_url == named
        await agent.aclose()


async def test_the_card_url_can_be_chosen_and_sigterm_ends_it_cleanly_in_the_middle_of_a_turn() -> None:
    port = free_ports(1)[0]
    with serving(*PROBE[:-1], str(port), "--card-url", f"http://localhost:{port}") as (url, process):
        async with Evaluator(url) as evaluator, httpx.AsyncClient() as http:
            card = (await http.get(f"{url}/.well-known/agent-card.json")).json()
            assert card["url"] == f"http://localhost:{port}"
            await evaluator.say(start({"slow": {"1.1": 3600}}))
            seen = Heard()
            waiting = asyncio.create_task(evaluator.say(turn(1), seen=seen))
            await asyncio.wait_for(seen.working.wait(), PATIENCE)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, PATIENCE) == 0
            await asyncio.wait({waiting}, timeout=PATIENCE)
            assert waiting.done()


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, check=says("--port")) as refused:
            serve(ProbeAgent, PurpleAgentConfig(host="127.0.0.1", port=port))
        assert f"127.0.0.1:{port}" in str(refused.value)
        assert f"(pid {os.getpid()})" in str(refused.value)


async def test_the_key_of_an_assessment_is_not_shown_to_others(probe: tuple[str, object]) -> None:
    async with Evaluator(probe[0]) as evaluator:
        heard = await evaluator.say(start(api_key="very-secret-key"))
        async with httpx.AsyncClient(base_url=probe[0], headers={"A2A-Version": "1.0"}) as http:
            shown = await http.get(f"/tasks/{heard.task_id}")
            listed = await http.get("/tasks")
    assert shown.json()["id"] == heard.task_id
    assert "very-secret-key" not in shown.text + listed.text


async def test_only_so_many_tasks_are_kept() -> None:
    store, context = BoundedTaskStore(most=3), ServerCallContext()
    for number in range(5):
        await store.save(Task(id=f"t{number}"), context)
    await store.save(Task(id="t2"), context)
    await store.save(Task(id="t5"), context)
    kept = await store.list(ListTasksRequest(), context)
    assert {task.id for task in kept.tasks} == {"t2", "t4", "t5"}
    await store.delete("t4", context)
    assert await store.get("t4", context) is None


def begin(conversations: Conversations, context_id: str) -> asyncio.Task[None]:
    message = AssessmentStartMessage.model_validate(start({"slow": {"1.1": 2 * PATIENCE}}))
    return asyncio.create_task(conversations.start(context_id, f"start of {context_id}", message))


async def test_an_idle_context_is_dropped_and_a_busy_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("purple_sdk.conversations.time", SimpleNamespace(monotonic=lambda: now[0]))
    conversations = Conversations(ProbeAgent, PurpleAgentConfig(), idle_limit=60.0)
    await begin(conversations, "idle")
    await begin(conversations, "busy")
    playing = await conversations.take_turn("busy", "t1", TurnStartMessage.model_validate(turn(1)))
    now[0] += 61
    await begin(conversations, "new")
    assert len(conversations) == 2
    with pytest.raises(NoAssessmentError, check=says()):
        await conversations.take_turn("idle", "t1", TurnStartMessage.model_validate(turn(1)))
    assert await conversations.take_turn("busy", "t1", TurnStartMessage.model_validate(turn(1))) is playing
    await conversations.aclose()
    assert playing.task.cancelled()
    assert len(conversations) == 0


async def test_an_application_that_ends_leaves_no_turn_running() -> None:
    conversations = Conversations(ProbeAgent, PurpleAgentConfig())
    app = create_app(ProbeAgent, PurpleAgentConfig(), conversations=conversations)
    async with app.router.lifespan_context(app):
        await begin(conversations, "busy")
        playing = await conversations.take_turn("busy", "t1", TurnStartMessage.model_validate(turn(1)))
    assert playing.task.cancelled()
    assert len(conversations) == 0


async def test_a_caller_that_hangs_up_in_the_middle_of_a_request_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[object] = [
        {"type": "http.request", "body": b'{"jsonrpc": "2.0", "meth', "more_body": True},
        {"type": "http.disconnect"},
    ]
    said = []

    async def receive() -> object:
        return heard.pop(0)

    async def send(message: object) -> None:
        said.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-type", b"application/json")]}
    app = create_app(ProbeAgent, PurpleAgentConfig())
    await app({**scope, "query_string": b"", "root_path": "", "http_version": "1.1"}, receive, send)  # type: ignore[arg-type]
    assert (said, caplog.records) == ([], [])
