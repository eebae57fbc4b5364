"""One conversation with a participant over A2A: send a message, wait for the answer, find a task again.

Participants speak protocol 1.0 or 0.3; a2a-sdk's client factory chooses by the agent's card.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
from a2a.client import A2ACardResolver, A2AClientError, A2AClientTimeoutError, AgentCardResolutionError, Client
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import A2AError, MethodNotFoundError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import MessageToDict
from pydantic import ValidationError

from activities import failures
from proctor_protocol.messages import (
    FromParticipant,
    ToParticipant,
    UnknownMessageTypeError,
    parse_from_participant,
)
from proctor_protocol.numbers import restore_integers
from proctor_protocol.problems import describe, show_value

_MESSAGE_IDS = uuid.UUID("8f0f6a0e-5a39-5b0c-9d57-3a3a0f9f6f10")

_ENDED = {
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
    TaskState.TASK_STATE_INPUT_REQUIRED,
    TaskState.TASK_STATE_AUTH_REQUIRED,
}
_AT_WORK = {TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING}
_FAILED = {
    TaskState.TASK_STATE_FAILED: "failed",
    TaskState.TASK_STATE_CANCELED: "was canceled",
    TaskState.TASK_STATE_REJECTED: "was rejected",
    TaskState.TASK_STATE_AUTH_REQUIRED: "asks for authentication",
}
_POLL_SECONDS = 0.25
_LOST = (httpx.TransportError, A2AClientTimeoutError)
_NO_LOOKING = (MethodNotFoundError, UnsupportedOperationError)
"""How a participant says that it can't be asked for a task: simple ones know ``message/send`` alone."""


def message_id(*parts: object) -> str:
    """The A2A message id of a step of an assessment: the same step has the same id, whoever sends it and how often."""
    return str(uuid.uuid5(_MESSAGE_IDS, "/".join(str(part) for part in parts)))


class Answer:
    """What came back for one message so far: the task (if any), its state, all parts in order."""

    def __init__(self) -> None:
        self.task_id: str | None = None
        self.state: TaskState | None = None
        self.parts: list[Part] = []

    @property
    def has_failed(self) -> bool:
        """Whether the participant says that it failed."""
        return self.state in _FAILED

    @property
    def may_have_refused(self) -> bool:
        """Whether it may have failed because it knows nothing of the assessment; who was stopped knew of it."""
        return self.has_failed and self.state != TaskState.TASK_STATE_CANCELED

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come by itself."""
        return self.state in _ENDED

    def take(self, event: StreamResponse) -> None:
        """Add an event of the stream."""
        if event.HasField("message"):
            self.parts.extend(event.message.parts)
            self.state = TaskState.TASK_STATE_COMPLETED
        elif event.HasField("task"):
            self.take_task(event.task)
        elif event.HasField("status_update"):
            self.task_id = event.status_update.task_id or self.task_id
            self._take_status(event.status_update.status)
        elif event.HasField("artifact_update"):
            self.task_id = event.artifact_update.task_id or self.task_id
            self.parts.extend(event.artifact_update.artifact.parts)

    def take_task(self, task: Task) -> None:
        """Add a task as it is now."""
        self.task_id = task.id
        for artifact in task.artifacts:
            self.parts.extend(artifact.parts)
        self._take_status(task.status)

    def _take_status(self, status: TaskStatus) -> None:
        self.state = status.state
        if status.HasField("message"):
            self.parts.extend(status.message.parts)

    def text(self) -> str:
        """The last text, for error sentences."""
        texts = [part.text for part in self.parts if part.HasField("text") and part.text.strip()]
        return texts[-1].strip()[:300] if texts else ""

    def documents(self) -> list[dict[str, Any]]:
        """Every JSON object in the parts, latest first; a text part's numbers are exact, so it comes before data."""
        found: list[dict[str, Any]] = []
        for part in reversed(self.parts):
            if part.HasField("text"):
                with suppress(ValueError, RecursionError):
                    document = json.loads(part.text)
                    if isinstance(document, dict):
                        found.append(document)
        for part in reversed(self.parts):
            if part.HasField("data"):
                document = restore_integers(MessageToDict(part.data))
                if isinstance(document, dict):
                    found.append(document)
        return found

    def to_turn(self) -> FromParticipant:
        """Read the answer to a turn.

        Raises:
            ApplicationError: ``ParticipantFailed`` where the task failed, ``ParticipantMisbehaved`` where it ended
                with anything else than a well-formed ``turn_complete`` or ``early_completion``.
        """
        self.require_success()
        documents = [document for document in self.documents() if "message_type" in document]
        if not documents:
            said = f" (it said {show_value(self.text())})" if self.text() else ""
            raise failures.final(
                failures.PARTICIPANT_MISBEHAVED,
                f"The participant's answer to turn_start has no message_type{said}: "
                "it must answer with turn_complete or early_completion.",
            )
        try:
            return parse_from_participant(documents[0])
        except UnknownMessageTypeError as problem:
            raise failures.final(
                failures.PARTICIPANT_MISBEHAVED, f"The participant's answer to turn_start is wrong: {problem}."
            ) from None
        except ValidationError as problem:
            raise failures.final(
                failures.PARTICIPANT_MISBEHAVED,
                f"The participant's {documents[0]['message_type']} message is wrong: {describe(problem)}.",
            ) from None

    def require_success(self) -> None:
        """Raise ``ParticipantFailed`` where the participant says that it failed."""
        if self.state is not None and self.state in _FAILED:
            reason = f": {self.text()}" if self.text() else "."
            raise failures.final(failures.PARTICIPANT_FAILED, f"The participant's task {_FAILED[self.state]}{reason}")


