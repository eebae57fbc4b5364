"""End a process whose event loop is blocked, and print the stack of each thread.

The supervisor starts the process again. Until then, Temporal gives its work to other workers.

A thread and a timer watch the loop:

* The thread counts its own ticks while the loop doesn't answer. A process that is frozen for a while doesn't count as
  blocked: its thread doesn't tick, either.
* The timer is that of ``faulthandler``, and the thread resets it at each tick. If C code keeps Python's lock, the
  thread can't run, and the timer expires.
"""

import asyncio
import faulthandler
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STILL_SECONDS = 30.0
"""How long the loop may be blocked."""

EXIT_CODE = 70

_TICK_SECONDS = 1.0
_WITHOUT_PYTHON = 3.0
"""The timer's limit, in multiples of ``STILL_SECONDS``. It also ends a process that was frozen for longer."""


@contextmanager
def watched(still_seconds: float = STILL_SECONDS) -> Iterator[None]:
    loop, answered, over = asyncio.get_running_loop(), threading.Event(), threading.Event()
    tick_seconds = min(_TICK_SECONDS, still_seconds / 10)

    def arm() -> None:
        faulthandler.dump_traceback_later(still_seconds * _WITHOUT_PYTHON, exit=True)

    def ask() -> None:
        answered.clear()
        try:
            loop.call_soon_threadsafe(answered.set)
        except RuntimeError:  # the loop is closed: the watch ends
            over.set()

    def watch() -> None:
        ticks = 0
        ask()
        while not over.wait(tick_seconds):
            arm()
            if answered.is_set():
                ticks = 0
                ask()
            else:
                ticks += 1
            if ticks * tick_seconds >= still_seconds:
                _bite(still_seconds)

    arm()
    thread = threading.Thread(target=watch, name="proctor-watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        faulthandler.cancel_dump_traceback_later()


def _bite(still_seconds: float) -> None:
    sys.stderr.write(
        f"The event loop has been blocked for {still_seconds:g} s: this process ends, to be started again. "
        "What each thread was at:\n"
    )
    sys.stderr.flush()
    faulthandler.dump_traceback(all_threads=True)
    os._exit(EXIT_CODE)
