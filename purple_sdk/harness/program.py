"""Runs a CLI agent's process within limits: its time, the size of what it prints and writes, its whole group."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from proctor_processes.child import Child
from proctor_processes.guard import Guard
from purple_sdk.harness.declared import HarnessError, Printed
from purple_sdk.harness.launcher import Rules, launcher_command, launcher_environment

MOST_OUTPUT = 20_000_000
"""Bytes of standard output that are read."""


async def run_program(
    command: Sequence[str],
    *,
    rules: Rules,
    environment: Mapping[str, str],
    seconds: float,
    guard: Guard | None,
    started: Callable[[int], None] = lambda pid: None,
) -> Printed:
    """Run a command to its end; nothing of its process group is left, also where this is cancelled.

    Args:
        rules: what it may do.
        environment: all of its environment.
        guard: ends it should this process be killed.
        started: called with its process id.

    Raises:
        HarnessError: it took too long, or can't be started.
    """
    errors = Path(rules.work).parent / "stderr.log"
    with errors.open("w+b") as stderr:
        try:
            child = await Child.start(
                launcher_command(rules, command),
                guard,
                environment=launcher_environment(environment),
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
            )
        except OSError as problem:
            raise HarnessError(f"{command[0]} can't be started: {problem.strerror}") from None
        started(child.pid)
        try:
            async with asyncio.timeout(seconds):
                stdout = await _read_all(child)
                code = await child.wait()
        except TimeoutError:
            child.kill()
            last = f"; its errors end with: {words}" if (words := _tail(errors)) else ""
            raise HarnessError(
                f"did not end its turn within {seconds:g} s and was stopped{last}. If it waits for an answer or a "
                "login, run it once by hand; if it needs longer, raise --turn-timeout"
            ) from None
        finally:
            await asyncio.shield(child.end(0.0))
        return Printed(stdout, _tail(errors, 50_000), code)


async def _read_all(child: Child) -> str:
    """Standard output to its end, or until the process has ended: a child of its own may hold the pipe."""
    ended = asyncio.ensure_future(child.wait())
    pieces: list[bytes] = []
    try:
        while sum(map(len, pieces)) < MOST_OUTPUT:
            reading = asyncio.ensure_future(child.stdout.read(64 * 1024))
            await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await asyncio.wait({reading}, timeout=1.0)
            if not reading.done() or not reading.result():
                reading.cancel()
                break
            pieces.append(reading.result())
    finally:
        ended.cancel()
    return b"".join(pieces).decode(errors="replace")


def _tail(file: Path, most: int = 300) -> str:
    size = file.stat().st_size if file.exists() else 0
    with open(os.devnull if not size else file, "rb") as content:
        content.seek(max(0, size - most))
        return content.read().decode(errors="replace").strip()
