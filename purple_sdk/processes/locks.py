"""Locks between processes. Each lock is a separate file, which only its user can open.

Folders aren't used as locks: every process that may list a folder can lock it, even a confined CLI agent.
"""

import asyncio
import fcntl
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

SECONDS = 10.0
_POLL_SECONDS = 0.05


class BusyError(Exception):
    """Another process holds a lock; the message is a sentence."""


def builds_folder() -> Path:
    """Return the folder for locks of image builds, for all processes of this user."""
    return Path(tempfile.gettempdir(), f"proctor-builds-{os.getuid()}")


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock.

    Raises:
        BusyError: another process holds the lock.
        OSError: the file can't be opened.
    """
    lock = _open(file)
    try:
        for pause in _tries(lock, file, SECONDS):
            time.sleep(pause)
        yield
    finally:
        os.close(lock)


@asynccontextmanager
async def locked_without_blocking(file: Path, seconds: float) -> AsyncIterator[None]:
    """Hold a lock as ``locked`` does, without blocking an event loop."""
    lock = _open(file)
    try:
        for pause in _tries(lock, file, seconds):
            await asyncio.sleep(pause)
        yield
    finally:
        os.close(lock)


def _open(file: Path) -> int:
    return os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _tries(lock: int, file: Path, seconds: float) -> Iterator[float]:
    """Take a lock. Yield the seconds to wait before each further try."""
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise BusyError(
                    f"another process has had the lock {file} for {seconds:g} s: end that (`fuser {file}` prints its "
                    "id), and repeat this"
                ) from None
            yield _POLL_SECONDS
        else:
            return
