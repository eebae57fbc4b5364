"""Temporary folders of one process. If it is killed before it removes its folder, the next process does."""

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

_LOCK = ".in-use"
_YOUNG_SECONDS = 3600.0
"""Minimum age in seconds of a leftover folder without a lock: the process that made a younger one may be about to lock
it.
"""


class OwnFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder for as long as this process lives.

    If the process is killed, the next folder made with the same prefix removes it.

    Args:
        prefix: the start of its name. Folders with that prefix whose process has ended are removed.
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
    """Remove the folders with a prefix whose processes have ended, if they are ours; returns their names."""
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
