"""The prompts for a CLI agent's turns."""

import tomllib
from datetime import datetime
from pathlib import Path

from purple_sdk.harness.declared import SERVER

_TEXTS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def first_prompt(instructions: str, turn: int, now: datetime) -> str:
    """Return the prompt of a new session."""
    missed = _TEXTS["missed"] if turn > 1 else ""
    return f"{_TEXTS['first'].format(server=SERVER, instructions=instructions)}{missed}\n{later_prompt(turn, now)}"


def later_prompt(turn: int, now: datetime) -> str:
    """Return the prompt of a turn in a resumed session."""
    return _TEXTS["now"].format(time=now, iso=now.isoformat(), turn=turn)


def terminal_prompt(tool: str, workdir: str, instruction: str) -> str:
    """Return the prompt of a terminal task."""
    return _TEXTS["terminal"].format(tool=tool, server=SERVER, workdir=workdir, instruction=instruction)
