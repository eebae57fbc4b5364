"""Connect A2A and the agent: read the evaluator's messages, and answer each with a task."""

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
"""Seconds between two status updates of a long turn."""
_LONGEST_REASON = 300


class UnreadableMessageError(Exception):
    """A message isn't one of the evaluator's; the text has the reason."""


class ClosingExecutor(AgentExecutor):
    """An executor with resources to release at the end."""

    async def aclose(self) -> None:
        """Release the resources."""


class PurpleAgentExecutor(ClosingExecutor):
    """Routes ``assessment_start``, ``turn_start`` and ``assessment_complete`` to the context's agent.

    A turn's task ends ``completed`` with the answer, ``failed`` with a sentence, or ``canceled``. The answer is in the
    artifact ``turn_answer``: a data part, and the same JSON as text. An unreadable message is ``rejected``.
    ``keep_alive`` is the time in seconds between status updates while a turn runs.
    """

    def __init__(self, conversations: Conversations, keep_alive: float = KEEP_ALIVE) -> None:
        self._conversations = conversations
        self._keep_alive = keep_alive
        # Either the execution or a cancellation takes a task out of here; the one that does writes the task's end.
        self._open: dict[str, Turn | None] = {}

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer one message."""
        message, updater = await open_task(context, event_queue)
        task_id, context_id = updater.task_id, updater.context_id
        self._open[task_id] = None
        try:
            with carrying(_headers(context)):
                await self._answer(message, context_id, updater)
        except (UnreadableMessageError, NoAssessmentError, FromThePastError) as error:
            await self._end(updater, TaskState.TASK_STATE_REJECTED, str(error))
        except Exception as error:
            _log.exception("context %s: a message could not be answered", context_id)
            await self._end(updater, TaskState.TASK_STATE_FAILED, _reason(error))
        finally:
            self._open.pop(task_id, None)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop the turn behind a task, for all callers that wait for it."""
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
        self._conversations.take_fence(context_id, read_fence(message))
        match content:
            case AssessmentStartMessage() as start:
                await updater.start_work()
                await self._conversations.start(context_id, message.message_id, start)
                await self._end(updater, TaskState.TASK_STATE_COMPLETED, "ready")
            case TurnStartMessage() as turn_start:
                turn = await self._conversations.take_turn(context_id, message.message_id, turn_start)
                self._open[updater.task_id] = turn
                await updater.start_work(make_message(updater, f"playing {turn}"))
                await await_work(turn.task, updater, f"still playing {turn}", self._keep_alive)
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
        await updater.update_status(state, message=None if sentence is None else make_message(updater, sentence))


async def open_task(context: RequestContext, event_queue: EventQueue) -> tuple[Message, TaskUpdater]:
    """Answer a message with a task; returns the message and the updater of the task.

    The task has no history: the message may carry a key, and every caller of this agent can read its tasks.
    """
    task_id, context_id = context.task_id or "", context.context_id or ""
    status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
    await event_queue.enqueue_event(Task(id=task_id, context_id=context_id, status=status))
    return context.message or Message(), TaskUpdater(event_queue, task_id, context_id)


async def await_work(work: asyncio.Task[Any], updater: TaskUpdater, sentence: str, keep_alive: float) -> None:
    """Wait until work is done; send ``sentence`` as a status update every ``keep_alive`` seconds."""
    while not (await asyncio.wait({work}, timeout=keep_alive))[0]:
        await updater.start_work(make_message(updater, sentence))


def make_message(updater: TaskUpdater, sentence: str) -> Message:
    """Wrap a sentence as the message of a status."""
    return updater.new_agent_message([new_text_part(sentence)])


def read_message(message: Message) -> ToParticipant:
    """Find the evaluator's message in an A2A message: in a data part, or otherwise in a text part with JSON.

    Raises UnreadableMessageError if there is none, or if its fields are invalid.
    """
    data = _find_object(message)
    try:
        return parse_to_participant(data)
    except UnknownMessageTypeError as error:
        raise UnreadableMessageError(str(error)) from None
    except ValidationError as error:
        raise UnreadableMessageError(describe(error)) from None


def read_fence(message: Message) -> int:
    """Return the fence of an evaluator's message. It is 0 for evaluators that don't know fences."""
    if FENCE_METADATA not in message.metadata:
        return 0
    fence = message.metadata[FENCE_METADATA]
    return int(fence) if isinstance(fence, str) and fence.isdecimal() else 0


def _find_object(message: Message) -> dict[str, Any]:
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
    """Return the headers of the HTTP request that brought a message."""
    headers = context.call_context.state.get("headers") if context.call_context else None
    return headers if isinstance(headers, Mapping) else {}


def _answer_parts(answer: FromParticipant) -> list[Part]:
    # An unset time step is left out, so the scenario's own default applies.
    unchosen = {"time_step", "model_usage", "trajectory"} - answer.model_fields_set
    data = answer.model_dump(mode="json", exclude=unchosen)
    text = answer.model_dump_json(exclude=unchosen)
    return [new_data_part(data), new_text_part(text, media_type="application/json")]


def _reason(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {str(problem)[:_LONGEST_REASON]}".rstrip(": ")
