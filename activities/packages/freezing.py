"""A scenario's files as one blob, the same for the same content, so that they judge as they were at admission."""

import io
import os
import shutil
import stat
import tarfile
from pathlib import Path

from activities.archives import extract
from activities.packages.manager import ScenarioValidationError, fingerprint

MOST_BYTES = 64 * 1024 * 1024
"""How large all files of a scenario together may be."""


def packed(directory: Path) -> bytes:
    """All plain files of a scenario's folder as an archive; neither times nor owners nor the order of reading show.

    Raises:
        ScenarioValidationError: they are too many, too large, or can't be read.
    """
    content, total = io.BytesIO(), 0
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(path for path, *_ in fingerprint(directory)):
            body = _read(Path(name), directory)
            total += len(body)
            if total > MOST_BYTES:
                raise ScenarioValidationError(
                    f"{directory.name} has more than {MOST_BYTES // 1024 // 1024} MB of files: keep what isn't the "
                    "scenario's elsewhere"
                )
            member = tarfile.TarInfo(Path(name).relative_to(directory).as_posix())
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return content.getvalue()


def _read(path: Path, directory: Path) -> bytes:
    where = f"{directory.name}/{path.relative_to(directory)}"
    try:
        # A pipe that took a file's place meanwhile isn't waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ScenarioValidationError(f"{where} is a pipe, device or socket: it must be a plain file")
            return file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise ScenarioValidationError(f"{where} can't be read: {problem.strerror}") from None


def unpack(content: bytes, directory: Path) -> None:
    """Write the files of an archive into a folder of their own; it is there with all of them, or not at all."""
    beside = directory.with_name(f".{directory.name}.{os.getpid()}")
    for left_over in (beside, directory):
        shutil.rmtree(left_over, ignore_errors=True)
    beside.mkdir(parents=True)
    extract(content, beside, "data")
    beside.rename(directory)
