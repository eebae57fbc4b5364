"""A child process that ends together with all that it has started, at the latest when this process ends."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Self

from purple_sdk.processes.guard import Guard

_POLL_SECONDS = 0.03
_END_SECONDS = 10.0
_READ_AHEAD = 64 * 1024


def python_command(*arguments: str) -> list[str]:
    """A command line of this Python that imports what is installed and nothing from the working directory.

    Python puts the working directory (with ``-m`` and ``-c``) or the script's folder first on ``sys.path``; a folder
    of the same name as one of our rooms would be imported in its place.
    """
    return [sys.executable, "-P", *arguments]


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    """Tells the end of the process itself: asyncio's own ``wait`` also waits for others that have its pipes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=_READ_AHEAD, loop=loop)
        self.has_ended = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.has_ended.set()


class Child:
    """A running child. It leads a session, and so a process group, of its own: a Ctrl-C in the terminal doesn't reach
    it, and what it starts is ended with it. ``Child.start`` makes one.
    """

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: "_Protocol", guard: Guard | None) -> None:
        self._transport = transport
        self._protocol = protocol
        self._guard = guard
        self._is_over = False
        if guard is not None:
            guard.add(self.pid)

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        guard: Guard | None,
        *,
        environment: Mapping[str, str],
        stdin: int | IO[Any] = asyncio.subprocess.DEVNULL,
        stdout: int | IO[Any] = asyncio.subprocess.DEVNULL,
        stderr: int | IO[Any] = asyncio.subprocess.DEVNULL,
        descriptors: Sequence[int] = (),
    ) -> Self:
        """Start a command.

        Args:
            command: program and arguments.
            guard: ends the child should this process be killed; None for one that does so without help.
            environment: all of the child's environment; nothing is inherited.
            stdin: a file, ``asyncio.subprocess.PIPE``, or nothing to read.
            stdout: a file, ``asyncio.subprocess.PIPE``, or nowhere.
            stderr: the same, or ``asyncio.subprocess.STDOUT``.
            descriptors: open files that the child has, too, by the same numbers.

        Raises:
            OSError: there is no such program, or it can't be run.
        """
        loop = asyncio.get_running_loop()
        starting = asyncio.ensure_future(
            loop.subprocess_exec(
                lambda: _Protocol(loop),
                *command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env=environment,
                start_new_session=True,
                pass_fds=descriptors,
            )
        )
        try:
            transport, protocol = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # asyncio would kill the process alone, and what it has started meanwhile would stay.
            await asyncio.shield(cls._end_started(starting, guard))
            raise
        return cls(transport, protocol, guard)

    @classmethod
    async def _end_started(
        cls, starting: "asyncio.Future[tuple[asyncio.SubprocessTransport, _Protocol]]", guard: Guard | None
    ) -> None:
        """End a child that was given up while it was being started, in time to end what it has started itself."""
        with suppress(OSError):
            await cls(*await starting, guard).end(_END_SECONDS)

    @property
    def pid(self) -> int:
        """Its process id, which is its group's id, too."""
        return self._transport.get_pid()

    @property
    def exit_code(self) -> int | None:
        """How it has ended, negative for a signal; None while it runs."""
        return self._transport.get_returncode()

    @property
    def stdin(self) -> asyncio.StreamWriter:
        """Where it reads from, if it was started with a pipe there."""
        assert self._protocol.stdin is not None
        return self._protocol.stdin

    @property
    def stdout(self) -> asyncio.StreamReader:
        """What it writes, if it was started with a pipe there."""
        assert self._protocol.stdout is not None
        return self._protocol.stdout

    @property
    def stderr(self) -> asyncio.StreamReader:
        """What it writes as errors, if it was started with a pipe there."""
        assert self._protocol.stderr is not None
        return self._protocol.stderr

    async def wait(self) -> int:
        """Wait until it has ended, even if its own children still run; returns its exit code."""
        await self._protocol.has_ended.wait()
        code = self.exit_code
        assert code is not None
        return code

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

    async def end(self, seconds: float) -> bool:
        """Ask it to end with SIGTERM, and kill what is left of its group; False where it did not end in time.

        Also for a child that has already ended, since its own children may still run. Unread output is lost. May be
        repeated.

        Args:
            seconds: how long it may take to end before it is killed.
        """
        has_ended = True
        try:
            self._signal(signal.SIGTERM)
            await asyncio.wait_for(self.wait(), seconds)
        except TimeoutError:
            has_ended = False
        finally:
            self.kill()
        await self.wait()
        self._transport.close()
        return has_ended

    def hang_up(self) -> None:
        """Send it, and not what it has started, a SIGHUP: to open its log file again."""
        if self.exit_code is None:
            self._transport.send_signal(signal.SIGHUP)

    def kill(self) -> None:
        """Kill it with its group, at once."""
        self._signal(signal.SIGKILL)
        if not self._is_over:
            self._is_over = True  # from now on another group may have this number
            if self._guard is not None:
                self._guard.discard(self.pid)

    def _signal(self, number: signal.Signals) -> None:
        if not self._is_over:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
