"""The whole evaluator, for tests: real dev server, simulator, worker and gateway, each in its own process.

``stack`` (session) is the evaluator. ``play(stack, scenario_id, script, **config)`` assesses a scripted participant,
which is a real A2A agent, and returns the result.
"""

import asyncio
import json
import os
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch
from urllib.parse import urlsplit

import uvicorn

from proctor.client.caller import Accepted, AssessmentCall, Ended, Progress
from proctor.local.stack import DEV_SERVER_SETTINGS, LocalStack, Ports
from proctor.protocol.campaigns import CampaignUpdate
from proctor.protocol.updates import TaskUpdate
from proctor.service.supervisor import Supervisor
from proctor.settings.config import GreenAgentConfig
from purple_sdk import BasePurpleAgent, create_app
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.messages import EarlyCompletionMessage, TurnCompleteMessage, TurnStartMessage
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.settings.config import PurpleAgentConfig
from purple_sdk.ues import AsyncUESClient
from tests.waiting import PATIENCE

T = TypeVar("T")

SCENARIOS = Path(__file__).parent.parent / "scenarios"

FORGETS_SOON = {
    f"history.{queue}ProcessorUpdateAckInterval": '"500ms"' for queue in ("transfer", "visibility", "timer")
}
"""Settings without which a dev server that is told to delete a workflow does so half a minute later."""

Script = Callable[[int, AsyncUESClient, datetime], Awaitable[Any]]
"""What a scripted participant does in a turn: ``await script(turn, ues, now)``.

Returns None (turn done), a ``TurnCompleteMessage`` or an ``EarlyCompletionMessage``.
"""


