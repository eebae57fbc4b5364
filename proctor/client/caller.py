"""An A2A caller of the gateway. It requests an assessment and follows it to its end, even if connections are lost."""

import asyncio
import os
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, cast

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2 as a2a
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict

from proctor.common.errors import CommandError, UnreachableError, UsageError
from proctor.protocol.campaigns import CampaignUpdate, parse_any_update
from proctor.protocol.updates import TaskUpdate
from proctor.settings.config import TOKEN_FILE_VARIABLE, TOKEN_VARIABLE
from purple_sdk.processes.http_clients import make_http_client

CANCEL_SECONDS = 5.0
GIVE_UP_SECONDS = 120.0
"""How long the caller tries to reach a lost gateway before it gives up."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 4.0
_SILENCE_SECONDS = 60.0
"""A stream that is silent for this long counts as lost: the gateway sends a sign of life every 15 s (sse-starlette)."""

_PAGE = 100
_ALL = 2**31 - 1
"""The longest history that can be requested; it contains the updates of a task that has ended."""

_UPDATES_SECONDS = 60.0  # how long missed updates are requested before the caller continues with the result alone
EndState = Literal["completed", "failed", "canceled", "rejected"]

_END_STATES: dict[a2a.TaskState, EndState] = {
    a2a.TASK_STATE_COMPLETED: "completed",
    a2a.TASK_STATE_FAILED: "failed",
    a2a.TASK_STATE_CANCELED: "canceled",
    a2a.TASK_STATE_REJECTED: "rejected",
}


def trace_of_environment() -> dict[str, str]:
    """The headers of this process's trace, from the environment variables ``TRACEPARENT`` and ``TRACESTATE``."""
    headers = {name: os.environ.get(name.upper(), "") for name in ("traceparent", "tracestate")}
    return {name: value for name, value in headers.items() if value}


@dataclass(frozen=True)
class Accepted:
    """The gateway has accepted the request; ``workflow_url`` is the assessment in the Temporal UI, if known."""

    task_id: str
    context_id: str
    workflow_url: str | None


@dataclass(frozen=True)
class Progress:
    update: TaskUpdate | CampaignUpdate


@dataclass(frozen=True)
class GatewayMessage:
    """A message of the gateway that isn't an update of the assessment, for example that no worker takes the task."""

    sentence: str


@dataclass(frozen=True)
class ConnectionLost:
    """The stream broke; the caller tries again after ``retry_in`` seconds.

    With ``is_from_gateway``, the gateway itself has reported the problem: it runs, but can't continue at present.
    """

    problem: str
    retry_in: float
    is_from_gateway: bool = False


@dataclass(frozen=True)
class ConnectionBack:
    """The stream is connected again."""


@dataclass(frozen=True)
class Ended:
    """The task has ended; ``results`` is the exact JSON of its results, if there are any."""

    state: EndState
    sentence: str
    results: bytes | None


CallEvent = Accepted | Progress | GatewayMessage | ConnectionLost | ConnectionBack | Ended


