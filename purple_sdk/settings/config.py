"""Settings of agents.

Settings come from these sources, strongest first:

* the command line, where every field is a flag ``--field-name`` (``from_cli_args``)
* environment variables ``AGENTBEATS_PURPLE_*``
* the variables ``AGENTBEATS_HOST``, ``_PORT``, ``_CARD_URL`` and ``_LOG_LEVEL``, which the evaluator reads too
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from purple_sdk.processes.addresses import in_url

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]

COMMON_PREFIX = "AGENTBEATS_"
"""The prefix of environment variables for both evaluator and participants."""


class _Variables(EnvSettingsSource):
    """Read environment variables. If none has the prefix, skip the look at each field, which takes 2 ms."""

    def __call__(self) -> dict[str, Any]:
        is_one_set = any(name.startswith(self.env_prefix.lower()) for name in self.env_vars)
        return super().__call__() if is_one_set else {}


class _CommonVariables(_Variables):
    """Read ``AGENTBEATS_*`` variables (such as ``AGENTBEATS_HOST``) for the settings that every agent has."""

    def __init__(self, kind: type[BaseSettings]) -> None:
        super().__init__(kind, env_prefix=COMMON_PREFIX)

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        if field_name not in AgentBeatsConfig.model_fields:
            return None, field_name, False
        return super().get_field_value(field, field_name)


def setting(read_by: str, description: str, default: Any = None, **more: Any) -> Any:
    """Declare a field of settings. ``more`` has bounds, or a ``default_factory`` instead of the default.

    ``read_by`` names the services or the code that read the setting, in words, for the page of settings.
    """
    if "default_factory" not in more:
        more["default"] = default
    return Field(description=description, json_schema_extra={"read_by": read_by}, **more)


class AgentBeatsConfig(BaseSettings):
    """The settings of every agent: the address that it listens on and the one on its card."""

    model_config = SettingsConfigDict(env_prefix=COMMON_PREFIX, extra="ignore", frozen=True)

    host: str = setting("all", "Address that the service listens on; 0.0.0.0 is every interface.", "0.0.0.0")
    port: int = setting("all", "Port that the service listens on; 0 takes a free one.", 8000, ge=0, le=65535)
    card_url: str | None = setting("all", "Address that the agent card names. Default: made from host and port.")
    log_level: LogLevel = setting("all", "Lowest level of the log lines that are written.", "INFO")

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
        """Return the sources of values, strongest first (see ``pydantic_settings``)."""
        return init_settings, _Variables(settings_cls), _CommonVariables(settings_cls)

    @classmethod
    def find_variable(cls, name: str) -> str:
        """Return the environment variable that sets a field. If no variable sets it, return the most specific one."""
        specific = f"{cls.model_config.get('env_prefix', '')}{name}".upper()
        common = f"{COMMON_PREFIX}{name}".upper()
        is_common = name in AgentBeatsConfig.model_fields and specific not in os.environ and common in os.environ
        return common if is_common else specific

    @classmethod
    def from_cli_args(cls, args: Sequence[str] | None = None) -> Self:
        """Read the environment and the command line (default: ``sys.argv``), which takes precedence. Exit on a bad
        flag.
        """
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
        """The address for the agent card: ``card_url`` if it is set, otherwise an address made from host and port."""
        if self.card_url:
            return self.card_url
        host = "localhost" if self.host in ("0.0.0.0", "::", "") else in_url(self.host)
        return f"http://{host}:{self.port}/"


class PurpleAgentConfig(AgentBeatsConfig):
    """A participant's settings. ``purple_sdk`` reads some of them; the others are for an agent's own code."""

    model_config = SettingsConfigDict(env_prefix="AGENTBEATS_PURPLE_", extra="ignore", frozen=True)

    port: int = setting(
        "participant", "Port that the participant listens on; 0 takes a free one.", 8001, ge=0, le=65535
    )
    ues_url: str | None = setting(
        "purple_sdk",
        "Address of the simulator as this agent reaches it; replaces scheme, host and port of the address in "
        "`assessment_start`.",
    )
    model: str = setting("the agent", "Model that the agent asks.", "gpt-4o")
    max_actions_per_turn: int = setting("purple_sdk", "Actions in a turn, at most.", 50, ge=1)
    temperature: float = setting("the agent", "Temperature of the model.", 0.7, ge=0, le=2)
    enable_reflection: bool = setting("the agent", "Whether the agent thinks about a turn after it.", True)
    action_delay: float = setting("purple_sdk", "Seconds between two actions.", 0.0, ge=0)
    model_base_url: str | None = setting("the agent", "Other endpoint of the same kind of API for the model.")
    tool_calling: Literal["auto", "native", "json"] = setting(
        "the agent", "How the model asks for tools: `native`, `json`, or `auto`, whichever it can.", "auto"
    )
    answer_tokens: int = setting("the agent", "Tokens of the longest answer.", 2_000, ge=16)
    context_tokens: int = setting("the agent", "Tokens of a prompt, about, at most.", 24_000, ge=500)
    tokens_per_turn: int = setting("the agent", "Tokens of prompts and answers in a turn, at most.", 200_000, ge=500)


class HarnessConfig(PurpleAgentConfig):
    """Settings of a CLI agent as a participant: those of all agents, and some for CLI agents."""

    model_config = SettingsConfigDict(env_prefix="AGENTBEATS_PURPLE_", extra="ignore", frozen=True)

    model: str = setting("the agent", "Model that the agent asks.", "")
    harness: str = setting("purple_sdk.harness", "Name of the CLI agent.", "claude-code")
    program: str | None = setting(
        "purple_sdk.harness", "The CLI agent's executable, if not the installed one; a command line for `acp`."
    )
    wire: Literal["anthropic", "responses", "chat", "gemini"] | None = setting(
        "purple_sdk.harness",
        "How an `acp` agent asks its model: `anthropic`, `responses`, `chat`, `gemini`. Without it `chat`.",
    )
    turn_seconds: float = setting(
        "purple_sdk.harness", "Seconds after which a turn of the CLI agent is stopped.", 280.0, gt=0, le=86_400
    )
    tokens_per_turn: int = setting(
        "purple_sdk.harness", "Limit of tokens in a turn, those of prompts and answers together.", 5_000_000, ge=500
    )
    max_tokens: int | None = setting(
        "purple_sdk.harness", "Limit of tokens in an assessment, those of failed tries included.", ge=1
    )
    max_cost: float | None = setting(
        "purple_sdk.harness",
        "Limit of the models' cost in an assessment, by the table in `AGENTBEATS_PURPLE_PRICES`.",
        gt=0,
        allow_inf_nan=False,
    )
    prices: str | None = setting(
        "purple_sdk.harness", "File (TOML or JSON) with the prices of models, for the limit of cost."
    )
    homes: Path = setting(
        "purple_sdk.harness",
        "Folder of the CLI agents' home folders, one for each assessment.",
        Path("~/.local/state/proctor/harness-homes"),
    )
    keep_homes: bool = setting("purple_sdk.harness", "Keep the home folders of ended assessments.", False)
    hidden: str = setting(
        "purple_sdk.harness",
        "Folders that the CLI agent can't read, separated by colons, beside the bundled scenarios.",
        "",
    )


ConfigT = TypeVar("ConfigT", bound=AgentBeatsConfig)


def merge_configs(base: ConfigT, overrides: dict[str, Any]) -> ConfigT:
    """Return a copy of ``base`` with some fields replaced and all checked again; ``base`` doesn't change.

    Raises:
        ValueError: a name is not a field.
        pydantic.ValidationError: a value is invalid.
    """
    if unknown := sorted(set(overrides) - set(type(base).model_fields)):
        raise ValueError(f"unknown setting {', '.join(unknown)}: {type(base).__name__} has no such field")
    return type(base)(**{**{name: getattr(base, name) for name in type(base).model_fields}, **overrides})
