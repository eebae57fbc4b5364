"""A server that this process has started: it listens on a port, its output is read, and it never outlives us."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Self

from activities.simulations.guard import Guard

logger = logging.getLogger(__name__)

_STOP_SECONDS = 3.0
_LAST_WORDS_SECONDS = 0.5
_POLL_SECONDS = 0.03
_READ_AT_ONCE = 64 * 1024
_LONGEST_LINE = 64 * 1024
_LINES_KEPT = 5


class ServerProcess:
    """A child that leads a process group of its own, so that it ends with everything that it has started.

    ``guard`` ends it should this process be killed. ``secrets`` never reach the log.
    """

    def __init__(self, process: asyncio.subprocess.Process, guard: Guard, secrets: Iterable[str]) -> None:
        self._process = process
        self._guard = guard
        self._secrets = [secret for secret in secrets if secret]
        self._last_lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._reading = asyncio.create_task(self._read_output())
        guard.add(process.pid)

    @classmethod
    async def start(
        cls, words: Sequence[str], environment: Mapping[str, str], guard: Guard, secrets: Iterable[str]
    ) -> Self:
        """Start a command.

        Raises:
            OSError: there is no such program, or it can't be run.
        """
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        return cls(process, guard, secrets)

    @property
    def exit_code(self) -> int | None:
        """How it has ended, negative for a signal; None while it runs."""
        return self._process.returncode

    async def until(self, is_ready: Callable[[], Awaitable[bool]], seconds: float) -> bool:
        """Wait until it is ready; False where it ended first.

        Raises:
            TimeoutError: it was neither within that many seconds.
        """
        async with asyncio.timeout(seconds):
            while self.exit_code is None:
                if await is_ready():
                    return True
                await asyncio.sleep(_POLL_SECONDS)
        return False

    def keep_out_of_the_log(self, secret: str) -> None:
        """Have one more secret taken out of what it says."""
        self._secrets.append(secret)

    async def last_words(self) -> str:
        """The last line that it has written, or nothing."""
        await asyncio.wait([self._reading], timeout=_LAST_WORDS_SECONDS)
        return self._last_lines[-1] if self._last_lines else ""

    async def end(self) -> None:
        """End it and all that it has started, in the worst case by SIGKILL."""
        try:
            self._signal(signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
        finally:
            self._signal(signal.SIGKILL)
            self._guard.discard(self._process.pid)
            self._reading.cancel()
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read_output(self) -> None:
        """Read all that it writes, so that it never waits for us."""
        stream = self._process.stdout
        assert stream is not None
        rest, is_cut = b"", False
        while chunk := await stream.read(_READ_AT_ONCE):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._note("(the rest of a line that is too long)" if is_cut else line.decode(errors="replace"))
                is_cut = False
            if len(rest) > _LONGEST_LINE:
                rest, is_cut = b"", True
        if rest:
            self._note(rest.decode(errors="replace"))

    def _note(self, line: str) -> None:
        for secret in self._secrets:
            line = line.replace(secret, "…")
        if line := line.strip():
            self._last_lines.append(line)
            logger.debug("ues[%s] %s", self._process.pid, line)


def claim(port: int) -> socket.socket | None:
    """Agree with the other workers on this machine on who starts a server at a port; None where another one does.

    The claim holds until it is closed or its process ends. Without it two servers may be started for the same port, and
    not every system lets the second one fail. It is a name among Linux's abstract sockets (``man 7 unix``), which are
    as far-reaching as ports are; other systems have none, and there a claim is nothing but a socket.
    """
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if sys.platform == "linux":
        try:
            name.bind(f"\0proctor-port-{port}")
        except OSError:
            name.close()
            return None
    return name


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
