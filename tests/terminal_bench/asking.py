"""Runs of terminal trials, asked for and followed; and agents that do what a test says."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

from a2a.helpers.proto_helpers import new_text_part
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import Message, Task, TaskState, TaskStatus

from proctor.client.caller import AssessmentCall, Ended, Progress
from purple_sdk.examples.terminal_agent.shell import Ran, Shell, shell_of
from purple_sdk.examples.terminal_agent.task import read_task
from purple_sdk.executor import ClosingExecutor
from purple_sdk.protocol.terminal import TerminalResults, TerminalTaskMessage
from purple_sdk.server import create_executor_app
from tests.stack import agent_config, listening

Solve = Callable[[TerminalTaskMessage, Shell], Awaitable[str]]


class ScriptedTerminalAgent(ClosingExecutor):
    """Does what a test says; ``told`` are the messages that it has got, ``canceled`` how many it was told to drop."""

    def __init__(self, solve: Solve) -> None:
        self._solve = solve
        self._works: dict[str, asyncio.Task[str]] = {}
        self._of_task: dict[str, asyncio.Task[str]] = {}
        self.told: list[TerminalTaskMessage] = []
        self.canceled = 0

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        message = context.message or Message()
        status = TaskStatus(state=TaskState.TASK_STATE_WORKING)
        await event_queue.enqueue_event(Task(id=context.task_id, context_id=context.context_id, status=status))
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        work = self._works.get(message.message_id)
        if work is None:
            task = read_task(message)
            self.told.append(task)
            work = self._works[message.message_id] = asyncio.create_task(self._solved(task))
        self._of_task[context.task_id or ""] = work
        await asyncio.wait({work})
        if work.cancelled():
            await updater.update_status(TaskState.TASK_STATE_CANCELED)
        elif work.exception() is not None:
            said = updater.new_agent_message([new_text_part(str(work.exception()))])
            await updater.update_status(TaskState.TASK_STATE_FAILED, message=said)
        else:
            await updater.add_artifact([new_text_part(work.result())])
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.canceled += 1
        if work := self._of_task.get(context.task_id or ""):
            work.cancel()

    async def _solved(self, task: TerminalTaskMessage) -> str:
        shell = shell_of(task, 10_000)
        try:
            return await self._solve(task, shell)
        finally:
            await shell.aclose()


@asynccontextmanager
async def serving(agent: ScriptedTerminalAgent) -> AsyncIterator[str]:
    """Serve a scripted agent; gives its address."""

    def make(url: str) -> Any:
        return create_executor_app(agent, agent_config(url), name="scripted", description="Does what a test says.")

    async with listening(make) as url:
        yield url


async def ran(shell: Shell, command: str) -> Ran:
    return await shell.run(command, 60)


class Run:
    """A run that has ended."""

    def __init__(self, ended: Ended, updates: list[Any]) -> None:
        self.state = ended.state
        self.sentence = ended.sentence
        self.updates = updates
        assert ended.results is not None, ended.sentence
        self.results = TerminalResults.model_validate_json(ended.results)

    def verdicts(self) -> dict[str, list[bool | None]]:
        found: dict[str, list[bool | None]] = {}
        for trial in self.results.results:
            found.setdefault(trial.task_id, []).append(trial.is_resolved)
        return found


def request_json(*task_ids: str, url: str | None = None, agents: dict[str, str] | None = None, **config: Any) -> str:
    chosen = {"benchmark": "terminal-bench", "dataset": "terminal_bench", "task_ids": list(task_ids), **config}
    return json.dumps({"participants": agents or ({"terminal_agent": url} if url else {}), "config": chosen})


async def run(gateway_url: str, *task_ids: str, url: str | None = None, **config: Any) -> Run:
    """Ask for a run over A2A and follow it to its end."""
    updates = []
    async with AssessmentCall(gateway_url, request_json(*task_ids, url=url, **config)) as call:
        async for event in call.events():
            if isinstance(event, Progress):
                updates.append(event.update)
            elif isinstance(event, Ended):
                return Run(event, updates)
    raise AssertionError("the stream ended without an end")


def left_on(engine: str, run_id: str) -> list[str]:
    """What of a run is on an engine: containers, networks, volumes, images.

    An image that this run has built may be in use by a run of another test process; that one removes it.
    """
    label = f"label=proctor.run={run_id}"
    found = []
    for kind, *options in (
        ("container", "--all", "--quiet"),
        ("network", "--quiet"),
        ("volume", "--quiet"),
        ("image", "--format", "{{.ID}} {{.Repository}}:{{.Tag}}"),
    ):
        asked = subprocess.run(
            ["docker", "--host", engine, kind, "ls", *options, "--filter", label],
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        lines = asked.stdout.splitlines()
        if kind == "image":
            own = f"proctor-run:{sha256(run_id.encode()).hexdigest()[:16]}-"
            names = [line.split() for line in lines]
            others = {image for image, name in names if name.startswith("proctor-run:") and not name.startswith(own)}
            lines = [f"{image} {name}" for image, name in names if image not in others]
        found += [f"{kind} {line}" for line in lines]
    return found
