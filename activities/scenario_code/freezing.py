"""A scenario's files as one blob, the same for the same content, so that they judge as they were at admission.

Where its code reads by the authors' kit (``proctor.scenarios.kit``), that is frozen with it, in the folder ``KIT``: how
a mail or a time is read is part of how it judges; so is the reader (``proctor.language.reader``), in ``READER``.
``evaluator_modules`` imports them from there.
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
"""How large all files of a scenario together may be."""


def packed(directory: Path) -> bytes:
    """All plain files of a scenario's folder as an archive, with the kit that they use. Neither times nor owners nor
    the order of reading show. Raises ``ScenarioValidationError`` where they are too many, too large, or can't be read.
    """
    total = 0
    with TemporaryFile() as content:  # of large files only one is in memory at a time
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
    """Whether frozen files, by their hash, are those of the scenario of that id that came with proctor."""
    shipped = shipped_folder(scenario_id)
    return shipped is not None and blob_ref(packed(shipped)).sha256 == sha256


def _files(directory: Path) -> Iterator[tuple[str, bytes]]:
    """The names and contents of what is frozen, in order."""
    files = {
        path.relative_to(directory).as_posix(): path for path in (Path(name) for name, *_ in fingerprint(directory))
    }
    for name in (KIT, READER):
        if (directory / name).exists() and not (directory / name).is_dir():
            raise ScenarioValidationError(
                f"{directory.name}/{name} is proctor's own name for a folder: rename the file"
            )
    own = [path for path in files.values() if path.suffix == ".py"]
    # In a scenario that was frozen before, it is there.
    if not (directory / KIT).exists() and any(_names_the_kit(_read(path, directory)) for path in own):
        files |= {f"{KIT}/{path.name}": path for path in installed_kit().glob("*.py")}
        files |= {f"{READER}/{path.name}": path for path in installed_reader().glob("*.py")}
    for name, path in sorted(files.items()):
        yield name, _read(path, directory if path.is_relative_to(directory) else path.parent)


def _names_the_kit(source: bytes) -> bool:
    return any(name.encode() in source for name in KIT_NAMES)


def _read(path: Path, directory: Path) -> bytes:
    return read_regular(path, f"{directory.name}/{path.relative_to(directory)}")


def unpack(content: BinaryIO, directory: Path) -> None:
    """Write the files of an archive into a folder of their own; it is there with all of them, or not at all."""
    beside = directory.with_name(f".{directory.name}.{os.getpid()}")
    for left_over in (beside, directory):
        shutil.rmtree(left_over, ignore_errors=True)
    beside.mkdir(parents=True)
    extract(content, beside, "data")
    beside.rename(directory)
