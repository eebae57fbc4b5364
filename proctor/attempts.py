"""The attempts that a worker's process is at, as it writes them down in a pipe to its parent (see ``handing_back``)."""

import base64
import fcntl
import json
import os
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True)
class Attempt:
    """An attempt that a process was at: its token, and whose it is."""

    token: bytes
    workflow_id: str
    run_id: str


class Attempts:
    """The attempts that one process is at, as it has written them down."""

    def __init__(self) -> None:
        self._begun: dict[str, Attempt] = {}

    def take(self, line: bytes) -> None:
        """Read one line of a process's; half of one, from a process that died in it, says nothing."""
        with suppress(ValueError, TypeError):
            token, *whose = json.loads(line)
            if whose:
                self._begun[token] = Attempt(base64.b64decode(token), *whose)
            else:
                self._begun.pop(token, None)

    def left(self) -> list[Attempt]:
        """Those that have begun and not ended."""
        return list(self._begun.values())


def pipe_for_lines() -> tuple[int, int]:
    """A pipe with room for what a busy process has to write: the end to read from, and that to write to."""
    read, write = os.pipe()
    with suppress(OSError, AttributeError):
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 1 << 20)
    return read, write
