"""Commands in a trial's container, with a reliable time limit and limited output."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from aiodocker import DockerError
from aiodocker.execs import Exec
from aiodocker.stream import Stream
from pydantic import BaseModel

from proctor.terminal import engine as engine_of
from proctor.terminal.engine import Engine
from proctor.terminal.failures import EnvironmentLostError
from proctor.terminal.references import EnvironmentRef

LONGEST_COMMAND = 100_000
"""Bytes; the kernel takes no argument of more than 128 KiB."""

_OWN_OUTPUT = 5_000_000
_GRACE = 5.0
"""Seconds for a killed command's output to end."""

_WRAPPER = (
    'printf "%s\\n" $$; '
    'if command -v bash >/dev/null 2>&1; then exec bash -c "$1" 2>&1; else exec /bin/sh -c "$1" 2>&1; fi'
)
"""Runs a command with both output streams in one, since the engine doesn't keep the order of two streams. The script
first prints its process id, which is also the id of the session of all processes that the command starts.
"""


def script(name: str) -> str:
    """Return one of our shell scripts, which run in containers."""
    return (Path(__file__).parent / "scripts" / f"{name}.sh").read_text(encoding="utf-8")


class Executed(BaseModel, frozen=True):
    """The result of a command.

    Attributes:
        exit_code: None if the command was killed at its time limit.
        output: the output on both standard streams, in order; the middle is left out if it is too long.
    """

    exit_code: int | None
    output: str
    dropped: int = 0
    seconds: float = 0.0
    is_timed_out: bool = False


