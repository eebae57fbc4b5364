"""Talk to a participant over A2A 1.0 or 0.3, as its card says: send a message, wait for the answer, find a task."""

import asyncio
import ssl
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import httpcore
import httpx
from a2a.client import A2ACardResolver, AgentCardResolutionError, Client
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.types import a2a_pb2 as a2a
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import TaskNotFoundError
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant.addresses import Destinations, GuardedBackend, own_services
from proctor.activities.participant.answer import AT_WORK, Answer, OnEvent
from proctor.activities.participant.bounded_http import BOUNDS, BoundedTransport, ParticipantBounds
from proctor.activities.participant.errors import NO_LOOKING, card_failure, failure, is_lost, message_of_failure
from proctor.activities.participant.plain import PLAIN_PATH, PlainParticipant, takes_plain_messages
from proctor.observing import tracing
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.http_clients import make_http_client, tls
from purple_sdk.protocol.json_safe import storable_text
from purple_sdk.protocol.messages import FENCE_METADATA, ToParticipant
from purple_sdk.protocol.provenance import ParticipantCard
from purple_sdk.protocol.terminal import TerminalTaskMessage

JSON_MEDIA_TYPE = "application/json"
_MESSAGE_IDS = uuid.UUID("8f0f6a0e-5a39-5b0c-9d57-3a3a0f9f6f10")

_POLL_SECONDS, _LONGEST_PAUSE = 0.25, 10.0
_POLLED_BYTES_PER_SECOND = 250_000
"""The rate of polling. A large task is polled less often, since reading it blocks the event loop for all other work."""
_FAILED_POLLS = 3
_MOST_LINES = 500
_LONGEST_NAME = 200


def shorten(name: str) -> str:
    """Shorten a name from a card to the length that results may carry."""
    return storable_text(name, _LONGEST_NAME)


def message_id(*parts: object) -> str:
    """Return the A2A message id of a step of an assessment. Equal parts give equal ids, on every worker."""
    return str(uuid.uuid5(_MESSAGE_IDS, "/".join(str(part) for part in parts)))


def _release(protocol_version: str) -> str:
    """Return a version of A2A in its short form: 0.3.0 is 0.3."""
    return ".".join(protocol_version.split(".")[:2])


