"""Configuration from flags and environment, with its problems told as sentences."""

from typing import Any, TypeVar

from pydantic import ValidationError

from activities.packages.manager import ScenarioError, ScenarioManager
from proctor.errors import UsageError
from proctor_protocol.config import AgentBeatsConfig, GreenAgentConfig
from proctor_protocol.problems import show_value

ConfigT = TypeVar("ConfigT", bound=AgentBeatsConfig)


def read_settings(kind: type[ConfigT], **flags: Any) -> ConfigT:
    """Settings of one kind: those flags that were given (not None), over the environment, over the defaults.

    Raises:
        UsageError: a value doesn't fit; names the environment variable or the flag.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return kind(**given)
    except ValidationError as problem:
        prefix = kind.model_config.get("env_prefix", "")
        sentences = []
        for error in problem.errors(include_url=False):
            name = str(error["loc"][0]) if error["loc"] else "the settings"
            where = f"--{name.replace('_', '-')}" if name in given else f"{prefix}{name}".upper()
            sentences.append(f"{where} is {show_value(error['input'])}: {error['msg'].removeprefix('Value error, ')}")
        raise UsageError("; ".join(sentences)) from None


def with_scenarios(config: GreenAgentConfig) -> GreenAgentConfig:
    """The same settings with an absolute ``scenarios_dir``, found as everybody finds it (``ScenarioManager``).

    Raises:
        UsageError: there is no such folder.
    """
    manager = ScenarioManager(config.scenarios_dir)
    try:
        manager.list_ids()
    except ScenarioError as problem:
        raise UsageError(str(problem)) from None
    return config.model_copy(update={"scenarios_dir": str(manager.directory)})
