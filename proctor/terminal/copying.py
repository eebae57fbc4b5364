"""Copy files into a container and out of it, through the engine. No program in the container takes part."""

import asyncio
import base64
import io
import json
import posixpath
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from aiodocker import DockerError

from proctor.terminal.commands import losing, lost
from proctor.terminal.engine import Engine
from proctor.terminal.references import EnvironmentRef

Sources = Path | Sequence[Path] | Mapping[str, bytes]
"""A source of files: the contents of folders, single files, or contents by name."""

_IS_FOLDER = 1 << 31
"""The bit for folders in the engine's modes, which are Go's."""

_ENOUGH = 65_536
"""Bytes of an archive that suffice to show a second entry, if there is one."""


async def copy_into(engine: Engine, environment: EnvironmentRef, source: Sources, target: str) -> None:
    """Copy folders' contents, files, or contents by name into a folder of the container, which is made if missing.

    All files belong to root and may be read and run by all users.

    Args:
        source: a folder, several paths, or contents by file name.
        target: the folder in the container, from ``/``.

    Raises:
        EnvironmentLostError: the container is gone.
    """
    with losing(environment):
        await copy_to_container(engine, environment.container_id, source, target)


async def copy_to_container(engine: Engine, container: str, source: Sources, target: str) -> None:
    """Copy files like ``copy_into`` into any container, also one that isn't started.

    Raises DockerError if there is no such container.
    """
    tar = await asyncio.to_thread(_packed, source, target.strip("/"))
    async with engine.asking(
        "PUT", f"containers/{container}/archive", {"path": "/"}, tar, None, "application/x-tar"
    ) as response:
        await response.read()


def _packed(source: Sources, target: str) -> bytes:
    out = io.BytesIO()

    def owned(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mode |= 0o755 if info.isdir() or info.name.endswith(".sh") else 0o644
        return info

    with tarfile.open(fileobj=out, mode="w") as tar:
        parts = target.split("/")
        for depth in range(1, len(parts) + 1):
            folder = tarfile.TarInfo("/".join(parts[:depth]))
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        if isinstance(source, Mapping):
            for name, content in source.items():
                info = tarfile.TarInfo(f"{target}/{name}")
                info.size = len(content)
                tar.addfile(owned(info), io.BytesIO(content))
        else:
            for origin in [source] if isinstance(source, Path) else source:
                for path in sorted(origin.iterdir()) if origin.is_dir() else [origin]:
                    tar.add(path, arcname=f"{target}/{path.name}", filter=owned)
    return out.getvalue()


async def is_free(engine: Engine, environment: EnvironmentRef, path: str) -> bool:
    """Whether a path of the container doesn't exist, or is an empty folder that isn't a link.

    The engine checks the path, since an agent may have replaced any command in the container. Raises
    EnvironmentLostError (the container is gone).
    """
    try:
        async with engine.asking("GET", f"containers/{environment.container_id}/archive", {"path": path}) as response:
            about = json.loads(base64.b64decode(response.headers["X-Docker-Container-Path-Stat"]))
            if not about["mode"] & _IS_FOLDER:
                return False
            start = await response.content.read(_ENOUGH)
    except DockerError as error:
        if error.status == 404 and not error.message.startswith("No such container"):
            return True
        raise lost(environment, error) from error
    count = 0
    with suppress(tarfile.ReadError, EOFError), tarfile.open(fileobj=io.BytesIO(start), mode="r|") as tar:
        count = sum(1 for _ in tar)
    return count == 1  # the folder itself


async def copy_out(
    engine: Engine, environment: EnvironmentRef, path: str, most_bytes: int = 10_000_000
) -> dict[str, bytes]:
    """Return the files at or below a path of the container, by relative path; links and devices are left out.

    Files beyond ``most_bytes`` in all are cut short or left out. If the path doesn't exist, the result is empty. Raises
    EngineUnavailableError (the engine doesn't answer).
    """
    files: dict[str, bytes] = {}
    raw = bytearray()
    try:
        async with engine.asking("GET", f"containers/{environment.container_id}/archive", {"path": path}) as response:
            async for chunk in response.content.iter_any():
                raw += chunk
                if len(raw) > most_bytes:
                    break
    except DockerError as error:
        if error.status in (404, 409):
            return {}
        raise
    remaining = most_bytes
    with suppress(tarfile.ReadError, EOFError), tarfile.open(fileobj=io.BytesIO(raw), mode="r|") as tar:
        for info in tar:
            if not info.isreg() or remaining <= 0:
                continue
            name = posixpath.normpath(info.name).partition("/")[2] or posixpath.basename(info.name)
            if name.startswith(("/", "..")):
                continue
            content = bytearray()
            source = tar.extractfile(info)
            with suppress(tarfile.ReadError, EOFError):
                while source is not None and len(content) < min(remaining, info.size):
                    block = source.read(min(1 << 16, remaining - len(content)))
                    if not block:
                        break
                    content += block
            remaining -= len(content)
            files[name] = bytes(content)
    return files
