"""Functions for files in folders that a CLI agent can write. No other module of the harness opens, makes or removes
files.

The functions follow no links (``purple_sdk.processes.local_files``). The CLI agent may have left links to its user's
files, pipes, or sparse files of 10 TB.
"""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from purple_sdk.harness.declared import HarnessError
from purple_sdk.processes.local_files import NEW, PLAIN, LocalFiles, entered, opened

MOST_BYTES = 2_000_000_000
MOST_FILES = 200_000
MOST_DEPTH = 100
"""Limits of a copy: the bytes of its content, the number of its files and folders, and the depth of its folders."""

_NAMED = 5
_LONGEST_NAME = 200
"""The most skipped files that are named, and the most characters of each name."""

_PIECE = 1 << 16
_entered = partial(entered, opens_closed=True)


def write(folder: Path, path: str, text: str) -> None:
    """Write a file below a folder atomically. A link, pipe or folder in its way is removed."""
    files = _files(folder)
    for parent in list(PurePosixPath(path).parents)[-2::-1]:
        if not files.is_folder(str(parent)):
            with suppress(FileNotFoundError):
                files.remove(str(parent))
    if files.is_folder(path):
        files.remove(path)
    files.write(path, text.encode())


def read(folder: Path, name: str, most: int = 20_000_000) -> str:
    """Return the content of a regular file in a folder. Raises OSError or ValueError if there is none, or if it is
    longer than ``most``.
    """
    return _files(folder).read(name, most).decode(errors="replace")


def _files(folder: Path) -> LocalFiles:
    return LocalFiles(str(folder), is_agents=True)


@dataclass
class LeftOut:
    """The files that a copy lacks: sockets, pipes and devices. ``names`` has the first ones, cut to a length."""

    files: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, path: PurePosixPath) -> None:
        """Count a file, and name it if it is one of the first."""
        self.files += 1
        if self.files <= _NAMED:
            self.names.append(str(path)[:_LONGEST_NAME])


def copy(source: Path, target: Path) -> LeftOut:
    """Copy a folder to a new one: regular files, folders and links, with their modes and times.

    Raises:
        HarnessError: the folder is larger than a copy may be.
    """
    target.mkdir(mode=0o700)
    copying = _Copying()
    with _entered(str(source)) as at, _entered(str(target)) as to:
        copying.copy_inside(at, to, PurePosixPath())
    return copying.left_out


def remove(folder: Path) -> None:
    """Remove a folder with its contents, if it exists."""
    with suppress(FileNotFoundError):
        _files(folder.parent).remove(folder.name)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Make a new folder for homes of CLI agents; at the end, remove as much of it as possible.

    ``TemporaryDirectory`` isn't used, because before Python 3.11.8 it follows links and changes the modes of their
    targets.
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
            with _entered(entry.name, at) as inside, _entered(entry.name, to) as copied:
                self.copy_inside(inside, copied, path)
                _copy_attributes(about, copied)
        elif entry.is_file(follow_symlinks=False):
            with (
                open(opened(entry.name, PLAIN, at), "rb", buffering=0) as source,
                open(os.open(entry.name, NEW, 0o600, dir_fd=to), "wb", buffering=0) as target,
            ):
                self._copy_content(source.fileno(), target.fileno())
                _copy_attributes(about, target.fileno())
        else:
            self.left_out.add(path)

    def _copy_content(self, source: int, target: int) -> None:
        place = 0
        try:
            while piece := os.pread(source, _PIECE, place := os.lseek(source, place, os.SEEK_DATA)):
                self._count(content=len(piece))
                place += os.pwrite(target, piece, place)
        except OSError as error:
            if error.errno != errno.ENXIO:  # only a hole follows
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


def _copy_attributes(about: os.stat_result, file: int) -> None:
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    os.fchmod(file, about.st_mode & 0o777)
