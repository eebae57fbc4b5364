"""Settings of the evaluator and of participants.

The environment variables are ``AGENTBEATS_GREEN_*`` (evaluator) and ``AGENTBEATS_PURPLE_*`` (participant). Both fall
back on ``AGENTBEATS_*`` for common settings (``_HOST``, ``_PORT``, ``_CARD_URL``, ``_LOG_LEVEL``). Agents also read
every field from their command line, as ``--field-name`` (``from_cli_args``). It overrides the environment.
"""

import json
import os
import re
import secrets
import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from purple_sdk.protocol.durations import Duration
from purple_sdk.settings.config import COMMON_PREFIX, AgentBeatsConfig, HarnessConfig, PurpleAgentConfig, setting

_DEV_SERVER_UI = 1000
"""The distance of a dev server's UI port from its own port, by default (``temporal server start-dev --help``)."""

TOKEN_VARIABLE, TOKEN_FILE_VARIABLE = "AGENTBEATS_TOKEN", "AGENTBEATS_TOKEN_FILE"
GATEWAY_VARIABLE = "AGENTBEATS_GATEWAY_URL"
CALLER_VARIABLES = (TOKEN_VARIABLE, TOKEN_FILE_VARIABLE, GATEWAY_VARIABLE)
"""The variables with which callers give their token, a file that contains only the token, and the gateway's address."""


def default_state() -> str:
    """Return the folder for files that outlive a process of this user.

    It is ``proctor`` in ``XDG_STATE_HOME``, by default ``~/.local/state`` (XDG Base Directory Specification).
    """
    named = os.environ.get("XDG_STATE_HOME", "")
    return f"{named if os.path.isabs(named) else '~/.local/state'}/proctor"


def _absolute(folder: str) -> str:
    if not folder:
        raise ValueError("it is empty: name a folder, or don't set it at all")
    path = Path(folder)
    if path.parts[0] == "~":
        home = Path(os.path.expanduser("~"))
        if not home.is_absolute():
            raise ValueError("this user has no home folder: name a folder with an absolute path")
        path = home.joinpath(*path.parts[1:])
    return str(path.absolute())


def find_temporal_ui(address: str) -> str | None:
    """Return the UI's address for a Temporal server: a dev server's or Temporal Cloud's; None for any other."""
    host, _, port = address.rpartition(":")
    if host in ("127.0.0.1", "localhost", "[::1]") and port.isdecimal() and int(port) <= 65535 - _DEV_SERVER_UI:
        return f"http://{host}:{int(port) + _DEV_SERVER_UI}"
    return "https://cloud.temporal.io" if host.endswith(".tmprl.cloud") else None


def _default_archive(others: dict[str, Any]) -> str:
    """Return the archive's default place.

    If the store is ``storage`` in the state folder, or its URL ends with ``/storage``, the archive is beside the store,
    and each can be pruned without the other. Otherwise, the archive is inside the store.
    """
    state, store = str(others.get("state", ".")), str(others.get("storage_url", "storage"))
    if "://" in store and store.rstrip("/").endswith("/storage"):
        return f"{store.rstrip('/').removesuffix('/storage')}/archive"
    return str(Path(state) / "archive") if store == str(Path(state) / "storage") else f"{store.rstrip('/')}/archive"


ALLOWANCES = (
    *("host-mounts", "engine-socket", "host-pid", "host-network", "host-ipc", "host-users", "host-cgroup"),
    *("privileged", "capabilities", "devices", "security-options", "kernel-settings", "host-files"),
)
"""The access to the host that an operator can grant to tasks, by name (docs/TERMINAL_BENCH.md)."""


