"""Settings of the evaluator and of participants (seed 000, section 2.4).

Environment variables: ``AGENTBEATS_GREEN_*`` (evaluator), ``AGENTBEATS_PURPLE_*`` (participant), and beneath both
``AGENTBEATS_*`` for what they have in common (``_HOST``, ``_PORT``, ``_CARD_URL``, ``_LOG_LEVEL``). Command line: every
field as ``--field-name``, which wins over the environment.
"""

import argparse
import json
import os
import re
import secrets
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from proctor_protocol.durations import Duration

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]

_DEV_SERVER_UI = 1000
"""How far a dev server's UI port is from its own, by default (``temporal server start-dev --help``)."""

COMMON_PREFIX = "AGENTBEATS_"
"""How the environment variables begin that hold for evaluator and participants alike."""

TOKEN_VARIABLE, TOKEN_FILE_VARIABLE = "AGENTBEATS_TOKEN", "AGENTBEATS_TOKEN_FILE"
GATEWAY_VARIABLE = "AGENTBEATS_GATEWAY_URL"
CALLER_VARIABLES = (TOKEN_VARIABLE, TOKEN_FILE_VARIABLE, GATEWAY_VARIABLE)
"""Where commands that ask a gateway for something find the token that they send; the file has it alone."""


class _CommonVariables(EnvSettingsSource):
    """``AGENTBEATS_HOST`` and its like, for the settings that every agent has."""

    def __init__(self, kind: type[BaseSettings]) -> None:
        super().__init__(kind, env_prefix=COMMON_PREFIX)

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        if field_name not in AgentBeatsConfig.model_fields:
            return None, field_name, False
        return super().get_field_value(field, field_name)


@dataclass(frozen=True)
class ReadBy:
    """Which services or code read a setting, in words; it is part of the type of the setting's field."""

    who: str


class AgentBeatsConfig(BaseSettings):
    """What every agent needs: where it listens and how its card says it can be reached."""

    model_config = SettingsConfigDict(env_prefix=COMMON_PREFIX, extra="ignore", frozen=True)

    host: Annotated[str, ReadBy("all")] = Field(
        default="0.0.0.0", description="Address that the service listens on; 0.0.0.0 is every interface."
    )
    port: Annotated[int, ReadBy("all")] = Field(
        default=8000, ge=0, le=65535, description="Port that the service listens on; 0 takes a free one."
    )
    card_url: Annotated[str | None, ReadBy("all")] = Field(
        default=None, description="Address that the agent card names. Default: made from host and port."
    )
    log_level: Annotated[LogLevel, ReadBy("all")] = Field(
        default="INFO", description="Lowest level of the log lines that are written."
    )

    @field_validator("log_level", mode="before")
    @classmethod
    def _level_in_any_case(cls, level: Any) -> Any:
        return level.upper() if isinstance(level, str) else level

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Where values come from, strongest first: see ``pydantic_settings``."""
        return init_settings, env_settings, _CommonVariables(settings_cls)

    @classmethod
    def variable_of(cls, name: str) -> str:
        """The environment variable that a field's value comes from; the specific one where none is set."""
        specific = f"{cls.model_config.get('env_prefix', '')}{name}".upper()
        common = f"{COMMON_PREFIX}{name}".upper()
        is_common = name in AgentBeatsConfig.model_fields and specific not in os.environ and common in os.environ
        return common if is_common else specific

    @classmethod
    def from_cli_args(cls, args: Sequence[str] | None = None) -> Self:
        """Read the command line (else ``sys.argv``) over the environment; exits with usage on a bad flag."""
        parser = argparse.ArgumentParser(description=(cls.__doc__ or "").partition("\n")[0])
        for name, field in cls.model_fields.items():
            flag = "--" + name.replace("_", "-")
            if field.annotation is bool:
                parser.add_argument(flag, dest=name, action=argparse.BooleanOptionalAction, default=None)
            else:
                parser.add_argument(flag, dest=name, default=None)
        flags = {name: value for name, value in vars(parser.parse_args(args)).items() if value is not None}
        return cls(**flags)

    @property
    def effective_card_url(self) -> str:
        """The address to put on the agent card: ``card_url``, else made from host and port."""
        if self.card_url:
            return self.card_url
        host = "localhost" if self.host in ("0.0.0.0", "::", "") else self.host
        return f"http://{host}:{self.port}/"


