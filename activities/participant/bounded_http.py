"""HTTP with bounded responses, for unknown servers.

A response is unpacked and limited while it arrives, before it is parsed. A stream of events is passed on event by
event. Timestamps without a zone get UTC.
"""

import asyncio
import re
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import httpx

from proctor.settings.config import GreenAgentConfig

BOUNDS = "proctor_bounds"
"""The name of the request extension with the response's ``Bounds``. The transport's own bounds are the default."""

_MOST_PIECES = 100_000
"""The most pieces (of HTTP's chunked encoding) in one response. Each piece costs time, even a small one."""
_PIECES_AT_A_TIME = 64
_NAIVE = re.compile(rb'("timestamp"\s*:\s*"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?=")')
_END_OF_EVENT = re.compile(rb"(?>\r\n|\n|\r){2}")
_LONGEST_END = 4
_HEADERS_TOO_LONG = 431


class Limit(NamedTuple):
    """The largest allowed amount, and the name of its setting."""

    most: int
    setting: str

    def describe_breach(self, whose: str, amount: int | None, unit: str) -> str:
        """Return the message for a sender that passed the limit. ``amount`` is None if reading stopped early; ``unit``
        is in the plural.
        """
        sent = f"{amount:,}" if amount is not None else f"more than {self.most:,}"
        return f"{whose} has {sent} {unit}: this evaluator takes at most {self.most:,} ({self.setting})."


@dataclass(frozen=True)
class Bounds:
    """The limits of one response.

    Attributes:
        whose: the beginning of error sentences, for example "The participant's answer".
        size: the most bytes of a body, or of one event of a stream.
        values: the most JSON values in a response, or in all events of a stream. Each value costs time and memory.
        events: the most events of a stream.
        stream: the most bytes of a stream.
    """

    whose: str
    size: Limit
    values: Limit | None = None
    events: Limit | None = None
    stream: Limit | None = None


class RefusedBodyError(Exception):
    """A response that is too large, or can't be unpacked; the message is a sentence for users."""


class BrokenOffError(httpx.ReadError):
    """The participant closed the connection in the middle of its response."""


