"""Giving memory back to the system after simulations have ended, as far as the allocators allow.

Freed objects go back to Python's and libc's allocators, and whole free pages stay with these unless they are asked.
"""

import asyncio
import ctypes
import gc
from collections.abc import Callable

PAUSE_SECONDS = 1.0
"""How long after the last ending memory is given back: once for all, when many simulations end at once."""


def _find_trim() -> Callable[[int], int] | None:
    """glibc's ``malloc_trim``; None where there is another libc, which has none (musl, macOS, Windows)."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, TypeError, AttributeError):
        return None
    return trim


def _drop_free_lists() -> None:
    """Have Python let go of the freed tuples, lists and dicts that it keeps for the next time.

    They are few, but each of them keeps a page of the simulations that it was part of. Only a full collection drops
    them, and that would look through all simulations that there are, a second for every 400 MB: so everything is put
    out of its sight meanwhile.
    """
    gc.freeze()
    gc.collect()
    gc.unfreeze()


class Memory:
    """Waits until no more simulations end, then gives back what they held."""

    def __init__(self) -> None:
        self._trim = _find_trim()
        self._waiting: asyncio.TimerHandle | None = None

    def release_soon(self) -> None:
        """Give memory back in a moment. Needs a running event loop."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._release)

    def _release(self) -> None:
        self._waiting = None
        _drop_free_lists()
        if self._trim is not None:
            self._trim(0)
