"""Read a model's answer to its end, even if the CLI agent hangs up, because the end has the cost."""

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx

from purple_sdk.harness.refusing import MOST_BODY

_ENCODINGS = ("identity", "gzip", "deflate")
"""Encodings that enlarge a piece of a body at most a thousand times; the relay requests none."""

_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class Fetching:
    """A sent request, and its answer so far.

    Args:
        is_whole: whether the bytes so far contain all of the answer that matters.

    Attributes:
        reply: the answer's head; None until it arrives.
        problem: the reason why the answer is cut off, in words.
        was_sent: whether the endpoint may have got the request.
        has_ended: whether the answer came to its end.
        task: the task that reads the answer. A cancellation closes the connection.
        began: the sending time, by the loop's clock.
        holders: the number of parts that still need the answer's bytes: its reader, and the part that passes them on.
    """

    def __init__(self, http: httpx.AsyncClient, asked: httpx.Request, is_whole: Callable[[bytes], bool]) -> None:
        self.reply: httpx.Response | None = None
        self.problem: str | None = None
        self.was_sent = True
        self.has_ended = False
        self.began = asyncio.get_running_loop().time()
        self.holders = 2
        self._is_whole = is_whole
        self._pieces: list[bytes] = []
        self._news = asyncio.Event()
        self.task = asyncio.create_task(self._fetch(http, asked))
        self.task.add_done_callback(lambda _: self._news.set())

    @property
    def body(self) -> bytes:
        """The answer's body so far."""
        return b"".join(self._pieces)

    async def wait_for_head(self) -> httpx.Response | None:
        """Return the head of the answer; None if the connection ends before it."""
        while self.reply is None and not self.task.done():
            self._news.clear()
            await self._news.wait()
        return self.reply

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body, piece by piece. Raises httpx.HTTPError if the body is cut off, so the caller's connection is
        cut too.
        """
        place = 0
        while place < len(self._pieces) or not self.task.done():
            if place < len(self._pieces):
                place += 1
                yield self._pieces[place - 1]
            else:
                self._news.clear()
                await self._news.wait()
        if not self.has_ended:
            raise httpx.RemoteProtocolError(self.problem or "the relay was closed")

    def end_if_whole(self) -> None:
        """Close the connection if everything that matters has arrived, because some endpoints don't end their
        streams.
        """
        if not self.task.done() and self._is_whole(self.body):
            self.task.cancel()

    async def _fetch(self, http: httpx.AsyncClient, asked: httpx.Request) -> None:
        try:
            reply = await http.send(asked, stream=True)
            try:
                await self._read_body(reply)
            finally:
                await asyncio.shield(reply.aclose())
        except httpx.HTTPError as error:
            self.problem = f"{type(error).__name__} {error}"
            self.was_sent = not isinstance(error, _NOT_SENT)

    async def _read_body(self, reply: httpx.Response) -> None:
        if reply.headers.get("content-encoding", "identity").lower() not in _ENCODINGS:
            self.problem = "it is compressed, which was not asked for"
            return
        self.reply = reply
        self._news.set()
        size = 0
        async for piece in reply.aiter_bytes():
            size += len(piece)
            if size > MOST_BODY:
                self.problem = f"it has more than {MOST_BODY:,} bytes"
                return
            self._pieces.append(piece)
            self._news.set()
        self.has_ended = True
