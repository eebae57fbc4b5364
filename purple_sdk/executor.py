"""Between A2A and the agent: reads the evaluator's messages, answers each with a task."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from a2a.helpers.proto_helpers import get_data_parts, get_text_parts, new_data_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import Message, Part, Task, TaskState, TaskStatus
from pydantic import ValidationError
from pydantic_core import from_json

from purple_sdk.conversations import Conversations, FromThePastError, NoAssessmentError, Turn
from purple_sdk.protocol.messages import (
    FENCE_METADATA,
    AssessmentCompleteMessage,
    AssessmentStartMessage,
    FromParticipant,
    ToParticipant,
    TurnStartMessage,
    UnknownMessageTypeError,
    parse_to_participant,
)
from purple_sdk.protocol.problems import describe
from purple_sdk.ues.trace import carrying

_log = logging.getLogger(__name__)

ANSWER_ARTIFACT = "turn_answer"
KEEP_ALIVE = 15.0
"""Seconds between two signs of life of a turn that takes long."""
_LONGEST_REASON = 300


class UnreadableMessageError(Exception):
    """A message that isn't one of the evaluator's; the text says why."""


class ClosingExecutor(AgentExecutor):
    """An executor that has something to let go of at the end."""

    async def aclose(self) -> None:
        """Let go of it."""


class PurpleAgentExecutor(ClosingExecutor):
    """Routes ``assessment_start``, ``turn_start`` and ``assessment_complete`` to the context's agent.

    A turn's task ends ``completed`` with the answer in the artifact ``turn_answer`` (a data part, and the same JSON as
    text), ``failed`` with a sentence, or ``canceled``. An unreadable message is ``rejected``. ``keep_alive`` is the
    time in seconds between status updates while a turn runs.
    """

    def __init__(self, conversations: Conversations, keep_alive: float = KEEP_ALIVE) -> None:
        self._conversations = conversations
        self._keep_alive = keep_alive
        # Whoever takes a task out of here writes its end: the execution, or the cancellation that overtook it.
        self._open: dict[str, Turn | None] = {}

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer one message."""
        message, updater = await open_task(context, event_queue)
        task_id, context_id = updater.task_id, updater.context_id
        self._open[task_id] = None
        try:
            with carrying(_headers(context)):
                await self._answer(message, context_id, updater)
        except (UnreadableMessageError, NoAssessmentError, FromThePastError) as problem:
            await self._end(updater, TaskState.TASK_STATE_REJECTED, str(problem))
        except Exception as problem:
            _log.exception("context %s: a message could not be answered", context_id)
            await self._end(updater, TaskState.TASK_STATE_FAILED, _reason(problem))
        finally:
            self._open.pop(task_id, None)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop the turn behind a task, for everybody who waits for it."""
        task_id = context.task_id or ""
        if task_id not in self._open:
            return
        turn = self._open[task_id]
        updater = TaskUpdater(event_queue, task_id, context.context_id or "")
        await self._end(updater, TaskState.TASK_STATE_CANCELED, "stopped on request")
        if turn is not None:
            await turn.stop("it was cancelled")

    async def aclose(self) -> None:
        """Drop all conversations."""
        await self._conversations.aclose()

    async def _answer(self, message: Message, context_id: str, updater: TaskUpdater) -> None:
        content = read_message(message)
        self._conversations.take_fence(context_id, fence_of(message))
        match content:
            case AssessmentStartMessage() as start:
                await updater.start_work()
                await self._conversations.start(context_id, message.message_id, start)
                await self._end(updater, TaskState.TASK_STATE_COMPLETED, "ready")
            case TurnStartMessage() as turn_start:
                turn = await self._conversations.take_turn(context_id, message.message_id, turn_start)
                self._open[updater.task_id] = turn
                await updater.start_work(sentence_of(updater, f"playing {turn}"))
                await wait_for(turn.task, updater, f"still playing {turn}", self._keep_alive)
                await self._report(turn, context_id, updater)
            case AssessmentCompleteMessage() as complete:
                await self._conversations.complete(context_id, complete)
                await self._end(updater, TaskState.TASK_STATE_COMPLETED, "goodbye")

    async def _report(self, turn: Turn, context_id: str, updater: TaskUpdater) -> None:
        if turn.task.cancelled():
            reason = f"{turn} was stopped: {turn.stopped_because or 'its task was cancelled'}"
            await self._end(updater, TaskState.TASK_STATE_CANCELED, reason)
        elif (problem := turn.task.exception()) is not None:
            _log.error("context %s: %s failed", context_id, turn, exc_info=problem)
            await self._end(updater, TaskState.TASK_STATE_FAILED, f"{turn} failed: {_reason(problem)}")
        elif updater.task_id in self._open:
            await updater.add_artifact(_answer_parts(turn.task.result()), name=ANSWER_ARTIFACT)
            await self._end(updater, TaskState.TASK_STATE_COMPLETED, None)

    async def _end(self, updater: TaskUpdater, state: TaskState, sentence: str | None) -> None:
        if updater.task_id not in self._open:
            return
        del self._open[updater.task_id]
        await updater.update_status(state, message=None if sentence is None else sentence_of(updater, sentence))


async def open_task(context: RequestContext, event_queue: EventQueue) -> tuple[Message, TaskUpdater]:
    """Answer a message with a task, whose updates go through what is returned beside the message.

    It has no history: the message may carry a key, and every caller of this agent can read its tasks.
    """
    task_id, context_id = context.task_id or "", context.context_id or ""
    status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
    await event_queue.enqueue_event(Task(id=task_id, context_id=context_id, status=status))
    return context.message or Message(), TaskUpdater(event_queue, task_id, context_id)


async def wait_for(work: asyncio.Task[Any], updater: TaskUpdater, sentence: str, keep_alive: float) -> None:
    """Wait until work is done, with a status update that says so every ``keep_alive`` seconds."""
    while not (await asyncio.wait({work}, timeout=keep_alive))[0]:
        await updater.start_work(sentence_of(updater, sentence))


def sentence_of(updater: TaskUpdater, sentence: str) -> Message:
    """A sentence as the message of a status."""
    return updater.new_agent_message([new_text_part(sentence)])


def read_message(message: Message) -> ToParticipant:
    """Find the evaluator's message in an A2A message: a data part, else a text part that is JSON. Raises
    UnreadableMessageError (there is none, or its fields don't fit).
    """
    data = _object_in(message)
    try:
        return parse_to_participant(data)
    except UnknownMessageTypeError as problem:
        raise UnreadableMessageError(str(problem)) from None
    except ValidationError as problem:
        raise UnreadableMessageError(describe(problem)) from None


def fence_of(message: Message) -> int:
    """The fence that the evaluator's message carries; 0 where it has none, as evaluators elsewhere know no fences."""
    if FENCE_METADATA not in message.metadata:
        return 0
    fence = message.metadata[FENCE_METADATA]
    return int(fence) if isinstance(fence, str) and fence.isdecimal() else 0


def _object_in(message: Message) -> dict[str, Any]:
    for data in get_data_parts(message.parts):
        if isinstance(data, dict):
            return data
    texts = get_text_parts(message.parts)
    for text in texts:
        try:
            data = from_json(text)
        except ValueError:
            continue
        if isinstance(data, dict):
            return data
    content = f"the text {texts[0][:80]!r}" if texts else "neither data nor text"
    raise UnreadableMessageError(f"the message has {content}: send a JSON object, as a data part or as text")


def _headers(context: RequestContext) -> Mapping[str, str]:
    """Those of the HTTP request that brought a message."""
    headers = context.call_context.state.get("headers") if context.call_context else None
    return headers if isinstance(headers, Mapping) else {}


def _answer_parts(answer: FromParticipant) -> list[Part]:
    # A time step that nobody chose is left out, so that the scenario's own default applies.
    unchosen = {"time_step", "model_usage", "trajectory"} - answer.model_fields_set
    data = answer.model_dump(mode="json", exclude=unchosen)
    text = answer.model_dump_json(exclude=unchosen)
    return [new_data_part(data), new_text_part(text, media_type="application/json")]


def _reason(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {str(problem)[:_LONGEST_REASON]}".rstrip(": ")
