"""Find the demands of a task's compose file on the host: its folders, and settings that reach out of the container.

A mounted folder of the task becomes a volume of the trial (``own_mounts``), so a trial can't change the task's files or
another trial's. Every other demand is refused when the task is read, unless the operator allows it by name
(``AGENTBEATS_GREEN_CONTAINERS_ALLOW``).

Names and shapes of the settings are those of the Compose Specification (compose-spec.io).
"""

import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from proctor.terminal import compose_files
from proctor.terminal.notes import Notes
from purple_sdk.protocol.problems import show_value

HIDDEN = ("tests", "solution", "run-tests.sh", "solution.sh", "solution.yaml")
"""The parts of a task's folder that an agent may not see, in either format."""

ENGINE_SOCKETS = ("docker.sock", "containerd.sock", "podman.sock")

_HOST_MODES = {
    "pid": "host-pid",
    "network_mode": "host-network",
    "ipc": "host-ipc",
    "userns_mode": "host-users",
    "uts": "host-users",
    "cgroup": "host-cgroup",
}
"""Settings that may join a namespace: ``host``, or ``container:NAME`` of a container outside the trial."""

_NEVER_PLAIN = {
    "privileged": "privileged",
    "cap_add": "capabilities",
    "devices": "devices",
    "device_cgroup_rules": "devices",
    "gpus": "devices",
    "security_opt": "security-options",
    "sysctls": "kernel-settings",
    "cgroup_parent": "host-cgroup",
    "volumes_from": "host-mounts",
    "credential_spec": "host-files",
}

_FILES = ("env_file", "extends", "label_file")
"""Settings of a service that read a file, which must belong to the task."""


class HostMount(BaseModel, frozen=True):
    """A folder or file of the task that a service mounts.

    Attributes:
        source: its path, inside the task's folder.
        target: its path in the service.
    """

    source: Path
    target: str
    read_only: bool = False


class Demand(BaseModel, frozen=True):
    """A compose file's demand on the host.

    Attributes:
        allowance: the name by which an operator allows it.
        place: its path in the file, such as ``services``, ``client``, ``privileged``.
        value: the file's value there.
    """

    allowance: str
    place: tuple[str | int, ...]
    value: Any


def note_demands(
    document: Mapping[str, Any], file: Path, task: Path, allowed: Collection[str], notes: Notes, name: str
) -> None:
    """Note a compose file's demands on the host that the operator hasn't allowed; they are fatal.

    Mounts of the task's own files are only remarked on.

    Args:
        document: the file's content with its variables filled in.
        allowed: names out of ``proctor.settings.config.ALLOWANCES``.
        name: the file's name in sentences.
    """
    for demand in find_demands(document, file.parent, task):
        if demand.allowance not in allowed:
            line = _find_line(file, demand.place)
            where = f"{name} line {line}" if line else name
            notes.fatal(
                f"{where}: {'.'.join(map(str, demand.place))} is {show_value(demand.value)}, which gives the task "
                f"access to the host. Remove it, or allow {demand.allowance} in AGENTBEATS_GREEN_CONTAINERS_ALLOW"
            )
    for service, definition in document["services"].items():
        for mount in own_mounts(definition, file.parent, task):
            source = mount.source.relative_to(task.resolve()).as_posix()
            what = "folder" if source == "." else source
            notes.remark(
                f"{name}: services.{service} mounts the task's {what} at {mount.target}: "
                "each trial gets a copy, without tests and solution"
            )


def find_demands(document: Mapping[str, Any], folder: Path, task: Path) -> Iterator[Demand]:
    """Yield a compose file's demands on the host, except mounts of the task's own files.

    Args:
        document: the file's content with its variables filled in.
        folder: the file's folder; its paths are relative to it.
    """
    for service, definition in document["services"].items():
        yield from _find_demands(("services", service), definition, folder, task)
    for kind in ("volumes", "networks"):
        for name, definition in _mapping(document.get(kind)).items():
            options = _mapping(_mapping(definition).get("driver_opts"))
            if options.get("device") or str(options.get("type", "")) in ("none", "nfs"):
                yield Demand(allowance="host-mounts", place=(kind, name, "driver_opts"), value=options)
            if _mapping(definition).get("external"):
                yield Demand(allowance="host-mounts", place=(kind, name, "external"), value=True)
            if str(_mapping(definition).get("driver", "")) in ("host", "macvlan", "ipvlan"):
                yield Demand(allowance="host-network", place=(kind, name, "driver"), value=definition["driver"])
    for kind in ("secrets", "configs"):
        for name, definition in _mapping(document.get(kind)).items():
            source = _mapping(definition).get("file")
            if source is not None and not _is_inside(folder / str(source), task):
                yield Demand(allowance="host-files", place=(kind, name, "file"), value=source)
    for source in _texts(document.get("include")):
        if not _is_inside(folder / source, task):
            yield Demand(allowance="host-files", place=("include",), value=source)


