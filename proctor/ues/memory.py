"""Return memory to the system after simulations have ended, as far as the allocators allow.

Freed objects return to Python's and libc's allocators, which keep whole free pages unless asked to release them.
"""

import asyncio
import ctypes
import gc
from collections.abc import Callable

PAUSE_SECONDS = 1.0
"""The delay after a simulation's end. If many simulations end at once, memory is released only once."""


def _find_trim() -> Callable[[int], int] | None:
    """Return glibc's ``malloc_trim``; None with another libc, which lacks it (musl, macOS, Windows)."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, TypeError, AttributeError):
        return None
    return trim


def _drop_free_lists() -> None:
    """Make Python drop the freed tuples, lists and dicts that it keeps for reuse.

    They are few, but each keeps a memory page of an ended simulation alive. Only a full collection drops them. To keep
    it from traversing all simulations, which takes a second for every 400 MB, all living objects are frozen during it.
    """
    gc.freeze()
    gc.collect()
    gc.unfreeze()


class Memory:
    """Waits until no further simulation ends, then releases the memory."""

    def __init__(self) -> None:
        self._trim = _find_trim()
        self._waiting: asyncio.TimerHandle | None = None

    def release_soon(self) -> None:
        """Release memory after the pause. Needs a running event loop."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._release)

    def _release(self) -> None:
        self._waiting = None
        _drop_free_lists()
        if self._trim is not None:
            self._trim(0)
