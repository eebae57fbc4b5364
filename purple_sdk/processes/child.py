"""A child process that ends together with all its descendants, at the latest when this process ends."""

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
    """Return a command line of this Python that imports installed packages only, nothing from the working directory.

    Python puts the working directory (with ``-m`` and ``-c``) or the script's folder first on ``sys.path``. A folder
    there with the name of one of our packages would be imported instead of the package.
    """
    return [sys.executable, "-P", *arguments]


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    """Reports the end of the process itself. asyncio's own ``wait`` also waits for other processes that hold its
    pipes.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=_READ_AHEAD, loop=loop)
        self.has_ended = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.has_ended.set()


class Child:
    """A running child process, made by ``Child.start``.

    The child leads its own session and process group. So a Ctrl-C in the terminal doesn't reach it, and its descendants
    are ended with it.
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
            guard: ends the child if this process is killed; None for a child that ends without help.
            environment: all of the child's environment; nothing is inherited.
            stdin: a file, ``asyncio.subprocess.PIPE``, or nothing to read.
            stdout: a file, ``asyncio.subprocess.PIPE``, or nowhere.
            stderr: the same, or ``asyncio.subprocess.STDOUT``.
            descriptors: open files that the child inherits under the same numbers.

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
            # asyncio would kill only this process, and leave the processes that it has started since then.
            await asyncio.shield(cls._end_started(starting, guard))
            raise
        return cls(transport, protocol, guard)

    @staticmethod
    async def _end_started(
        starting: "asyncio.Future[tuple[asyncio.SubprocessTransport, _Protocol]]", guard: Guard | None
    ) -> None:
        """End a child whose start was cancelled, including any processes that it has started itself.

        It ends as a plain ``Child``: a subclass may set its attributes only after ``start``.
        """
        with suppress(OSError):
            await Child(*await starting, guard).end(_END_SECONDS)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its group."""
        return self._transport.get_pid()

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while the child runs."""
        return self._transport.get_returncode()

    @property
    def stdin(self) -> asyncio.StreamWriter:
        """The child's standard input, if it was started with a pipe for it."""
        assert self._protocol.stdin is not None
        return self._protocol.stdin

    @property
    def stdout(self) -> asyncio.StreamReader:
        """The child's standard output, if it was started with a pipe for it."""
        assert self._protocol.stdout is not None
        return self._protocol.stdout

    @property
    def stderr(self) -> asyncio.StreamReader:
        """The child's standard error, if it was started with a pipe for it."""
        assert self._protocol.stderr is not None
        return self._protocol.stderr

    async def wait(self) -> int:
        """Wait until the child has ended, even if its own children still run; returns its exit code."""
        await self._protocol.has_ended.wait()
        code = self.exit_code
        assert code is not None
        return code

    async def until(self, is_ready: Callable[[], Awaitable[bool]], seconds: float) -> bool:
        """Wait until the child is ready; False if it ended first.

        Raises:
            TimeoutError: the child was neither ready nor ended within that many seconds.
        """
        async with asyncio.timeout(seconds):
            while self.exit_code is None:
                if await is_ready():
                    return True
                await asyncio.sleep(_POLL_SECONDS)
        return False

    async def end(self, seconds: float) -> bool:
        """Ask the child to end with SIGTERM, then kill the rest of its group; False if the child did not end in time.

        Call this also for a child that has already ended: its own children may still run. Unread output is lost.
        Repeated calls do no harm.

        Args:
            seconds: time for the child to end before it is killed.
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
        """Send a SIGHUP to the child, but not to its descendants, to make it open its log file again."""
        if self.exit_code is None:
            self._transport.send_signal(signal.SIGHUP)

    def kill(self) -> None:
        """Kill the child with its group, at once."""
        self._signal(signal.SIGKILL)
        if not self._is_over:
            self._is_over = True  # from now on another group may have this number
            if self._guard is not None:
                self._guard.discard(self.pid)

    def _signal(self, number: signal.Signals) -> None:
        if not self._is_over:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
