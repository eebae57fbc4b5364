"""Make temporary folders for one process. If the process is killed, the next one removes its folder."""

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

_LOCK = ".in-use"
_YOUNG_SECONDS = 3600.0
"""The age in seconds from which a folder without a lock counts as left over. A younger one may be locked soon."""


class OwnFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder for as long as this process lives.

    If the process is killed, the next folder made with the same prefix removes it.

    Args:
        prefix: the start of the folder's name. Folders with this prefix are removed if their processes have ended.
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
    """Remove this user's folders with a prefix if their processes have ended. Returns the folders' names."""
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