def _find_demands(
    place: tuple[str | int, ...], definition: Mapping[str, Any], folder: Path, task: Path
) -> Iterator[Demand]:
    for key, allowance in _NEVER_PLAIN.items():
        if definition.get(key):
            yield Demand(allowance=allowance, place=(*place, key), value=definition[key])
    for key, allowance in _HOST_MODES.items():
        mode = str(definition.get(key) or "")
        if mode == "host" or mode.startswith("container:"):
            yield Demand(allowance=allowance, place=(*place, key), value=mode)
    reserved = _mapping(_mapping(_mapping(definition.get("deploy")).get("resources")).get("reservations"))
    if reserved.get("devices"):
        yield Demand(allowance="devices", place=(*place, "deploy"), value=reserved["devices"])
    for key in _FILES:
        for source in _texts(definition.get(key)):
            if not _is_inside(folder / source, task):
                yield Demand(allowance="host-files", place=(*place, key), value=source)
    build = definition.get("build")
    context = build if isinstance(build, str) else _mapping(build).get("context")
    if context is not None and "://" not in str(context) and not _is_inside(folder / str(context), task):
        yield Demand(allowance="host-files", place=(*place, "build"), value=context)
    for number, volume in enumerate(definition.get("volumes") or []):
        mounted, _, _ = _split_volume(volume)
        if mounted is None or compose_files.is_log_mount(volume):
            continue
        if posixpath.basename(mounted) in ENGINE_SOCKETS:
            yield Demand(allowance="engine-socket", place=(*place, "volumes", number), value=volume)
        elif not _is_inside(folder / Path(mounted).expanduser(), task):
            yield Demand(allowance="host-mounts", place=(*place, "volumes", number), value=volume)


def own_mounts(definition: Mapping[str, Any], folder: Path, task: Path) -> list[HostMount]:
    """Return the mounts of a service that are files or folders of the task."""
    mounts = []
    for volume in definition.get("volumes") or []:
        source, target, read_only = _split_volume(volume)
        if source is None or compose_files.is_log_mount(volume):
            continue
        path = (folder / Path(source).expanduser()).resolve()
        if _is_inside(path, task):
            mounts.append(HostMount(source=path, target=target, read_only=read_only))
    return mounts


def _split_volume(volume: Any) -> tuple[str | None, str, bool]:
    """Return a volume's source on the host, its target, and whether it is read-only.

    The source is None for named and anonymous volumes, and for tmpfs.
    """
    if isinstance(volume, Mapping):
        is_bind = volume.get("type") == "bind"
        return (
            str(volume.get("source", "")) if is_bind else None,
            str(volume.get("target", "")),
            bool(volume.get("read_only")),
        )
    host, _, rest = str(volume).partition(":")
    target, _, options = rest.partition(":")
    is_path = bool(target) and (host.startswith(("/", ".", "~")) or "/" in host)
    return host if is_path else None, target, "ro" in options.split(",")


def _is_inside(path: Path, task: Path) -> bool:
    return path.resolve().is_relative_to(task.resolve())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> Sequence[str]:
    """Return file names. A compose file has one name, a list, or objects with ``path`` or ``file``."""
    names = []
    for entry in value if isinstance(value, list) else [value]:
        name: Any = entry.get("path", entry.get("file")) if isinstance(entry, Mapping) else entry
        names += [str(one) for one in (name if isinstance(name, list) else [name]) if one is not None]
    return names


def _find_line(file: Path, place: Sequence[str | int]) -> int | None:
    """Return the line of a value in a YAML file, from 1; or the line of the nearest value around it that has one."""
    try:
        node = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return None
    line = None
    for step in place:
        if isinstance(node, yaml.MappingNode):
            pair = next(((key, value) for key, value in node.value if key.value == step), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
    return line
