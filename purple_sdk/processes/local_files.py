"""Access the regular files below a local folder without following links.

An archive may come from elsewhere, and a CLI agent works in its home. A link in such a folder may lead anywhere, and
reading a FIFO or a device may never end. So each part of a path is opened separately, from the folder before it.
Folders may be closed or nested too deep for any path, and names need not be UTF-8.
"""

import errno
import os
import posixpath
import stat
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OWN, _GROUP = 0o700, 0o070

_DEEPEST = 20
"""How many levels of folders are searched; proctor never writes deeper."""


class RefusedFileError(ValueError):
    """A file that is not read: it is not a regular file, or larger than allowed."""


class LocalFiles:
    """Access to files by paths relative to ``root``. The path to ``root`` may have links. Methods raise ``OSError``,
    and ``RefusedFileError`` with words that complete "it is".

    Args:
        is_agents: whether a CLI agent works in the folder. If so, ``root`` must not be a link, folders without
            permissions are opened, and written files need not survive a loss of power.
    """

    def __init__(self, root: str, *, is_agents: bool = False) -> None:
        self.root = root
        self._is_agents = is_agents

    def read(self, path: str, most: int) -> bytes:
        folder, name = posixpath.split(path)
        with self._open_folder(folder) as at:
            _require_plain(_look(name, at))  # opening a device may have an effect
            with open(os.open(name, PLAIN, dir_fd=at), "rb") as file:
                about = os.fstat(file.fileno())
                _require_plain(about)
                content = file.read(most + 1) if about.st_size <= most else b""
                if max(about.st_size, len(content)) > most:
                    raise RefusedFileError(f"larger than the {most} bytes that it may have")
                return content

    def write(self, path: str, content: bytes) -> None:
        """Write a file atomically: it appears as a whole or not at all."""
        folder, name = posixpath.split(path)
        with self._open_folder(folder, is_made=True) as at, self._part(at, name, content) as part:
            os.replace(part, name, src_dir_fd=at, dst_dir_fd=at)
            self._sync(at)

    def link_first(self, path: str, content: bytes) -> bool:
        """Write a file unless it exists. Return whether it was written."""
        folder, name = posixpath.split(path)
        with self._open_folder(folder, is_made=True) as at:
            try:
                _look(name, at)
            except FileNotFoundError:
                with suppress(FileExistsError), self._part(at, name, content) as part:
                    os.link(part, name, src_dir_fd=at, dst_dir_fd=at)
                    self._sync(at)
                    return True
        return False

    def names(self, path: str) -> list[str]:
        with self._open_folder(path) as at:
            return os.listdir(at)

    def versions(self, path: str) -> dict[str, str]:
        with self._open_folder(path) as at, os.scandir(at) as listing:
            stats = {file.name: file.stat(follow_symlinks=False) for file in listing}
        plain = {name: about for name, about in stats.items() if stat.S_ISREG(about.st_mode)}
        return {name: f"{about.st_mtime_ns}.{about.st_size}.{about.st_ino}" for name, about in plain.items()}

    def sizes(self, path: str) -> dict[str, tuple[int, datetime | None]]:
        sizes: dict[str, tuple[int, datetime | None]] = {}
        with self._open_folder(path) as top:
            for folder, folders, names, at in os.fwalk(dir_fd=top):
                if folder.count("/") >= _DEEPEST:
                    folders.clear()
                for name in names:
                    with suppress(FileNotFoundError):
                        about = _look(name, at)
                        inside = posixpath.normpath(posixpath.join(path, folder, name))
                        sizes[inside] = (about.st_size, datetime.fromtimestamp(about.st_mtime, UTC))
        return sizes

    def size(self, path: str) -> int | None:
        """Return the bytes of a file; None if it is not a regular one."""
        about = self._look(path)
        return about.st_size if stat.S_ISREG(about.st_mode) else None

    def exists(self, path: str) -> bool:
        try:
            self._look(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def is_folder(self, path: str) -> bool:
        return self.exists(path) and stat.S_ISDIR(self._look(path).st_mode)

    def get_write_time(self, path: str) -> datetime:
        return datetime.fromtimestamp(self._look(path).st_mtime, UTC)

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with its contents. Raises ``FileNotFoundError``."""
        folder, name = posixpath.split(path)
        with self._open_folder(folder) as at:
            _remove(name, at)

    def _look(self, path: str) -> os.stat_result:
        folder, name = posixpath.split(path)
        with self._open_folder(folder) as at:
            return _look(name, at)

    def _sync(self, file: int) -> None:
        if not self._is_agents:
            os.fsync(file)

    @contextmanager
    def _open_folder(self, path: str, *, is_made: bool = False) -> Iterator[int]:
        """Open a folder below ``root`` and yield its descriptor. With ``is_made``, make a missing folder."""
        if is_made and not os.path.isdir(self.root):
            self._make_top(self.root)
        with ExitStack() as opened:
            at = opened.enter_context(entered(self.root, follows=not self._is_agents, opens_closed=self._is_agents))
            for name in filter(None, path.split("/")):
                if is_made:
                    with suppress(FileExistsError):
                        os.mkdir(name, _mode_below(at), dir_fd=at)
                        self._sync(at)
                at = opened.enter_context(entered(name, at, opens_closed=self._is_agents))
            yield at

    @contextmanager
    def _part(self, at: int, name: str, content: bytes) -> Iterator[str]:
        """Write content to the disk under a temporary name, which is removed afterwards."""
        part = f"{name}.{uuid.uuid4().hex}.part"
        try:
            with open(os.open(part, NEW, _mode_below(at) & 0o666, dir_fd=at), "wb") as file:
                file.write(content)
                file.flush()
                self._sync(file.fileno())
            yield part
        finally:
            with suppress(OSError):
                os.unlink(part, dir_fd=at)

    def _make_top(self, folder: str) -> None:
        above = os.path.dirname(folder)
        if not os.path.isdir(above):
            self._make_top(above)
        with entered(above, follows=True) as at:
            with suppress(FileExistsError):
                os.mkdir(folder, _mode_below(at))
            self._sync(at)


@contextmanager
def entered(name: str, at: int | None = None, *, follows: bool = False, opens_closed: bool = False) -> Iterator[int]:
    """Open a folder and yield its descriptor. With ``opens_closed``, first give its owner all rights on it."""
    if name in (".", ".."):
        raise RefusedFileError("outside of its folder")
    try:
        folder = opened(name, _FOLDER | (0 if follows else os.O_NOFOLLOW), at, opens_closed=opens_closed)
    except OSError as error:
        if follows or error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        is_link = stat.S_ISLNK(_look(name, at).st_mode)
        raise RefusedFileError(f"behind {'a link' if is_link else 'something that is not a folder'}") from None
    try:
        if opens_closed and (mode := os.fstat(folder).st_mode) & _OWN != _OWN:
            os.fchmod(folder, stat.S_IMODE(mode) | _OWN)
        yield folder
    finally:
        os.close(folder)


def opened(name: str, flags: int, at: int | None, *, opens_closed: bool = True) -> int:
    """Open a file or folder. With ``opens_closed``, also open one that its owner may not read."""
    try:
        return os.open(name, flags, dir_fd=at)
    except PermissionError:
        if not opens_closed or not hasattr(os, "O_PATH"):
            raise
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        os.chmod(f"/proc/self/fd/{handle}", _OWN)
    finally:
        os.close(handle)
    return os.open(name, flags, dir_fd=at)


def _remove(name: str, at: int) -> None:
    """Remove a file, a link, or a folder with its contents, by its name in an open folder. Nested folders are moved up
    first, so depth costs neither stack nor descriptors.
    """
    if not stat.S_ISDIR(_look(name, at).st_mode):
        os.unlink(name, dir_fd=at)
        return
    with entered(name, at, opens_closed=True) as top:
        waiting = _remove_files(top)
        while waiting:
            child = waiting.pop()
            with entered(child, top, opens_closed=True) as inside:
                for below in _remove_files(inside):
                    # Moving a folder changes it, so it must be writable.
                    with entered(below, inside, opens_closed=True):
                        waiting.append(uuid.uuid4().hex)
                        os.rename(below, waiting[-1], src_dir_fd=inside, dst_dir_fd=top)
            os.rmdir(child, dir_fd=top)
    os.rmdir(name, dir_fd=at)


def _remove_files(folder: int) -> list[str]:
    """Remove everything except folders. Return the folders' names."""
    folders = []
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=folder)
    return folders


def _require_plain(about: os.stat_result) -> None:
    if stat.S_ISLNK(about.st_mode):
        raise RefusedFileError("a link")
    if not stat.S_ISREG(about.st_mode):
        raise RefusedFileError("a folder" if stat.S_ISDIR(about.st_mode) else "a FIFO, device or socket")


def _look(name: str, at: int | None) -> os.stat_result:
    return os.stat(name, dir_fd=at, follow_symlinks=False)


def _mode_below(at: int) -> int:
    """Return the mode of a new folder: for its owner alone (0700). If the folder above belongs to a group, its group
    gets rights too.
    """
    above = os.fstat(at).st_mode
    is_of_group = above & stat.S_IWGRP and not above & stat.S_IWOTH
    return _OWN | (above & _GROUP if is_of_group else 0)
