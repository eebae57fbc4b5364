"""Collect and read the participant's answer to a message."""

import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from a2a.types.a2a_pb2 import Part, StreamResponse, Task, TaskState, TaskStatus
from google.protobuf.json_format import MessageToDict, SerializeToJsonError
from pydantic import ValidationError
from pydantic_core import to_json
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant.bounded_http import LONGEST_TASK_ID, ParticipantBounds, RefusedBodyError
from proctor.activities.participant.errors import shortened
from proctor.settings.config import GreenAgentConfig
from purple_sdk.protocol.json_safe import count_values
from purple_sdk.protocol.json_text import find_objects, is_cut_off
from purple_sdk.protocol.messages import (
    FromParticipant,
    UnknownMessageTypeError,
    parse_from_participant,
)
from purple_sdk.protocol.numbers import restore_integers
from purple_sdk.protocol.problems import describe, find_flaw, show_value

AT_WORK = {TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING}
_FAILED = {
    TaskState.TASK_STATE_FAILED: "failed",
    TaskState.TASK_STATE_CANCELED: "was canceled",
    TaskState.TASK_STATE_REJECTED: "was rejected",
    TaskState.TASK_STATE_AUTH_REQUIRED: "asks for authentication",
}
_ENDED = {TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_INPUT_REQUIRED, *_FAILED}
_ENDS_OF_TURNS = ("turn_complete", "early_completion")
_LONGEST_SENTENCE = 2_000
_LONGEST_QUOTE = 300
_MOST_REPORTED = 20_000
"""The most JSON values in a turn's report. A workflow compares all reports with the log, and has two seconds for a
step.
"""
_MOST_OBJECTS = 100
"""The most JSON objects that are read from a text, beginning at its end."""


class UnreadableTurnError(Exception):
    """The answer to a turn can't be read; the message names the fault in a sentence."""


OnEvent = Callable[["Answer"], Awaitable[None]]
"""A function that is called with the answer so far, at every event."""


