"""Ends a supervisor's children and removes its temporary folder when the supervisor is gone, however it went.

Run as a process of its own, ``python -I -S guard.py [FOLDER]``, with a pipe from the supervisor as standard input:
``+PID`` announces a child that leads a process group, ``-PID`` says that it has ended. The pipe closes when the
supervisor ends, even by SIGKILL; then what is left of the groups is killed and FOLDER is removed. Only the standard
library is used, so that it starts at once and stays small.
"""

import os
import shutil
import signal
import sys
import time
from typing import TextIO

_REMOVE_TRIES = 20


def read_children(pipe: TextIO) -> set[int]:
    """Follow the announcements until the pipe closes; the process groups that are left."""
    children: set[int] = set()
    for line in pipe:
        pid = int(line[1:])
        if line.startswith("+"):
            children.add(pid)
        else:
            children.discard(pid)
    return children


def kill_groups(groups: set[int]) -> None:
    """Kill every process of these groups."""
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def remove(folder: str) -> None:
    """Remove a folder with all that is in it; a process that is just dying may still be writing, so try again."""
    for _ in range(_REMOVE_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.1)


def main() -> None:
    """Wait for the supervisor's end, then clean up behind it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    kill_groups(read_children(sys.stdin))
    if len(sys.argv) > 1:
        remove(sys.argv[1])


if __name__ == "__main__":
    main()
