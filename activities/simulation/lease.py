"""A guard in the worker for a server that knows no fences.

Such a server belongs to one worker process, which alone has its admin key; so it is enough that this process keeps its
own attempts apart. A request of an attempt is sent while it holds the lease, and a newer attempt waits for requests
that are under way. What other workers do can't touch this server: they start their own from a checkpoint.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from purple_sdk.ues import OvertakenError


class Lease:
    """Who may act on one server. ``fence`` is that of the newest attempt."""

    def __init__(self, fence: int) -> None:
        self.fence = fence
        self._one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def take(self, fence: int, *, looks: bool = False) -> AsyncIterator[None]:
        """Take the server over, once what is under way has ended.

        Raises:
            OvertakenError: a newer attempt has it; an attempt that only ``looks`` decides whether that matters.
        """
        async with self._one_at_a_time:
            if not looks:
                refuse_lower(fence, self.fence)
            self.fence = max(fence, self.fence)
            yield

    @asynccontextmanager
    async def hold(self, fence: int | None) -> AsyncIterator[None]:
        """Act as the attempt that has taken it; None for one that only looks.

        Raises:
            OvertakenError: a newer attempt has it.
        """
        async with self._one_at_a_time:
            if fence is not None:
                refuse_lower(fence, self.fence)
            yield


class LeasedClient(httpx.AsyncClient):
    """Sends what an attempt asks for, for as long as it holds the lease."""

    def __init__(self, lease: Lease, fence: int | None, http: httpx.AsyncClient) -> None:
        self._lease, self._fence, self._http = lease, fence, http

    async def send(self, request: httpx.Request, **options: object) -> httpx.Response:
        async with self._lease.hold(self._fence):
            return await self._http.send(request, **options)  # type: ignore[arg-type]


def refuse_lower(fence: int, held: int) -> None:
    """Raise ``OvertakenError`` for a fence from the past."""
    if fence < held:
        raise OvertakenError(
            f"another attempt has taken over: the fence {fence} is lower than {held}", 412, {"fence": held}
        )
