"""Tasks of several services: ``docker compose`` runs them, from a file that we write for the trial.

The file is the task's own with its variables filled in, the images that we built, labels on all that is made, limits on
each container, and without what would make two trials meet: fixed names and published ports.
"""

import asyncio
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from activities.terminal import compose_files, shell
from activities.terminal.engine import RUN, TRIAL, Engine
from activities.terminal.failures import EngineUnavailableError, EnvironmentFailedError
from activities.terminal.images import read_compose
from activities.terminal.references import ImageRef
from activities.terminal.task_model import TaskFormat, TerminalTask

_SECONDS = 300.0


async def up(engine: Engine, task: TerminalTask, image: ImageRef, name: str, run: str, trial: str) -> None:
    """Start all services of a task; the one that the agent works in is called ``name``.

    Raises:
        EnvironmentFailedError: compose can't start them; with what it says.
        EngineUnavailableError: there is no compose on this machine.
    """
    document = await asyncio.to_thread(written, engine, task, image, name, run, trial)
    command = await _command(engine.url)
    folder = (task.compose_file or task.folder).parent
    with tempfile.NamedTemporaryFile("w", prefix="proctor-compose-", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        ended = await shell.run(
            [*command, "-p", name, "--project-directory", str(folder), "-f", file.name, "up", "-d", "--no-build"],
            _SECONDS,
            {"DOCKER_HOST": engine.url, "COMPOSE_PARALLEL_LIMIT": "2"},
            folder,
        )
    if ended.exit_code is None:
        raise EnvironmentFailedError(f"The services of {task.id} did not start in {_SECONDS:g} s", ended.output)
    if ended.exit_code != 0:
        lines = [line for line in ended.output.splitlines() if line.strip()]
        raise EnvironmentFailedError(
            f"docker compose can't start the services of {task.id}: {(lines or ['it says nothing'])[-1][:500]}",
            ended.output,
        )


async def _command(url: str) -> list[str]:
    found = _known_command()
    if not found and shutil.which("docker"):
        ended = await shell.run(["docker", "compose", "version"], 30, {"DOCKER_HOST": url}, Path("/"))
        if ended.exit_code == 0:
            found = ["docker", "compose"]
    if not found and shutil.which("docker-compose"):
        found = ["docker-compose"]
    if not found:
        raise EngineUnavailableError(
            "A task of several services needs docker compose, which this machine has not: install Docker's "
            "compose plugin (Debian: docker-compose)"
        )
    _known_command().extend(found if not _known_command() else [])
    return found


@cache
def _known_command() -> list[str]:
    """How compose is called on this machine, once that is known."""
    return []


def written(engine: Engine, task: TerminalTask, image: ImageRef, name: str, run: str, trial: str) -> dict[str, Any]:
    """The trial's own compose file."""
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
        # Compose 1.29 reads a file without a version as one of its first format's.
        "version": "3.8",
        **kept,
        "services": services,
        "networks": {
            key: _owned(value, labels, {"internal": True} if is_offline else {}) for key, value in networks.items()
        },
        "volumes": {key: _owned(value, labels, {}) for key, value in volumes.items()},
    }


def _owned(definition: Any, labels: dict[str, str], more: dict[str, Any]) -> dict[str, Any]:
    """A network or volume of the trial's own; what is external stays as it is."""
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
    own["volumes"] = [each for each in definition.get("volumes") or [] if not compose_files.is_log_mount(each)]
    own.setdefault("logging", {"driver": "json-file", "options": {"max-size": "5m", "max-file": "1"}})
    if is_main:
        own["container_name"] = name
        if task.format == TaskFormat.TWO:
            own.setdefault("command", ["sh", "-c", "sleep infinity"])
            plain = task.service.environment if task.service else {}
            own["environment"] = {**compose_files.as_mapping(definition.get("environment")), **plain}
    elif fixed and "network_mode" not in own:
        # Others know it by the name that it no longer has.
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
