"""Participants' HTTP responses as the A2A SDK can read them.

* Timestamps without a zone get UTC. A2A asks for a zone (RFC 3339), and the SDK refuses the whole response without
  one, but some servers leave it out, pydantic-ai's ``fasta2a`` among them. No decision depends on these timestamps.
* A response that breaks off is distinguished from one that never began: ``BrokenOffError``.
"""

import re
from collections.abc import AsyncIterator

import httpx

_NAIVE = re.compile(rb'("timestamp"\s*:\s*"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?=")')


class BrokenOffError(httpx.ReadError):
    """The participant closed the connection in the middle of its response."""


class ReadableResponses(httpx.AsyncBaseTransport):
    """Mends the responses of another transport.

    Args:
        inner: a transport whose responses come in whole bodies or whole events, as those of ``BoundedTransport`` do.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raises as the inner transport does."""
        response = await self._inner.handle_async_request(request)
        stream = _ReadableStream(response)
        return httpx.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _ReadableStream(httpx.AsyncByteStream):
    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        try:
            async for piece in self._response.stream:
                yield _NAIVE.sub(rb"\1Z", piece)
        except (httpx.ReadError, httpx.RemoteProtocolError) as problem:
            raise BrokenOffError(str(problem)) from problem

    async def aclose(self) -> None:
        await self._response.aclose()
