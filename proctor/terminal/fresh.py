"""Start a fresh container for a trial's tests, from the task's image and the files that the agent changed.

No process of the agent runs in the fresh container. The agent's container is stopped, and the engine copies the files
without a command of that container. Before any file is copied in, the image's own ``rm`` removes the files that the
agent deleted.
"""

import asyncio
import os
import posixpath
import shlex
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from aiodocker import DockerError
from pydantic import BaseModel

from proctor.terminal import environments
from proctor.terminal.agent_changes import USUAL_FOLDERS, Change, ImageCommands, list_script, read_listing
from proctor.terminal.commands import losing, lost, run_plainly
from proctor.terminal.engine import RUN, TRIAL, Engine
from proctor.terminal.failures import EnvironmentFailedError, LimitExceededError
from proctor.terminal.quotas import QuotasReached
from proctor.terminal.references import EnvironmentRef, Process
from proctor.terminal.task_model import TerminalTask
from purple_sdk.processes.together import do_all

SUFFIX = "-verifier"
"""The suffix of the fresh container's name, which follows the name of the agent's container."""

SECOND = "-verifier-2"
"""Suffix for a second run, with all of the agent's changes or with none."""

VERIFIER = "proctor.verifier"
"""The label of such a container."""

_LEFTOVERS = "proctor.left"
"""The label of a volume that stores ``Leftovers`` as JSON."""

_EXCLUDED = ("/tests", "/logs/verifier", "/proc", "/sys", "/dev")
_GUARDED = (*USUAL_FOLDERS, "/usr/lib", "/usr/local/lib", "/lib", "/lib64", "/etc")
"""Folders that stay folders, even if the agent put a link in their place."""

_AT_ONCE = 8
_LOOKS = 5
_BATCH = 256 * 2**20
_IN_MEMORY = 16 * 2**20
_COPY_SECONDS = 1800.0
_WORDS_AT_MOST = 50_000

_RM = "PATH=/usr/bin:/bin rm -rf --"

_known_commands: dict[str, ImageCommands] = {}


class Leftovers(BaseModel, frozen=True):
    """The state of an agent's container at the end of the agent's time."""

    processes: tuple[Process, ...] = ()
    quotas: QuotasReached = QuotasReached()


async def image_commands(engine: Engine, environment: EnvironmentRef) -> ImageCommands:
    """Return the commands of the image behind an agent's container; looked up once for each image.

    Raises:
        EnvironmentLostError: the container is gone.
        EngineUnavailableError: the engine doesn't answer.
    """
    about = await _inspect(engine, environment.container_id, environment)
    image = str(about["Image"])
    if image not in _known_commands:
        path = next((variable[5:] for variable in about["Config"]["Env"] or [] if variable.startswith("PATH=")), "")
        folders = dict.fromkeys([*filter(None, path.split(":")), *USUAL_FOLDERS])
        body = {
            "Image": image,
            "Entrypoint": ["/bin/sh", "-c", list_script(folders)],
            "Cmd": [],
            "User": "root",
            "Labels": _labels(environment),
            "HostConfig": {"NetworkMode": "none"},
        }
        with losing(environment):
            made = (await engine.ask("POST", "containers/create", body=body))["Id"]
            try:
                await engine.ask("POST", f"containers/{made}/start")
                await engine.ask("POST", f"containers/{made}/wait")
                output = await environments.read_output(engine, made, 100_000)
            finally:
                await engine.ask("DELETE", f"containers/{made}", {"force": True, "v": True})
        _known_commands[image] = read_listing(output, folders)
    return _known_commands[image]


def _labels(environment: EnvironmentRef) -> dict[str, str]:
    return {RUN: environment.run, TRIAL: environment.trial, VERIFIER: "1"}


async def find(engine: Engine, environment: EnvironmentRef) -> EnvironmentRef | None:
    """Return the fresh container of a trial's tests, whether or not it runs; None if there is none."""
    try:
        about = await engine.ask("GET", f"containers/{environment.container}{SUFFIX}/json")
    except DockerError:
        return None
    return _reference(environment, about["Id"])


def _reference(environment: EnvironmentRef, container: str, suffix: str = SUFFIX) -> EnvironmentRef:
    return environment.model_copy(
        update={"container": f"{environment.container}{suffix}", "container_id": container, "own_processes": ()}
    )


async def remove(engine: Engine, environment: EnvironmentRef, suffix: str = SUFFIX) -> None:
    with suppress(DockerError):
        await engine.ask("DELETE", f"containers/{environment.container}{suffix}", {"force": True, "v": True})


