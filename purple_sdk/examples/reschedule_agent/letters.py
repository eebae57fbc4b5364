"""The agent's messages (``letters.toml``)."""

import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

from purple_sdk.examples.reschedule_agent.times import in_words

_LETTERS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _fill_letter(letter: str, *, is_text: bool, **fields: str) -> str:
    return str(_LETTERS[letter]["text" if is_text else "mail"].format(reason=_LETTERS["reason"], **fields))


def request(name: str, user: str, title: str, proposal: datetime, city: str, *, is_text: bool) -> str:
    """Ask to move a meeting."""
    time = in_words(proposal)
    return _fill_letter("request", is_text=is_text, name=name, user=user, title=title, time=time, city=city)


def other_time(name: str, user: str, proposal: datetime, city: str, *, is_text: bool, was_settled: bool) -> str:
    """Decline an offer, or undo an agreement, and offer another time."""
    time, why = in_words(proposal), _LETTERS["was_settled" if was_settled else "is_taken"]
    return _fill_letter("other_time", is_text=is_text, name=name, user=user, why=why, time=time, city=city)


def confirmation(name: str, user: str, agreed: datetime, city: str, *, is_text: bool) -> str:
    """Confirm a time."""
    return _fill_letter("confirmation", is_text=is_text, name=name, user=user, time=in_words(agreed), city=city)


def absence(name: str, user: str, title: str) -> str:
    """Say that the user won't be there."""
    return _fill_letter("absence", is_text=False, name=name, user=user, title=title)
