"""Works on files in folders that a CLI agent can write. No other module of the harness opens, makes or removes files.

Each file is found by its name in a folder that is open, and no link is followed. Only plain files are opened, without
waiting. The CLI agent may have left links to its user's files, pipes, or files of 10 TB without content. Its folders
may be closed, or too deep for any path, and names need not be UTF-8.
"""

import errno
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from purple_sdk.harness.declared import HarnessError

MOST_BYTES = 2_000_000_000
MOST_FILES = 200_000
MOST_DEPTH = 100
"""Limits of a copy: its content, its files and folders, its folders inside each other."""

_NAMED = 5
_LONGEST_NAME = 200
"""How many of the files that a copy leaves out are named, and up to how many characters."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 16


def write(folder: Path, path: str, text: str) -> None:
    """Write a file below a folder, all at once. A link, pipe or folder in its way is removed."""
    *parents, name = PurePosixPath(path).parts
    with ExitStack() as opened:
        at = opened.enter_context(_folder(str(folder)))
        for parent in parents:
            if not _is_folder(parent, at):
                with suppress(FileNotFoundError):
                    os.unlink(parent, dir_fd=at)
                os.mkdir(parent, 0o700, dir_fd=at)
            at = opened.enter_context(_folder(parent, at))
        if _is_folder(name, at):
            _remove(name, at)
        new = secrets.token_hex(16)
        with open(os.open(new, _NEW, 0o600, dir_fd=at), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(new, name, src_dir_fd=at, dst_dir_fd=at)


def read(folder: Path, name: str, most: int = 20_000_000) -> str:
    """The content of a plain file in a folder. Raises OSError (there is none, or it is longer)."""
    with _folder(str(folder)) as at:
        opened = os.open(name, _FILE, dir_fd=at)
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode) or about.st_size > most:
            os.close(opened)  # `open` leaves a folder open that it refuses
            raise OSError(f"{name} is not a plain file of at most {most} bytes")
        with open(opened, "rb") as file:
            return file.read(most).decode(errors="replace")


@dataclass
class LeftOut:
    """What a copy lacks: sockets, pipes and devices. ``names`` has the first ones, cut to a length."""

    files: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, path: PurePosixPath) -> None:
        """Count a file, and name it if it is one of the first."""
        self.files += 1
        if self.files <= _NAMED:
            self.names.append(str(path)[:_LONGEST_NAME])


def copy(source: Path, target: Path) -> LeftOut:
    """Copy a folder to a new one: plain files, folders and links, with their modes and times.

    Raises:
        HarnessError: it is larger than a copy may be.
    """
    target.mkdir(mode=0o700)
    copying = _Copying()
    with _folder(str(source)) as at, _folder(str(target)) as to:
        copying.copy_inside(at, to, PurePosixPath())
    return copying.left_out


def remove(folder: Path) -> None:
    """Remove a folder with all in it, if it is there."""
    with suppress(FileNotFoundError), _folder(str(folder.parent)) as at:
        _remove(folder.name, at)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A new folder for homes of CLI agents, removed at the end as far as it can be.

    ``TemporaryDirectory`` follows what they left: before Python 3.11.8 it changes modes of files that links lead to.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
    try:
        yield folder
    finally:
        with suppress(OSError):
            remove(folder)


class _Copying:
    """Copies folders, up to ``MOST_BYTES`` and ``MOST_FILES`` in all."""

    def __init__(self) -> None:
        self.left_out = LeftOut()
        self._bytes = self._files = 0

    def copy_inside(self, at: int, to: int, path: PurePosixPath) -> None:
        with os.scandir(at) as found:
            for entry in found:
                self._count(files=1, depth=len(path.parts))
                self._copy(entry, at, to, path / entry.name)

    def _copy(self, entry: os.DirEntry[str], at: int, to: int, path: PurePosixPath) -> None:
        about = entry.stat(follow_symlinks=False)
        if entry.is_symlink():
            os.symlink(os.readlink(entry.name, dir_fd=at), entry.name, dir_fd=to)
        elif entry.is_dir(follow_symlinks=False):
            os.mkdir(entry.name, 0o700, dir_fd=to)
            with _folder(entry.name, at) as inside, _folder(entry.name, to) as copied:
                self.copy_inside(inside, copied, path)
                _set_as(about, copied)
        elif entry.is_file(follow_symlinks=False):
            with (
                open(_opened(entry.name, _FILE, at), "rb", buffering=0) as source,
                open(os.open(entry.name, _NEW, 0o600, dir_fd=to), "wb", buffering=0) as target,
            ):
                self._copy_content(source.fileno(), target.fileno())
                _set_as(about, target.fileno())
        else:
            self.left_out.add(path)

    def _copy_content(self, source: int, target: int) -> None:
        place = 0
        try:
            while piece := os.pread(source, _PIECE, place := os.lseek(source, place, os.SEEK_DATA)):
                self._count(content=len(piece))
                place += os.pwrite(target, piece, place)
        except OSError as error:
            if error.errno != errno.ENXIO:  # only a hole is left
                raise
        os.ftruncate(target, os.fstat(source).st_size)

    def _count(self, *, files: int = 0, content: int = 0, depth: int = 0) -> None:
        self._files += files
        self._bytes += content
        if self._files > MOST_FILES or self._bytes > MOST_BYTES or depth > MOST_DEPTH:
            raise HarnessError(
                f"the CLI agent's folders can't be kept for its next turn: they have more than {MOST_FILES:,} files, "
                f"{MOST_BYTES // 1_000_000:,} MB, or {MOST_DEPTH} folders inside each other. Have it remove what it no "
                "longer needs"
            )


def _set_as(about: os.stat_result, file: int) -> None:
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    os.fchmod(file, about.st_mode & 0o777)


def _remove(name: str, parent: int) -> None:
    """Remove what has a name in an open folder. Folders inside folders are moved up first, so that depth costs neither
    stack nor descriptors.
    """
    if not _is_folder(name, parent):
        os.unlink(name, dir_fd=parent)
        return
    with _folder(name, parent) as top:
        waiting = _remove_files(top)
        while waiting:
            child = waiting.pop()
            with _folder(child, top) as at:
                for below in _remove_files(at):
                    with _folder(below, at):  # moving it changes it, so it must be writable
                        waiting.append(secrets.token_hex(16))
                        os.rename(below, waiting[-1], src_dir_fd=at, dst_dir_fd=top)
            os.rmdir(child, dir_fd=top)
    os.rmdir(name, dir_fd=parent)


def _remove_files(folder: int) -> list[str]:
    """Remove all but the folders; returns their names."""
    folders = []
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=folder)
    return folders


@contextmanager
def _folder(name: str, parent: int | None = None) -> Iterator[int]:
    """A folder, open; its owner may do all with it."""
    folder = _opened(name, _FOLDER, parent)
    try:
        if (mode := os.fstat(folder).st_mode) & 0o700 != 0o700:
            os.fchmod(folder, stat.S_IMODE(mode) | 0o700)
        yield folder
    finally:
        os.close(folder)


def _opened(name: str, flags: int, parent: int | None) -> int:
    """A file or folder, open; one that its owner may not read is made readable."""
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        if not hasattr(os, "O_PATH"):
            raise
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{handle}", 0o700)
    finally:
        os.close(handle)
    return os.open(name, flags, dir_fd=parent)


def _is_folder(name: str, parent: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False