async def start(
    engine: Engine,
    task: TerminalTask,
    environment: EnvironmentRef,
    changes: Sequence[Change],
    held: Collection[str],
    suffix: str = SUFFIX,
) -> EnvironmentRef:
    """Start a fresh container with the agent's changes; an existing one is replaced.

    Args:
        held: the paths that stay as in the image, with everything below them.
        suffix: added to the name of the agent's container.

    Raises:
        EnvironmentFailedError: the fresh container doesn't start with the agent's files or volumes.
        EnvironmentLostError: one of the containers is gone.
        LimitExceededError: the agent's files, including holes, are larger than the task's storage.
        EngineUnavailableError: the engine doesn't answer, or doesn't start the container.
    """
    await remove(engine, environment, suffix)
    about = await _inspect(engine, environment.container_id, environment)
    try:
        made = await _make(engine, environment, about, suffix)
    except DockerError as error:
        # The agent's container was made in the same way, and it started.
        raise engine.failed(f"a fresh container of {task.id} for its tests doesn't start", error.message) from error
    fresh = _reference(environment, made, suffix)
    await _prepare(engine, task, fresh)
    mounts = [str(mount["Destination"]).rstrip("/") for mount in about.get("Mounts") or []]
    excluded = {*held, *mounts, *(folder for folder in _EXCLUDED if folder != "/tests" or not environment.had_tests)}
    most = (await environments.find_limits(engine, task))["storage"]
    await _lay_over(engine, environment, fresh, changes, excluded, most)
    if any(change.path.startswith("/etc/ld.so") or "/lib" in change.path for change in changes):
        await run_plainly(engine, fresh, ["/bin/sh", "-c", "ldconfig 2>/dev/null || true"])
    if not is_idle(about["Config"]):
        await _begin_again(engine, task, fresh)
    return fresh


async def note_leftovers(engine: Engine, environment: EnvironmentRef, leftovers: Leftovers) -> None:
    """Note on the engine that the tests run in a fresh container, and the state of the agent's container.

    The agent's container may be stopped after that. A later worker reads the note. Raises EngineUnavailableError (the
    engine doesn't answer).
    """
    labels = {RUN: environment.run, TRIAL: environment.trial, _LEFTOVERS: leftovers.model_dump_json()}
    await engine.ask("POST", "volumes/create", body={"Name": _make_note(environment), "Labels": labels})


async def noted_leftovers(engine: Engine, environment: EnvironmentRef) -> Leftovers | None:
    """Return the note of ``note_leftovers``; None if there is none.

    Raises EngineUnavailableError (the engine doesn't answer).
    """
    try:
        volume = await engine.ask("GET", f"volumes/{_make_note(environment)}")
        return Leftovers.model_validate_json(volume["Labels"][_LEFTOVERS])
    except (DockerError, KeyError, ValueError):
        return None


def _make_note(environment: EnvironmentRef) -> str:
    return f"{environment.container}-left-{environment.container_id[:12]}"


async def is_kept(engine: Engine, environment: EnvironmentRef) -> bool:
    """Whether the tests can begin again: they run in a fresh container, and the agent's container still exists.

    Raises EngineUnavailableError (the engine doesn't answer).
    """
    if await noted_leftovers(engine, environment) is None:
        return False
    try:
        await engine.ask("GET", f"containers/{environment.container_id}/json")
    except DockerError:
        return False
    return True


async def stop(engine: Engine, environment: EnvironmentRef) -> None:
    """End all processes in the agent's container; its files stay. Repeating it does no harm."""
    with suppress(DockerError):  # it has stopped already
        await engine.ask("POST", f"containers/{environment.container_id}/kill")


def is_idle(config: Mapping[str, Any]) -> bool:
    """Whether a container's own command only waits."""
    words = [*(config.get("Entrypoint") or []), *(config.get("Cmd") or [])]
    plain = " ".join(words).replace("/usr", "").replace("/bin/", "")
    for shell in ("sh -c ", "bash -c "):
        plain = plain.removeprefix(shell)
    return plain.removeprefix("exec ") in (*environments.IDLE, "bash", "sh", "")


