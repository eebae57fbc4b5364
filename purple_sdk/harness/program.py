"""Run a CLI agent's process with limits on its time, the size of its output and files, and its processes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from purple_sdk.harness.declared import HarnessError, Printed
from purple_sdk.harness.launcher import Rules, launcher_command, launcher_environment
from purple_sdk.processes.child import Child
from purple_sdk.processes.together import do_all

MOST_OUTPUT = 20_000_000
"""Maximum bytes of its standard output, and of its standard error."""

_KEPT_ERRORS = 50_000
_QUOTED_ERRORS = 300
_END_SECONDS = 10.0
"""Seconds for the kernel to end the program's processes. A process that waits for a broken disk doesn't end."""


async def run_program(
    command: Sequence[str],
    *,
    rules: Rules,
    environment: Mapping[str, str],
    seconds: float,
    started: Callable[[int], None] = lambda pid: None,
) -> Printed:
    """Run a command to its end. None of its processes is left, even if the call is cancelled or this process is killed.

    Args:
        rules: the command's rights.
        environment: all of its environment.
        started: called with the process id of its launcher.

    Raises:
        HarnessError: the command took too long, printed too much, or can't be started.
    """
    pipe = asyncio.subprocess.PIPE
    try:
        child = await Child.start(
            launcher_command(rules, command),
            None,  # the launcher notices the end of this process by its standard input, and ends its descendants
            environment=launcher_environment(environment),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        )
    except (OSError, ValueError) as error:  # a session id may have a character that arguments can't have
        raise HarnessError(f"{command[0]} can't be started: {error}") from None
    stdout, stderr = bytearray(), bytearray()
    try:
        started(child.pid)
        async with asyncio.timeout(seconds):
            await do_all(_read_stream(child.stdout, stdout), _read_stream(child.stderr, stderr, _KEPT_ERRORS))
            code = await child.wait()
    except TimeoutError:
        last = f"; its errors end with: {words}" if (words := _text(stderr[-_QUOTED_ERRORS:]).strip()) else ""
        raise HarnessError(
            f"did not end its turn within {seconds:.3g} s and was stopped{last}. If it waits for an answer or a "
            "login, run it once by hand; if it needs longer, raise --turn-timeout"
        ) from None
    finally:
        await asyncio.shield(child.end(_END_SECONDS))
    return Printed(_text(stdout), _text(stderr).strip(), code)


async def _read_stream(stream: asyncio.StreamReader, kept: bytearray, most_kept: int = MOST_OUTPUT) -> None:
    """Read a stream to its end, and keep the last bytes. Raises HarnessError if the stream is too long."""
    size = 0
    while piece := await stream.read(64 * 1024):
        size += len(piece)
        if size > MOST_OUTPUT:
            raise HarnessError(
                f"printed more than {MOST_OUTPUT / 1_000_000:g} MB and was stopped: have it print less, or write to a "
                "file in its home"
            )
        kept += piece
        del kept[:-most_kept]


def _text(output: bytearray) -> str:
    return output.decode(errors="replace")