class ParticipantClient:
    """An A2A client for one participant, in one context (the assessment's)."""

    def __init__(self, url: str, card: AgentCard, client: Client, context_id: str) -> None:
        self._url = url
        self._elsewhere = [i.url for i in card.supported_interfaces if i.url.rstrip("/") != url.rstrip("/")]
        self._client = client
        self._context_id = context_id

    async def send(
        self, message: ToParticipant, message_id: str, on_event: Callable[[Answer], None] | None = None
    ) -> Answer:
        """Send a message and wait until its task has ended.

        Args:
            message: what to say; it goes as a data part and, for exact numbers, as JSON text.
            message_id: the A2A message id.
            on_event: called after every event, with the answer so far.

        Raises:
            ApplicationError: ``ParticipantUnreachable``; the attempt may be repeated with the same ``message_id``.
        """
        request = SendMessageRequest(
            message=Message(
                message_id=message_id,
                context_id=self._context_id,
                role=Role.ROLE_USER,
                parts=[
                    new_data_part(message.model_dump(mode="json"), media_type="application/json"),
                    new_text_part(message.model_dump_json()),
                ],
            )
        )
        answer = Answer()
        try:
            async for event in self._client.send_message(request):
                answer.take(event)
                if on_event is not None:
                    on_event(answer)
        except (A2AError, *_LOST) as problem:
            if answer.task_id is None or not _is_lost(problem):
                raise self._failure(problem) from None
        try:
            return await self._wait(answer, on_event)
        except _NO_LOOKING as problem:
            raise self._failure(problem) from None

    async def rejoin(self, task_id: str, on_event: Callable[[Answer], None] | None = None) -> Answer | None:
        """Wait for a task that an earlier attempt started; None where the participant doesn't know it (any more).

        Raises:
            ApplicationError: ``ParticipantUnreachable``.
        """
        answer = Answer()
        answer.task_id = task_id
        try:
            return await self._wait(answer, on_event)
        except (TaskNotFoundError, *_NO_LOOKING):
            return None

    async def unfinished(self) -> list[str]:
        """Tasks of this context that the participant is still at; none where it can't say so.

        Protocol 0.3 has no such question, and no answer to it, however odd, is worth failing for.
        """
        with suppress(Exception):
            listed = await self._client.list_tasks(ListTasksRequest(context_id=self._context_id))
            return [
                task.id
                for task in listed.tasks
                if task.context_id == self._context_id and task.status.state in _AT_WORK
            ]
        return []

    async def cancel(self, task_id: str) -> None:
        """Ask for a task to be canceled; whatever goes wrong with that is no concern any more."""
        with suppress(A2AError, *_LOST):
            await self._client.cancel_task(CancelTaskRequest(id=task_id))

    async def _wait(self, answer: Answer, on_event: Callable[[Answer], None] | None) -> Answer:
        failures_in_a_row = 0
        while answer.task_id is not None and not answer.has_ended:
            try:
                task = await self._client.get_task(GetTaskRequest(id=answer.task_id))
            except (TaskNotFoundError, *_NO_LOOKING):
                raise
            except (A2AError, *_LOST) as problem:
                failures_in_a_row += 1
                if failures_in_a_row >= 3 or not _is_lost(problem):
                    raise self._failure(problem) from None
            else:
                failures_in_a_row = 0
                answer.take_task(task)
                if on_event is not None:
                    on_event(answer)
            if not answer.has_ended:
                await asyncio.sleep(_POLL_SECONDS)
        return answer

    def _failure(self, problem: Exception) -> Exception:
        if _is_lost(problem):
            return unreachable(self._url, problem, self._elsewhere)
        return failures.final(
            failures.PARTICIPANT_MISBEHAVED,
            f"The participant at {self._url} doesn't speak A2A as expected: {_said(problem)}",
        )


