"""Unpack archives that we have written, even on a Python whose ``tarfile`` has no filters yet."""

import io
import tarfile
from pathlib import Path
from typing import BinaryIO, Literal


def extract(content: bytes | BinaryIO, folder: Path, kind: Literal["data", "tar"]) -> None:
    """Write the files of an archive into an existing folder.

    ``kind`` is a filter of ``tarfile``. Python 3.11 has filters since 3.11.4; Debian 12 lacks them. Without a filter,
    files, folders and links are written with their modes, as ``tar`` does.

    Raises:
        tarfile.TarError, ValueError: an entry would be written outside of the folder, or isn't a file.
    """
    with tarfile.open(fileobj=io.BytesIO(content) if isinstance(content, bytes) else content) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter=kind)
            return
        for member in archive.getmembers():
            _check(member, folder)
        archive.extractall(folder)


def _check(member: tarfile.TarInfo, folder: Path) -> None:
    place = (folder / member.name).resolve()
    # Like tarfile, resolve a link's target from the link's own folder, before anything is written.
    target = (place.parent / member.linkname).resolve() if member.issym() else place
    if not all(path.is_relative_to(folder.resolve()) for path in (place, target)):
        raise ValueError(f"{member.name} would be outside of the folder that it is unpacked into")
    if not (member.isfile() or member.isdir() or member.issym()):
        raise ValueError(f"{member.name} isn't a file, folder or link")
