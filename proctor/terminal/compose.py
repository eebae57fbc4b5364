"""Run tasks of several services with ``docker compose``, from a file that is written for the trial.

The file is the task's own with some changes. Variables are filled in, images are those that we built, all objects have
labels, and each container has limits. Everything that two trials could share is taken out: fixed names, published
ports, and mounts of the task's folder. These mounts become volumes of the trial.
"""

import asyncio
import json
import posixpath
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.terminal import compose_files, host_access, shell
from proctor.terminal.copying import copy_to_container
from proctor.terminal.engine import RUN, TRIAL, Engine
from proctor.terminal.failures import EngineUnavailableError, EnvironmentFailedError, EnvironmentLostError
from proctor.terminal.host_access import HostMount
from proctor.terminal.images import read_compose
from proctor.terminal.references import ImageRef
from proctor.terminal.task_model import TaskFormat, TerminalTask

_SECONDS = 300.0

_FILLED_AT = "/proctor-mount"


async def up(engine: Engine, task: TerminalTask, image: ImageRef, name: str, run: str, trial: str) -> None:
    """Start all services of a task.

    Args:
        name: the name of the project, and of the container that the agent works in.

    Raises:
        EnvironmentFailedError: compose can't start them; with compose's message.
        EnvironmentLostError: an image of a service is gone.
        EngineUnavailableError: there is no compose on this machine, or the engine fails.
    """
    document = await asyncio.to_thread(written, engine, task, image, name, run, trial)
    files = await _fill_volumes(engine, task, image, name, {RUN: run, TRIAL: trial})
    command = await _command(engine.url)
    folder = (task.compose_file or task.folder).parent
    with tempfile.NamedTemporaryFile("w", prefix="proctor-compose-", suffix=".json") as file:
        json.dump(document, file)
        file.flush()

        async def compose(*words: str) -> shell.Ended:
            base = [*command, "-p", name, "--project-directory", str(folder), "-f", file.name]
            environment = {"DOCKER_HOST": engine.url, "COMPOSE_PARALLEL_LIMIT": "2"}
            return await shell.run([*base, *words], _SECONDS, environment, folder)

        if files:
            ended = await compose("up", "--no-start", "--no-build")
            if ended.exit_code == 0:
                await _copy_files(engine, name, files)
                ended = await compose("up", "-d", "--no-build")
        else:
            ended = await compose("up", "-d", "--no-build")
    if ended.exit_code is None:
        raise EnvironmentFailedError(f"The services of {task.id} did not start in {_SECONDS:g} s", ended.output)
    if ended.exit_code != 0:
        lines = [line for line in ended.output.splitlines() if line.strip()]
        if lines and (passing := engine.refused(lines[-1])) is not None:
            raise passing
        if any("o such image" in line for line in lines[-2:]):
            raise EnvironmentLostError(f"An image of {task.id} was removed before its containers started")
        raise EnvironmentFailedError(
            f"docker compose can't start the services of {task.id}: {(lines or ['it says nothing'])[-1][:500]}",
            ended.output,
        )


async def _command(url: str) -> list[str]:
    if not _known and shutil.which("docker"):
        ended = await shell.run(["docker", "compose", "version"], 30, {"DOCKER_HOST": url}, Path("/"))
        if ended.exit_code == 0:
            _known[:] = ["docker", "compose"]  # assigned as a whole, since several tasks may ask at once
    if not _known and shutil.which("docker-compose"):
        _known[:] = ["docker-compose"]
    if not _known:
        raise EngineUnavailableError(
            "A task of several services needs docker compose, which this machine has not: install Docker's "
            "compose plugin (Debian: docker-compose)"
        )
    return _known


_known: list[str] = []
"""The command of compose on this machine, once it is known."""


def written(engine: Engine, task: TerminalTask, image: ImageRef, name: str, run: str, trial: str) -> dict[str, Any]:
    names = {
        compose_files.IMAGE_NAME: image.name,
        compose_files.CONTAINER_NAME: name,
        compose_files.NAME_PREFIX: name,
        "MAIN_IMAGE_NAME": image.name,
    }
    document = read_compose(task, names)
    labels = {RUN: run, TRIAL: trial}
    services = {
        service: _service(engine, task, image, service, definition, name, labels)
        for service, definition in document["services"].items()
    }
    kept = {key: value for key, value in document.items() if key not in ("services", "name", "version")}
    networks = dict(kept.get("networks") or {})
    networks.setdefault("default", None)
    volumes = dict(kept.get("volumes") or {})
    is_offline = task.limits.network == "none"
    return {
        # Compose 1.29 reads a file without a version as its first format.
        "version": "3.8",
        **kept,
        "services": services,
        "networks": {
            key: _owned(value, labels, {"internal": True} if is_offline else {}) for key, value in networks.items()
        },
        "volumes": {key: _owned(value, labels, {}) for key, value in volumes.items()}
        | {volume: {"external": True, "name": volume} for volume in _mount_volumes(task, name, document)},
    }


