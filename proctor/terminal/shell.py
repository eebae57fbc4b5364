"""Run Docker's own commands, for work that the engine's API can't do (compose, BuildKit)."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from pydantic import BaseModel

from purple_sdk.processes.together import do_all

_KEPT = 20_000


class Ended(BaseModel, frozen=True):
    """The end of a command: its exit code (None at its time limit) and the end of its output."""

    exit_code: int | None
    output: str


async def run(
    command: Sequence[str], seconds: float, variables: Mapping[str, str], folder: Path, stdin: IO[bytes] | None = None
) -> Ended:
    """Run a command of this machine. The command is killed at its time limit, and at cancellation.

    It gets only those variables of our environment that it needs to find its parts, and therefore no secrets. A command
    that can't be started ends with code 127.

    Args:
        variables: added to those of our environment.
        stdin: its standard input; None for an empty one.
    """
    own = {
        name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "DOCKER_CONFIG", "LANG", "TMPDIR")
    }
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env={**own, **variables},
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        return Ended(exit_code=127, output=f"{command[0]} can't be run ({error.strerror}): install it")
    kept = bytearray()

    async def feed() -> None:
        if stdin is not None and process.stdin is not None:
            with suppress(ConnectionError, RuntimeError):  # RuntimeError is uvloop's error for a closed pipe
                while block := await asyncio.to_thread(stdin.read, 1 << 20):
                    process.stdin.write(block)
                    await process.stdin.drain()
            process.stdin.close()

    async def read() -> None:
        assert process.stdout is not None
        while block := await process.stdout.read(1 << 16):
            kept.extend(block)
            del kept[:-_KEPT]

    try:
        async with asyncio.timeout(seconds):
            await do_all(feed(), read())
            code: int | None = await process.wait()
    except TimeoutError:
        code = None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return Ended(exit_code=code, output=bytes(kept).decode(errors="replace"))
