"""Processes end with the one that has started them, also those that left its group and session.

``Reaper`` is for a process that starts one program, waits for its end, and then ends all that the program has started
(Linux). On other systems only the program's process group is ended.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from proctor_processes.landlock import keep_signals_inside

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_SIGNAL_EXIT = 128
"""Added to a signal's number, as shells do, for the exit code of a program that a signal ended."""


def die_with_parent(parent: int) -> None:
    """End this process when the process ``parent``, which has started it, ends, however that goes (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


class Reaper:
    """Made by a process with one thread, before it starts its program."""

    def __init__(self) -> None:
        self._program = 0
        self._reaches_all = False
        if sys.platform == "linux":
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            self._reaches_all = keep_signals_inside()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def fork(self) -> bool:
        """Start the process that becomes the program, as the leader of a session; True in that process."""
        parent = os.getpid()
        self._program = os.fork()
        if not self._program:
            die_with_parent(parent)
            os.setsid()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        return not self._program

    def wait(self, lifeline: int) -> int:
        """Wait until the program has ended, and end all that it has started; returns its exit code.

        SIGTERM and the end of ``lifeline``, a pipe from the process that has asked for the program, end it early.
        """
        signal.signal(signal.SIGTERM, self._kill)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        Thread(target=self._watch, args=(lifeline,), daemon=True).start()
        os.waitid(os.P_PID, self._program, os.WEXITED | os.WNOWAIT)
        code = 0
        with suppress(ChildProcessError):
            while True:
                self._kill()
                pid, status = os.wait()
                if pid == self._program:
                    code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else _SIGNAL_EXIT - code

    def _watch(self, lifeline: int) -> None:
        os.read(lifeline, 1)
        self._kill()

    def _kill(self, *_: Any) -> None:
        """Kill all that was started. With ``keep_signals_inside`` the kernel does it at one moment, so that no process
        gets away by starting another one; orphans become this process's children meanwhile.
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