def _said(problem: BaseException) -> str:
    text = " ".join(str(problem).split())
    return (text or type(problem).__name__)[:300]


def _is_lost(problem: BaseException | None) -> bool:
    """Whether an error means that the connection failed, whatever the SDK has wrapped it in."""
    while problem is not None:
        if isinstance(problem, _LOST):
            return True
        if isinstance(problem, A2AClientError) and "Network communication error" in str(problem):
            return True
        problem = problem.__cause__
    return False


def unreachable(url: str, problem: BaseException, elsewhere: Sequence[str] = ()) -> Exception:
    """The failure of a participant that nobody can reach at its address, or where its card says that it is."""
    named = f", or at {' or '.join(elsewhere)}, as its agent card says" if elsewhere else ""
    return failures.passing(
        failures.PARTICIPANT_UNREACHABLE,
        f"Nobody answers at the participant's address {url}{named} ({_said(problem)}).",
    )


class ParticipantClients:
    """Makes clients and remembers agent cards, so that a card is fetched once per participant and not per turn."""

    def __init__(self, connect_timeout: float) -> None:
        self._timeout = httpx.Timeout(None, connect=connect_timeout)
        self._http = httpx.AsyncClient(
            timeout=self._timeout, limits=httpx.Limits(max_connections=None, max_keepalive_connections=100)
        )
        self._factory = ClientFactory(ClientConfig(httpx_client=self._http, streaming=True))
        self._cards: dict[str, AgentCard] = {}

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    @asynccontextmanager
    async def talk(self, url: str, context_id: str) -> AsyncIterator[ParticipantClient]:
        """A client for one conversation; a card that led nowhere is forgotten, so that the next attempt reads it anew.

        Raises:
            ApplicationError: ``ParticipantUnreachable``, or ``ParticipantMisbehaved`` where the address has no agent
            card.
        """
        card = self._cards.get(url) or await self._fetch_card(url)
        self._cards[url] = card
        try:
            client = self._factory.create(card)
        except ValueError as problem:
            del self._cards[url]
            raise failures.final(
                failures.PARTICIPANT_MISBEHAVED,
                f"The participant's agent card at {url} names no interface that we speak ({problem}): offer JSONRPC.",
            ) from None
        try:
            yield ParticipantClient(url, card, client, context_id)
        except BaseException:
            self._cards.pop(url, None)
            raise

    async def _fetch_card(self, url: str) -> AgentCard:
        resolver = A2ACardResolver(self._http, url)
        try:
            try:
                return await resolver.get_agent_card(http_kwargs={"timeout": self._timeout.connect})
            except AgentCardResolutionError as problem:
                if problem.status_code != 404:
                    raise
                return await resolver.get_agent_card(
                    relative_card_path="/.well-known/agent.json", http_kwargs={"timeout": self._timeout.connect}
                )
        except (A2AError, *_LOST) as problem:
            if _is_lost(problem):
                raise unreachable(url, problem) from None
            status = getattr(problem, "status_code", None)
            said = f"HTTP {status}" if status else _said(problem)
            raise failures.final(
                failures.PARTICIPANT_MISBEHAVED,
                f"The participant's address {url} has no A2A agent card ({said} at /.well-known/agent-card.json).",
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise failures.final(
                failures.PARTICIPANT_MISBEHAVED, f"The agent card at {url} can't be read: {_said(problem)}"
            ) from None
