"""Between A2A and the terminal agent: a message is a task, its answer an artifact."""

import asyncio
import logging
from collections import OrderedDict
from contextlib import suppress
from typing import Protocol

from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import Message, TaskState

from purple_sdk.examples.terminal_agent.agent import TerminalAgent, TerminalAgentConfig
from purple_sdk.examples.terminal_agent.shell import ShellGoneError
from purple_sdk.examples.terminal_agent.task import NoTaskError, read_task
from purple_sdk.examples.terminal_agent.work import Work
from purple_sdk.executor import KEEP_ALIVE, ClosingExecutor, open_task, sentence_of, wait_for
from purple_sdk.protocol.terminal import TerminalTaskMessage
from purple_sdk.server import serve_executor
from purple_sdk.settings.config import PurpleAgentConfig

NAME = "terminal-agent"
_DESCRIPTION = "Solves Terminal-Bench tasks: a language model that runs bash commands in the task's container."
_WORKS_REMEMBERED = 1_000

_log = logging.getLogger(__name__)


class Solver(Protocol):
    """Solves terminal tasks."""

    async def solve(self, task: TerminalTaskMessage) -> Work:
        """Work on a task; an exception says why it failed."""


class TerminalAgentExecutor(ClosingExecutor):
    """Answers each message with a task; a message that comes again joins the work that it started before."""

    def __init__(self, agent: Solver, keep_alive: float = KEEP_ALIVE) -> None:
        self._agent = agent
        self._keep_alive = keep_alive
        self._works: OrderedDict[str, asyncio.Task[Work]] = OrderedDict()
        self._of_task: dict[str, asyncio.Task[Work]] = {}

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Work on the task that a message tells of."""
        message, updater = await open_task(context, event_queue)
        try:
            work = self._begun(message)
        except NoTaskError as problem:
            await self._end(updater, TaskState.TASK_STATE_REJECTED, str(problem))
            return
        self._of_task[updater.task_id] = work
        try:
            await updater.start_work(sentence_of(updater, "at work"))
            await wait_for(work, updater, "still at work", self._keep_alive)
            await self._report(work, updater)
        finally:
            self._of_task.pop(updater.task_id, None)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop the work behind a task."""
        work = self._of_task.get(context.task_id or "")
        if work is not None:
            work.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await work

    async def aclose(self) -> None:
        """Stop all work."""
        for work in self._works.values():
            work.cancel()
        await asyncio.gather(*self._works.values(), return_exceptions=True)

    def _begun(self, message: Message) -> "asyncio.Task[Work]":
        known = self._works.get(message.message_id)
        if known is None:
            known = self._works[message.message_id] = asyncio.create_task(self._agent.solve(read_task(message)))
            while len(self._works) > _WORKS_REMEMBERED:
                oldest = next((name for name, work in self._works.items() if work.done()), None)
                if oldest is None:
                    break
                del self._works[oldest]
        return known

    async def _report(self, work: "asyncio.Task[Work]", updater: TaskUpdater) -> None:
        if work.cancelled():
            await self._end(updater, TaskState.TASK_STATE_CANCELED, "stopped on request")
        elif (problem := work.exception()) is not None:
            if not isinstance(problem, ShellGoneError):
                _log.error("a task could not be worked on", exc_info=problem)
            await self._end(updater, TaskState.TASK_STATE_FAILED, f"{type(problem).__name__}: {str(problem)[:300]}")
        else:
            done = work.result()
            text = done.summary or (f"stopped after {done.stopped_by}" if done.stopped_by else "done")
            await updater.add_artifact([new_text_part(text), new_data_part(done.as_data())], name="terminal_task_end")
            await self._end(updater, TaskState.TASK_STATE_COMPLETED, None)

    async def _end(self, updater: TaskUpdater, state: TaskState, sentence: str | None) -> None:
        await updater.update_status(state, message=None if sentence is None else sentence_of(updater, sentence))


def serve_terminal_agent(config: TerminalAgentConfig) -> None:
    """Serve the agent until SIGTERM or Ctrl-C; says ``terminal-agent listening on http://…`` once it is ready. Raises
    OSError (the address can't be listened on), ModelNotUsableError (the model can't be made).
    """
    agent = TerminalAgent(config)

    def make(_config: PurpleAgentConfig) -> TerminalAgentExecutor:
        return TerminalAgentExecutor(agent)

    serve_executor(make, config, name=NAME, description=_DESCRIPTION)
