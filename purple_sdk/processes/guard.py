"""End a process's children and remove its temporary folder when that process is gone, for any reason.

The process with the children uses ``Guard``. The guard itself runs as a separate process, ``python -I -S guard.py
[FOLDER]``, with a pipe as standard input. ``+PID`` announces a child that leads a process group; ``-PID`` reports its
end. The pipe closes when the parent ends, even by SIGKILL. Then the guard kills the remaining groups and removes
FOLDER. The guard uses only the standard library, to start fast and stay small.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

_REMOVE_TRIES = 20


class Guard:
    """Watches over the children of this process, from its creation until ``dismiss``.

    Args:
        temporary: a folder to remove at the end.
    """

    def __init__(self, temporary: Path | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, *([str(temporary)] if temporary else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            cwd="/",
        )

    def add(self, pid: int) -> None:
        """Announce a child, which leads a process group."""
        self._tell(f"+{pid}")

    def discard(self, pid: int) -> None:
        """Report that a child and its group have ended."""
        self._tell(f"-{pid}")

    def dismiss(self) -> None:
        """End the remaining children, wait until that is done, and end the guard."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the guard was killed: the parent works without it
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()


def read_children(pipe: TextIO) -> set[int]:
    """Follow the announcements until the pipe closes. Return the remaining process groups."""
    children: set[int] = set()
    for line in pipe:
        pid = int(line[1:])
        if line.startswith("+"):
            children.add(pid)
        else:
            children.discard(pid)
    return children


def kill_groups(groups: set[int]) -> None:
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def remove(folder: str) -> None:
    """Remove a folder with its contents. Try again if it fails: a dying process may still be writing there."""
    for _ in range(_REMOVE_TRIES):
        subprocess.run(["rm", "-rf", "--", folder], capture_output=True, check=False)  # also folders of any depth
        if not os.path.exists(folder):
            return
        time.sleep(0.1)


def main() -> None:
    """Wait for the parent's end, then end its children and remove its folder."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    kill_groups(read_children(sys.stdin))
    if len(sys.argv) > 1:
        remove(sys.argv[1])


if __name__ == "__main__":
    main()
