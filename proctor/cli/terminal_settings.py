"""Settings of Terminal-Bench runs, from these sources, the strongest first:

* command line
* environment
* ``.env``, for secrets only
* ``config.toml``, with the seed's sections

Every setting has a section and a key. Its environment variable joins both in capitals (``EVALUATION_N_ATTEMPTS``).
"""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from proctor.common.errors import UsageError
from purple_sdk.protocol.problems import describe_demand, show_value
from purple_sdk.protocol.terminal import AgentAccess, LeaveRunning, VerifierKind

CONFIG_FILE, SECRETS_FILE = "config.toml", ".env"

_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$", re.IGNORECASE)


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProjectSection(_Section):
    name: str = Field(default="terminal-bench-green-agent", description="Name of the project, for people.")
    version: str = Field(default="1.0.0", description="Version of the project, for people.")


class GreenAgentSection(_Section):
    """The address at which the evaluator listens. ``card_path`` is accepted, but not used."""

    host: str = Field(default="0.0.0.0", description="Address that the evaluator listens on.")
    port: int = Field(default=9999, ge=1, le=65535, description="Port that the evaluator listens on.")
    card_path: str | None = Field(default=None, description="Not used: the gateway makes its own card.")


class WhiteAgentSection(_Section):
    """The agent: the address and the model of the agent that ``up`` starts, or ``url`` for any other agent."""

    host: str = Field(default="0.0.0.0", description="Address that the agent started by `up` listens on.")
    port: int = Field(default=8001, ge=1, le=65535, description="Its port.")
    card_path: str | None = Field(default=None, description="Not used.")
    model: str = Field(default="gpt-4o-mini", description="Model that it asks.")
    base_url: str | None = Field(default=None, description="Other endpoint of the same kind of API for the model.")
    url: str | None = Field(default=None, description="Address of another agent, which is then played instead.")


class EvaluationSection(_Section):
    output_path: str = Field(default="./eval_results", description="Folder for the results of runs.")
    n_attempts: int = Field(default=1, ge=1, description="Trials of each agent at each task.")
    n_concurrent_trials: int = Field(default=4, ge=1, description="Trials at once, at most.")
    timeout_multiplier: float = Field(default=1.0, gt=0, description="Factor for the time limits of tasks.")
    agent_timeout_sec: float | None = Field(
        default=None, gt=0, description="Seconds for the agent, instead of each task's own limit."
    )
    test_timeout_sec: float | None = Field(
        default=None, gt=0, description="Seconds for the tests, instead of each task's own limit."
    )
    cleanup: bool = Field(default=True, description="Whether images are removed at the end of a run.")
    task_ids: list[str] | None = Field(default=None, description="Tasks to play, as patterns. Default: all.")
    exclude_task_ids: list[str] = Field(default_factory=list, description="Tasks to leave out, as patterns.")
    n_tasks: int | None = Field(default=None, ge=1, description="Tasks to play, at most.")
    max_cost: float | None = Field(
        default=None, gt=0, description="Cost of a run, at most, in the currency of `prices`."
    )
    max_tokens: int | None = Field(default=None, ge=1, description="Tokens of a run, at most.")
    max_hours: float | None = Field(default=None, gt=0, description="Hours of a run, at most.")
    tries: int = Field(default=3, ge=1, le=10, description="How often a trial is played if the evaluator fails.")
    record: bool = Field(default=True, description="Whether terminals are recorded.")
    access: AgentAccess = Field(
        default="both", description="How agents get in: `docker` exec, the command `endpoint`, or `both`."
    )
    leave_running: LeaveRunning = Field(
        default="everything",
        description="Which of the agent's processes the tests find running: `everything`, `services`, `nothing`.",
    )
    verifier: VerifierKind = Field(default="separate", description="Where tests run: `separate` or `same-container`.")


class DatasetSection(_Section):
    """The tasks: a folder, or a dataset.

    A folder is given by ``path``, and requests may call it ``name``. A dataset is given by ``name`` and ``version``.
    It was added by ``proctor terminal-bench datasets``, or is pulled from ``registry``, a ``registry.json``.
    """

    path: str | None = Field(default=None, description="Folder of tasks.")
    registry: str | None = Field(default=None, description="A `registry.json` from which the dataset is pulled.")
    name: str | None = Field(default=None, description="Name of a dataset, or of the folder for requests.")
    version: str | None = Field(default=None, description="Version of the dataset.")

    @property
    def label(self) -> str | None:
        """The name of the dataset in runs, ``NAME@VERSION`` or ``NAME``; None without a name."""
        return f"{self.name}@{self.version}" if self.name and self.version else self.name


class LoggingSection(_Section):
    level: str = Field(default="INFO", description="Lowest level of the log lines that are written.")
    format: str | None = Field(default=None, description="Not used.")


class A2ASection(_Section):
    default_input_modes: list[str] = Field(default_factory=lambda: ["text"], description="Not used: the card says it.")
    default_output_modes: list[str] = Field(default_factory=lambda: ["text"], description="Not used: the card says it.")
    streaming: bool = Field(default=True, description="Not used: the gateway always streams.")
    message_timeout: float | None = Field(default=None, description="Not used.")
    health_check_timeout: float | None = Field(default=None, description="Not used.")