class ParticipantClient:
    """An A2A client for one participant, in one context (the assessment's)."""

    def __init__(
        self, url: str, line: "_Line", card: a2a.AgentCard, client: Client, context_id: str, bounds: ParticipantBounds
    ) -> None:
        self._url = url
        self.line = line
        self.card = ParticipantCard(name=shorten(card.name), version=shorten(card.version))
        self.protocol_versions = sorted({_release(i.protocol_version) for i in card.supported_interfaces})
        self._elsewhere = [i.url for i in card.supported_interfaces if i.url.rstrip("/") != url.rstrip("/")]
        self._client = client
        self._context_id = context_id
        self._bounds = bounds

    async def send(
        self,
        message: ToParticipant | TerminalTaskMessage,
        message_id: str,
        on_event: OnEvent | None = None,
        *,
        fence: int = 0,
        text: str | None = None,
    ) -> Answer:
        """Send a message and wait until its task has ended.

        Args:
            message: sent as JSON text, with exact numbers, and as a data part if the participant accepts data parts.
            message_id: the A2A message id.
            on_event: is called after every event, with the answer so far.
            text: the text beside the data part, in place of the message's JSON.
            fence: the attempt's fence, by which the participant may recognise outdated attempts; 0 for none.

        Raises:
            ApplicationError: ``ParticipantUnreachable`` if a retry with the same ``message_id`` may help; otherwise
                ``ParticipantMisbehaved``.
        """
        parts = [new_text_part(text or message.model_dump_json(exclude_none=True))]
        if self.line.takes_data:
            data = message.model_dump(mode="json", exclude_none=True)
            parts.insert(0, new_data_part(data, media_type=JSON_MEDIA_TYPE))
        request = self._request(message_id, parts, fence)
        host = urlsplit(self._url).netloc.rpartition("@")[2]  # an address may contain a password
        about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": self.card.name, "server.address": host}
        with tracing.span(f"invoke_agent {message.message_type}", about, "client"):
            return await self._receive(request, on_event)

    async def tell(
        self,
        text: str,
        message_id: str,
        on_event: OnEvent | None = None,
        *,
        fence: int = 0,
        task_id: str | None = None,
    ) -> Answer:
        """Send a sentence and wait until the task has ended. ``task_id`` is the participant's task to which the
        sentence belongs; None for a new task. Raises the errors of ``send``.
        """
        return await self._receive(self._request(message_id, [new_text_part(text)], fence, task_id), on_event)

    def _request(
        self, message_id: str, parts: list[a2a.Part], fence: int, task_id: str | None = None
    ) -> a2a.SendMessageRequest:
        return a2a.SendMessageRequest(
            message=a2a.Message(
                message_id=message_id,
                context_id=self._context_id,
                task_id=task_id,
                role=a2a.Role.ROLE_USER,
                metadata={FENCE_METADATA: str(fence)} if fence else None,
                parts=parts,
            )
        )

    async def _receive(self, request: a2a.SendMessageRequest, on_event: OnEvent | None) -> Answer:
        answer = Answer(self._bounds)
        try:
            async for event in self._client.send_message(request):
                answer.take(event)
                if on_event is not None:
                    await on_event(answer)
        except Exception as error:  # the SDK passes on all errors of reading an odd answer
            if (sentence := message_of_failure(error)) is not None:
                answer.fail(sentence)
            elif answer.task_id is None or not is_lost(error):
                raise failure(self._url, error, self._elsewhere) from None
        try:
            return await self._wait(answer, on_event)
        except NO_LOOKING as error:
            raise failure(self._url, error, self._elsewhere) from None

    async def rejoin(self, task_id: str) -> Answer | None:
        """Wait for a task that an earlier attempt started. Return None if the participant doesn't know the task, or
        can't look up tasks. Raises the errors of ``send``.
        """
        answer = Answer(self._bounds)
        answer.task_id = task_id
        try:
            return await self._wait(answer, None)
        except (TaskNotFoundError, *NO_LOOKING):
            return None

    async def list_unfinished(self) -> list[str]:
        """Return the ids of unfinished tasks in this context; empty if the participant can't list them.

        Protocol 0.3 has no such request. If the request fails, the list is empty.
        """
        with suppress(Exception):
            listed = await self._client.list_tasks(a2a.ListTasksRequest(context_id=self._context_id))
            return [
                task.id for task in listed.tasks if task.context_id == self._context_id and task.status.state in AT_WORK
            ]
        return []

    async def find_task(self, message_id: str) -> str | None:
        """Return the id of the task that the participant made for a message. None if the participant knows no such
        task, or can't be asked.
        """
        with suppress(Exception):
            listed = await self._client.list_tasks(
                a2a.ListTasksRequest(context_id=self._context_id, history_length=100)
            )
            for task in listed.tasks:
                if task.context_id == self._context_id and any(
                    message.message_id == message_id for message in task.history
                ):
                    return task.id
        return None

    async def cancel(self, task_id: str) -> None:
        """Ask the participant to cancel a task; failures are ignored."""
        with suppress(Exception):
            await self._client.cancel_task(a2a.CancelTaskRequest(id=task_id))

    async def end(self, task_id: str, seconds: float) -> None:
        """Ask the participant to cancel a task, and wait up to ``seconds`` until it reports the task's end."""
        with suppress(Exception):
            async with asyncio.timeout(seconds):
                task = await self._client.cancel_task(a2a.CancelTaskRequest(id=task_id))
            if task.status.state not in AT_WORK:
                return
        with suppress(Exception):
            await self.rejoin(task_id)

    async def _wait(self, answer: Answer, on_event: OnEvent | None) -> Answer:
        failures_in_a_row = 0
        while answer.task_id is not None and not answer.has_ended:
            pause = _POLL_SECONDS
            try:
                task = await self._client.get_task(a2a.GetTaskRequest(id=answer.task_id))
                answer.take_task(task)
            except (TaskNotFoundError, *NO_LOOKING):
                raise
            except Exception as error:
                failures_in_a_row += 1
                sentence = message_of_failure(error)
                if sentence is None and not is_lost(error):
                    raise failure(self._url, error, self._elsewhere) from None
                if failures_in_a_row >= _FAILED_POLLS:
                    if sentence is None:
                        raise failure(self._url, error, self._elsewhere) from None
                    answer.fail(sentence)
            else:
                failures_in_a_row = 0
                pause = min(_POLL_SECONDS + task.ByteSize() / _POLLED_BYTES_PER_SECOND, _LONGEST_PAUSE)
                if on_event is not None:
                    await on_event(answer)
            if not answer.has_ended:
                await asyncio.sleep(pause)
        return answer


