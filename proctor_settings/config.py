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
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

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
        """See ``PydanticBaseSettingsSource``."""
        if field_name not in AgentBeatsConfig.model_fields:
            return None, field_name, False
        return super().get_field_value(field, field_name)


class AgentBeatsConfig(BaseSettings):
    """What every agent needs: where it listens and how its card says it can be reached."""

    model_config = SettingsConfigDict(env_prefix=COMMON_PREFIX, extra="ignore", frozen=True)

    host: str = "0.0.0.0"
    port: int = Field(default=8000, ge=0, le=65535)
    card_url: str | None = None
    log_level: LogLevel = "INFO"

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
        given = {name: value for name, value in vars(parser.parse_args(args)).items() if value is not None}
        return cls(**given)

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
    """Where the archive is unless somebody says so: beside a store in the state folder or at a URL that ends with
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
"""What of the host an operator can let tasks have, by name (docs/TERMINAL_BENCH.md)."""


class GreenAgentConfig(AgentBeatsConfig):
    """The evaluator's settings: gateway and worker read the same ones.

    ``example_participant_url`` is the agent that the example request on the agent card assesses: one that is there for
    strangers to try the evaluator with, such as the baseline (``proctor agent triage`` listens at the default).

    ``secret`` is the deployment's secret, from which the simulator's host key and every simulation's keys are
    derived; worker and simulator of one deployment must share it. The commands keep one in ``state``, a folder of
    the user's own, for whoever sets none. ``storage_url`` is an fsspec URL or a local folder, below ``state`` by
    default; workers and gateways must share it. ``archive_url`` is where what was assessed stays, another such
    place that they share: ``archive`` beside a store in ``state`` or at a URL that ends with ``/storage``, within
    any other store. ``response_generator_base_url`` and ``evaluation_base_url`` point a model at another endpoint
    of the same kind of API.

    ``temporal_retention`` is for how long Temporal keeps closed workflows, which can be reset until then: workers see
    to it at their start where it is set, as `proctor up` and compose do; otherwise the namespace is left as it is.

    ``judge_window`` is how many characters of evidence a judge's model reads at once (more is judged in several
    windows), ``judge_max_tokens`` the longest answer that it may give. ``judge_timeout`` is how many seconds one
    request to it may take. ``model_requests_at_once`` is how many requests a worker sends to one model endpoint at
    once: 4, and 1 to an endpoint on its own machine, where it isn't set. Others wait, which is no part of their time.

    ``prices`` is a file (TOML or JSON) with the prices of models, for the results' costs
    (docs/operations/campaigns.md, provenance and costs).

    ``ues_url`` is where the embedded simulator is: one address, or those of several servers, with spaces between them,
    or ``dns+http://NAME:PORT`` for all that a name stands for. ``ues_public_url`` may then name as many, or have a
    ``{host}`` in it.

    ``ues_command`` starts a UES server for each assessment, with ``{host}`` and ``{port}`` filled in (ports from
    ``ues_base_port`` up), instead of using the embedded simulator at ``ues_url``; ``ues_start_timeout`` is how many
    seconds such a server has until it is healthy. ``ues_public_url`` is the simulator's address as participants see
    it; with ``ues_command`` it has a ``{port}``, and the servers listen on all interfaces. ``ues_host`` is where the
    embedded simulator listens, ``host`` where it isn't set.

    ``evaluator_timeout`` is how many seconds a scenario's evaluator may take for a judgement (waiting for a model
    doesn't count), and its code to be loaded; ``evaluator_memory_mb`` is the memory that such code may use.

    The ``participant_*`` limits are what is taken from a participant: bytes of its agent card; bytes of an answer, or
    of one event of a stream, and JSON values in it; events and bytes of the stream that answers one message; actions
    that it reports for a turn, and their bytes as JSON; bytes of its notes. ``participants_allowed`` names hosts and
    networks, besides its own, to which an agent card may point.

    ``pages_may_act`` lets whoever reaches the gateway's pages replay and judge again from there where nobody is asked
    who they are; without it that is for pages at a loopback address alone. Callers that are known may act on what is
    theirs.

    ``containers`` says whether a worker plays terminal trials: ``auto`` where a Docker engine answers when it starts
    (at ``docker_url``, else where ``DOCKER_HOST`` says, else at the usual socket), ``on`` and ``off``.
    ``containers_allow`` lists what tasks may have of the host, by name (docs/TERMINAL_BENCH.md).
    Datasets of terminal tasks are folders below ``datasets_dir``. ``commands_host`` and ``commands_port`` are where a
    worker takes commands from agents that have no Docker socket, ``commands_url`` is that address as agents reach it.

    Who may ask: ``open`` lets the gateway listen beyond this machine though it asks nobody who they are. It asks once
    there are tokens, in ``tokens.json`` in the state folder or in ``tokens_file``, or an identity provider:
    ``oidc_issuer``, the ``oidc_audience`` that its tokens are for, ``oidc_jwks_url`` where it doesn't say itself where
    its keys are, and the subjects that are admins, ``oidc_admins``. ``quota_at_once``, ``quota_per_day`` and
    ``quota_cost_per_day`` hold for callers whose tokens have none of their own. ``hosts`` are names that the gateway
    answers to beside its card's (``*`` for any), ``cors_origins`` the sites whose pages may ask it.

    ``payload_keys`` encrypts what goes through Temporal: ``ID:KEY`` each, 32 random bytes in base64; the first one
    writes, all of them read (docs/operations/security.md, encrypted payloads).

    ``card_subject`` is what the agent card is about: ``all`` lists assessments, and terminal tasks where ``containers``
    is ``on``; ``terminal-bench`` shows the skill of the Terminal-Bench evaluator alone, which refuses assessments.
    ``terminal_defaults`` are settings for requests in the seed's words ("Launch terminal-bench evaluation"), as JSON,
    by the names of the seed's configuration. A worker writes each run's results below ``terminal_results_dir``.

    ``observe_port`` has a service tell how it is at an address of its own, ``/health``, ``/ready`` and ``/metrics``,
    where nobody is asked who they are; ``observe_host`` is where it listens for that. ``log_format`` is ``json``,
    ``text``, or ``auto``: text on a terminal, else JSON (docs/OBSERVING.md).

    ``worker_processes`` is how many processes a worker has; unless told otherwise as many as it may use cores, and one
    with ``ues_command``, whose servers are each one process's own.

    ``worker_build_id`` names the worker's version for Temporal, which then lets assessments end on the version that
    they began with (docs/operations/deploy.md, with build ids).
    """

    model_config = SettingsConfigDict(env_prefix="AGENTBEATS_GREEN_", extra="ignore", frozen=True)

    port: int = Field(default=8000, ge=0, le=65535)
    verbose_updates: bool = True
    ues_base_port: int = Field(default=8100, ge=1, le=65535)
    scenarios_dir: str = "scenarios"
    default_max_turns: int = Field(default=100, ge=1)
    default_turn_timeout: float = Field(default=300.0, gt=0)
    default_turn_tries: int = Field(default=3, ge=1, le=10)
    response_generator_model: str = "gpt-4o"
    evaluation_model: str = "gpt-4o"
    response_generator_base_url: str | None = None
    evaluation_base_url: str | None = None
    connect_timeout: float = Field(default=10.0, gt=0)
    judge_timeout: float = Field(default=120.0, gt=0)
    evaluator_timeout: float = Field(default=30.0, gt=0)
    evaluator_memory_mb: int = Field(default=512, ge=64)
    judge_window: int = Field(default=60_000, ge=2_000)
    judge_max_tokens: int = Field(default=8_000, ge=100)
    model_requests_at_once: int | None = Field(default=None, ge=1)
    prices: str | None = None
    assessment_timeout: Duration = "P1D"
    ues_host: str | None = None
    ues_url: str = "http://127.0.0.1:8100"
    ues_public_url: str | None = None
    ues_command: str | None = None
    ues_start_timeout: float = Field(default=30.0, gt=0)
    state: str = Field(default_factory=_default_state, validate_default=True)
    secret: SecretStr = Field(default_factory=lambda: SecretStr(secrets.token_urlsafe(32)))
    storage_url: str = Field(default_factory=lambda others: str(Path(others.get("state", ".")) / "storage"))
    archive_url: str = Field(default_factory=_archive_of, validate_default=True)
    temporal_address: str = "127.0.0.1:7233"
    temporal_namespace: str = "default"
    temporal_retention: Duration | None = None
    temporal_ui_url: str | None = Field(default_factory=lambda others: temporal_ui_of(others["temporal_address"]))
    example_participant_url: str = "http://localhost:8001"
    task_queue: str = "assessments"
    models_task_queue: str = "models"
    models_per_second: float | None = Field(default=None, gt=0)
    pages_may_act: bool = False
    containers: Literal["auto", "on", "off"] = "auto"
    containers_task_queue: str = "containers"
    trust_scenarios: bool = Field(
        default=False,
        description="Play scenarios that did not come with proctor also where this machine can't confine their code.",
    )
    containers_allow: str = Field(
        default="", description="What terminal tasks may have of the host, by name, with commas."
    )
    docker_url: str | None = None
    datasets_dir: str = "scenarios"
    card_subject: Literal["all", "terminal-bench"] = "all"
    terminal_defaults: str = Field(
        default="", description="Settings of runs of terminal tasks, as JSON, for requests in the seed's words."
    )
    terminal_results_dir: str | None = Field(
        default=None, description="Folder where a worker writes the results of each run of terminal tasks."
    )
    commands_host: str = "127.0.0.1"
    commands_port: int = Field(default=0, ge=0, le=65535)
    commands_url: str | None = None
    worker_build_id: str | None = None
    worker_processes: int | None = Field(default=None, ge=1, le=256)
    observe_host: str = "127.0.0.1"
    observe_port: int | None = Field(default=None, ge=0, le=65535)
    log_format: Literal["auto", "json", "text"] = "auto"
    open: bool = False
    tokens_file: str | None = None
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    oidc_jwks_url: str | None = None
    oidc_admins: str = ""
    quota_at_once: int | None = Field(default=None, ge=1)
    quota_per_day: int | None = Field(default=None, ge=1)
    quota_cost_per_day: float | None = Field(default=None, gt=0)
    hosts: str = ""
    cors_origins: str = ""
    payload_keys: SecretStr | None = None
    participants_allowed: str = ""
    participant_card_bytes: int = Field(default=1_000_000, ge=1_000)
    participant_answer_bytes: int = Field(default=4_000_000, ge=1_000)
    participant_answer_values: int = Field(default=200_000, ge=100)
    participant_stream_events: int = Field(default=10_000, ge=1)
    participant_stream_bytes: int = Field(default=16_000_000, ge=1_000)
    participant_actions: int = Field(default=1_000, ge=0)
    participant_report_bytes: int = Field(default=500_000, ge=1_000)
    participant_notes_bytes: int = Field(default=64_000, ge=0)

    @field_validator("participants_allowed")
    @classmethod
    def _names_hosts_and_networks(cls, allowed: str) -> str:
        for word in allowed.replace(",", " ").split():
            if "/" in word:
                try:
                    ip_network(word, strict=False)
                except ValueError:
                    raise ValueError(
                        f"{word!r} is no network: write hosts and networks, such as agents.example 10.1.0.0/16"
                    ) from None
            elif not re.fullmatch(r"[\w.-]+|[0-9A-Fa-f:.]+", word):
                raise ValueError(f"{word!r} is no host: write its name or address alone, such as agents.example")
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
                raise ValueError(f"{word!r} is no origin: write scheme and host, such as https://dashboard.example")
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
            raise ValueError("it has no {port}: write {port} where the server is told its port")
        if (address := others.data.get("ues_public_url")) and "{port}" not in address:
            raise ValueError(
                "every assessment gets a port of its own then: write {port} in AGENTBEATS_GREEN_UES_PUBLIC_URL, such "
                "as http://evaluator.example:{port}"
            )
        return command


class PurpleAgentConfig(AgentBeatsConfig):
    """A participant's settings.

    ``max_actions_per_turn`` and ``action_delay`` are kept by ``purple_sdk``, and so is ``ues_url``: the simulator's
    address as this agent reaches it, for networks in which that is another one than the evaluator's; it takes the place
    of scheme, host and port of the address in ``assessment_start``. The others are for an agent's own code, which finds
    them in its ``config``, as the example ``assistant_agent`` does: the SDK calls no model.

    ``model_base_url`` points ``model`` at another endpoint of the same kind of API. ``tool_calling`` says how a model
    asks for tools: natively, in JSON, or whichever it can (``auto``). ``answer_tokens`` is the longest answer,
    ``context_tokens`` about how long a prompt may get, ``tokens_per_turn`` what a turn may take, prompts and answers
    together.
    """

    model_config = SettingsConfigDict(env_prefix="AGENTBEATS_PURPLE_", extra="ignore", frozen=True)

    port: int = Field(default=8001, ge=0, le=65535)
    ues_url: str | None = None
    model: str = "gpt-4o"
    max_actions_per_turn: int = Field(default=50, ge=1)
    temperature: float = Field(default=0.7, ge=0, le=2)
    enable_reflection: bool = True
    action_delay: float = Field(default=0.0, ge=0)
    model_base_url: str | None = None
    tool_calling: Literal["auto", "native", "json"] = "auto"
    answer_tokens: int = Field(default=2_000, ge=16)
    context_tokens: int = Field(default=24_000, ge=500)
    tokens_per_turn: int = Field(default=200_000, ge=500)


ConfigT = TypeVar("ConfigT", bound=AgentBeatsConfig)


def merge_configs(base: ConfigT, overrides: dict[str, Any]) -> ConfigT:
    """A copy of ``base`` with some fields replaced and all checked again; ``base`` stays as it is.

    Raises:
        ValueError: a name that is no field.
        pydantic.ValidationError: a value that doesn't fit.
    """
    if unknown := sorted(set(overrides) - set(type(base).model_fields)):
        raise ValueError(f"unknown setting {', '.join(unknown)}: {type(base).__name__} has no such field")
    return type(base)(**{**{name: getattr(base, name) for name in type(base).model_fields}, **overrides})


def unknown_variables(names: Iterable[str]) -> dict[str, str | None]:
    """Names of environment variables that look like ours and are none, each with the nearest one that there is."""
    nearest: dict[str, str] = {}
    for kind in (PurpleAgentConfig, GreenAgentConfig, AgentBeatsConfig):
        for field in kind.model_fields:
            variable = f"{kind.model_config.get('env_prefix', '')}{field}".upper()
            nearest |= {variable.removeprefix(COMMON_PREFIX): variable, field.upper(): variable}
    found: dict[str, str | None] = {}
    for name in sorted(name for name in names if name.upper().startswith(COMMON_PREFIX)):
        rest = name.upper().removeprefix(COMMON_PREFIX)
        if f"{COMMON_PREFIX}{rest}" not in {*nearest.values(), *CALLER_VARIABLES}:
            close = get_close_matches(rest, nearest, n=1)
            found[name] = nearest[close[0]] if close else None
    return found


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
