"""Read compose files: their variables, and services that can run without compose.

The format is the Compose Specification (compose-spec.io). Only the keys that a single service needs are supported here;
files with other keys are run with compose (``compose``).
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from proctor.terminal.notes import Notes
from proctor.terminal.task_model import Build, Service
from purple_sdk.protocol.problems import show_value

IMAGE_NAME = "T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME"
CONTAINER_NAME = "T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME"
NAME_PREFIX = "T_BENCH_TASK_DOCKER_NAME_PREFIX"

LOGS_ON_HOST = "proctor-logs"
"""A name for the host's folders that the formats mount for logs. We copy logs out of the container instead."""

PLACEHOLDERS: dict[str, str] = {
    IMAGE_NAME: "proctor-client-image",
    CONTAINER_NAME: "proctor-client",
    NAME_PREFIX: "proctor-task",
    "T_BENCH_CONTAINER_LOGS_PATH": "/logs",
    "T_BENCH_CONTAINER_AGENT_LOGS_PATH": "/agent-logs",
    "T_BENCH_TEST_DIR": "/tests",
    "T_BENCH_TASK_LOGS_PATH": f"/{LOGS_ON_HOST}/logs",
    "T_BENCH_TASK_AGENT_LOGS_PATH": f"/{LOGS_ON_HOST}/agent-logs",
    "MAIN_IMAGE_NAME": "proctor-client-image",
    "CONTEXT_DIR": ".",
    "TEST_DIR": "/tests",
    **{
        f"ENV_{name}_PATH": f"/logs/{folder}"
        for name, folder in (("VERIFIER_LOGS", "verifier"), ("AGENT_LOGS", "agent"))
    },
    **{f"HOST_{name}_PATH": f"/{LOGS_ON_HOST}/{name}" for name in ("VERIFIER_LOGS", "AGENT_LOGS", "ARTIFACTS")},
    "ENV_ARTIFACTS_PATH": "/logs/artifacts",
    "CPUS": "1",
    "MEMORY": "2048M",
}
"""Values for the formats' own variables while a file is only read; a trial has its own names."""

_VARIABLE = re.compile(
    r"\$(?:(?P<escaped>\$)|(?P<plain>[A-Za-z_]\w*)|\{(?P<name>[A-Za-z_]\w*)(?:(?P<how>:?[-?+])(?P<other>[^}]*))?\})"
)

_PLAIN_KEYS = {
    "build", "image", "container_name", "command", "entrypoint", "environment", "volumes", "working_dir", "user",
    "hostname", "network_mode", "mem_limit", "cpus", "deploy", "shm_size", "cap_add", "cap_drop", "privileged", "tmpfs",
    "init", "extra_hosts", "security_opt", "stdin_open", "tty", "restart", "ports", "expose", "labels", "dns",
    "pull_policy", "stop_grace_period", "stop_signal", "pids_limit",
}  # fmt: skip
"""The keys of a service that we support without compose; published ports are never needed."""

_PLAIN_ROOT = {"services", "version", "name", "x-comment"}


def read(raw: Any, values: Mapping[str, str], main: str, notes: Notes) -> dict[str, Any] | None:
    """Return a compose file's content with its variables filled in; None, with a note, if it isn't one."""
    if not isinstance(raw, dict) or not isinstance(raw.get("services"), dict):
        notes.fatal(f"docker-compose.yaml is {show_value(raw)}: write services: there")
        return None
    services = raw["services"]
    if main not in services:
        names = ", ".join(map(str, services)) or "none"
        notes.fatal(f"docker-compose.yaml: services has no {main}, which the agent works in (it has {names}): add it")
        return None
    for name, definition in services.items():
        if not isinstance(definition, dict | None):
            notes.fatal(f"docker-compose.yaml: services.{name} is {show_value(definition)}: write settings there")
            return None
        if definition is None:
            services = services | {name: {}}
    missing: dict[str, str] = {}
    filled: dict[str, Any] = _filled({**raw, "services": services}, values, missing)
    for name, why in missing.items():
        if why:
            notes.fatal(f"docker-compose.yaml: ${{{name}}} has no value ({why}): give the evaluator one for it")
        else:
            notes.remark(f"docker-compose.yaml: ${{{name}}} has no value and is taken for empty")
    return filled


def _filled(value: Any, values: Mapping[str, str], missing: dict[str, str]) -> Any:
    if isinstance(value, str):
        return interpolated(value, values, missing)
    if isinstance(value, dict):
        return {name: _filled(member, values, missing) for name, member in value.items()}
    if isinstance(value, list):
        return [_filled(element, values, missing) for element in value]
    return value


def interpolated(text: str, values: Mapping[str, str], missing: dict[str, str]) -> str:
    """Fill in a text's variables; names without a value go into ``missing`` with the file's reason."""

    def fill(match: re.Match[str]) -> str:
        if match["escaped"]:
            return "$"
        name, how, other = match["plain"] or match["name"], match["how"] or "", match["other"] or ""
        value = values.get(name)
        is_there = value is not None and not (how.startswith(":") and not value)
        if how.endswith("+"):
            return interpolated(other, values, missing) if is_there else ""
        if is_there:
            return value or ""
        if how.endswith("-"):
            return interpolated(other, values, missing)
        missing[name] = (other or "the file asks for one") if how.endswith("?") else ""
        return ""

    return _VARIABLE.sub(fill, text)


