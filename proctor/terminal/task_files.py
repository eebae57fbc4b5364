"""Store a terminal task's files as one blob, from which any host plays exactly the admitted files."""

import asyncio
import io
import logging
import os
import shutil
import stat
import tarfile
from hashlib import sha256
from pathlib import Path

from proctor.activities.scenario_code.tar_files import extract
from proctor.processes.own_folders import OwnFolder
from proctor.storage.blobs import BlobRef, BlobStore
from proctor.terminal.failures import TaskError

log = logging.getLogger(__name__)

MOST_BYTES = 256 * 1024 * 1024
"""Maximum bytes of all files of a task together."""

_FOLDERS_KEPT = 100


def packed(folder: Path) -> bytes:
    """Pack all files of a task's folder in an archive, with their modes and the links that stay inside.

    The archive doesn't depend on times, owners or the order of reading. Raises TaskError (they are too large, or can't
    be read).
    """
    content, total = io.BytesIO(), 0
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            status = path.lstat()
            member.mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                member.type, member.linkname = tarfile.SYMTYPE, os.readlink(path)
                if not path.resolve().is_relative_to(folder.resolve()) or os.path.isabs(member.linkname):
                    raise TaskError(
                        f"{folder.name}/{member.name} is a link that leads out of the task's folder: put the file there"
                    )
                archive.addfile(member)
            elif stat.S_ISDIR(status.st_mode):
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            elif stat.S_ISREG(status.st_mode):
                total += status.st_size
                if total > MOST_BYTES:
                    raise TaskError(
                        f"{folder.name} has more than {MOST_BYTES // 1024 // 1024} MB of files: have its Dockerfile "
                        "fetch or make what is large"
                    )
                try:
                    body = path.read_bytes()
                except OSError as error:
                    raise TaskError(f"{folder.name}/{member.name} can't be read: {error.strerror}") from None
                member.size = len(body)
                archive.addfile(member, io.BytesIO(body))
            else:
                raise TaskError(f"{folder.name}/{member.name} is a pipe, device or socket: it must be a plain file")
    return content.getvalue()


class TaskFolders:
    """Tasks' files, unpacked for this worker alone. The least recently used folders are removed first."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._home = OwnFolder("proctor-tasks-")
        self._folders: dict[str, Path] = {}
        self._digests: dict[str, str] = {}
        self._unpacking = asyncio.Lock()

    async def folder(self, task_id: str, ref: BlobRef) -> Path:
        """Return the folder with a task's files, named like the task."""
        async with self._unpacking:
            folder = self._folders.pop(ref.sha256, None)
            if folder is None or not folder.is_dir():
                folder = Path(self._home.name) / ref.sha256 / task_id
                await asyncio.to_thread(_unpack, await self._store.get(ref), folder)
                self._digests[ref.sha256] = await asyncio.to_thread(_digest, folder)
            self._folders[ref.sha256] = folder
            while len(self._folders) > _FOLDERS_KEPT:
                oldest = self._folders.pop(next(iter(self._folders)))
                await asyncio.to_thread(shutil.rmtree, oldest.parent, ignore_errors=True)
        return folder

    async def checked_folder(self, task_id: str, ref: BlobRef) -> Path:
        """Return the folder, unpacked again if a file in it has changed since it was unpacked."""
        folder = await self.folder(task_id, ref)
        if await asyncio.to_thread(_digest, folder) != self._digests[ref.sha256]:
            log.warning("The files of the task %s were changed on this machine; they are unpacked again.", task_id)
            async with self._unpacking:
                self._folders.pop(ref.sha256, None)
            folder = await self.folder(task_id, ref)
        return folder

    def close(self) -> None:
        self._home.cleanup()


def _digest(folder: Path) -> str:
    """Return a digest of all files' names, modes and contents; empty for a folder that can't be packed any more."""
    try:
        return sha256(packed(folder)).hexdigest()
    except (TaskError, OSError):
        return ""


def _unpack(content: bytes, folder: Path) -> None:
    beside = folder.with_name(f".{folder.name}.new")
    for left_over in (beside, folder):
        shutil.rmtree(left_over, ignore_errors=True)
    beside.mkdir(parents=True)
    # Not "data": it drops the right to execute of users other than the owner, and Dockerfiles copy modes along.
    extract(content, beside, "tar")
    beside.rename(folder)