async def restore(engine: Engine, environment: EnvironmentRef, held: Collection[str]) -> None:
    """Restore files of the agent's container from its image. Files that the image lacks are then removed by ``rm``.

    Raises:
        EnvironmentLostError: the container is gone.
        EngineUnavailableError: the engine doesn't answer.
    """
    if not held:
        return
    about = await _inspect(engine, environment.container_id, environment)
    body = {"Image": about["Image"], "Labels": _labels(environment)}
    with losing(environment):
        made = (await engine.ask("POST", "containers/create", body=body))["Id"]
    original = environment.model_copy(update={"container_id": made})
    added: list[str] = []
    try:
        with tempfile.TemporaryFile() as out:
            tar = tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115
            for path in sorted(held):
                piece = await _get(engine, original, path, False)
                if piece is None:
                    added.append(path)
                else:
                    with piece:
                        await asyncio.to_thread(_append, tar, piece, path, False, False)
            if "/etc/ld.so.preload" in added:
                tar.addfile(tarfile.TarInfo("etc/ld.so.preload"))  # empty, since even rm loads what it names
            await _put(engine, environment, tar, out)
    finally:
        with suppress(DockerError):
            await engine.ask("DELETE", f"containers/{made}", {"force": True, "v": True})
    await _delete(engine, environment, added)


async def _inspect(engine: Engine, container: str, environment: EnvironmentRef) -> dict[str, Any]:
    with losing(environment):
        about: dict[str, Any] = await engine.ask("GET", f"containers/{container}/json")
    return about


async def _make(engine: Engine, environment: EnvironmentRef, about: Mapping[str, Any], suffix: str) -> str:
    config, host = dict(about["Config"]), dict(about["HostConfig"])
    mode = str(host.get("NetworkMode") or "default")
    if mode.startswith(("container:", "host")):
        config.pop("Hostname", None)
    networks = {
        name: {
            "Aliases": endpoint.get("Aliases"),
            "IPAMConfig": endpoint.get("IPAMConfig"),
            "Links": endpoint.get("Links"),
        }
        for name, endpoint in ((about.get("NetworkSettings") or {}).get("Networks") or {}).items()
        if name not in ("none", "host", "bridge") and not mode.startswith("container:")
    }
    first = next((name for name in networks if name == mode), None) or next(iter(networks), None)
    body = {
        **config,
        "Image": about["Image"],
        "Labels": _labels(environment),
        "HostConfig": {**host, "RestartPolicy": {}, "AutoRemove": False, "VolumesFrom": [environment.container_id]},
        "NetworkingConfig": {"EndpointsConfig": {first: networks[first]} if first else {}},
    }
    name = f"{environment.container}{suffix}"
    made: str = (await engine.ask("POST", "containers/create", {"name": name}, body))["Id"]
    for network, settings in networks.items():
        if network != first:
            await engine.ask(
                "POST", f"networks/{network}/connect", body={"Container": made, "EndpointConfig": settings}
            )
    await engine.ask("POST", f"containers/{made}/start")
    return made


async def _prepare(engine: Engine, task: TerminalTask, fresh: EnvironmentRef) -> None:
    code, output = await run_plainly(engine, fresh, ["/bin/sh", "-c", environments.PREPARE])
    if code != 0:
        raise EnvironmentFailedError(
            f"A fresh container of {task.id} for its tests ended at once: {' '.join(output.split())[:300]}"
        )


async def _begin_again(engine: Engine, task: TerminalTask, fresh: EnvironmentRef) -> None:
    """Make the image's own services read the agent's files."""
    try:
        await engine.ask("POST", f"containers/{fresh.container_id}/restart", {"t": 1})
        for _ in range(_LOOKS):
            await asyncio.sleep(0.2)
            if not await environments.stands(engine, fresh):
                raise EnvironmentFailedError(f"The command of {task.id}'s image ends with the agent's files")
    except DockerError as error:
        raise EnvironmentFailedError(
            f"The command of {task.id}'s image doesn't start with the agent's files: {error.message[:300]}"
        ) from error
    if task.healthcheck is not None:
        await environments.wait_until_healthy(engine, fresh, task.healthcheck)


async def _lay_over(
    engine: Engine,
    environment: EnvironmentRef,
    fresh: EnvironmentRef,
    changes: Sequence[Change],
    excluded: Collection[str],
    most: int,
) -> None:
    """Copy the agent's files to the fresh container, at most ``most`` bytes; ``excluded`` paths are left out."""
    wanted = [change for change in changes if not _is_below(change.path, excluded)]
    await _delete(engine, fresh, [change.path for change in wanted if change.kind == "deleted"])
    parents_of_others = {above for path in excluded for above in _parents(path)}
    steps: list[tuple[str, bool]] = []
    done = ""
    for change in wanted:
        if done and change.path.startswith(f"{done}/"):
            continue  # came with its folder
        is_whole = change.kind != "modified" and change.path not in parents_of_others
        steps.append((change.path, is_whole))
        if change.kind == "added" and is_whole:
            done = change.path
    room = _Room(most)
    guarded = {above for folder in _GUARDED for above in [folder, *_parents(folder)]}
    out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
    tar = tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115
    try:
        for at in range(0, len(steps), _AT_ONCE):
            batch = steps[at : at + _AT_ONCE]
            got = await do_all(*(_get(engine, environment, path, is_whole, room) for path, is_whole in batch))
            for (path, is_whole), piece in zip(batch, got, strict=True):
                if piece is not None:
                    with piece:
                        await asyncio.to_thread(_append, tar, piece, path, is_whole, path in guarded)
            if out.tell() > _BATCH:
                await _put(engine, fresh, tar, out)
                out.seek(0)
                out.truncate()
                tar = tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        if steps:
            await _put(engine, fresh, tar, out)
    finally:
        out.close()