class CappedOutput:
    """The beginning and the end of an output, together at most ``cap`` bytes."""

    def __init__(self, cap: int) -> None:
        self._most = max(cap // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        room = self._most - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._most:
            self._drop_excess()

    def _drop_excess(self) -> None:
        excess = len(self._tail) - self._most
        if excess > 0:
            self.dropped += excess
            del self._tail[:excess]

    def text(self) -> str:
        """Return the kept output, with a line between beginning and end that says how much is left out."""
        self._drop_excess()
        gap = f"\n[… {self.dropped:,} bytes left out …]\n".encode() if self.dropped else b""
        return bytes(self._head + gap + self._tail).decode(errors="replace")


async def execute(
    engine: Engine,
    environment: EnvironmentRef,
    command: str,
    *,
    timeout: float | None = None,
    cwd: str | None = None,
    user: str | None = None,
    variables: Mapping[str, str] | None = None,
    output_cap: int = 1_000_000,
    on_output: Callable[[bytes], None] | None = None,
    runs_on: Callable[[], bool] = lambda: False,
) -> Executed:
    """Run a command with ``bash -c`` (``sh`` if there is no bash) and wait for its end.

    At the time limit the command is killed, with all its descendants that stayed in its session. Cancellation kills it,
    too, unless ``runs_on`` returns true.

    Args:
        timeout: seconds; None waits without a limit.
        cwd: None for the environment's ``workdir``.
        user: None for the container's own.
        output_cap: bytes of output that are kept.
        on_output: called with all output as it comes.
        runs_on: called at cancellation; returns whether the command keeps running.

    Raises:
        EnvironmentLostError: the container is gone.
        EngineUnavailableError: the engine doesn't answer.
    """
    began = time.monotonic()
    output = CappedOutput(output_cap)
    made = await create_exec(
        engine,
        environment,
        ["/bin/sh", "-c", _WRAPPER, "sh", command],
        cwd=cwd or environment.workdir,
        user=user,
        variables=variables,
    )
    session = _Session()

    def take(data: bytes) -> None:
        data = session.strip(data)
        if data:
            output.add(data)
            if on_output is not None:
                on_output(data)

    try:
        with losing(environment), engine.speaking():
            async with _open_stream(made) as stream:
                is_timed_out = not await _read_to_end(stream, take, timeout)
                if is_timed_out:
                    await _kill(engine, environment, session)
                    with suppress(TimeoutError):
                        await _read_to_end(stream, take, _GRACE)
    except asyncio.CancelledError:
        if not runs_on():
            await asyncio.shield(_kill(engine, environment, session))
        raise
    exit_code = None if is_timed_out else await _exit_code(engine, environment, made)
    return Executed(
        exit_code=exit_code,
        output=output.text(),
        dropped=output.dropped,
        seconds=round(time.monotonic() - began, 3),
        is_timed_out=is_timed_out,
    )


async def run_plainly(
    engine: Engine, environment: EnvironmentRef, command: Sequence[str], timeout: float = 30.0
) -> tuple[int | None, str]:
    """Run one of our commands as root. No shell is added, since the agent may have replaced the shell.

    Args:
        environment: the environment; the command runs in its folder ``/``.
        timeout: in seconds.

    Returns:
        Exit code (None at the time limit) and output.

    Raises:
        EnvironmentLostError: the container is gone, or can't run a command.
        EngineUnavailableError: the engine doesn't answer.
    """
    output = CappedOutput(_OWN_OUTPUT)
    made = await create_exec(engine, environment, command, cwd="/", user="root")
    with losing(environment), engine.speaking():
        async with _open_stream(made) as stream:
            if not await _read_to_end(stream, output.add, timeout):
                return None, output.text()
    return await _exit_code(engine, environment, made), output.text()


async def create_exec(
    engine: Engine,
    environment: EnvironmentRef,
    command: Sequence[str],
    *,
    cwd: str,
    user: str | None,
    variables: Mapping[str, str] | None = None,
) -> Exec:
    """Prepare a command in a container.

    Args:
        user: None for the container's own.

    Raises:
        EnvironmentLostError: the container is gone.
        EngineUnavailableError: the engine doesn't answer.
    """
    body = {
        "AttachStdout": True,
        "AttachStderr": True,
        "Cmd": list(command),
        "WorkingDir": cwd,
        "User": user or "",
        "Env": [f"{name}={value}" for name, value in (variables or {}).items()],
        "Tty": False,
    }
    with losing(environment):
        made = await engine.ask("POST", f"containers/{environment.container_id}/exec", body=body)
    engine.note_own(made["Id"])
    return Exec(engine.docker, made["Id"], tty=False)


def lost(environment: EnvironmentRef, problem: DockerError) -> EnvironmentLostError:
    """Return the error for a container that takes no commands any more."""
    return EnvironmentLostError(
        f"The container {environment.container} can't be used any more ({' '.join(problem.message.split())[:300]})"
    )


@contextmanager
def losing(environment: EnvironmentRef) -> Iterator[None]:
    """Convert the engine's refusals of requests about a container to EnvironmentLostError (``lost``)."""
    try:
        yield
    except DockerError as error:
        raise lost(environment, error) from error


@asynccontextmanager
async def _open_stream(made: Exec) -> AsyncIterator[Stream]:
    """Yield a command's output, once the engine has started the command."""
    stream = made.start()
    async with asyncio.timeout(engine_of.ANSWERS_WITHIN):
        await stream.__aenter__()
    try:
        yield stream
    finally:
        await stream.close()


async def _read_to_end(stream: Stream, take: Callable[[bytes], None], timeout: float | None) -> bool:
    """Read a command's output, and return whether it ended within ``timeout`` seconds.

    Raises TimeoutError only if the stream itself times out.
    """
    try:
        async with asyncio.timeout(timeout) as limit:
            while (message := await stream.read_out()) is not None:
                take(message.data)
    except TimeoutError:
        if not limit.expired():
            raise
        return False
    return True


class _Session:
    """The process id that the wrapper prints before all other output."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self._line: bytes | None = b""

    def strip(self, data: bytes) -> bytes:
        if self._line is None:
            return data
        line, newline, rest = (self._line + data).partition(b"\n")
        if newline and line.isdigit():
            self.pid, self._line = int(line), None
            return rest
        if not newline and len(line) < 20 and (line.isdigit() or not line):
            self._line = line
            return b""
        self._line = None  # there is no shell: this is the engine's message about that
        return line + newline + rest


async def _kill(engine: Engine, environment: EnvironmentRef, session: _Session) -> None:
    if session.pid is not None:
        with suppress(EnvironmentLostError):
            await run_plainly(
                engine, environment, ["/bin/sh", "-c", f"SESSION={session.pid}\n{script('kill_session')}"], timeout=10.0
            )


async def _exit_code(engine: Engine, environment: EnvironmentRef, made: Exec) -> int | None:
    """Return the exit code of a command whose output has ended; None if the command doesn't end in a few seconds."""
    for wait in (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0):
        await asyncio.sleep(wait)
        with losing(environment):
            state = await engine.ask("GET", f"exec/{made.id}/json")
        if not state["Running"]:
            code: int | None = state["ExitCode"]
            return code
    return None
