"""What came back for a message to a participant, and what it means."""

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

from activities.attempts import failures
from activities.participant.bounded_http import LONGEST_TASK_ID, ParticipantBounds, RefusedBodyError
from activities.participant.errors import shortened
from proctor_protocol.json_safe import count_values
from proctor_protocol.json_text import is_cut_off, objects_in
from proctor_protocol.messages import (
    FromParticipant,
    UnknownMessageTypeError,
    parse_from_participant,
)
from proctor_protocol.numbers import restore_integers
from proctor_protocol.problems import describe, find_flaw, show_value
from proctor_settings.config import GreenAgentConfig

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
"""JSON values in the report of a turn: a workflow compares all reports with the log, and has two seconds for a step."""
_MOST_OBJECTS = 100
"""How many JSON objects of a text are looked at, the last ones."""


class UnreadableTurnError(Exception):
    """The answer to a turn can't be read; the message is a sentence that says what is wrong."""


OnEvent = Callable[["Answer"], Awaitable[None]]
"""Receives an answer at its every event."""


class Answer:
    """What came back for one message so far: the task (if any), its state, all parts in order.

    Args:
        bounds: how much is taken; the settings' defaults where nothing is said.
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
        """Whether it may have failed because it knows nothing of the assessment; who was stopped knew of it."""
        return self.has_failed and self.state != TaskState.TASK_STATE_CANCELED

    @property
    def asks(self) -> bool:
        """Whether the participant waits for input, such as the answer to a question."""
        return self.state == TaskState.TASK_STATE_INPUT_REQUIRED

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come without a request."""
        return self.state in _ENDED

    @property
    def parts(self) -> list[Part]:
        """What came event by event, then what the task has of its own."""
        return [*self._streamed, *self._in_task]

    def take(self, event: StreamResponse) -> None:
        """Add an event of the stream. Raises ``RefusedBodyError`` where it is more than an answer may have."""
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
            self._add(_said_in(event.status_update.status))
        elif event.HasField("artifact_update"):
            self._take_id(event.artifact_update.task_id)
            self._add(event.artifact_update.artifact.parts)

    def take_task(self, task: Task) -> None:
        """Take a task as it is now, in place of what it was before; raises as ``take`` does."""
        self._take_id(task.id)
        self._in_task = [part for artifact in task.artifacts for part in artifact.parts]
        self._in_task += _said_in(task.status)
        self._task_bytes = _bytes_of(self._in_task)
        self.state = task.status.state
        self._require_room()

    def fail(self, error: str) -> None:
        """Take note that the participant has answered with an error instead of a task or a message."""
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
        self._streamed_bytes += _bytes_of(added)
        self._require_room()

    def _require_room(self) -> None:
        most = self._bounds.answer.size
        if self._streamed_bytes + self._task_bytes > most.most:
            raise RefusedBodyError(
                most.describe_breach("The participant's answer", self._streamed_bytes + self._task_bytes, "bytes")
            )

    def find_text(self, most: int = _LONGEST_QUOTE) -> str:
        """The last text, cut; as short as error sentences want it, unless said otherwise."""
        texts = (part.text for part in reversed(self.parts) if part.HasField("text"))
        return next((text.strip()[:most] for text in texts if text.strip()), "")

    def find_documents(self) -> Iterator[dict[str, Any]]:
        """Every JSON object in the parts, latest first; a text part's numbers are exact, so it comes before data.

        Objects that a text has in a fence or between prose come last, and those of a text that came in several parts.
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
                except SerializeToJsonError:  # it has NaN
                    continue
                if isinstance(document, dict):
                    yield document
        streamed = "".join(part.text for part in self._streamed if part.HasField("text"))
        for text in (*reversed(texts), streamed):
            yield from reversed(deque(objects_in(text), maxlen=_MOST_OBJECTS))

    def read_turn(self) -> FromParticipant:
        """Read the answer to a turn of a participant that didn't fail. Raises ``UnreadableTurnError`` where it is not a
        well-formed ``turn_complete`` or ``early_completion``.

        It fails as ``ParticipantMisbehaved`` where there is more in it than there may be, or what no store can keep
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
        except UnknownMessageTypeError as problem:
            raise UnreadableTurnError(f"The participant's answer to turn_start is wrong: {problem}.") from None
        except ValidationError as problem:
            raise UnreadableTurnError(
                f"The participant's {document['message_type']} message is wrong: {describe(problem)}."
            ) from None
        report, what = to_json(turn.actions or []), "The participant's report of its actions in a turn"
        if len(report) > self._bounds.report.most:
            raise _misbehaviour(self._bounds.report.describe_breach(what, len(report), "bytes"))
        if (count := count_values(report)) > _MOST_REPORTED:
            raise _misbehaviour(f"{what} has {count:,} JSON values: this evaluator takes at most {_MOST_REPORTED:,}.")
        return turn

    def _find_turn(self) -> dict[str, Any] | None:
        """The latest object that says that it ends a turn, else the latest that has any ``message_type``."""
        typed = None
        for candidate in self.find_documents():
            wrapped = candidate.get("result")  # where pydantic-ai puts what its agents give
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
        """Read the answer to a turn. Fails as ``ParticipantFailed`` where the task failed, else as ``read_turn``, and
        where that can't read it as ``ParticipantMisbehaved``.
        """
        self.require_success()
        try:
            return self.read_turn()
        except UnreadableTurnError as problem:
            raise _misbehaviour(str(problem)) from None

    def _require_measure(self, document: dict[str, Any]) -> None:
        """Count before anything is made of it."""
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
        """Raise ``ParticipantFailed`` where the participant says that it failed."""
        if self._error is not None:
            raise failures.PARTICIPANT_FAILED.final(f"The participant failed: {self._error}")
        if self.state is not None and self.state in _FAILED:
            reason = f": {self.find_text()}" if self.find_text() else "."
            raise failures.PARTICIPANT_FAILED.final(f"The participant's task {_FAILED[self.state]}{reason}")


def _said_in(status: TaskStatus) -> list[Part]:
    return list(status.message.parts) if status.HasField("message") else []


def _bytes_of(parts: Iterable[Part]) -> int:
    return sum(part.ByteSize() for part in parts)


def _misbehaviour(sentence: str) -> ApplicationError:
    return failures.PARTICIPANT_MISBEHAVED.final(sentence[:_LONGEST_SENTENCE])
