"""Freeze a scenario's files into one blob, so judging uses the files as they were at admission. Equal content gives
equal blobs.

If the scenario's code uses the authors' kit (``proctor.scenarios.kit``), the kit is frozen, too, in the folder ``KIT``:
judging depends on how it reads mails and times. The reader (``proctor.language.reader``) is frozen in ``READER``.
``evaluator_modules`` imports both from there.
"""

import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from proctor.activities.scenario_code.evaluator_modules import KIT, KIT_NAMES, READER, installed_kit, installed_reader
from proctor.activities.scenario_code.manager import ScenarioValidationError, fingerprint, read_regular, shipped_folder
from proctor.activities.scenario_code.tar_files import extract
from proctor.storage.blobs import blob_ref

MOST_BYTES = 64 * 1024 * 1024
"""The limit for all files of a scenario together, in bytes."""


def packed(directory: Path) -> bytes:
    """Pack all plain files of a scenario's folder, with the kit that they use, into an archive. Times, owners and the
    order of reading don't matter. Raises ``ScenarioValidationError`` if the files are too many or too large, or can't
    be read.
    """
    total = 0
    with TemporaryFile() as content:  # only one large file is in memory at a time
        with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, body in _files(directory):
                total += len(body)
                if total > MOST_BYTES:
                    raise ScenarioValidationError(
                        f"{directory.name} has more than {MOST_BYTES // 1024 // 1024} MB of files: keep what isn't the "
                        "scenario's elsewhere"
                    )
                member = tarfile.TarInfo(name)
                member.size = len(body)
                archive.addfile(member, io.BytesIO(body))
        content.seek(0)
        return content.read()


def is_shipped_as_frozen(scenario_id: str, sha256: str) -> bool:
    """Return whether a hash of frozen files is that of the installed scenario with this id."""
    shipped = shipped_folder(scenario_id)
    return shipped is not None and blob_ref(packed(shipped)).sha256 == sha256


def _files(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the frozen files, in order."""
    files = {
        path.relative_to(directory).as_posix(): path for path in (Path(name) for name, *_ in fingerprint(directory))
    }
    for name in (KIT, READER):
        if (directory / name).exists() and not (directory / name).is_dir():
            raise ScenarioValidationError(
                f"{directory.name}/{name} is proctor's own name for a folder: rename the file"
            )
    own = [path for path in files.values() if path.suffix == ".py"]
    # A scenario that was frozen before already has the kit.
    if not (directory / KIT).exists() and any(_names_the_kit(_read_file(path, directory)) for path in own):
        files |= {f"{KIT}/{path.name}": path for path in installed_kit().glob("*.py")}
        files |= {f"{READER}/{path.name}": path for path in installed_reader().glob("*.py")}
    for name, path in sorted(files.items()):
        yield name, _read_file(path, directory if path.is_relative_to(directory) else path.parent)


def _names_the_kit(source: bytes) -> bool:
    return any(name.encode() in source for name in KIT_NAMES)


def _read_file(path: Path, directory: Path) -> bytes:
    return read_regular(path, f"{directory.name}/{path.relative_to(directory)}")


def unpack(content: bytes | BinaryIO, directory: Path) -> None:
    """Write the files of an archive into a new folder. The folder appears with all files or not at all."""
    beside = directory.with_name(f".{directory.name}.{os.getpid()}")
    for left_over in (beside, directory):
        shutil.rmtree(left_over, ignore_errors=True)
    beside.mkdir(parents=True)
    extract(content, beside, "data")
    beside.rename(directory)
