"""The settings of ``proctor run``: from flags, or from an equivalent ``campaign.toml``."""

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from proctor.common.errors import UsageError
from proctor.protocol.runs import RunConfig, RunRequest
from purple_sdk.protocol.problems import describe, show_value

_MOST_SEEDS = 10_000
_RANGE = re.compile(r"(-?\d+)(?:\s*-\s*(-?\d+))?", re.ASCII)


def parse_seeds(words: str, flag: str = "--seeds") -> list[int]:
    """Parse numbers such as ``1-5,9``. Error messages name the ``flag``."""
    seeds: list[int] = []
    for word in filter(None, (word.strip() for word in words.split(","))):
        if (numbers := _RANGE.fullmatch(word)) is None:
            raise UsageError(f"{flag} {words}: write numbers and ranges, such as 1-5,9")
        low, high = int(numbers[1]), int(numbers[2] or numbers[1])
        if high < low or high - low >= _MOST_SEEDS:
            raise UsageError(f"{flag} {words}: {word} isn't a range of at most {_MOST_SEEDS} {flag.removeprefix('--')}")
        seeds += range(low, high + 1)
    if not seeds:
        raise UsageError(f"{flag} is empty: write numbers and ranges, such as 1-5,9")
    return seeds


def parse_agents(words: Sequence[str], unnamed: str = "agent", known: Sequence[str] = ()) -> dict[str, str]:
    """Parse agents such as ``mine=http://localhost:8001``; return names to addresses.

    Args:
        unnamed: the name of an agent that is given by its address alone.
        known: words, such as ``oracle``, that stand for an agent and are also its name.

    Raises:
        UsageError: two agents have the same name.
    """
    agents: dict[str, str] = {}
    for word in words:
        name, equals, url = word.partition("=")
        if not equals or "://" in name:
            name, url = word if word in known else unnamed, word
        if name in agents:
            raise UsageError(f"--agent {name} is there twice: give each a name of its own, NAME=URL")
        agents[name] = url
    return agents


def read_campaign(path: str) -> dict[str, Any]:
    """Read a request from a file: a table ``agents`` (name to address), and the fields of ``config``."""
    try:
        settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} isn't TOML: {error}") from None
    agents = settings.pop("agents", {})
    if not isinstance(agents, dict):
        raise UsageError(
            f"{path}: agents is {show_value(agents)}: write a table, [agents], with a line NAME = URL for each"
        )
    return {"participants": agents, "config": settings}


def checked(request: dict[str, Any], where: str) -> RunRequest:
    """Validate the request as the evaluator does; ``where`` is its source, for error messages."""
    if unknown := sorted(
        set(request["config"]) - {*RunConfig.model_fields, "scenario_id", "difficulty", "seed", "from_turn"}
    ):
        raise UsageError(f"{where}: {', '.join(unknown)} isn't a setting of a campaign")
    if not request["participants"] and not request["config"].get("fork_of"):
        raise UsageError(f"{where}: no agent is named; add --agent NAME=URL, or a table [agents] in the file")
    try:
        return RunRequest.model_validate(request)
    except ValidationError as error:
        raise UsageError(f"{where}: {describe(error)}") from None


def as_toml(request: RunRequest) -> str:
    chosen = request.config
    # A setting that a fork leaves out has its original's value, not the default.
    config = chosen.model_dump(mode="json", exclude_none=True, exclude_defaults=not chosen.fork_of)
    config = {"scenarios": chosen.scenarios, "seeds": chosen.seeds, **config}
    lines = [f"{name} = {json.dumps(value)}" for name, value in config.items()]
    agents = [f"{json.dumps(name)} = {json.dumps(url)}" for name, url in request.participants.items()]
    return "\n".join([*lines, "", "[agents]", *agents, ""])