def _default_state() -> str:
    """The folder for what outlives a process of this user: ``proctor`` in the one that the XDG Base Directory
    Specification names for state, which is ``~/.local/state`` unless ``XDG_STATE_HOME`` says another one.
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


def temporal_ui_of(address: str) -> str | None:
    """Where the UI of the Temporal at an address is: a dev server's or Temporal Cloud's; None for any other."""
    host, _, port = address.rpartition(":")
    if host in ("127.0.0.1", "localhost", "[::1]") and port.isdecimal() and int(port) <= 65535 - _DEV_SERVER_UI:
        return f"http://{host}:{int(port) + _DEV_SERVER_UI}"
    return "https://cloud.temporal.io" if host.endswith(".tmprl.cloud") else None


def _archive_of(others: dict[str, Any]) -> str:
    """The default place of the archive: beside a store in the state folder or at a URL that ends with
    ``/storage``, so that one can be pruned without the other; in any other store.
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
    """The evaluator's settings: gateway and worker read the same ones. docs/reference/settings.md lists them."""

    model_config = SettingsConfigDict(env_prefix="AGENTBEATS_GREEN_", extra="ignore", frozen=True)

    port: Annotated[int, ReadBy("gateway")] = Field(
        default=8000, ge=0, le=65535, description="Port that the gateway listens on; 0 takes a free one."
    )
    verbose_updates: Annotated[bool, ReadBy("worker")] = Field(
        default=True, description="Whether callers get an update for every action, unless a request says otherwise."
    )
    ues_base_port: Annotated[int, ReadBy("worker")] = Field(
        default=8100,
        ge=1,
        le=65535,
        description="First port of the servers that `ues_command` starts, and the port of the embedded simulator.",
    )
    scenarios_dir: Annotated[str, ReadBy("gateway, worker")] = Field(
        default="scenarios", description="Folder of scenarios, beside the bundled ones."
    )
    default_max_turns: Annotated[int, ReadBy("worker")] = Field(
        default=100, ge=1, description="Turns of an assessment, at most, unless its request says so."
    )
    default_turn_timeout: Annotated[float, ReadBy("worker")] = Field(
        default=300.0, gt=0, description="Seconds that a participant may take for a turn, unless the request says so."
    )
    default_turn_tries: Annotated[int, ReadBy("worker")] = Field(
        default=3, ge=1, le=10, description="How often a failed turn is played, unless the request says so."
    )
    response_generator_model: Annotated[str, ReadBy("worker")] = Field(
        default="gpt-4o", description="Model that plays the characters."
    )
    response_checker_model: Annotated[str | None, ReadBy("worker")] = Field(
        default=None, description="Model that checks the characters' answers after the rules; without it, rules alone."
    )
    evaluation_model: Annotated[str, ReadBy("worker")] = Field(
        default="gpt-4o", description="Model that judges, unless the request names others."
    )
    response_generator_base_url: Annotated[str | None, ReadBy("worker")] = Field(
        default=None, description="Other endpoint of the same kind of API for the characters' model."
    )
    evaluation_base_url: Annotated[str | None, ReadBy("worker")] = Field(
        default=None, description="Other endpoint of the same kind of API for the judging model."
    )
    connect_timeout: Annotated[float, ReadBy("all")] = Field(
        default=10.0, gt=0, description="Seconds within which a connection must be made."
    )
    judge_timeout: Annotated[float, ReadBy("worker")] = Field(
        default=120.0,
        gt=0,
        description="Seconds for one request to a judging model; waiting in the queue before it does not count.",
    )
    evaluator_timeout: Annotated[float, ReadBy("worker")] = Field(
        default=30.0,
        gt=0,
        description=(
            "Seconds for one judgement by a scenario's evaluator, and for loading its code; waiting for a model "
            "does not count."
        ),
    )
    evaluator_memory_mb: Annotated[int, ReadBy("worker")] = Field(
        default=512, ge=64, description="Memory in MB that a scenario's code may use."
    )
    judge_window: Annotated[int, ReadBy("worker")] = Field(
        default=60_000,
        ge=2_000,
        description="Characters of evidence that a judging model reads at once; more is judged in several windows.",
    )
    judge_max_tokens: Annotated[int, ReadBy("worker")] = Field(
        default=8_000, ge=100, description="Tokens of the longest answer of a judging model."
    )
    model_requests_at_once: Annotated[int | None, ReadBy("worker")] = Field(
        default=None,
        ge=1,
        description=(
            "Requests that a worker process sends to one model endpoint at once. Default: 4, or 1 to an endpoint "
            "on its own machine."
        ),
    )
    prices: Annotated[str | None, ReadBy("worker")] = Field(
        default=None, description="File (TOML or JSON) with the prices of models, for the costs in results."
    )
    assessment_timeout: Annotated[Duration, ReadBy("worker")] = Field(
        default="P1D", description="How long an assessment may take, as an ISO 8601 duration."
    )
    ues_host: Annotated[str | None, ReadBy("simulator")] = Field(
        default=None, description="Address that the embedded simulator listens on. Default: the value of `host`."
    )
    ues_url: Annotated[str, ReadBy("worker")] = Field(
        default="http://127.0.0.1:8100",
        description=(
            "Address of the simulator; several with spaces between them, or `dns+http://NAME:PORT` for all "
            "addresses of a name."
        ),
    )
    ues_public_url: Annotated[str | None, ReadBy("worker")] = Field(
        default=None,
        description=(
            "Address of the simulator as participants reach it: as many as `ues_url` has, or one with `{host}` in"
            " it; with `ues_command` it has `{port}`."
        ),
    )
    ues_command: Annotated[str | None, ReadBy("worker")] = Field(
        default=None,
        description=(
            "Command that starts a simulator for each assessment, with `{host}` and `{port}`, instead of the one "
            "at `ues_url`."
        ),
    )
    ues_start_timeout: Annotated[float, ReadBy("worker")] = Field(
        default=30.0, gt=0, description="Seconds until a server of `ues_command` must be healthy."
    )
    state: Annotated[str, ReadBy("all")] = Field(
        default_factory=_default_state,
        validate_default=True,
        description="Folder for what outlives a process (secret, database). Default: `~/.local/state/proctor`.",
    )
    secret: Annotated[SecretStr, ReadBy("worker, simulator")] = Field(
        default_factory=lambda: SecretStr(secrets.token_urlsafe(32)),
        description=(
            "Secret of the deployment, from which the keys of simulations are derived. The same for worker and "
            "simulator. Default: made by the commands and kept in the state folder."
        ),
    )
    storage_url: Annotated[str, ReadBy("gateway, worker")] = Field(
        default_factory=lambda others: str(Path(others.get("state", ".")) / "storage"),
        description=(
            "Store for checkpoints and payloads that all workers and gateways share: a local folder or an fsspec "
            "URL. Default: `storage` in the state folder."
        ),
    )
    archive_url: Annotated[str, ReadBy("gateway, worker")] = Field(
        default_factory=_archive_of,
        validate_default=True,
        description="Place of the archive that all workers and gateways share. Default: `archive` beside the store.",
    )
    temporal_address: Annotated[str, ReadBy("gateway, worker")] = Field(
        default="127.0.0.1:7233", description="Address of Temporal's front end, as HOST:PORT."
    )
    temporal_namespace: Annotated[str, ReadBy("gateway, worker")] = Field(
        default="default", description="Temporal namespace."
    )
    temporal_retention: Annotated[Duration | None, ReadBy("worker")] = Field(
        default=None,
        description=(
            "How long Temporal keeps closed workflows, as an ISO 8601 duration; a worker sets it at its start. "
            "Default: the namespace is left as it is."
        ),
    )
    temporal_ui_url: Annotated[str | None, ReadBy("gateway, worker")] = Field(
        default_factory=lambda others: temporal_ui_of(others["temporal_address"]),
        description="Address of the Temporal UI, for links. Default: known for a dev server and for Temporal Cloud.",
    )
    example_participant_url: Annotated[str, ReadBy("gateway")] = Field(
        default="http://localhost:8001",
        description="Address of the agent that the example request on the agent card assesses.",
    )
    task_queue: Annotated[str, ReadBy("gateway, worker")] = Field(
        default="assessments", description="Temporal task queue of workflows and most activities."
    )
    models_task_queue: Annotated[str, ReadBy("worker")] = Field(
        default="models", description="Temporal task queue of activities that ask models."
    )
    models_per_second: Annotated[float | None, ReadBy("worker")] = Field(
        default=None,
        gt=0,
        description="Activities that ask models which Temporal starts per second, over all workers. Default: no limit.",
    )
    pages_may_act: Annotated[bool, ReadBy("gateway")] = Field(
        default=False,
        description=(
            "Whether everybody who reaches the pages may replay and judge again, where the gateway asks for no "
            "token. Without it this holds for pages at a loopback address."
        ),
    )
    containers: Annotated[Literal["auto", "on", "off"], ReadBy("gateway, worker")] = Field(
        default="auto",
        description="Whether a worker plays terminal tasks: `auto` where a Docker engine answers, `on`, `off`.",
    )
    containers_task_queue: Annotated[str, ReadBy("worker")] = Field(
        default="containers", description="Temporal task queue of terminal trials."
    )
    trust_scenarios: Annotated[bool, ReadBy("worker")] = Field(
        default=False,
        description="Play scenarios that did not come with proctor also where this machine can't confine their code.",
    )
    containers_allow: Annotated[str, ReadBy("worker")] = Field(
        default="", description="The access to the host that terminal tasks get, by name, with commas."
    )
    docker_url: Annotated[str | None, ReadBy("worker")] = Field(
        default=None, description="Address of the Docker engine. Default: `DOCKER_HOST`, else the usual socket."
    )
    datasets_dir: Annotated[str, ReadBy("gateway, worker")] = Field(
        default="scenarios", description="Folder of datasets of terminal tasks."
    )
    card_subject: Annotated[Literal["all", "terminal-bench"], ReadBy("gateway, worker")] = Field(
        default="all",
        description="What the agent card lists: `all`, or `terminal-bench` alone, which refuses assessments.",
    )
    terminal_defaults: Annotated[str, ReadBy("gateway, worker")] = Field(
        default="", description="Settings of runs of terminal tasks, as JSON, for requests in the seed's words."
    )
    terminal_results_dir: Annotated[str | None, ReadBy("worker")] = Field(
        default=None, description="Folder where a worker writes the results of each run of terminal tasks."
    )
    commands_host: Annotated[str, ReadBy("worker")] = Field(
        default="127.0.0.1", description="Address on which a worker takes commands of agents without a Docker socket."
    )
    commands_port: Annotated[int, ReadBy("worker")] = Field(
        default=0, ge=0, le=65535, description="Port for that; 0 takes a free one."
    )
    commands_url: Annotated[str | None, ReadBy("worker")] = Field(
        default=None, description="That address as agents reach it."
    )
    worker_build_id: Annotated[str | None, ReadBy("worker")] = Field(
        default=None,
        description=(
            "Version of the worker for Temporal, which then lets assessments end on the version that they began with."
        ),
    )
    worker_processes: Annotated[int | None, ReadBy("worker")] = Field(
        default=None,
        ge=1,
        le=256,
        description="Processes of a worker. Default: one for each core, and one with `ues_command`.",
    )
    observe_host: Annotated[str, ReadBy("all")] = Field(
        default="127.0.0.1", description="Address of `/health`, `/ready` and `/metrics` of a service."
    )
    observe_port: Annotated[int | None, ReadBy("all")] = Field(
        default=None,
        ge=0,
        le=65535,
        description="Port of `/health`, `/ready` and `/metrics` of a service, without tokens. Default: none.",
    )
    log_format: Annotated[Literal["auto", "json", "text"], ReadBy("all")] = Field(
        default="auto",
        description="Format of log lines: `json`, `text`, or `auto`, which is text on a terminal and else JSON.",
    )
    open: Annotated[bool, ReadBy("gateway")] = Field(
        default=False, description="Lets the gateway listen beyond this machine without asking for tokens."
    )
    tokens_file: Annotated[str | None, ReadBy("gateway")] = Field(
        default=None, description="File of tokens. Default: `tokens.json` in the state folder."
    )
    oidc_issuer: Annotated[str | None, ReadBy("gateway")] = Field(
        default=None, description="Address of an OpenID Connect identity provider."
    )
    oidc_audience: Annotated[str | None, ReadBy("gateway")] = Field(
        default=None, description="Audience that its tokens must have."
    )
    oidc_jwks_url: Annotated[str | None, ReadBy("gateway")] = Field(
        default=None, description="Address of its keys. Default: what the provider says."
    )
    oidc_admins: Annotated[str, ReadBy("gateway")] = Field(
        default="", description="Subjects of its tokens that are admins, with commas."
    )
    quota_at_once: Annotated[int | None, ReadBy("gateway")] = Field(
        default=None,
        ge=1,
        description="Assessments that a caller may have under way at once, unless the token says so.",
    )
    quota_per_day: Annotated[int | None, ReadBy("gateway")] = Field(
        default=None, ge=1, description="Assessments that a caller may start in a day, unless the token says so."
    )
    quota_cost_per_day: Annotated[float | None, ReadBy("gateway")] = Field(
        default=None,
        gt=0,
        description="Cost of a caller's assessments in a day, in the currency of `prices`, unless the token says so.",
    )
    hosts: Annotated[str, ReadBy("gateway")] = Field(
        default="",
        description="Host names that the gateway answers to beside that of its card, with commas; `*` is any.",
    )
    cors_origins: Annotated[str, ReadBy("gateway")] = Field(
        default="", description="Origins whose pages may ask the gateway, with commas."
    )
    payload_keys: Annotated[SecretStr | None, ReadBy("gateway, worker")] = Field(
        default=None,
        description=(
            "Keys that encrypt what goes through Temporal, `ID:KEY` each, 32 random bytes in base64, with commas."
            " The first one writes, all of them read."
        ),
    )
    participants_allowed: Annotated[str, ReadBy("worker")] = Field(
        default="",
        description="Hosts and networks, beside its own, to which a participant's agent card may point, with commas.",
    )
    participant_card_bytes: Annotated[int, ReadBy("worker")] = Field(
        default=1_000_000, ge=1_000, description="Bytes of a participant's agent card, at most."
    )
    participant_answer_bytes: Annotated[int, ReadBy("worker")] = Field(
        default=4_000_000,
        ge=1_000,
        description="Bytes of an answer of a participant, or of one event of a stream, at most.",
    )
    participant_answer_values: Annotated[int, ReadBy("worker")] = Field(
        default=200_000, ge=100, description="JSON values in an answer, at most."
    )
    participant_stream_events: Annotated[int, ReadBy("worker")] = Field(
        default=10_000, ge=1, description="Events of the stream that answers one message, at most."
    )
    participant_stream_bytes: Annotated[int, ReadBy("worker")] = Field(
        default=16_000_000, ge=1_000, description="Bytes of that stream, at most."
    )
    participant_actions: Annotated[int, ReadBy("worker")] = Field(
        default=1_000, ge=0, description="Actions that a participant reports for a turn, at most."
    )
    participant_report_bytes: Annotated[int, ReadBy("worker")] = Field(
        default=500_000, ge=1_000, description="Bytes of that report as JSON, at most."
    )
    participant_notes_bytes: Annotated[int, ReadBy("worker")] = Field(
        default=64_000, ge=0, description="Bytes of a participant's notes for a turn, at most."
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
                f"participants would find one simulator of several ({' '.join(inside)}). Give as many addresses as "
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
            raise ValueError("everybody could derive the keys: set a long random text, or don't set it at all")
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
                "AGENTBEATS_GREEN_OIDC_ISSUER is set, and AGENTBEATS_GREEN_OIDC_AUDIENCE is not: tokens that the "
                "provider made for others would count here"
            )
        return self

    @field_validator("ues_command")
    @classmethod
    def _command_can_be_filled_in(cls, command: str | None, others: ValidationInfo) -> str | None:
        if not command:
            return None
        try:
            words = shlex.split(command)
        except ValueError as problem:
            raise ValueError(f"it can't be read as a command line ({problem})") from None
        if not any("{port}" in word for word in words):
            raise ValueError("it has no {port}: write {port} in the place of the server's port")
        if (address := others.data.get("ues_public_url")) and "{port}" not in address:
            raise ValueError(
                "every assessment gets a port of its own then: write {port} in AGENTBEATS_GREEN_UES_PUBLIC_URL, such "
                "as http://evaluator.example:{port}"
            )
        return command


