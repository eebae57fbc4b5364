"""End processes together with their parent, including processes that left its group and session.

``Reaper`` is for a process that starts one program, waits for its end, and then ends all its descendants (Linux). On
other systems only the program's process group is ended. In a PID namespace (``namespaces``), the kernel does this even
if the reaper is killed.
"""

import ctypes
import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from purple_sdk.processes.landlock import keep_signals_inside

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_SIGNAL_EXIT = 128
"""The number that shells add to a signal's number to make the exit code of a program that the signal ended."""


def die_with_parent(parent: int) -> None:
    """End this process when its parent, the process ``parent``, ends for any reason (Linux)."""
    _ask_for_death_with_parent()
    if os.getppid() != parent:
        os._exit(1)


def _ask_for_death_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def leave_first_process() -> None:
    """Continue in a child that leads a session, while this process stays the first of its PID namespace.

    The first process takes in orphans, and exits with the child's exit code. Then the kernel ends all other processes.
    """
    child = os.fork()
    if not child:
        os.setsid()
        return
    # Of other processes' signals, the first process gets only those that it handles.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(_exit_code(status))


class Reaper:
    """Ends all descendants of one program; made by a process with one thread, before it starts the program."""

    def __init__(self) -> None:
        self._program = 0
        self._reaches_all = False
        if sys.platform == "linux":
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            self._reaches_all = keep_signals_inside()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def fork(self) -> bool:
        """Fork the process that becomes the program, as the leader of a session. Return True in that process."""
        parent_end, own_end = os.pipe()
        self._program = os.fork()
        if not self._program:
            os.close(own_end)
            _ask_for_death_with_parent()
            if select.select([parent_end], [], [], 0)[0]:  # the parent has ended before that
                os._exit(1)
            os.setsid()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        return not self._program

    def wait(self, lifeline: int) -> int:
        """Wait until the program has ended, and end all its descendants. Return its exit code.

        SIGTERM, or the end of ``lifeline``, ends the program early. ``lifeline`` is a pipe from the process that asked
        for the program.
        """
        ended, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._kill)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        while not os.waitid(os.P_PID, self._program, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            if lifeline in select.select([lifeline, ended], [], [])[0]:
                break
            os.read(ended, 100)
        code = 0
        with suppress(ChildProcessError):
            while True:
                self._kill()
                pid, status = os.wait()
                if pid == self._program:
                    code = _exit_code(status)
        return code

    def _kill(self, *_: Any) -> None:
        """Kill all descendants. With ``keep_signals_inside``, the kernel kills all at once, so no process escapes by
        starting another one. Orphans become children of this process.
        """
        with suppress(OSError):
            if self._reaches_all:
                os.kill(-1, signal.SIGKILL)
            else:
                os.killpg(self._program, signal.SIGKILL)
        for pid in () if self._reaches_all else _children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _children() -> list[int]:
    return [int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else _SIGNAL_EXIT - code