class Answer:
    """The answer to one message so far: the task (if any), its state, all parts in order.

    Args:
        bounds: limits of the answer's size; the settings' defaults if left out.
    """

    def __init__(self, bounds: ParticipantBounds | None = None) -> None:
        self._bounds = bounds or ParticipantBounds.of(GreenAgentConfig())
        self._streamed: list[Part] = []
        self._in_task: list[Part] = []
        self._streamed_bytes = self._task_bytes = 0
        self._events = 0
        self._error: str | None = None
        self.task_id: str | None = None
        self.state: TaskState | None = None

    @property
    def has_failed(self) -> bool:
        return self.state in _FAILED

    @property
    def may_have_refused(self) -> bool:
        """Whether the participant may have failed because it doesn't know the assessment. A participant that reports a
        task as canceled knew the assessment.
        """
        return self.has_failed and self.state != TaskState.TASK_STATE_CANCELED

    @property
    def asks(self) -> bool:
        """Whether the participant waits for input, such as the answer to a question."""
        return self.state == TaskState.TASK_STATE_INPUT_REQUIRED

    @property
    def has_ended(self) -> bool:
        """Whether no more events will come without another request."""
        return self.state in _ENDED

    @property
    def parts(self) -> list[Part]:
        """The parts of the events, then the task's own parts."""
        return [*self._streamed, *self._in_task]

    def take(self, event: StreamResponse) -> None:
        """Add an event of the stream. Raises ``RefusedBodyError`` if the answer becomes too large."""
        self._events += 1
        most = self._bounds.answer.events
        if most is not None and self._events > most.most:
            raise RefusedBodyError(most.describe_breach("The stream of the participant's answer", None, "events"))
        if event.HasField("message"):
            self._add(event.message.parts)
            self.state = TaskState.TASK_STATE_COMPLETED
        elif event.HasField("task"):
            self.take_task(event.task)
        elif event.HasField("status_update"):
            self._take_id(event.status_update.task_id)
            self.state = event.status_update.status.state
            self._add(_status_parts(event.status_update.status))
        elif event.HasField("artifact_update"):
            self._take_id(event.artifact_update.task_id)
            self._add(event.artifact_update.artifact.parts)

    def take_task(self, task: Task) -> None:
        """Replace the task by its current version. Raises ``RefusedBodyError`` if the answer becomes too large."""
        self._take_id(task.id)
        self._in_task = [part for artifact in task.artifacts for part in artifact.parts]
        self._in_task += _status_parts(task.status)
        self._task_bytes = _count_bytes(self._in_task)
        self.state = task.status.state
        self._require_room()

    def fail(self, error: str) -> None:
        """Note that the participant has answered with an error, without a task or a message."""
        self.state = TaskState.TASK_STATE_FAILED
        self._error = error

    def _take_id(self, task_id: str) -> None:
        if len(task_id) > LONGEST_TASK_ID:
            raise RefusedBodyError(
                f"The participant's task has an id of {len(task_id):,} characters: "
                f"this evaluator takes at most {LONGEST_TASK_ID}."
            )
        self.task_id = self.task_id or task_id or None

    def _add(self, parts: Iterable[Part]) -> None:
        added = list(parts)
        self._streamed += added
        self._streamed_bytes += _count_bytes(added)
        self._require_room()

    def _require_room(self) -> None:
        most = self._bounds.answer.size
        if self._streamed_bytes + self._task_bytes > most.most:
            raise RefusedBodyError(
                most.describe_breach("The participant's answer", self._streamed_bytes + self._task_bytes, "bytes")
            )

    def find_text(self, most: int = _LONGEST_QUOTE) -> str:
        """Return the last text, cut to ``most`` characters. The default is suitable for error sentences."""
        texts = (part.text for part in reversed(self.parts) if part.HasField("text"))
        return next((text.strip()[:most] for text in texts if text.strip()), "")

    def find_documents(self) -> Iterator[dict[str, Any]]:
        """Yield every JSON object in the parts, latest first. Text parts come before data parts, because their numbers
        are exact.

        Objects in fences or between prose come last. So do objects from a text in several parts.
        """
        texts = [part.text for part in self.parts if part.HasField("text")]
        for text in reversed(texts):
            with suppress(ValueError, RecursionError):
                document = json.loads(text)
                if isinstance(document, dict):
                    yield document
        for part in reversed(self.parts):
            if part.HasField("data"):
                try:
                    document = restore_integers(MessageToDict(part.data))
                except SerializeToJsonError:  # the part has NaN
                    continue
                if isinstance(document, dict):
                    yield document
        streamed = "".join(part.text for part in self._streamed if part.HasField("text"))
        for text in (*reversed(texts), streamed):
            yield from reversed(deque(find_objects(text), maxlen=_MOST_OBJECTS))

    def read_turn(self) -> FromParticipant:
        """Read the answer to a turn, if the participant didn't fail.

        Raises ``UnreadableTurnError`` if the answer is not a well-formed ``turn_complete`` or ``early_completion``.
        Fails as ``ParticipantMisbehaved`` if the answer exceeds a limit, or contains data that can't be stored
        (``find_flaw``).
        """
        document = self._find_turn()
        if document is None:
            raise UnreadableTurnError(self._what_is_missing())
        self._require_measure(document)
        if (flaw := find_flaw(document)) is not None:
            raise _misbehaviour(
                f"The participant's answer to turn_start has {flaw.what} in {shortened(flaw.path)}: {flaw.remedy}"
            )
        try:
            turn = parse_from_participant(document)
        except UnknownMessageTypeError as error:
            raise UnreadableTurnError(f"The participant's answer to turn_start is wrong: {error}.") from None
        except ValidationError as error:
            raise UnreadableTurnError(
                f"The participant's {document['message_type']} message is wrong: {describe(error)}."
            ) from None
        report, what = to_json(turn.actions or []), "The participant's report of its actions in a turn"
        if len(report) > self._bounds.report.most:
            raise _misbehaviour(self._bounds.report.describe_breach(what, len(report), "bytes"))
        if (count := count_values(report)) > _MOST_REPORTED:
            raise _misbehaviour(f"{what} has {count:,} JSON values: this evaluator takes at most {_MOST_REPORTED:,}.")
        return turn

    def _find_turn(self) -> dict[str, Any] | None:
        """Return the latest object that ends a turn. If there is none, return the latest one with any
        ``message_type``.
        """
        typed = None
        for candidate in self.find_documents():
            wrapped = candidate.get("result")  # pydantic-ai's place for the outputs of its agents
            document = wrapped if "message_type" not in candidate and isinstance(wrapped, dict) else candidate
            if document.get("message_type") in _ENDS_OF_TURNS:
                return document
            if typed is None and "message_type" in document:
                typed = document
        return typed

    def _what_is_missing(self) -> str:
        text = self.find_text()
        quote = f" (it said {show_value(text)})" if text else ""
        if any(part.HasField("text") and is_cut_off(part.text) for part in self.parts):
            problem = "has JSON that ends too early"
        elif '"message_type"' in "".join(part.text for part in self.parts if part.HasField("text")):
            problem = "has JSON that is not valid"
        else:
            problem = "has no message_type"
        return (
            f"The participant's answer to turn_start {problem}{quote}: "
            "it must answer with turn_complete or early_completion."
        )

    def to_turn(self) -> FromParticipant:
        """Read the answer to a turn.

        Fails as ``ParticipantFailed`` if the task failed. Fails as ``ParticipantMisbehaved`` if the answer can't be
        read, exceeds a limit, or contains data that can't be stored.
        """
        self.require_success()
        try:
            return self.read_turn()
        except UnreadableTurnError as error:
            raise _misbehaviour(str(error)) from None

    def _require_measure(self, document: dict[str, Any]) -> None:
        """Check a document's size before it is parsed."""
        actions, bounds = document.get("actions"), self._bounds
        if isinstance(actions, list) and len(actions) > bounds.actions.most:
            raise _misbehaviour(
                bounds.actions.describe_breach("The participant's report of a turn", len(actions), "actions")
            )
        for name in ("notes", "reason"):
            text = document.get(name)
            size = len(text.encode(errors="replace")) if isinstance(text, str) else 0
            if size > bounds.notes.most:
                raise _misbehaviour(bounds.notes.describe_breach(f"The participant's {name} for a turn", size, "bytes"))

    def require_success(self) -> None:
        """Raise ``ParticipantFailed`` if the participant reports a failure."""
        if self._error is not None:
            raise failures.PARTICIPANT_FAILED.final(f"The participant failed: {self._error}")
        if self.state is not None and self.state in _FAILED:
            reason = f": {self.find_text()}" if self.find_text() else "."
            raise failures.PARTICIPANT_FAILED.final(f"The participant's task {_FAILED[self.state]}{reason}")


def _status_parts(status: TaskStatus) -> list[Part]:
    return list(status.message.parts) if status.HasField("message") else []


def _count_bytes(parts: Iterable[Part]) -> int:
    return sum(part.ByteSize() for part in parts)


def _misbehaviour(sentence: str) -> ApplicationError:
    return failures.PARTICIPANT_MISBEHAVED.final(sentence[:_LONGEST_SENTENCE])
