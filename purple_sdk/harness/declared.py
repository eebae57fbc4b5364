"""The declaration of a CLI agent that can play a participant: a ``Harness``."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any, Literal

Wire = Literal["anthropic", "responses", "chat", "gemini"]
"""The protocol of a CLI agent's requests to its model."""

SERVER = "proctor"
"""The name of the MCP server in every CLI agent's configuration."""

TOKEN_VARIABLE = "PROCTOR_TURN_TOKEN"
"""The environment variable with the key for model and simulation. It is valid in one try of one turn."""

_LONGEST_QUOTE = 300
_CONFIGS = Path(__file__).with_name("clis") / "configs"


class HarnessError(Exception):
    """A CLI agent can't play, or didn't complete its turn; the text names the agent and the remedy."""


@dataclass(frozen=True)
class Launch:
    """One start of a CLI agent: one try of one turn.

    Attributes:
        program: the executable; a command line if the CLI agent has no own executable.
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
        """The address of the simulation's MCP server."""
        return f"{self.relay}/mcp"


@dataclass(frozen=True)
class Printed:
    """The output of a CLI agent that has ended."""

    stdout: str
    stderr: str
    exit_code: int

    def ending(self) -> str:
        """The end of its output, for an error."""
        text = (self.stderr.strip() or self.stdout.strip())[-_LONGEST_QUOTE:]
        return f"its output ends with: {text}" if text else "it printed nothing"


@dataclass(frozen=True)
class Outcome:
    """The result of a CLI agent's turn, read from its output.

    Attributes:
        answer: the agent's last words.
        session: the session to resume in the next turn.
        problem: the reason why the turn doesn't count; None if it is complete.
    """

    answer: str = ""
    session: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Harness:
    """One CLI agent.

    Attributes:
        name: the name in ``--harness NAME``.
        title: the name in texts.
        packages: the packages to install, in this order; each with its version.
        program: the executable's name; empty if ``--program`` names any program with its arguments.
        files: the configuration files of a launch: paths below the home folder, and their content.
        command: the command line of a launch.
        oldest: the oldest version that works; empty for any.
        size: the size of an installation, in words.
        installer: the tool that installs the packages.
        hints: regular expressions of output that indicates a known problem, each with the remedy.
        has_mcp: whether the CLI agent uses tools by MCP. CLI agents without MCP play terminal tasks only.
        writes: folders outside of its home to which the CLI agent must write, since their paths are fixed.
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
        """The installed version."""
        return re.split(r"==|@(?=[^@/]+$)", self.packages[-1])[-1] if self.packages else ""


class _Template(Template):
    delimiter = "%"


def config_file(path: str, template: str) -> Callable[[Launch], Mapping[str, str]]:
    """Return a function that makes a launch's only configuration file, at a path below the home folder, from a
    template.
    """
    text = _Template((_CONFIGS / template).read_text())

    def fill_places(launch: Launch) -> Mapping[str, str]:
        places = {"model": launch.model, "relay": launch.relay, "mcp": launch.mcp, "home": str(launch.home)}
        values = {**places, "variable": TOKEN_VARIABLE, "server": SERVER}
        # Strings are written as in JSON, a form that TOML and YAML also read.
        return {
            path: text.substitute({name: json.dumps(value, ensure_ascii=False)[1:-1] for name, value in values.items()})
        }

    return fill_places


def json_lines(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects among the lines of a text; other lines are left out."""
    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