def holding(held: int, goes_on: asyncio.Event) -> Script:
    """A script that acts once in each turn, and ends the turn ``held`` only when the test says so."""

    async def play(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        await ues.chat.send(role="assistant", content=f"This is round {turn}.")
        if turn == held:
            await goes_on.wait()

    return play


class Stack:
    """A running evaluator; its processes live in a supervisor on a thread of its own."""

    def __init__(self, local: LocalStack, supervisor: Supervisor, loop: asyncio.AbstractEventLoop) -> None:
        self.local = local
        self.supervisor = supervisor
        self._loop = loop

    @property
    def gateway_url(self) -> str:
        return self.local.gateway_url

    @property
    def ues_url(self) -> str:
        return self.local.ues_url

    @property
    def config(self) -> GreenAgentConfig:
        """The settings that reach this stack, for a Temporal client of a test's own."""
        return GreenAgentConfig(
            secret=self.local.config.secret,
            temporal_address=self.local.temporal_address,
            ues_url=self.local.ues_url,
            storage_url=str(self.local.state / "storage"),
            archive_url=self.local.archive_url,
            scenarios_dir=self.local.config.scenarios_dir,
        )

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the supervisor's loop."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(timeout=4 * PATIENCE)

    @contextmanager
    def serving(self, script: Script, port: int | None = None) -> Iterator[str]:
        """Serve a scripted participant on the supervisor's loop, for a test that has none; gives its address."""
        participant = serving(script, port=port)
        url = self.run(participant.__aenter__())
        try:
            yield url
        finally:
            self.run(participant.__aexit__(None, None, None))


@contextmanager
def running_stack(
    scenarios_dir: Path = SCENARIOS,
    *,
    is_durable: bool = False,
    environment: Mapping[str, str | None] | None = None,
    dev_server: Mapping[str, str] | None = None,
    processes: int = 1,
    observe_port: int | None = None,
) -> Iterator[Stack]:
    """Start an evaluator on free ports in a temporary folder; nothing of it is left afterwards.

    ``environment`` is added to its processes' own, and to nobody else's; None empties a variable. ``dev_server`` is
    added to the dynamic configuration of Temporal's dev server. ``processes``: of its worker. From ``observe_port`` on
    services tell how they are.
    """

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    settings = {name: value or "" for name, value in (environment or {}).items()}
    gateway, ues, temporal, ui = free_ports(4)
    with tempfile.TemporaryDirectory(prefix="proctor-test-", ignore_cleanup_errors=True) as folder:
        with patch.dict(os.environ, settings):
            config = GreenAgentConfig(
                host="127.0.0.1",
                scenarios_dir=str(scenarios_dir),
                worker_processes=processes,
                observe_port=observe_port,
            )
        local = LocalStack(
            config=config,
            ports=Ports(gateway, ues, temporal, ui),
            state=Path(folder),
            is_durable=is_durable,
            dev_server={**DEV_SERVER_SETTINGS, **FORGETS_SOON, **(dev_server or {})},
        )
        services = [
            replace(service, environment={**service.environment, **settings}) for service in local.list_services()
        ]
        supervisor = Supervisor(services, local.logs, say=print)
        stack = Stack(local, supervisor, loop)
        try:
            stack.run(supervisor.__aenter__())
            with patch("proctor.service.supervisor.START_SECONDS", 2 * PATIENCE):
                stack.run(supervisor.start())
            yield stack
        finally:
            stack.run(supervisor.stop())
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
            loop.close()


class ScriptedAgent(BasePurpleAgent):
    """Plays a script. Its client is the plain one: what it does is not what it reports, unless ``reports`` is set."""

    script: Script
    reports = True

    def begin_turn(self, turn: TurnStartMessage) -> None:
        super().begin_turn(turn)
        self._turn_number = turn.turn_number

    async def execute_turn(self) -> TurnCompleteMessage | EarlyCompletionMessage:
        said = await type(self).script(self._turn_number, self.ues, self.current_time)
        if isinstance(said, TurnCompleteMessage | EarlyCompletionMessage):
            return said
        done = self.complete_turn()
        return TurnCompleteMessage(actions=done.actions if self.reports else [])


@asynccontextmanager
async def serving(script: Script, *, reports: bool = True, port: int | None = None) -> AsyncIterator[str]:
    """Serve a scripted participant over HTTP; gives its address. ``port`` is a free one unless named."""
    agent = type("Agent", (ScriptedAgent,), {"script": staticmethod(script), "reports": reports})
    async with listening(lambda url: create_app(agent, agent_config(url), name="scripted"), port) as url:
        yield url


def agent_config(url: str) -> PurpleAgentConfig:
    """The settings of an agent that is to be found at ``url``."""
    return PurpleAgentConfig(host="127.0.0.1", port=urlsplit(url).port or 0)


@asynccontextmanager
async def listening(make_app: Callable[[str], Any], port: int | None = None) -> AsyncIterator[str]:
    """Serve an ASGI application, which is made from its own address, on a free port; gives the address."""
    port = port or free_ports(1)[0]
    url = f"http://127.0.0.1:{port}"
    server = uvicorn.Server(
        uvicorn.Config(make_app(url), host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=1)
    )
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield url
    finally:
        server.should_exit = True
        await task
        for connection in list(server.server_state.connections):  # as those of a process that has ended
            connection.transport.abort()


class Assessed:
    """How an assessment went: its end state, sentence, results and updates."""

    def __init__(self, ended: Ended, updates: list[TaskUpdate | CampaignUpdate]) -> None:
        self.state = ended.state
        self.sentence = ended.sentence
        self.updates = updates
        self.results = AssessmentResults.model_validate_json(ended.results) if ended.results else None


def request_json(agent_url: str, scenario_id: str, **config: Any) -> str:
    """A request for an assessment; offline and with seed 7 unless told otherwise."""
    chosen = {"scenario_id": scenario_id, "offline": True, "seed": 7, **config}
    return json.dumps({"participants": {"personal_assistant": agent_url}, "config": chosen})


async def assess(stack: Stack | str, agent_url: str, scenario_id: str, **config: Any) -> Assessed:
    """Ask the gateway, the stack's or the one at an address, for an assessment and follow it to its end; offline and
    with seed 7 unless told otherwise.
    """
    return await assess_by(stack, request_json(agent_url, scenario_id, **config))


async def assess_by(stack: Stack | str, request: str, on_accepted: Callable[[str], Any] = str) -> Assessed:
    """Ask by a request as it is, and follow what comes of it to its end; ``on_accepted`` is told the task's id."""
    updates: list[TaskUpdate | CampaignUpdate] = []
    async with AssessmentCall(stack if isinstance(stack, str) else stack.gateway_url, request) as call:
        async for event in call.events():
            if isinstance(event, Accepted):
                on_accepted(event.task_id)
            elif isinstance(event, Progress):
                updates.append(event.update)
            elif isinstance(event, Ended):
                return Assessed(event, updates)
    raise AssertionError("the stream ended without an end")


async def play(stack: Stack, scenario_id: str, script: Script, **config: Any) -> AssessmentResults:
    """Assess a script; the assessment must complete."""
    async with serving(script) as url:
        assessed = await assess(stack, url, scenario_id, **config)
    assert assessed.state == "completed", assessed.sentence
    assert assessed.results is not None
    return assessed.results