class SafetySection(_Section):
    blocked_commands: list[str] = Field(
        default_factory=lambda: ["sudo", "shutdown", "reboot", "halt", "poweroff"],
        description="Commands that the agent started by `up` refuses to run.",
    )


class AgentSection(_Section):
    max_iterations: int = Field(
        default=30, ge=1, description="Model calls of the agent started by `up` for one task, at most."
    )


class TerminalSettings(_Section):
    """All settings, by the sections of ``config.toml``. For a run of several agents, ``agents`` has their addresses."""

    project: ProjectSection = ProjectSection()
    green_agent: GreenAgentSection = GreenAgentSection()
    white_agent: WhiteAgentSection = WhiteAgentSection()
    evaluation: EvaluationSection = EvaluationSection()
    dataset: DatasetSection = DatasetSection()
    logging: LoggingSection = LoggingSection()
    a2a: A2ASection = A2ASection()
    safety: SafetySection = SafetySection()
    agent: AgentSection = AgentSection()
    agents: dict[str, str] = Field(default_factory=dict)


_IN_REQUESTS = {
    "timeout_multiplier": "global_timeout_multiplier",
    "agent_timeout_sec": "global_agent_timeout_sec",
    "test_timeout_sec": "global_test_timeout_sec",
}
"""Settings of an evaluation to their different names in requests."""


def run_config(settings: TerminalSettings) -> dict[str, Any]:
    """The settings of a run, without its dataset, in the form of a request's ``config``."""
    chosen = settings.evaluation.model_dump(exclude={"output_path", "cleanup"}, exclude_none=True)
    config = {_IN_REQUESTS.get(name, name): value for name, value in chosen.items()}
    return {**config, "keep_images": not settings.evaluation.cleanup}


def read_terminal_settings(
    flags: Mapping[tuple[str, str], Any], config_file: str | None = None, environment: Mapping[str, str] | None = None
) -> TerminalSettings:
    """Read the settings from all sources, the strongest first: flags, environment, ``.env``, ``config.toml``, defaults.

    Secrets of ``.env`` are put into this process's environment, where agents and models look for them.

    Args:
        flags: (section, key) to the flag's value; None stands for a flag that wasn't given.
        config_file: the file; None is ``config.toml`` in this folder, if it exists.
        environment: the environment's variables; None for those of this process.

    Raises:
        UsageError: a file can't be read, or a value doesn't fit. The message has the file, variable or flag, the key
            and the remedy.
    """
    environment = os.environ if environment is None else environment
    path = Path(config_file or CONFIG_FILE)
    values: dict[str, dict[str, Any]] = {}
    sources: dict[tuple[str, str], str] = {}
    if config_file is not None or path.is_file():
        for section, content in _read_toml(path).items():
            if not isinstance(content, dict):
                raise UsageError(f"{path}: {section} is outside of all sections: put it into one, such as [evaluation]")
            values[section] = dict(content)
            sources |= {(section, key): f"{path}: {section}.{key}" for key in content}
    _read_secrets(path.with_name(SECRETS_FILE), environment)
    for section, kind in TerminalSettings.model_fields.items():
        for key in getattr(kind.annotation, "model_fields", {}):
            variable = f"{section}_{key}".upper()
            if variable in environment:
                values.setdefault(section, {})[key] = _read_variable(environment[variable])
                sources[section, key] = f"the environment's {variable}"
            if (flag := flags.get((section, key))) is not None:
                values.setdefault(section, {})[key] = flag
                sources[section, key] = f"--{key.replace('_', '-')}"
    try:
        return TerminalSettings.model_validate(values)
    except ValidationError as error:
        raise UsageError("; ".join(_sentence(problem, sources, path) for problem in error.errors())) from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} isn't there: name the file of the settings with --config, or leave it out") from None
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{path} can't be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def _read_secrets(path: Path, environment: Mapping[str, str]) -> None:
    if not path.is_file():
        return
    try:
        secrets = dotenv_values(path)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{path} can't be read: {error}") from None
    for name, value in secrets.items():
        if not _SECRET.search(name):
            raise UsageError(
                f"{path}: {name} isn't a secret (their names end with KEY, TOKEN, SECRET or PASSWORD): settings belong "
                f"into {path.with_name(CONFIG_FILE)}"
            )
        if value and name not in environment:
            os.environ[name] = value


def _read_variable(text: str) -> Any:
    """A list, number or truth value if the text is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _sentence(error: ErrorDetails, sources: Mapping[tuple[str, str], str], path: Path) -> str:
    section, key = (*map(str, error["loc"]), "", "")[:2]
    where = sources.get((section, key), f"{path}: {section}{f'.{key}' if key else ''}")
    if error["type"] == "extra_forbidden":
        kind = TerminalSettings.model_fields.get(section)
        known = ", ".join(getattr(kind.annotation, "model_fields", {}) if kind else TerminalSettings.model_fields)
        return f"{where} isn't a setting: there are {known}"
    return f"{where} is {show_value(error['input'])}: {describe_demand(error)}"