class BoundedTransport(httpx.AsyncBaseTransport):
    """Passes requests on to another transport, and limits the responses to their bounds.

    It yields whole bodies, or whole events. All timestamps in them have a zone.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, bounds: Bounds) -> None:
        self._inner = inner
        self._bounds = bounds

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        bounds: Bounds = request.extensions.get(BOUNDS, self._bounds)
        request.headers["Accept-Encoding"] = "gzip"
        try:
            response = await self._inner.handle_async_request(request)
        except httpx.RemoteProtocolError as error:
            if _are_headers_too_long(error):
                raise RefusedBodyError(f"{bounds.whose} has more than 100 kB of HTTP headers.") from None
            raise
        try:
            stream = _BoundedStream(response, bounds)
        except RefusedBodyError:
            await response.aclose()
            raise
        headers = [
            (name, value)
            for name, value in response.headers.raw
            if name.lower() not in (b"content-encoding", b"content-length", b"transfer-encoding")
        ]
        return httpx.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx.AsyncByteStream):
    def __init__(self, response: httpx.Response, bounds: Bounds) -> None:
        self._response = response
        self._bounds = bounds
        self._is_of_events = "text/event-stream" in response.headers.get("content-type", "")
        self._unpacker = self._make_unpacker(response.headers.get("content-encoding", "identity").strip().lower())
        self._values = 0
        announced = response.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > self._most_bytes.most:
            raise RefusedBodyError(self._most_bytes.describe_breach(bounds.whose, int(announced[:20]), "bytes"))

    @property
    def _most_bytes(self) -> Limit:
        return self._bounds.stream or self._bounds.size if self._is_of_events else self._bounds.size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for whole in self._events() if self._is_of_events else self._body():
                yield _NAIVE.sub(rb"\1Z", whole)
        except (httpx.ReadError, httpx.RemoteProtocolError) as error:
            raise BrokenOffError(str(error)) from error

    async def _body(self) -> AsyncIterator[bytes]:
        body = bytearray()
        async for piece in self._pieces():
            body += piece
        self._count_values(body)
        yield bytes(body)

    async def aclose(self) -> None:
        await self._response.aclose()

    async def _events(self) -> AsyncIterator[bytes]:
        bounds, count, received = self._bounds, 0, bytearray()
        async for piece in self._pieces():
            looked_at = max(0, len(received) - _LONGEST_END)
            received += piece
            while end := _END_OF_EVENT.search(received, looked_at):
                event = bytes(received[: end.end()])
                del received[: end.end()]
                looked_at = 0
                count += 1
                if bounds.events and count > bounds.events.most:
                    raise RefusedBodyError(
                        bounds.events.describe_breach(f"The stream of {_lower(bounds.whose)}", None, "events")
                    )
                self._check_event(event)
                yield event
                await asyncio.sleep(0)  # lets other tasks run if a sender has many events
            self._check_event(received, is_whole=False)
        if received:
            self._check_event(received)
            yield bytes(received)

    def _check_event(self, event: bytes | bytearray, is_whole: bool = True) -> None:
        if len(event) > self._bounds.size.most:
            raise RefusedBodyError(
                self._bounds.size.describe_breach(f"An event of {_lower(self._bounds.whose)}", None, "bytes")
            )
        if is_whole:
            self._count_values(event)

    def _count_values(self, body: bytes | bytearray) -> None:
        """Count possible JSON values by the characters that separate values. Texts contain few of these characters."""
        if self._bounds.values is None:
            return
        self._values += sum(map(body.count, (b",", b"[", b"{")))
        if self._values > self._bounds.values.most:
            raise RefusedBodyError(self._bounds.values.describe_breach(self._bounds.whose, self._values, "JSON values"))

    async def _pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, unpacked and within its bounds."""
        limit, received, unpacked, count = self._most_bytes, 0, 0, 0
        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        async for piece in self._response.stream:
            count += 1
            if count % _PIECES_AT_A_TIME == 0:
                await asyncio.sleep(0)
            received += len(piece)
            if received > limit.most:
                raise RefusedBodyError(limit.describe_breach(self._bounds.whose, None, "bytes"))
            if count > _MOST_PIECES:
                raise RefusedBodyError(f"{self._bounds.whose} comes in more than {_MOST_PIECES:,} pieces.")
            plain = piece if self._unpacker is None else self._unpack(piece, limit.most - unpacked)
            unpacked += len(plain)
            if unpacked > limit.most:
                raise RefusedBodyError(limit.describe_breach(self._bounds.whose, None, "bytes"))
            if plain:
                yield plain

    def _make_unpacker(self, encoding: str) -> "zlib._Decompress | None":
        if encoding in ("", "identity"):
            return None
        if encoding in ("gzip", "x-gzip", "deflate"):
            return zlib.decompressobj(zlib.MAX_WBITS | 32)
        raise RefusedBodyError(f"{self._bounds.whose} is packed in a way that wasn't asked for: send gzip or identity.")

    def _unpack(self, piece: bytes, room: int) -> bytes:
        assert self._unpacker is not None
        try:
            return self._unpacker.decompress(piece, room + 1)
        except zlib.error:
            raise RefusedBodyError(f"{self._bounds.whose} is not packed as it says and can't be unpacked.") from None


def _lower(sentence_start: str) -> str:
    return sentence_start[:1].lower() + sentence_start[1:]


def _are_headers_too_long(problem: BaseException | None) -> bool:
    """Return whether h11, which reads HTTP for httpx, has failed because of the headers' size."""
    while problem is not None:
        if getattr(problem, "error_status_hint", None) == _HEADERS_TOO_LONG:
            return True
        problem = problem.__cause__ or problem.__context__
    return False


LONGEST_TASK_ID = 256
"""The most characters in the id of a participant's task, which goes to Temporal with every heartbeat."""


@dataclass(frozen=True)
class ParticipantBounds:
    """The limits for participants; each is a setting.

    Attributes:
        card: the bounds of the response with the agent card.
        answer: the bounds of every other response.
        actions: the most reported actions of a turn.
        report: the most bytes of their JSON.
        notes: the most bytes of a turn's notes, or of the reason for early completion.
    """

    card: Bounds
    answer: Bounds
    actions: Limit
    report: Limit
    notes: Limit

    @classmethod
    def of(cls, config: GreenAgentConfig) -> Self:
        def limit(name: str) -> Limit:
            most: int = getattr(config, name)
            return Limit(most, f"AGENTBEATS_GREEN_{name.upper()}")

        values = limit("participant_answer_values")
        return cls(
            card=Bounds("The participant's agent card", limit("participant_card_bytes"), values),
            answer=Bounds(
                "The participant's answer",
                limit("participant_answer_bytes"),
                values,
                limit("participant_stream_events"),
                limit("participant_stream_bytes"),
            ),
            actions=limit("participant_actions"),
            report=limit("participant_report_bytes"),
            notes=limit("participant_notes_bytes"),
        )
