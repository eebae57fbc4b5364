"""Temporary folders of one process, which the next one removes where it couldn't: it may have been killed."""

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

_LOCK = ".in-use"
_YOUNG_SECONDS = 3600.0
"""How old a folder without a lock has to be to count as left over: its maker may be about to lock it."""


class OwnFolder(tempfile.TemporaryDirectory[str]):
    """A folder for as long as this process lives, and no longer than until the next one with the same prefix is made.

    Args:
        prefix: how its name begins. Folders of that prefix whose process has ended are removed.
    """

    def __init__(self, prefix: str) -> None:
        remove_left_over(prefix)
        super().__init__(prefix=prefix)
        self._lock: int | None = _open_lock(self.name)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def cleanup(self) -> None:
        super().cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_left_over(prefix: str) -> list[str]:
    """Remove the folders of a prefix whose processes have ended, as far as they are ours; returns their names."""
    removed = []
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid() or _is_in_use(folder):
                continue
        except OSError:  # another process was faster
            continue
        shutil.rmtree(folder, ignore_errors=True)
        removed.append(folder.name)
    return removed


def _is_in_use(folder: Path) -> bool:
    if not (folder / _LOCK).exists():
        return time.time() - folder.stat().st_mtime < _YOUNG_SECONDS
    lock = _open_lock(str(folder))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _open_lock(folder: str) -> int:
    return os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
