"""A UES server that this process has started. This process reads the server's output, and the server ends with it."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Self

import httpx

from purple_sdk.processes.child import Child
from purple_sdk.processes.guard import Guard
from purple_sdk.ues import OvertakenError

logger = logging.getLogger(__name__)

_STOP_SECONDS = 3.0
_LAST_WORDS_SECONDS = 0.5
_READ_AT_ONCE = 64 * 1024
_LONGEST_LINE = 64 * 1024
_LINES_KEPT = 5


class ServerProcess(Child):
    """A child whose output goes to the log, without the ``secrets``; its last lines are kept. ``serve`` starts it."""

    secrets: list[str]
    _last_lines: deque[str]
    _reading: asyncio.Task[None]

    @classmethod
    async def serve(
        cls, words: Sequence[str], environment: Mapping[str, str], guard: Guard, secrets: Iterable[str]
    ) -> Self:
        """Start a command. Raises ``OSError`` if the program is missing or can't be run."""
        pipe, merged = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        server = await cls.start(words, guard, environment=environment, stdout=pipe, stderr=merged)
        server.secrets = [secret for secret in secrets if secret]
        server._last_lines = deque(maxlen=_LINES_KEPT)
        server._reading = asyncio.create_task(server._read_output())
        return server

    async def hear_last_words(self) -> str:
        await asyncio.wait([self._reading], timeout=_LAST_WORDS_SECONDS)
        return self._last_lines[-1] if self._last_lines else ""

    async def end(self, seconds: float = _STOP_SECONDS) -> bool:
        """End as ``Child`` does, and stop reading the output."""
        try:
            return await super().end(seconds)
        finally:
            self._reading.cancel()

    async def _read_output(self) -> None:
        rest, is_cut = b"", False
        while chunk := await self.stdout.read(_READ_AT_ONCE):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._note("(the rest of a line that is too long)" if is_cut else line.decode(errors="replace"))
                is_cut = False
            if len(rest) > _LONGEST_LINE:
                rest, is_cut = b"", True
        if rest:
            self._note(rest.decode(errors="replace"))

    def _note(self, line: str) -> None:
        for secret in self.secrets:
            line = line.replace(secret, "…")
        if line := line.strip():
            self._last_lines.append(line)
            logger.debug("ues[%s] %s", self.pid, line)


class Lease:
    """The right to act on one server. ``fence`` is the newest attempt's fence; other attempts get
    ``OvertakenError``.
    """

    def __init__(self, fence: int) -> None:
        self.fence = fence
        self._one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def take(self, fence: int, *, looks: bool = False) -> AsyncIterator[None]:
        """Take the server over when running requests have ended. An attempt that only ``looks`` isn't refused here if a
        newer attempt holds the server.
        """
        async with self._one_at_a_time:
            if not looks:
                refuse_lower(fence, self.fence)
            self.fence = max(fence, self.fence)
            yield

    @asynccontextmanager
    async def hold(self, fence: int | None) -> AsyncIterator[None]:
        """Act as the attempt with this fence, which has taken the lease; None for an attempt that only reads."""
        async with self._one_at_a_time:
            if fence is not None:
                refuse_lower(fence, self.fence)
            yield


class LeasedClient(httpx.AsyncClient):
    """Sends an attempt's requests, while it holds the lease."""

    def __init__(self, lease: Lease, fence: int | None, http: httpx.AsyncClient) -> None:
        self._lease, self._fence, self._http = lease, fence, http

    async def send(self, request: httpx.Request, **options: object) -> httpx.Response:
        async with self._lease.hold(self._fence):
            return await self._http.send(request, **options)  # type: ignore[arg-type]


def refuse_lower(fence: int, held: int) -> None:
    """Raise ``OvertakenError`` for an outdated fence."""
    if fence < held:
        raise OvertakenError(
            f"another attempt has taken over: the fence {fence} is lower than {held}", 412, {"fence": held}
        )