class ParticipantClients:
    """Makes clients, and caches agent cards. A card is fetched once per participant, not once per turn.

    Each participant has separate connections. They lead to the addresses that its host had when its card was fetched.
    """

    def __init__(self, config: GreenAgentConfig) -> None:
        self._bounds = ParticipantBounds.of(config)
        self._destinations = Destinations(config.participants_allowed, own_services(config))
        self._timeout = httpx.Timeout(None, connect=config.connect_timeout)
        self._ssl = tls()
        self._lines: dict[str, _Line] = {}

    async def aclose(self) -> None:
        for line in self._lines.values():
            await line.http.aclose()
        self._lines.clear()

    @asynccontextmanager
    async def talk(
        self, url: str, context_id: str, protocol_version: str | None = None
    ) -> AsyncIterator[ParticipantClient]:
        """Yield a client for one conversation. If the conversation ends with an exception, the card is forgotten, and
        the next attempt fetches it again.

        ``protocol_version`` is a required version of A2A, such as 0.3; None takes any that the card offers. Fails as
        ``ParticipantUnreachable``, or as ``ParticipantMisbehaved`` if the address has no usable agent card.
        """
        async with self._hold(url) as line:
            yield await self._speaker(url, line, context_id, protocol_version)

    @asynccontextmanager
    async def talk_in_any_way(self, url: str, context_id: str) -> AsyncIterator["ParticipantClient | PlainParticipant"]:
        """Yield a client as ``talk`` does, or a plain client for an agent that only has ``POST /agent/messages``.

        The card of such an agent names that path as its address, or is unusable or missing.
        """
        async with self._hold(url) as line:
            speaker: ParticipantClient | PlainParticipant
            try:
                speaker = await self._speaker(url, line, context_id)
                assert line.card is not None
                if takes_plain_messages(line.card):
                    why = failures.PARTICIPANT_MISBEHAVED.final(f"Nothing is at {url}{PLAIN_PATH}.")
                    speaker = PlainParticipant(url, line.http, context_id, self._bounds, why)
            except ApplicationError as error:
                if error.type != failures.PARTICIPANT_MISBEHAVED:
                    raise
                speaker = PlainParticipant(url, line.http, context_id, self._bounds, error)
            yield speaker

    async def _speaker(
        self, url: str, line: "_Line", context_id: str, protocol_version: str | None = None
    ) -> ParticipantClient:
        if line.card is None:
            line.card = await self._fetch_card(url, line.http)
        client = self._client(url, line, protocol_version)
        return ParticipantClient(url, line, line.card, client, context_id, self._bounds)

    @asynccontextmanager
    async def _hold(self, url: str) -> AsyncIterator["_Line"]:
        line = await self._line(url)
        line.users += 1
        try:
            yield line
        except BaseException:
            if self._lines.get(url) is line:
                del self._lines[url]
            raise
        finally:
            line.users -= 1
            if line.users == 0 and self._lines.get(url) is not line:
                await line.http.aclose()

    async def _line(self, url: str) -> "_Line":
        if url in self._lines:
            self._lines[url] = self._lines.pop(url)  # recently used lines are kept longest
            return self._lines[url]
        transport = _GuardedTransport(GuardedBackend(self._destinations, url), self._ssl)
        bounded = BoundedTransport(transport, self._bounds.answer)
        http = make_http_client(timeout=self._timeout, transport=bounded, event_hooks=tracing.httpx_hooks())
        line = self._lines[url] = _Line(http)
        for known in [known for known, other in self._lines.items() if other.users == 0 and other is not line]:
            if len(self._lines) > _MOST_LINES:
                await self._lines.pop(known).http.aclose()
        return line

    def _client(self, url: str, line: "_Line", protocol_version: str | None) -> Client:
        try:
            assert line.card is not None
            card = line.card
            if protocol_version is not None:
                card = a2a.AgentCard()
                card.CopyFrom(line.card)
                del card.supported_interfaces[:]
                card.supported_interfaces.extend(
                    i for i in line.card.supported_interfaces if _release(i.protocol_version) == protocol_version
                )
            return ClientFactory(
                ClientConfig(
                    httpx_client=line.http,
                    streaming=True,
                    supported_protocol_bindings=[TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON],
                    use_client_preference=True,
                    accepted_output_modes=[JSON_MEDIA_TYPE, "text/plain"],
                )
            ).create(card)
        except ValueError as error:
            raise failures.PARTICIPANT_MISBEHAVED.final(
                f"The participant's agent card at {url} names no interface that we speak ({error}): offer JSONRPC or "
                f"HTTP+JSON."
            ) from None

    async def _fetch_card(self, url: str, http: httpx.AsyncClient) -> a2a.AgentCard:
        resolver = A2ACardResolver(http, url)
        options = {"extensions": {BOUNDS: self._bounds.card}}
        try:
            try:
                return await resolver.get_agent_card(http_kwargs=options)
            except AgentCardResolutionError as error:
                if error.status_code != 404:
                    raise
                return await resolver.get_agent_card(relative_card_path="/.well-known/agent.json", http_kwargs=options)
        except Exception as error:  # the SDK passes on all errors of reading an odd card
            raise card_failure(url, error) from None


class _Line:
    """The connections to one participant, and its card.

    ``takes_data`` says whether messages have a data part beside their text. Some agents fail at data parts, for example
    agents that use pydantic-ai's ``fasta2a``.
    """

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.card: a2a.AgentCard | None = None
        self.takes_data = True
        self.users = 0


class _GuardedTransport(httpx.AsyncHTTPTransport):
    def __init__(self, backend: httpcore.AsyncNetworkBackend, ssl_context: ssl.SSLContext) -> None:
        super().__init__(verify=ssl_context)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl_context, max_connections=None, max_keepalive_connections=100, network_backend=backend
        )