class GreenAgentConfig(AgentBeatsConfig):
    """The evaluator's settings, for gateway and worker alike. docs/reference/settings.md lists them."""

    model_config = SettingsConfigDict(env_prefix="AGENTBEATS_GREEN_", extra="ignore", frozen=True)

    port: int = setting("gateway", "Port that the gateway listens on; 0 takes a free one.", 8000, ge=0, le=65535)
    verbose_updates: bool = setting(
        "worker", "Whether callers get an update for every action, unless a request says otherwise.", True
    )
    ues_base_port: int = setting(
        "worker",
        "First port of the servers that `ues_command` starts, and the port of the embedded simulator.",
        8100,
        ge=1,
        le=65535,
    )
    scenarios_dir: str = setting("gateway, worker", "Folder of scenarios, beside the bundled ones.", "scenarios")
    default_max_turns: int = setting(
        "worker", "Turns of an assessment, at most, unless its request says so.", 100, ge=1
    )
    default_turn_timeout: float = setting(
        "worker", "Seconds that a participant may take for a turn, unless the request says so.", 300.0, gt=0
    )
    default_turn_tries: int = setting(
        "worker", "How often a failed turn is played, unless the request says so.", 3, ge=1, le=10
    )
    response_generator_model: str = setting("worker", "Model that plays the characters.", "gpt-4o")
    response_checker_model: str | None = setting(
        "worker", "Model that checks the characters' answers after the rules; without it, rules alone."
    )
    evaluation_model: str = setting("worker", "Model that judges, unless the request names others.", "gpt-4o")
    response_generator_base_url: str | None = setting(
        "worker", "Other endpoint of the same kind of API for the characters' model."
    )
    evaluation_base_url: str | None = setting("worker", "Other endpoint of the same kind of API for the judging model.")
    connect_timeout: float = setting("all", "Seconds within which a connection must be made.", 10.0, gt=0)
    judge_timeout: float = setting(
        "worker",
        "Seconds for one request to a judging model; waiting in the queue before it does not count.",
        120.0,
        gt=0,
    )
    evaluator_timeout: float = setting(
        "worker",
        "Seconds for one judgement by a scenario's evaluator, and for loading its code; waiting for a model "
        "does not count.",
        30.0,
        gt=0,
    )
    evaluator_memory_mb: int = setting("worker", "Memory in MB that a scenario's code may use.", 512, ge=64)
    judge_window: int = setting(
        "worker",
        "Characters of evidence that a judging model reads at once; more is judged in several windows.",
        60_000,
        ge=2_000,
    )
    judge_max_tokens: int = setting("worker", "Tokens of the longest answer of a judging model.", 8_000, ge=100)
    model_requests_at_once: int | None = setting(
        "worker",
        "Requests that a worker process sends to one model endpoint at once. Default: 4, or 1 to an endpoint "
        "on its own machine.",
        ge=1,
    )
    prices: str | None = setting("worker", "File (TOML or JSON) with the prices of models, for the costs in results.")
    assessment_timeout: Duration = setting("worker", "How long an assessment may take, as an ISO 8601 duration.", "P1D")
    ues_host: str | None = setting(
        "simulator", "Address that the embedded simulator listens on. Default: the value of `host`."
    )
    ues_url: str = setting(
        "worker",
        "Address of the simulator; several with spaces between them, or `dns+http://NAME:PORT` for all "
        "addresses of a name.",
        "http://127.0.0.1:8100",
    )
    ues_public_url: str | None = setting(
        "worker",
        "Address of the simulator as participants reach it: as many as `ues_url` has, or one with `{host}` in "
        "it; with `ues_command` it has `{port}`.",
    )
    ues_command: str | None = setting(
        "worker",
        "Command that starts a simulator for each assessment, with `{host}` and `{port}`, instead of the one "
        "at `ues_url`.",
    )
    ues_start_timeout: float = setting("worker", "Seconds until a server of `ues_command` must be healthy.", 30.0, gt=0)
    state: str = setting(
        "all",
        "Folder for what outlives a process (secret, database). Default: `~/.local/state/proctor`.",
        default_factory=default_state,
        validate_default=True,
    )
    secret: SecretStr = setting(
        "worker, simulator",
        "Secret of the deployment, from which the keys of simulations are derived. The same for worker and "
        "simulator. Default: made by the commands and kept in the state folder.",
        default_factory=lambda: SecretStr(secrets.token_urlsafe(32)),
    )
    storage_url: str = setting(
        "gateway, worker",
        "Store for checkpoints and payloads that all workers and gateways share: a local folder or an fsspec "
        "URL. Default: `storage` in the state folder.",
        default_factory=lambda others: str(Path(others.get("state", ".")) / "storage"),
    )
    archive_url: str = setting(
        "gateway, worker",
        "Place of the archive that all workers and gateways share. Default: `archive` beside the store.",
        default_factory=_default_archive,
        validate_default=True,
    )
    temporal_address: str = setting(
        "gateway, worker", "Address of Temporal's front end, as HOST:PORT.", "127.0.0.1:7233"
    )
    temporal_namespace: str = setting("gateway, worker", "Temporal namespace.", "default")
    temporal_retention: Duration | None = setting(
        "worker",
        "How long Temporal keeps closed workflows, as an ISO 8601 duration; a worker sets it at its start. "
        "Default: the namespace is left as it is.",
    )
    temporal_ui_url: str | None = setting(
        "gateway, worker",
        "Address of the Temporal UI, for links. Default: known for a dev server and for Temporal Cloud.",
        default_factory=lambda others: find_temporal_ui(others["temporal_address"]),
    )
    example_participant_url: str = setting(
        "gateway", "Address of the agent that the example request on the agent card assesses.", "http://localhost:8001"
    )
    task_queue: str = setting("gateway, worker", "Temporal task queue of workflows and most activities.", "assessments")
    models_task_queue: str = setting("worker", "Temporal task queue of activities that ask models.", "models")
    models_per_second: float | None = setting(
        "worker",
        "Activities that ask models which Temporal starts per second, over all workers. Default: no limit.",
        gt=0,
    )
    pages_may_act: bool = setting(
        "gateway",
        "Whether all visitors of the pages may replay and judge again, if the gateway requires no "
        "token. Otherwise, only visitors of pages at a loopback address may.",
        False,
    )
    containers: Literal["auto", "on", "off"] = setting(
        "gateway, worker",
        "Whether a worker plays terminal tasks: `auto` (if a Docker engine answers), `on`, `off`.",
        "auto",
    )
    containers_task_queue: str = setting("worker", "Temporal task queue of terminal trials.", "containers")
    trust_scenarios: bool = setting(
        "worker",
        "Play scenarios that did not come with proctor even if this machine can't confine their code.",
        False,
    )
    containers_allow: str = setting(
        "worker", "The access to the host that terminal tasks get, by name, with commas.", ""
    )
    docker_url: str | None = setting(
        "worker", "Address of the Docker engine. Default: `DOCKER_HOST`, else the usual socket."
    )
    datasets_dir: str = setting("gateway, worker", "Folder of datasets of terminal tasks.", "scenarios")
    card_subject: Literal["all", "terminal-bench"] = setting(
        "gateway, worker",
        "What the agent card lists: `all`, or `terminal-bench` alone, which refuses assessments.",
        "all",
    )
    terminal_defaults: str = setting(
        "gateway, worker", "Settings of runs of terminal tasks, as JSON, for requests in the seed's words.", ""
    )
    terminal_results_dir: str | None = setting(
        "worker", "Folder where a worker writes the results of each run of terminal tasks."
    )
    commands_host: str = setting(
        "worker", "Address on which a worker takes commands of agents without a Docker socket.", "127.0.0.1"
    )
    commands_port: int = setting("worker", "Port for that; 0 takes a free one.", 0, ge=0, le=65535)
    commands_url: str | None = setting("worker", "That address as agents reach it.")
    worker_build_id: str | None = setting(
        "worker",
        "Version of the worker for Temporal, which then lets assessments end on the version that they began with.",
    )
    worker_processes: int | None = setting(
        "worker", "Processes of a worker. Default: one for each core, and one with `ues_command`.", ge=1, le=256
    )
    observe_host: str = setting("all", "Address of `/health`, `/ready` and `/metrics` of a service.", "127.0.0.1")
    observe_port: int | None = setting(
        "all", "Port of `/health`, `/ready` and `/metrics` of a service, without tokens. Default: none.", ge=0, le=65535
    )
    log_format: Literal["auto", "json", "text"] = setting(
        "all", "Format of log lines: `json`, `text`, or `auto`, which is text on a terminal and else JSON.", "auto"
    )
    open: bool = setting("gateway", "Lets the gateway listen beyond this machine without asking for tokens.", False)
    tokens_file: str | None = setting("gateway", "File of tokens. Default: `tokens.json` in the state folder.")
    oidc_issuer: str | None = setting("gateway", "Address of an OpenID Connect identity provider.")
    oidc_audience: str | None = setting("gateway", "Audience that its tokens must have.")
    oidc_jwks_url: str | None = setting("gateway", "Address of its keys. Default: what the provider says.")
    oidc_admins: str = setting("gateway", "Subjects of its tokens that are admins, with commas.", "")
    quota_at_once: int | None = setting(
        "gateway", "Assessments that a caller may have under way at once, unless the token says so.", ge=1
    )
    quota_per_day: int | None = setting(
        "gateway", "Assessments that a caller may start in a day, unless the token says so.", ge=1
    )
    quota_cost_per_day: float | None = setting(
        "gateway",
        "Cost of a caller's assessments in a day, in the currency of `prices`, unless the token says so.",
        gt=0,
    )
    hosts: str = setting(
        "gateway", "Host names that the gateway answers to beside that of its card, with commas; `*` is any.", ""
    )
    cors_origins: str = setting("gateway", "Origins whose pages may ask the gateway, with commas.", "")
    payload_keys: SecretStr | None = setting(
        "gateway, worker",
        "Keys that encrypt what goes through Temporal, `ID:KEY` each, 32 random bytes in base64, with commas. "
        "The first one writes, all of them read.",
    )
    participants_allowed: str = setting(
        "worker", "Hosts and networks, beside its own, to which a participant's agent card may point, with commas.", ""
    )
    participant_card_bytes: int = setting(
        "worker", "Bytes of a participant's agent card, at most.", 1_000_000, ge=1_000
    )
    participant_answer_bytes: int = setting(
        "worker", "Bytes of an answer of a participant, or of one event of a stream, at most.", 4_000_000, ge=1_000
    )
    participant_answer_values: int = setting("worker", "JSON values in an answer, at most.", 200_000, ge=100)
    participant_stream_events: int = setting(
        "worker", "Events of the stream that answers one message, at most.", 10_000, ge=1
    )
    participant_stream_bytes: int = setting("worker", "Bytes of that stream, at most.", 16_000_000, ge=1_000)
    participant_actions: int = setting("worker", "Actions that a participant reports for a turn, at most.", 1_000, ge=0)
    participant_report_bytes: int = setting("worker", "Bytes of that report as JSON, at most.", 500_000, ge=1_000)
    participant_notes_bytes: int = setting(
        "worker", "Bytes of a participant's notes for a turn, at most.", 64_000, ge=0
    )

    @field_validator("participants_allowed")
    @classmethod
    def _names_hosts_and_networks(cls, allowed: str) -> str:
        for word in allowed.replace(",", " ").split():
            if "/" in word:
                try:
                    ip_network(word, strict=False)
                except ValueError:
                    raise ValueError(
                        f"{word!r} is not a network: write hosts and networks, such as agents.example 10.1.0.0/16"
                    ) from None
            elif not re.fullmatch(r"[\w.-]+|[0-9A-Fa-f:.]+", word):
                raise ValueError(f"{word!r} is not a host: write its name or address alone, such as agents.example")
        return allowed

    @field_validator("terminal_defaults")
    @classmethod
    def _defaults_are_an_object(cls, defaults: str) -> str:
        try:
            is_object = not defaults or isinstance(json.loads(defaults), dict)
        except ValueError:
            is_object = False
        if not is_object:
            raise ValueError('write a JSON object, such as {"dataset_name": "terminal_bench"}')
        return defaults

    @field_validator("state")
    @classmethod
    def _state_is_the_same_from_everywhere(cls, folder: str) -> str:
        return _absolute(folder)

    @field_validator("storage_url", "archive_url")
    @classmethod
    def _a_local_store_is_the_same_from_everywhere(cls, place: str) -> str:
        return place if "://" in place or "::" in place else _absolute(place)

    @field_validator("ues_url")
    @classmethod
    def _addresses_are_of_http(cls, addresses: str) -> str:
        words = addresses.replace(",", " ").split()
        if not words or not all(word.startswith(("http://", "https://", "dns+http://")) for word in words):
            raise ValueError(
                "write it as http://HOST:PORT; several with spaces between them, or as dns+http://NAME:PORT, if NAME "
                "stands for several"
            )
        return addresses

    @field_validator("ues_public_url")
    @classmethod
    def _each_simulator_has_a_public_address(cls, addresses: str | None, others: ValidationInfo) -> str | None:
        inside, outside = (others.data.get("ues_url") or "").split(), (addresses or "").replace(",", " ").split()
        inside = [word for part in inside for word in part.split(",") if word]
        are_several = len(inside) > 1 or any(word.startswith("dns+") for word in inside)
        fits = (len(outside) == 1 and "{host}" in outside[0]) or len(outside) == len(inside) > 1
        if outside and are_several and not fits:
            raise ValueError(
                f"participants would reach one simulator of several ({' '.join(inside)}). Give as many addresses as "
                "AGENTBEATS_GREEN_UES_URL, in its order, or one with {host} in it"
            )
        return addresses

    @field_validator("containers_allow")
    @classmethod
    def _names_what_can_be_allowed(cls, names: str) -> str:
        for name in names.replace(",", " ").split():
            if name not in ALLOWANCES:
                raise ValueError(f"{name!r} can't be allowed. Use names out of {', '.join(ALLOWANCES)}")
        return names

    @field_validator("observe_port", mode="before")
    @classmethod
    def _no_port_is_none(cls, port: Any) -> Any:
        return None if port == "" else port

    @field_validator("secret")
    @classmethod
    def _secret_is_not_empty(cls, secret: SecretStr) -> SecretStr:
        if not secret.get_secret_value():
            raise ValueError("anyone could derive the keys: set a long random text, or don't set it at all")
        return secret

    @field_validator("cors_origins")
    @classmethod
    def _names_origins(cls, origins: str) -> str:
        for word in origins.replace(",", " ").split():
            if not re.fullmatch(r"https?://[^/\s*]+", word):
                raise ValueError(f"{word!r} is not an origin: write scheme and host, such as https://dashboard.example")
        return origins

    @field_validator("oidc_issuer", "oidc_jwks_url")
    @classmethod
    def _provider_is_an_address(cls, address: str | None) -> str | None:
        if address and not address.startswith(("http://", "https://")):
            raise ValueError("write it as https://HOST/…")
        return address or None

    @model_validator(mode="after")
    def _provider_has_an_audience(self) -> Self:
        if self.oidc_issuer and not self.oidc_audience:
            raise ValueError(
                "AGENTBEATS_GREEN_OIDC_ISSUER is set without AGENTBEATS_GREEN_OIDC_AUDIENCE: tokens that the provider "
                "made for other services would be accepted. Set the audience"
            )
        return self

    @field_validator("ues_command")
    @classmethod
    def _command_has_port(cls, command: str | None, others: ValidationInfo) -> str | None:
        if not command:
            return None
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"it can't be read as a command line ({error})") from None
        if not any("{port}" in word for word in words):
            raise ValueError("it has no {port}: write {port} in place of the server's port")
        if (address := others.data.get("ues_public_url")) and "{port}" not in address:
            raise ValueError(
                "each assessment gets its own port then: write {port} in AGENTBEATS_GREEN_UES_PUBLIC_URL, such as "
                "http://evaluator.example:{port}"
            )
        return command


