"""The files below a local folder: plain ones alone, each reached from that folder through no link.

An archive may come from elsewhere, and then a link in it may name anything, and a FIFO or a device never ends. So each
part of a path is opened separately, from the folder before it.
"""

import errno
import os
import posixpath
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OWN, _GROUP = 0o700, 0o070


class RefusedFileError(ValueError):
    """Something that is not read: not a plain file, or larger than it may be."""


class LocalFiles:
    """Paths are relative to ``root``, which itself may be reached by links. Methods raise ``OSError``, and
    ``RefusedFileError`` with words that complete "it is".
    """

    def __init__(self, root: str) -> None:
        self.root = root

    def read(self, path: str, most: int) -> bytes:
        folder, name = posixpath.split(path)
        with self._opened(folder) as at:
            _require_plain(os.stat(name, dir_fd=at, follow_symlinks=False))  # to open a device may do something
            with open(os.open(name, _PLAIN, dir_fd=at), "rb") as file:
                about = os.fstat(file.fileno())
                _require_plain(about)
                content = file.read(most + 1) if about.st_size <= most else b""
                if max(about.st_size, len(content)) > most:
                    raise RefusedFileError(f"larger than the {most} bytes that it may have")
                return content

    def write(self, path: str, content: bytes) -> None:
        """Write a file so that it is there as a whole or not at all, even if the machine loses its power."""
        folder, name = posixpath.split(path)
        with self._opened(folder, is_made=True) as at, _part(at, name, content) as part:
            os.replace(part, name, src_dir_fd=at, dst_dir_fd=at)
            os.fsync(at)

    def link_first(self, path: str, content: bytes) -> bool:
        """Write a file unless it is there; says whether it was written."""
        folder, name = posixpath.split(path)
        with self._opened(folder, is_made=True) as at:
            if _is_there(name, at):
                return False
            with _part(at, name, content) as part:
                try:
                    os.link(part, name, src_dir_fd=at, dst_dir_fd=at)
                except FileExistsError:
                    return False
                os.fsync(at)
        return True

    def names(self, path: str) -> list[str]:
        with self._opened(path) as at:
            return os.listdir(at)

    def versions(self, path: str) -> dict[str, str]:
        with self._opened(path) as at, os.scandir(at) as listing:
            stats = {each.name: each.stat(follow_symlinks=False) for each in listing}
        plain = {name: about for name, about in stats.items() if stat.S_ISREG(about.st_mode)}
        return {name: f"{about.st_mtime_ns}.{about.st_size}.{about.st_ino}" for name, about in plain.items()}

    def sizes(self, path: str) -> dict[str, tuple[int, datetime | None]]:
        sizes: dict[str, tuple[int, datetime | None]] = {}
        with self._opened(path) as top:
            for folder, _, names, at in os.fwalk(dir_fd=top):
                for name in names:
                    with suppress(FileNotFoundError):
                        about = os.stat(name, dir_fd=at, follow_symlinks=False)
                        inside = posixpath.normpath(posixpath.join(path, folder, name))
                        sizes[inside] = (about.st_size, datetime.fromtimestamp(about.st_mtime, UTC))
        return sizes

    def size(self, path: str) -> int | None:
        """The bytes of a file; None if it is not a plain one."""
        folder, name = posixpath.split(path)
        with self._opened(folder) as at:
            about = os.stat(name, dir_fd=at, follow_symlinks=False)
        return about.st_size if stat.S_ISREG(about.st_mode) else None

    def exists(self, path: str) -> bool:
        folder, name = posixpath.split(path)
        try:
            with self._opened(folder) as at:
                return _is_there(name, at)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def written_at(self, path: str) -> datetime:
        folder, name = posixpath.split(path)
        with self._opened(folder) as at:
            return datetime.fromtimestamp(os.stat(name, dir_fd=at, follow_symlinks=False).st_mtime, UTC)

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with its contents. Raises ``FileNotFoundError``."""
        folder, name = posixpath.split(path)
        with self._opened(folder) as at:
            if stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                shutil.rmtree(name, dir_fd=at)
            else:
                os.unlink(name, dir_fd=at)

    @contextmanager
    def _opened(self, path: str, *, is_made: bool = False) -> Iterator[int]:
        """A descriptor of a folder below; with ``is_made`` it is made if it isn't there."""
        if is_made and not os.path.isdir(self.root):
            _make_top(self.root)
        at = os.open(self.root, _FOLDER)
        try:
            for name in filter(None, path.split("/")):
                if is_made and not _is_there(name, at):
                    with suppress(FileExistsError):
                        os.mkdir(name, _mode_below(at), dir_fd=at)
                    os.fsync(at)
                below = _enter(name, at)
                os.close(at)
                at = below
            yield at
        finally:
            os.close(at)


@contextmanager
def _part(at: int, name: str, content: bytes) -> Iterator[str]:
    """Content that is on the disk under a name of its own, and gone afterwards."""
    part = f"{name}.{uuid.uuid4().hex}.part"
    try:
        with open(os.open(part, _NEW, _mode_below(at) & 0o666, dir_fd=at), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield part
    finally:
        with suppress(OSError):
            os.unlink(part, dir_fd=at)


def _enter(name: str, at: int) -> int:
    if name in (".", ".."):
        raise RefusedFileError("outside of its folder")
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
    except OSError as problem:
        if problem.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        is_link = stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
        raise RefusedFileError(f"behind {'a link' if is_link else 'something that is not a folder'}") from None


def _require_plain(about: os.stat_result) -> None:
    if stat.S_ISLNK(about.st_mode):
        raise RefusedFileError("a link")
    if not stat.S_ISREG(about.st_mode):
        raise RefusedFileError("a folder" if stat.S_ISDIR(about.st_mode) else "a FIFO, device or socket")


def _is_there(name: str, at: int) -> bool:
    try:
        os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _make_top(folder: str) -> None:
    above = os.path.dirname(folder)
    if not os.path.isdir(above):
        _make_top(above)
    at = os.open(above, _FOLDER)
    try:
        with suppress(FileExistsError):
            os.mkdir(folder, _mode_below(at))
        os.fsync(at)
    finally:
        os.close(at)


def _mode_below(at: int) -> int:
    """The mode of a new folder: its owner's alone (0700), and its group's where the folder above is one of a group."""
    above = os.fstat(at).st_mode
    is_of_group = above & stat.S_IWGRP and not above & stat.S_IWOTH
    return _OWN | (above & _GROUP if is_of_group else 0)
