"""Settings from flags and the environment; a problem is reported as a sentence."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource

from proctor.common.errors import UsageError, ending_as, fit
from proctor.settings.config import (
    GATEWAY_VARIABLE,
    GreenAgentConfig,
    find_temporal_ui,
    unknown_variables,
    validate_config,
)
from purple_sdk.processes.addresses import is_loopback
from purple_sdk.processes.announcing import announce, announce_as_json
from purple_sdk.protocol.problems import describe_demand, show_value
from purple_sdk.settings.config import AgentBeatsConfig

ConfigT = TypeVar("ConfigT", bound=AgentBeatsConfig)

LOOPBACK = "127.0.0.1"
"""The address at which services listen by default; only this machine reaches it."""

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""The file with a container's limit of processor time (cgroup v2): microseconds (or ``max``), and their period."""

_FOLLOWS_FROM_ANOTHER = "default_factory_not_called"


def read_settings(kind: type[ConfigT], **flags: Any) -> ConfigT:
    """Read settings of one kind: from flags, else from the environment, else from the defaults.

    Services listen on the loopback address unless a flag or the environment sets another address.
    """
    chosen = {name: value for name, value in flags.items() if value is not None}
    try:
        config = kind(**chosen)
    except ValidationError as problem:
        sentences = []
        for error in problem.errors(include_url=False):
            if error["type"] == _FOLLOWS_FROM_ANOTHER:
                continue
            name = str(error["loc"][0]) if error["loc"] else "the settings"
            where = f"--{name.replace('_', '-')}" if name in chosen else kind.find_variable(name)
            sentences.append(f"{where} is {show_value(error['input'])}: {describe_demand(error)}")
        raise UsageError("; ".join(sentences)) from None
    for name in ("storage_url", "archive_url"):
        if "://" in (url := getattr(config, name, "")):
            _require_openable(url, f"--{name.replace('_', '-')}" if name in chosen else kind.find_variable(name))
    return config if "host" in config.model_fields_set else config.model_copy(update={"host": LOOPBACK})


def announce_as_logs() -> None:
    """Print announcements as JSON if the environment asks for JSON logs.

    A service calls this before it reads its settings. So an error in a setting is a JSON line, too.
    """
    announce_as_json(EnvSettingsSource(GreenAgentConfig)().get("log_format") == "json")


def default_gateway() -> str:
    """The gateway's address: ``AGENTBEATS_GATEWAY_URL``, else the address in this machine's settings of a gateway."""
    if named := os.environ.get(GATEWAY_VARIABLE, "").strip():
        if urlsplit(named).scheme not in ("http", "https") or not urlsplit(named).hostname:
            raise UsageError(f"{GATEWAY_VARIABLE} is {named!r}: give an address such as http://127.0.0.1:8000")
        return named
    config = read_settings(GreenAgentConfig)
    return config.card_url or f"http://127.0.0.1:{config.port}"


def _require_openable(url: str, where: str) -> None:
    from proctor.storage.object_stores import StoreSettingsError, require_openable

    try:
        require_openable(url)
    except StoreSettingsError as error:
        raise UsageError(f"{where} is {url}: {error}") from None


def with_scenarios(config: GreenAgentConfig) -> GreenAgentConfig:
    """The same settings with an absolute ``scenarios_dir``, resolved by ``ScenarioManager``.

    The datasets of terminal tasks are in the same folder unless a setting names another folder.
    """
    from proctor.activities.scenario_code.manager import ScenarioError, ScenarioManager

    manager = ScenarioManager(config.scenarios_dir)
    with ending_as(UsageError, ScenarioError):
        manager.list_ids()
    is_chosen = "datasets_dir" in config.model_fields_set
    datasets = str(Path(config.datasets_dir).absolute()) if is_chosen else str(manager.directory)
    return config.model_copy(update={"scenarios_dir": str(manager.directory), "datasets_dir": datasets})


def with_connection(config: GreenAgentConfig, flag: str | None = None) -> GreenAgentConfig:
    """The same settings with the Temporal address and namespace that take precedence.

    The SDK's own configuration (``TEMPORAL_*``, ``temporal.toml``) takes precedence over
    ``AGENTBEATS_GREEN_TEMPORAL_*``. The ``flag`` for the address takes precedence over both.
    """
    from proctor.storage.connections import ConnectionSettingsError, read_profile

    with ending_as(UsageError, ConnectionSettingsError):
        profile = read_profile()
    connection = {"temporal_address": None if flag else profile.address, "temporal_namespace": profile.namespace}
    known: dict[str, str | None] = {name: value for name, value in connection.items() if value}
    if "temporal_ui_url" not in config.model_fields_set:
        known["temporal_ui_url"] = find_temporal_ui(known.get("temporal_address") or config.temporal_address)
    return config.model_copy(update=known)


def is_open_to_others(host: str) -> bool:
    return not is_loopback(host)


def require_guarded(config: GreenAgentConfig) -> None:
    """Refuse to open the gateway to others by mistake."""
    from proctor.a2a_gateway.auth.identity import Identity

    if is_open_to_others(config.host) and not config.open and not Identity(config).is_asked():
        raise UsageError(
            f"on {config.host} other machines would reach the gateway without authentication: make a token "
            "for each caller (`proctor token create NAME`), or use --open if everyone who reaches it may start "
            "assessments and read all results"
        )


def count_worker_processes(config: GreenAgentConfig) -> int:
    """The number of a worker's processes: the setting, or by default the number of usable cores.

    The default is 1 if each process would have its own UES servers. An assessment may continue in another process after
    each step, and wouldn't find its simulation there.
    """
    return config.worker_processes or (1 if config.ues_command else usable_cores())


def usable_cores(quota: Path = _QUOTA) -> int:
    """The number of cores that this process may use, within its container's limit; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        share, period = quota.read_text().split()
        cores = min(cores, round(int(share) / int(period)))
    return max(cores, 1)


def warn_of_settings(config: AgentBeatsConfig) -> None:
    warn(validate_config(config))


def warn_of_unknown_variables() -> None:
    for name, nearest in unknown_variables(os.environ).items():
        warn([f"{name} isn't a setting{f': did you mean {nearest}?' if nearest else ''}"])


def warn(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        announce(fit(f"proctor: warning: {sentence}", sys.stderr), "WARNING", sys.stderr)
