"""Messages of a worker's process to its parent: JSON Lines in a pipe.

* ``{"ready": true}``: the process works now
* ``{"begun": TOKEN, "workflow_id": …, "run_id": …}``: an attempt begins (see ``handing_back``)
* ``{"ended": TOKEN}``: an attempt has ended

Tokens are base64.
"""

import base64
import fcntl
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True)
class Attempt:
    """An attempt that a process runs: its token, and the workflow and run that it belongs to."""

    token: bytes
    workflow_id: str
    run_id: str


class Attempts:
    """The running attempts of one process, from its messages; ``on_ready`` is called once the process works."""

    def __init__(self, on_ready: Callable[[], None] = lambda: None) -> None:
        self._begun: dict[str, Attempt] = {}
        self._on_ready = on_ready

    def take(self, line: bytes) -> None:
        """Read one line. An incomplete line is ignored: its process died while it was writing."""
        with suppress(ValueError, TypeError):
            match json.loads(line):
                case {"ready": True}:
                    self._on_ready()
                case {"begun": str(token), "workflow_id": str(workflow_id), "run_id": str(run_id)}:
                    self._begun[token] = Attempt(base64.b64decode(token), workflow_id, run_id)
                case {"ended": str(token)}:
                    self._begun.pop(token, None)

    def pending(self) -> list[Attempt]:
        return list(self._begun.values())


def write_line(pipe: int, **line: str | bool) -> None:
    """Write one line for the parent. If the pipe is full, drop the line: attempts don't wait for the parent."""
    with suppress(OSError):
        os.write(pipe, json.dumps(line).encode() + b"\n")


def pipe_for_lines() -> tuple[int, int]:
    """Make a pipe that is large enough for a busy process; return its read end and its write end."""
    read, write = os.pipe()
    with suppress(OSError, AttributeError):
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 1 << 20)
    return read, write