def _is_below(path: str, places: Collection[str]) -> bool:
    return path in places or any(above in places for above in _parents(path))


def _parents(path: str) -> Iterable[str]:
    while (path := posixpath.dirname(path)) not in ("/", ""):
        yield path


async def _delete(engine: Engine, fresh: EnvironmentRef, paths: Sequence[str]) -> None:
    batch: list[str] = []
    for path in [*paths, ""]:
        if batch and (not path or sum(map(len, batch)) > _WORDS_AT_MOST):
            await run_plainly(engine, fresh, ["/bin/sh", "-c", f"{_RM} {shlex.join(batch)}"], timeout=600)
            batch = []
        if path:
            batch.append(path)


class _Room:
    """Counts how many bytes of the agent's files may still be copied."""

    def __init__(self, most: int) -> None:
        self.most = self.remaining = most

    def take(self, size: int) -> None:
        self.remaining -= size
        if self.remaining < 0:
            raise LimitExceededError(
                f"The files that the agent changed have more than {self.most // 2**20:,} MB in all (storage_mb), "
                "holes in them included: they are too large to be tested"
            )


async def _get(
    engine: Engine, environment: EnvironmentRef, path: str, is_whole: bool, room: _Room | None = None
) -> IO[bytes] | None:
    """Return a path of a container as a tar file; None if there is no such path.

    Unless ``is_whole``, the content of a folder may be missing.
    """
    piece: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
    try:
        async with engine.asking(
            "GET", f"containers/{environment.container_id}/archive", {"path": path}, timeout=_COPY_SECONDS
        ) as response:
            is_first = True
            async for chunk in response.content.iter_any():
                piece.write(chunk)
                if room is not None:
                    room.take(len(chunk))
                if is_first and not is_whole and piece.tell() >= 512:
                    if _begins_with_folder(piece):
                        break
                    is_first = False
    except DockerError as error:
        piece.close()
        if error.status == 404:
            return None
        raise lost(environment, error) from error
    except BaseException:
        piece.close()
        raise
    piece.seek(0)
    return piece


def _begins_with_folder(piece: IO[bytes]) -> bool:
    """Whether the first header of a tar file is a folder's. A folder with a long name has another header first."""
    at = piece.tell()
    piece.seek(156)
    kind = piece.read(1)
    piece.seek(at)
    return kind == tarfile.DIRTYPE


def _append(tar: tarfile.TarFile, piece: IO[bytes], path: str, is_whole: bool, is_guarded: bool) -> None:
    """Add entries to a tar file under their full paths: the first alone, unless ``is_whole``.

    A link in the place of a guarded folder is left out.
    """
    folder = posixpath.dirname(path).strip("/")
    prefix = f"{folder}/" if folder else ""
    with suppress(tarfile.ReadError, EOFError), tarfile.open(fileobj=piece, mode="r|") as source:
        for info in source:
            if is_guarded and not info.isdir():
                return
            name = posixpath.normpath(info.name)
            if name.startswith(("/", "..")):
                continue
            info.pax_headers = {k: v for k, v in info.pax_headers.items() if k not in ("path", "linkpath", "size")}
            info.name = prefix + name
            if info.islnk():
                info.linkname = prefix + posixpath.normpath(info.linkname)
            tar.addfile(info, source.extractfile(info) if info.isreg() else None)
            if not is_whole:
                return


async def _put(engine: Engine, fresh: EnvironmentRef, tar: tarfile.TarFile, out: IO[bytes]) -> None:
    tar.close()
    out.seek(0)
    with losing(fresh), os.fdopen(os.dup(out.fileno()), "rb") as body:
        where = f"containers/{fresh.container_id}/archive"
        async with engine.asking("PUT", where, {"path": "/"}, body, _COPY_SECONDS, "application/x-tar") as response:
            await response.read()
