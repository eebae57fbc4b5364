"""Ends a process whose event loop is blocked, with the stack of every thread in its log: its supervisor starts it
again, and Temporal gives its work to others meanwhile.

Two things watch. A thread counts its own ticks while the loop doesn't answer, so that a process that was frozen (and
neither ran) isn't taken for one that hangs. Should Python itself be held up (by C code that keeps its lock), neither
ticks, and a timer of ``faulthandler`` that nothing pushes back any more goes off.
"""

import asyncio
import faulthandler
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STILL_SECONDS = 30.0
"""How long the loop may stand still."""

EXIT_CODE = 70

_TICK_SECONDS = 1.0
_WITHOUT_PYTHON = 3.0
"""How many times ``STILL_SECONDS`` Python may be held up; a frozen process is ended, too, if it was frozen for
longer.
"""


@contextmanager
def watched(still_seconds: float = STILL_SECONDS) -> Iterator[None]:
    dog = _Watchdog(asyncio.get_running_loop(), still_seconds)
    dog.start()
    try:
        yield
    finally:
        dog.stop()


class _Watchdog:
    def __init__(self, loop: asyncio.AbstractEventLoop, still_seconds: float) -> None:
        self._loop = loop
        self._still_seconds = still_seconds
        self._tick_seconds = min(_TICK_SECONDS, still_seconds / 10)
        self._answered = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="proctor-watchdog", daemon=True)

    def start(self) -> None:
        self._arm()
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        faulthandler.cancel_dump_traceback_later()

    def _watch(self) -> None:
        ticks = 0
        self._ask()
        while not self._over.wait(self._tick_seconds):
            self._arm()
            if self._answered.is_set():
                ticks = 0
                self._ask()
            else:
                ticks += 1
            if ticks * self._tick_seconds >= self._still_seconds:
                self._bite()

    def _arm(self) -> None:
        faulthandler.dump_traceback_later(self._still_seconds * _WITHOUT_PYTHON, exit=True)

    def _ask(self) -> None:
        self._answered.clear()
        try:
            self._loop.call_soon_threadsafe(self._answered.set)
        except RuntimeError:  # the loop is closed: there is nothing to watch any more
            self._over.set()

    def _bite(self) -> None:
        sys.stderr.write(
            f"The event loop has been blocked for {self._still_seconds:g} s: this process ends, to be started again. "
            "What each thread was at:\n"
        )
        sys.stderr.flush()
        faulthandler.dump_traceback(all_threads=True)
        os._exit(EXIT_CODE)