class PurpleAgentConfig(AgentBeatsConfig):
    """A participant's settings. ``purple_sdk`` reads some of them; the others are for an agent's own code."""

    model_config = SettingsConfigDict(env_prefix="AGENTBEATS_PURPLE_", extra="ignore", frozen=True)

    port: Annotated[int, ReadBy("participant")] = Field(
        default=8001, ge=0, le=65535, description="Port that the participant listens on; 0 takes a free one."
    )
    ues_url: Annotated[str | None, ReadBy("purple_sdk")] = Field(
        default=None,
        description=(
            "Address of the simulator as this agent reaches it; replaces scheme, host and port of the address in "
            "`assessment_start`."
        ),
    )
    model: Annotated[str, ReadBy("the agent")] = Field(default="gpt-4o", description="Model that the agent asks.")
    max_actions_per_turn: Annotated[int, ReadBy("purple_sdk")] = Field(
        default=50, ge=1, description="Actions in a turn, at most."
    )
    temperature: Annotated[float, ReadBy("the agent")] = Field(
        default=0.7, ge=0, le=2, description="Temperature of the model."
    )
    enable_reflection: Annotated[bool, ReadBy("the agent")] = Field(
        default=True, description="Whether the agent thinks about a turn after it."
    )
    action_delay: Annotated[float, ReadBy("purple_sdk")] = Field(
        default=0.0, ge=0, description="Seconds between two actions."
    )
    model_base_url: Annotated[str | None, ReadBy("the agent")] = Field(
        default=None, description="Other endpoint of the same kind of API for the model."
    )
    tool_calling: Annotated[Literal["auto", "native", "json"], ReadBy("the agent")] = Field(
        default="auto", description="How the model asks for tools: `native`, `json`, or `auto`, whichever it can."
    )
    answer_tokens: Annotated[int, ReadBy("the agent")] = Field(
        default=2_000, ge=16, description="Tokens of the longest answer."
    )
    context_tokens: Annotated[int, ReadBy("the agent")] = Field(
        default=24_000, ge=500, description="Tokens of a prompt, about, at most."
    )
    tokens_per_turn: Annotated[int, ReadBy("the agent")] = Field(
        default=200_000, ge=500, description="Tokens of prompts and answers in a turn, at most."
    )