def unknown_variables(names: Iterable[str]) -> dict[str, str | None]:
    """Return environment variables with our prefix that aren't settings, each with the most similar setting."""
    nearest: dict[str, str] = {}
    for kind in (HarnessConfig, PurpleAgentConfig, GreenAgentConfig, AgentBeatsConfig):
        for field in kind.model_fields:
            variable = f"{kind.model_config.get('env_prefix', '')}{field}".upper()
            nearest |= {variable.removeprefix(COMMON_PREFIX): variable, field.upper(): variable}
    nearest_names: dict[str, str | None] = {}
    for name in sorted(name for name in names if name.upper().startswith(COMMON_PREFIX)):
        rest = name.upper().removeprefix(COMMON_PREFIX)
        if f"{COMMON_PREFIX}{rest}" not in {*nearest.values(), *CALLER_VARIABLES}:
            close = get_close_matches(rest, nearest, n=1)
            nearest_names[name] = nearest[close[0]] if close else None
    return nearest_names


def validate_config(config: AgentBeatsConfig) -> list[str]:
    """Return warnings about settings that are valid but probably unintended."""
    warnings = []
    if config.port and config.port < 1024:
        warnings.append(f"port {config.port} needs root on most systems: choose one above 1023")
    if config.card_url is None and config.host in ("0.0.0.0", "::"):
        warnings.append("card_url is not set: the agent card says localhost, which other machines can't reach")
    if isinstance(config, GreenAgentConfig):
        if config.ues_base_port == config.port:
            warnings.append(f"ues_base_port and port are both {config.port}: the simulator needs its own")
        if config.default_turn_timeout < 5:
            warnings.append(
                f"default_turn_timeout is {config.default_turn_timeout} s: most models need longer for a turn"
            )
    if isinstance(config, PurpleAgentConfig) and config.temperature > 1.5:
        warnings.append(f"temperature {config.temperature} makes most models incoherent")
    return warnings
