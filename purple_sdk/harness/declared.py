"""The declaration of a CLI agent that can play: a ``Harness``."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any, Literal

Wire = Literal["anthropic", "responses", "chat", "gemini"]
"""The protocol in which a CLI agent asks its model."""

SERVER = "proctor"
"""The name of the MCP server in every CLI agent's configuration."""

TOKEN_VARIABLE = "PROCTOR_TURN_TOKEN"
"""The environment variable with the key for model and simulation. It is valid in one try of one turn."""

_LONGEST_QUOTE = 300
_CONFIGS = Path(__file__).with_name("clis") / "configs"


class HarnessError(Exception):
    """A CLI agent can't play, or didn't play its turn; the text names it and says what to do."""


@dataclass(frozen=True)
class Launch:
    """One start of a CLI agent: one try of one turn.

    Attributes:
        program: the executable; a command line where the CLI agent has no executable of its own.
        model: the model's name.
        session: the session to resume; None starts a new one.
        new_session: the id of the new session, for CLI agents that let the caller choose it.
        relay: the address of the relay without a path, such as ``http://127.0.0.1:4711``.
    """

    program: str
    model: str
    prompt: str
    session: str | None
    new_session: str
    home: Path
    work: Path
    relay: str

    @property
    def mcp(self) -> str:
        """Where the simulation speaks MCP."""
        return f"{self.relay}/mcp"


@dataclass(frozen=True)
class Printed:
    """The output of a CLI agent that has ended."""

    stdout: str
    stderr: str
    exit_code: int

    def ending(self) -> str:
        """The last words of its output, for an error."""
        text = (self.stderr.strip() or self.stdout.strip())[-_LONGEST_QUOTE:]
        return f"its output ends with: {text}" if text else "it printed nothing"


@dataclass(frozen=True)
class Outcome:
    """How a CLI agent's turn ended, by its output.

    Attributes:
        answer: its last words.
        session: the session to resume in the next turn.
        problem: why the turn doesn't count; None where it is complete.
    """

    answer: str = ""
    session: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Harness:
    """One CLI agent.

    Attributes:
        name: as in ``--harness NAME``.
        title: as people write it.
        packages: what is installed, in this order; each with its version.
        program: the executable's name; empty for any that ``--program`` names with its arguments.
        files: the configuration files of a launch: paths below the home folder, and their content.
        command: the command line of a launch.
        oldest: the oldest version that works; empty for any.
        size: of an installation, in words.
        installer: with which tool the packages are installed.
        hints: regular expressions of output that means a known problem, each with the remedy.
        has_mcp: whether it uses tools by MCP; those without play terminal tasks only.
        writes: folders outside of its home in which it has to write, since their paths are fixed.
    """

    name: str
    title: str
    packages: tuple[str, ...]
    program: str
    wire: Wire
    files: Callable[[Launch], Mapping[str, str]]
    command: Callable[[Launch], Sequence[str]]
    environment: Callable[[Launch], Mapping[str, str]]
    read: Callable[[Printed, Launch], Outcome]
    oldest: tuple[int, ...]
    size: str
    installer: Literal["npm", "pip", "none"] = "npm"
    hints: Mapping[str, str] = field(default_factory=dict)
    has_mcp: bool = True
    writes: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version that is installed."""
        return re.split(r"==|@(?=[^@/]+$)", self.packages[-1])[-1] if self.packages else ""


class _Template(Template):
    delimiter = "%"


def config_file(path: str, template: str) -> Callable[[Launch], Mapping[str, str]]:
    """What makes a launch's one configuration file: at a path below the home folder, by a template in ``configs``."""
    text = _Template((_CONFIGS / template).read_text())

    def fill_places(launch: Launch) -> Mapping[str, str]:
        places = {"model": launch.model, "relay": launch.relay, "mcp": launch.mcp, "home": str(launch.home)}
        values = {**places, "variable": TOKEN_VARIABLE, "server": SERVER}
        # JSON, and so strings in double quotes of TOML and YAML.
        return {
            path: text.substitute({name: json.dumps(value, ensure_ascii=False)[1:-1] for name, value in values.items()})
        }

    return fill_places


def json_lines(text: str) -> list[dict[str, Any]]:
    """The JSON objects among the lines of a text; other lines are left out."""
    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