class HarnessConfig(PurpleAgentConfig):
    """Settings of a CLI agent as a participant: those of all agents, and its own."""

    model_config = SettingsConfigDict(env_prefix="AGENTBEATS_PURPLE_", extra="ignore", frozen=True)

    model: Annotated[str, ReadBy("the agent")] = Field(default="", description="Model that the agent asks.")
    harness: Annotated[str, ReadBy("purple_sdk.harness")] = Field(
        default="claude-code", description="Name of the CLI agent."
    )
    program: Annotated[str | None, ReadBy("purple_sdk.harness")] = Field(
        default=None,
        description="The CLI agent's executable, where it isn't the installed one; a command line for `acp`.",
    )
    wire: Annotated[Literal["anthropic", "responses", "chat", "gemini"] | None, ReadBy("purple_sdk.harness")] = Field(
        default=None,
        description="How an `acp` agent asks its model: `anthropic`, `responses`, `chat`, `gemini`. Without it `chat`.",
    )
    turn_seconds: Annotated[float, ReadBy("purple_sdk.harness")] = Field(
        default=280.0, gt=0, le=86_400, description="Seconds after which a turn of the CLI agent is stopped."
    )
    tokens_per_turn: Annotated[int, ReadBy("purple_sdk.harness")] = Field(
        default=5_000_000, ge=500, description="Limit of tokens in a turn, those of prompts and answers together."
    )
    max_tokens: Annotated[int | None, ReadBy("purple_sdk.harness")] = Field(
        default=None, ge=1, description="Limit of tokens in an assessment, those of failed tries included."
    )
    max_cost: Annotated[float | None, ReadBy("purple_sdk.harness")] = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Limit of the models' cost in an assessment, by the table in `AGENTBEATS_PURPLE_PRICES`.",
    )
    prices: Annotated[str | None, ReadBy("purple_sdk.harness")] = Field(
        default=None, description="File (TOML or JSON) with the prices of models, for the limit of cost."
    )
    homes: Annotated[Path, ReadBy("purple_sdk.harness")] = Field(
        default=Path("~/.local/state/proctor/harness-homes"),
        description="Folder of the CLI agents' home folders, one for each assessment.",
    )
    keep_homes: Annotated[bool, ReadBy("purple_sdk.harness")] = Field(
        default=False, description="Keep the home folders of ended assessments."
    )
    hidden: Annotated[str, ReadBy("purple_sdk.harness")] = Field(
        default="",
        description="Folders that the CLI agent can't read, separated by colons, beside the bundled scenarios.",
    )