def _owned(definition: Any, labels: dict[str, str], more: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a network or volume with the trial's labels; external ones don't change."""
    own: dict[str, Any] = dict(definition or {})
    if own.get("external"):
        return own
    own.pop("name", None)
    return {**own, **more, "labels": {**compose_files.as_mapping(own.get("labels")), **labels}}


def _service(
    engine: Engine,
    task: TerminalTask,
    image: ImageRef,
    service: str,
    definition: dict[str, Any],
    name: str,
    labels: dict[str, str],
) -> dict[str, Any]:
    is_main = service == task.compose_main
    own: dict[str, Any] = {
        key: value
        for key, value in definition.items()
        if key not in ("build", "container_name", "ports", "pull_policy")
    }
    fixed = definition.get("container_name")
    own["image"] = image.services.get(service) or definition.get("image")
    own["labels"] = {**compose_files.as_mapping(definition.get("labels")), **labels}
    own["volumes"] = _list_volumes(task, name, service, definition)
    own.setdefault("logging", {"driver": "json-file", "options": {"max-size": "5m", "max-file": "1"}})
    if is_main:
        own["container_name"] = name
        if task.format == TaskFormat.TWO:
            own.setdefault("command", ["sh", "-c", "sleep infinity"])
            plain = task.service.environment if task.service else {}
            own["environment"] = {**compose_files.as_mapping(definition.get("environment")), **plain}
    elif fixed and "network_mode" not in own:
        # Other services may use the fixed name, so it becomes an alias.
        networks = own.get("networks") or ["default"]
        if isinstance(networks, list):
            networks = {network: {} for network in networks}
        own["networks"] = {
            network: {**(settings or {}), "aliases": [*((settings or {}).get("aliases") or []), fixed]}
            for network, settings in networks.items()
        }
    memory = task.limits.memory_mb if is_main and task.limits.memory_mb else engine.limits.memory_mb
    if not (own.get("mem_limit") or own.get("deploy")):
        own["mem_limit"] = own["memswap_limit"] = f"{memory}m"
    own.setdefault("pids_limit", engine.limits.processes)
    if is_main and task.limits.cpus:
        own.setdefault("cpus", task.limits.cpus)
    return own


# Mounts of the task's own files. Each trial gets a copy in a volume that is removed with the trial. All trials would
# share a mount of the folder itself, and an engine on another machine couldn't reach it.


def _own_mounts(task: TerminalTask, definition: dict[str, Any]) -> list[HostMount]:
    return host_access.own_mounts(definition, (task.compose_file or task.folder).parent, task.folder)


def _all_mounts(task: TerminalTask, document: dict[str, Any]) -> list[tuple[str, HostMount]]:
    """Return the mounts of the task's own files, each with its service."""
    services = document["services"].items()
    return [(service, mount) for service, definition in services for mount in _own_mounts(task, definition)]


def _volume_name(name: str, service: str, mount: HostMount) -> str:
    return f"{name}-{sha256(f'{service} {mount.target}'.encode()).hexdigest()[:8]}"


def _list_volumes(task: TerminalTask, name: str, service: str, definition: dict[str, Any]) -> list[Any]:
    """Return a service's volumes, in which mounts of the task's folders are volumes of the trial.

    Mounts of the task's single files and of folders for logs are left out.
    """
    kept = [
        volume
        for volume in definition.get("volumes") or []
        if not compose_files.is_log_mount(volume) and not _own_mounts(task, {"volumes": [volume]})
    ]
    return kept + [
        f"{_volume_name(name, service, mount)}:{mount.target}{':ro' if mount.read_only else ''}"
        for mount in _own_mounts(task, definition)
        if mount.source.is_dir()
    ]


def _mount_volumes(task: TerminalTask, name: str, document: dict[str, Any]) -> dict[str, HostMount]:
    mounts = _all_mounts(task, document)
    return {_volume_name(name, service, mount): mount for service, mount in mounts if mount.source.is_dir()}


async def _fill_volumes(
    engine: Engine, task: TerminalTask, image: ImageRef, name: str, labels: dict[str, str]
) -> list[tuple[str, HostMount]]:
    """Make and fill the trial's copies of mounted folders. Returns the mounted files, each with its service."""
    document = read_compose(task)
    for volume, mount in _mount_volumes(task, name, document).items():
        await engine.ask("POST", "volumes/create", body={"Name": volume, "Labels": labels})
        body = {"Image": image.name, "Labels": labels, "HostConfig": {"Binds": [f"{volume}:{_FILLED_AT}"]}}
        helper = (await engine.ask("POST", "containers/create", body=body))["Id"]
        try:
            await copy_to_container(engine, helper, visible_files(task, mount), _FILLED_AT)
        finally:
            await engine.ask("DELETE", f"containers/{helper}", {"force": True})
    return [(service, mount) for service, mount in _all_mounts(task, document) if mount.source.is_file()]


def visible_files(task: TerminalTask, mount: HostMount) -> list[Path]:
    """Return the files of a mounted folder that the agent may see: all but tests and solution."""
    hidden = {task.folder.resolve() / name for name in host_access.HIDDEN}
    if mount.source in hidden:
        return []
    return [path for path in sorted(mount.source.iterdir()) if path not in hidden]


def hidden_files(task: TerminalTask) -> dict[str, Path]:
    """Return the tests and the solution that are below a mount of the agent's service, by path in the container.

    They are copied into the container together with the tests.
    """
    if task.compose_file is None:
        return {}
    main = read_compose(task)["services"].get(task.compose_main) or {}
    files = {}
    for mount in _own_mounts(task, main):
        for name in host_access.HIDDEN:
            path = task.folder.resolve() / name
            if path.exists() and path.is_relative_to(mount.source):
                files[posixpath.normpath(f"{mount.target}/{path.relative_to(mount.source).as_posix()}")] = path
    return files


async def _copy_files(engine: Engine, project: str, files: list[tuple[str, HostMount]]) -> None:
    for service, mount in files:
        labels = {"label": [f"com.docker.compose.project={project}", f"com.docker.compose.service={service}"]}
        for container in await engine.ask("GET", "containers/json", {"all": True, "filters": labels}):
            target = posixpath.dirname(mount.target) or "/"
            content = {posixpath.basename(mount.target): mount.source.read_bytes()}
            await copy_to_container(engine, container["Id"], content, target)