def read_build(definition: Mapping[str, Any], folder: Path) -> Build | None:
    """Return the build of a service's image; None if it is not built."""
    build = definition.get("build")
    if build is None:
        return None
    if isinstance(build, str):
        build = {"context": build}
    args = as_mapping(build.get("args"))
    return Build(
        context=(folder / str(build.get("context", "."))).resolve(),
        dockerfile=str(build.get("dockerfile", "Dockerfile")),
        args=args,
        target=build.get("target"),
    )


def as_mapping(value: Any) -> dict[str, str]:
    """Return variables as a mapping. A compose file has a mapping or a list of ``NAME=VALUE``."""
    if isinstance(value, dict):
        return {str(name): _as_text(member) for name, member in value.items()}
    pairs = [str(element).partition("=") for element in value or []]
    return {name: text for name, _, text in pairs}


def _as_text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def is_log_mount(volume: Any) -> bool:
    """Whether a volume is a folder of the host for logs, as the formats' templates mount it."""
    source = volume.get("source", "") if isinstance(volume, dict) else str(volume).partition(":")[0]
    return f"/{LOGS_ON_HOST}/" in str(source)


def as_service(document: Mapping[str, Any], main: str, folder: Path) -> Service | None:
    """Return the only service of a file, for a run without compose; None if the file needs compose."""
    definition = document["services"][main]
    if len(document["services"]) > 1 or set(document) - _PLAIN_ROOT or set(definition) - _PLAIN_KEYS:
        return None
    if any(not is_log_mount(volume) for volume in definition.get("volumes") or []):
        return None
    if isinstance(definition.get("build"), dict) and set(definition["build"]) - {
        "context",
        "dockerfile",
        "args",
        "target",
    }:
        return None
    network = definition.get("network_mode")
    if network not in (None, "none", "host", "bridge", "default"):
        return None
    build = read_build(definition, folder)
    try:
        return Service(
            build=build,
            image=None if build else definition.get("image"),
            command=_parse_words(definition.get("command")),
            entrypoint=_parse_words(definition.get("entrypoint")),
            environment=as_mapping(definition.get("environment")),
            working_dir=definition.get("working_dir"),
            user=None if definition.get("user") is None else str(definition["user"]),
            hostname=definition.get("hostname"),
            more=_host_config(definition),
        )
    except (ValidationError, ValueError, TypeError, AttributeError):
        return None  # compose explains better what is wrong with it


def _parse_words(value: Any) -> list[str] | None:
    if value is None:
        return None
    return shlex.split(value) if isinstance(value, str) else [str(element) for element in value]


def _host_config(definition: Mapping[str, Any]) -> dict[str, object]:
    """Return a service's settings in the engine's terms (Docker Engine API, HostConfig)."""
    limits = ((definition.get("deploy") or {}).get("resources") or {}).get("limits") or {}
    more: dict[str, object] = {}
    if (memory := definition.get("mem_limit") or limits.get("memory")) is not None:
        more["Memory"] = parse_size(memory)
    if (cpus := definition.get("cpus") or limits.get("cpus")) is not None:
        more["NanoCpus"] = int(float(cpus) * 1e9)
    if int(processes := definition.get("pids_limit") or limits.get("pids") or 0) > 0:  # -1 asks for no limit
        more["PidsLimit"] = int(processes)
    if (shared := definition.get("shm_size")) is not None:
        more["ShmSize"] = parse_size(shared)
    if definition.get("tmpfs"):
        paths = [definition["tmpfs"]] if isinstance(definition["tmpfs"], str) else definition["tmpfs"]
        more["Tmpfs"] = {path.partition(":")[0]: path.partition(":")[2] for path in paths}
    if definition.get("extra_hosts"):
        hosts = definition["extra_hosts"]
        more["ExtraHosts"] = [f"{a}:{b}" for a, b in hosts.items()] if isinstance(hosts, dict) else list(hosts)
    for key, name in (("cap_add", "CapAdd"), ("cap_drop", "CapDrop"), ("security_opt", "SecurityOpt")):
        if definition.get(key):
            more[name] = [str(element) for element in definition[key]]
    if definition.get("dns"):
        more["Dns"] = [definition["dns"]] if isinstance(definition["dns"], str) else list(definition["dns"])
    if definition.get("privileged"):
        more["Privileged"] = True
    if definition.get("network_mode") in ("none", "host"):
        more["NetworkMode"] = definition["network_mode"]
    return more


_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def parse_size(size: Any) -> int:
    """Convert a size in the syntax of compose and task files (``512m``, ``2G``, ``1.5gb``) to bytes.

    Raises ValueError (it isn't a size).
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([bkmgt]?)i?b?\s*", str(size).lower())
    if match is None:
        raise ValueError(f"{size} isn't a size: write one such as 512m or 2g")
    return int(float(match[1]) * _UNITS[match[2]])