ConfigT = TypeVar("ConfigT", bound=AgentBeatsConfig)


def merge_configs(base: ConfigT, overrides: dict[str, Any]) -> ConfigT:
    """A copy of ``base`` with some fields replaced and all checked again; ``base`` stays as it is.

    Raises:
        ValueError: a name that isn't a field.
        pydantic.ValidationError: a value that doesn't fit.
    """
    if unknown := sorted(set(overrides) - set(type(base).model_fields)):
        raise ValueError(f"unknown setting {', '.join(unknown)}: {type(base).__name__} has no such field")
    return type(base)(**{**{name: getattr(base, name) for name in type(base).model_fields}, **overrides})


def unknown_variables(names: Iterable[str]) -> dict[str, str | None]:
    """Names of environment variables that look like ours and aren't, each with the nearest of our names."""
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
    """Warnings about settings that are allowed and probably not meant; empty where all is well."""
    warnings = []
    if config.port and config.port < 1024:
        warnings.append(f"port {config.port} needs root on most systems: choose one above 1023")
    if config.card_url is None and config.host in ("0.0.0.0", "::"):
        warnings.append("card_url is not set: the agent card says localhost, which other machines can't reach")
    if isinstance(config, GreenAgentConfig):
        if config.ues_base_port == config.port:
            warnings.append(f"ues_base_port and port are both {config.port}: the simulator needs one of its own")
        if config.default_turn_timeout < 5:
            warnings.append(
                f"default_turn_timeout is {config.default_turn_timeout} s: most models need longer for a turn"
            )
    if isinstance(config, PurpleAgentConfig) and config.temperature > 1.5:
        warnings.append(f"temperature {config.temperature} makes most models incoherent")
    return warnings
