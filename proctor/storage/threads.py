"""Daemon threads for calls that may never return. Each place has its own threads, and no exit waits for them."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_AT_ONCE = 16

_here = threading.local()
_pools: dict[tuple[int, str], "_Pool"] = {}


def submit(place: str, work: Callable[[], T]) -> "Future[T]":
    """Run a call in one of a place's threads. A hanging place delays only its own callers."""
    pool = _pools.setdefault((os.getpid(), place), _Pool())  # a forked process inherits no threads from its parent
    return pool.submit(work)


def is_one_of_ours() -> bool:
    return getattr(_here, "is_one_of_ours", False)


class _Pool:
    """A ``ThreadPoolExecutor`` with daemon threads. Python would wait at exit for the threads of the original."""

    def __init__(self) -> None:
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        future: Future[T] = Future()
        self._work.put((future, work))
        if not self._idle.acquire(blocking=False):
            with self._lock:
                if self._started < _AT_ONCE:
                    self._started += 1
                    threading.Thread(target=self._run, daemon=True, name="store").start()
        return future

    def _run(self) -> None:
        _here.is_one_of_ours = True
        while True:
            future, work = self._work.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:
                    future.set_exception(error)
            del future, work  # they may hold much memory until the next call comes
            self._idle.release()
