"""docs/reference/settings.md, made from the classes of settings: ``python -m tests.docs.settings`` writes it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from proctor.cli.terminal_settings import TerminalSettings
from proctor.settings.config import GreenAgentConfig
from purple_sdk.settings.config import AgentBeatsConfig, HarnessConfig, PurpleAgentConfig

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/settings.md"

_HEAD = """# Settings

Made from the code by `.venv/bin/python -m tests.docs.settings`. Each setting of the evaluator and of agents is an
environment variable. A program with an agent that reads `PurpleAgentConfig.from_cli_args()` takes each of its settings
as a flag, too: `AGENTBEATS_PURPLE_ACTION_DELAY` is `--action-delay`. Commands of `proctor` have flags for a few
settings only: [Commands](commands.md) lists them. Flags overrule variables. `AGENTBEATS_HOST`, `_PORT`, `_CARD_URL` and
`_LOG_LEVEL` hold for evaluator and agents without their own variable. Units are in the descriptions.
"""

_BOUNDS = {
    "gt": "more than {}",
    "ge": "at least {}",
    "lt": "less than {}",
    "le": "at most {}",
    "min_length": "at least {} characters",
    "max_length": "at most {} characters",
}


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for title, kind in (("The evaluator", GreenAgentConfig), ("Agents", PurpleAgentConfig)):
        parts += [f"\n## {title}\n", "| variable | what it is | read by |", "| --- | --- | --- |"]
        parts += [_row(f"{kind.model_config['env_prefix']}{name}", field) for name, field in kind.model_fields.items()]
    parts += ["\n## CLI agents\n", "Of `proctor agent harness` and `--harness`.\n"]
    parts += ["| variable | what it is | read by |", "| --- | --- | --- |"]
    parts += [_row(f"AGENTBEATS_PURPLE_{name}", field) for name, field in of_cli_agents().items()]
    parts += [
        "\n## Runs of terminal tasks\n",
        "Keys of `config.toml`. The variable of `n_attempts` in `[evaluation]` is",
    ]
    parts += ["`EVALUATION_N_ATTEMPTS`.\n", "| section | key | what it is |", "| --- | --- | --- |"]
    for section, fields in sections():
        parts += [f"| `[{section}]` | `{name}` | {_text(field)} |" for name, field in fields.items()]
    return "\n".join(parts) + "\n"


def sections() -> Iterator[tuple[str, dict[str, FieldInfo]]]:
    """Sections of ``config.toml`` with their fields."""
    for section, field in TerminalSettings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield section, field.annotation.model_fields


def of_cli_agents() -> dict[str, FieldInfo]:
    """The settings that CLI agents have beside those of all agents, or with another default."""
    return {name: field for name, field in HarnessConfig.model_fields.items() if name in HarnessConfig.__annotations__}


def every_setting() -> Iterator[tuple[str, FieldInfo]]:
    """All settings with their names."""
    for kind in (AgentBeatsConfig, GreenAgentConfig, PurpleAgentConfig):
        yield from ((f"{kind.__name__}.{name}", field) for name, field in kind.model_fields.items())
    yield from ((f"HarnessConfig.{name}", field) for name, field in of_cli_agents().items())
    for section, fields in sections():
        yield from ((f"{section}.{name}", field) for name, field in fields.items())


def reader_of(field: FieldInfo) -> str:
    """Who reads a setting; empty if its field does not say so."""
    extra = field.json_schema_extra
    return str(extra.get("read_by", "")) if isinstance(extra, dict) else ""


def _row(variable: str, field: FieldInfo) -> str:
    return f"| `{variable.upper()}` | {_text(field)} | {reader_of(field)} |"


def _text(field: FieldInfo) -> str:
    """The description, then the bounds, then the default, which some descriptions have at their end."""
    default = _default(field)
    described, mark, said = (field.description or "").partition(" Default: ")
    text = f"{described}{bounds(field)}{mark}{said}{f' Default: {default}.' if default else ''}"
    return text.replace("|", "\\|")


def bounds(field: FieldInfo) -> str:
    """What a value has to keep to, as a sentence after a space; empty if the field has no bounds."""
    known = {name: getattr(bound, name) for bound in field.metadata for name in _BOUNDS if hasattr(bound, name)}
    if {"ge", "le"} <= known.keys():
        return f" From {known['ge']} to {known['le']}."
    words = ", ".join(_BOUNDS[name].format(known[name]) for name in _BOUNDS if name in known)
    return f" {words[0].upper()}{words[1:]}." if words else ""


def _default(field: FieldInfo) -> str:
    value: Any = field.default
    if field.default_factory in (dict, list) or value in (None, "") or isinstance(value, SecretStr):
        return ""
    if value is PydanticUndefined:
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    PAGE.write_text(page())