class AssessmentCall:
    """One request for an assessment or a campaign.

    The gateway derives the task's id from the message's id. If the message is sent again after a lost connection, the
    call joins the task that it started.

    Args:
        request_json: the request as JSON. It is sent as a text part, since a data part would round seeds above 2**53.
    """

    def __init__(self, gateway_url: str, request_json: str) -> None:
        self.gateway_url = gateway_url
        self._message = a2a.Message(
            message_id=str(uuid.uuid4()), role=a2a.ROLE_USER, parts=[a2a.Part(text=request_json)]
        )
        self._http = make_http_client(
            timeout=httpx.Timeout(10.0, read=_SILENCE_SECONDS),
            headers={**authorization(), **trace_of_environment()},
        )
        self._client: Client | None = None
        self._goes_to = gateway_url
        self._accepted = asyncio.Event()
        self.task_id = ""  # until the gateway has taken the request
        self._last_sequence = -1
        self._results: bytes | None = None

    @classmethod
    def of_task(cls, gateway_url: str, task_id: str) -> Self:
        """A call that follows an existing assessment, from its first update."""
        call = cls(gateway_url, "")
        call.task_id = task_id
        return call

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def events(self) -> AsyncGenerator[CallEvent, None]:
        """Send the request and follow the assessment; the last event is ``Ended``.

        Raises:
            UnreachableError: no server answers at the gateway's address, or none has answered for ``GIVE_UP_SECONDS``.
            UsageError: the gateway refuses the message.
            CommandError: the gateway doesn't know the task any more.
        """
        client = await self._connect()
        stream = self._open(client)
        pause, lost_since = _FIRST_PAUSE, 0.0
        while True:
            is_from_gateway = False
            try:
                async with aclosing(stream):
                    async for response in stream:
                        if lost_since:
                            pause, lost_since = _FIRST_PAUSE, 0.0
                            yield ConnectionBack()
                        for event in self._read_response(response):
                            if isinstance(event, Ended):
                                yield await self._with_results(event)
                                return
                            yield event
                problem = "the gateway closed the connection"
            except UnsupportedOperationError:
                is_late = lost_since and asyncio.get_running_loop().time() - lost_since > _UPDATES_SECONDS
                if events := await self._look(with_updates=not is_late):
                    yield ConnectionBack()
                    for event in events:
                        yield await self._with_results(event) if isinstance(event, Ended) else event
                    return
                problem = "the gateway does not let us listen to this task"
            except (A2AError, httpx.HTTPError) as error:
                problem = self._judge(error)
                is_from_gateway = isinstance(error, InternalError) or problem != str(error)
            now = asyncio.get_running_loop().time()
            lost_since = lost_since or now
            if now - lost_since > GIVE_UP_SECONDS:
                raise UnreachableError(
                    f"the gateway at {self.gateway_url} has not been reachable for {GIVE_UP_SECONDS:.0f} s; the "
                    f"assessment continues without us (task {self.task_id or 'not known yet'})"
                )
            yield ConnectionLost(problem, pause, is_from_gateway)
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            stream = self._open(client)

    async def cancel(self) -> bool:
        """Cancel the assessment; return whether the gateway confirmed it within ``CANCEL_SECONDS``."""
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._accepted.wait()
                client = await self._connect()
                await client.cancel_task(a2a.CancelTaskRequest(id=self.task_id))
        except (TimeoutError, A2AError, httpx.HTTPError, CommandError):
            return False
        return True

    async def require_canceled(self) -> None:
        """Cancel an existing assessment."""
        client = await self._connect()
        try:
            task = await client.cancel_task(a2a.CancelTaskRequest(id=self.task_id))
        except (A2AError, httpx.HTTPError) as error:
            raise CommandError(_refusal(error) or str(error)) from None
        if task.status.state not in _END_STATES:
            raise CommandError(f"{self.task_id} is being cancelled, and has not ended yet: look again in a moment")

    async def find(self, prefix: str) -> str:
        """The id of the running assessment whose id begins with ``prefix``; ``prefix`` itself if there is none."""
        client = await self._connect()
        matches: set[str] = set()
        for state in (a2a.TASK_STATE_WORKING, a2a.TASK_STATE_SUBMITTED):
            try:
                page = await client.list_tasks(a2a.ListTasksRequest(page_size=_PAGE, status=state))
            except (A2AError, httpx.HTTPError) as error:
                raise CommandError(_refusal(error) or str(error)) from None
            matches |= {task.id for task in page.tasks if task.id.startswith(prefix)}
        if len(matches) > 1:
            raise UsageError(
                f"{len(matches)} assessments under way begin with {prefix!r}: {', '.join(sorted(matches)[:5])}"
            )
        self.task_id = matches.pop() if matches else prefix
        return self.task_id

    async def _connect(self) -> Client:
        if self._client is None:
            factory = ClientFactory(ClientConfig(httpx_client=self._http, streaming=True))
            try:
                card = await A2ACardResolver(self._http, self.gateway_url).get_agent_card()
                self._client = factory.create(card)
                self._goes_to = next((way.url for way in card.supported_interfaces), "")
            except (A2AError, httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                raise UnreachableError(
                    f"can't reach a gateway at {self.gateway_url} ({error}): start one with `proctor up`, or give "
                    "its address with --gateway"
                ) from None
        return self._client

    def _open(self, client: Client) -> AsyncGenerator[a2a.StreamResponse, None]:
        stream = (
            client.subscribe(a2a.SubscribeToTaskRequest(id=self.task_id))
            if self.task_id
            else client.send_message(a2a.SendMessageRequest(message=self._message))
        )
        return cast("AsyncGenerator[a2a.StreamResponse, None]", stream)

    def _judge(self, error: Exception) -> str:
        """Return the problem in words if a retry may help; else raise an error for the user."""
        if (refusal := _refusal(error)) is not None:
            raise CommandError(refusal) from None
        if isinstance(error, TaskNotFoundError) and self.task_id:
            raise CommandError(f"the gateway does not know task {self.task_id} any more: {error}") from None
        if isinstance(error, InvalidParamsError | InvalidRequestError | ContentTypeNotSupportedError):
            raise UsageError(str(error)) from None
        if not self.task_id and isinstance(error, InternalError):
            raise UnreachableError(str(error)) from None
        if not self.task_id and isinstance(error, A2AError) and not isinstance(error, A2AClientError):
            raise CommandError(str(error)) from None
        text = error_text(error)
        is_elsewhere = self._goes_to.rstrip("/") != self.gateway_url.rstrip("/")
        if text == str(error) and is_elsewhere and not self.task_id:
            return f"{text.rstrip('.')}. The agent card of {self.gateway_url} sends callers to {self._goes_to}"
        return text

    def _read_response(self, response: a2a.StreamResponse) -> Iterator[CallEvent]:
        if response.HasField("task"):
            yield from self._read_task(response.task)
        elif response.HasField("artifact_update"):
            self._keep_results(response.artifact_update.artifact)
        elif response.HasField("status_update"):
            event = response.status_update
            sequence = _sequence(event.metadata)
            yield from self._read_message(event.status.message, sequence)
            ending = list(_ending(event.status))
            if sequence is None and not ending and (sentence := _text(event.status.message)):
                yield GatewayMessage(sentence)
            yield from ending

    def _read_task(self, task: a2a.Task) -> Iterator[CallEvent]:
        if not self._accepted.is_set():
            self.task_id = task.id
            self._accepted.set()
            metadata = MessageToDict(task.metadata)
            yield Accepted(task.id, task.context_id, metadata.get("temporal_workflow"))
        for artifact in task.artifacts:
            self._keep_results(artifact)
        for message in task.history:
            if message.role == a2a.ROLE_AGENT:
                yield from self._read_message(message, _sequence(message.metadata))
        yield from _ending(task.status)

    def _read_message(self, message: a2a.Message, sequence: int | None) -> Iterator[Progress]:
        if sequence is None or sequence > self._last_sequence:
            self._last_sequence = self._last_sequence if sequence is None else sequence
            yield from (Progress(update) for update in _updates(message))

    def _keep_results(self, artifact: a2a.Artifact) -> None:
        for part in artifact.parts:
            if part.HasField("raw"):
                self._results = part.raw

    async def _look(self, *, with_updates: bool) -> list[CallEvent]:
        """Ask for the task once. If the task has ended, return the missed updates and its end, else nothing."""
        try:
            client = await self._connect()
            task = await client.get_task(
                a2a.GetTaskRequest(id=self.task_id, history_length=_ALL if with_updates else None)
            )
        except (A2AError, httpx.HTTPError):
            return []
        return list(self._read_task(task)) if task.status.state in _END_STATES else []

    async def _with_results(self, ended: Ended) -> Ended:
        if self._results is None and ended.state != "rejected":
            await self._look(with_updates=False)
        return Ended(ended.state, ended.sentence, self._results)


def _sequence(metadata: Any) -> int | None:
    value = MessageToDict(metadata).get("sequence")
    return int(value) if isinstance(value, int | float | str) and str(value) else None


def _updates(message: a2a.Message) -> Iterator[TaskUpdate | CampaignUpdate]:
    for part in message.parts:
        if part.HasField("data"):
            data = MessageToDict(part.data)
            try:
                yield parse_any_update(data)
            except ValueError:  # a newer gateway may send fields that this caller doesn't know
                continue


def _ending(status: a2a.TaskStatus) -> Iterator[Ended]:
    if state := _END_STATES.get(status.state):
        yield Ended(state, _text(status.message), None)


def _text(message: a2a.Message) -> str:
    return " ".join(part.text for part in message.parts if part.HasField("text"))


def authorization() -> dict[str, str]:
    """The header that authenticates the caller: ``AGENTBEATS_TOKEN``, else the token in ``AGENTBEATS_TOKEN_FILE``."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if file := "" if token else os.environ.get(TOKEN_FILE_VARIABLE, ""):
        try:
            token = Path(file).read_text().strip()
        except (OSError, UnicodeError) as error:
            raise UsageError(f"the token in {file} can't be read ({error})") from None
        if not token:
            raise UsageError(f"{file} is empty: it has to have a token in it, such as `proctor token create` prints")
    if not token.isascii() or any(character.isspace() for character in token):
        raise UsageError("the token isn't one: it has neither spaces nor letters with accents")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _refusal(error: Exception) -> str | None:
    """The reason why the gateway refuses this caller; None if it doesn't."""
    cause = error.__cause__
    if not isinstance(cause, httpx.HTTPStatusError) or cause.response.status_code not in (401, 403, 421):
        return None
    try:
        reason = str(cause.response.json()["error"]["message"])
    except (httpx.StreamError, ValueError, KeyError, TypeError):
        reason = "it doesn't know who asks" if cause.response.status_code == 401 else "it doesn't let us in"
    remedy = f" Name a file with your token by --token-file or {TOKEN_FILE_VARIABLE}."
    return f"the gateway refuses: {reason}{remedy if cause.response.status_code == 401 else ''}"


def error_text(error: Exception) -> str:
    """An error's text; the gateway's own sentence if its answer has one."""
    cause = error.__cause__
    if isinstance(cause, httpx.HTTPStatusError):
        with suppress(httpx.StreamError, ValueError, KeyError, TypeError):
            return f"HTTP {cause.response.status_code}: {cause.response.json()['error']['message']}"
    return str(error)
