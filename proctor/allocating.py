"""How a worker's allocator keeps memory: what passed through it once, a large scenario say, goes back to the system."""

import ctypes

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
"""Names of glibc's ``mallopt``."""

_ON_ITS_OWN = 256 * 1024
"""Bytes of a piece of memory that is taken from the system alone, and returned when it is freed. Without a setting
glibc raises this up to 32 MB, and what is freed below stays where it is."""

_ARENAS = 2
"""Of as many as there are threads, each keeps what its thread once needed."""


def give_memory_back() -> None:
    """Set this process's allocator, before there are threads; nothing happens where it isn't glibc's."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # musl, macOS, Windows
        return
    mallopt(_MMAP_THRESHOLD, _ON_ITS_OWN)
    mallopt(_ARENA_MAX, _ARENAS)
