"""Validation errors as sentences that name the field, the value and the remedy."""

import json
import re
from collections.abc import Sequence
from typing import Any, Self

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_LONGEST_VALUE = 80
_UNABLE = re.compile(r", unable to (?:parse|interpret) .*$")
"""The part of pydantic's messages that repeats the type of the value."""

_BAD_CHARACTER = re.compile("[\x00\ud800-\udfff]")


class Problem(str):
    """What is wrong and what to do, as the text ``<what>: <remedy>`` with both parts.

    Attributes:
        what: what is wrong, with the value.
        remedy: what to do; empty where nothing helps.
    """

    what: str
    remedy: str

    def __new__(cls, what: str, remedy: str = "") -> Self:
        """Make the text."""
        made = super().__new__(cls, f"{what}: {remedy}" if remedy else what)
        made.what, made.remedy = what, remedy
        return made

    @classmethod
    def of(cls, error: Exception | str) -> Self:
        """The problem that an error was made from; one without a remedy where it was made from a plain text."""
        if isinstance(error, Exception):
            error = error.args[0] if error.args and isinstance(error.args[0], Problem) else str(error)
        return cls(error.what, error.remedy) if isinstance(error, Problem) else cls(error)


def field_path(location: Sequence[int | str], root: str = "") -> str:
    """Write an error location the way people write it: ``criteria[2].max_score``."""
    path = root
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path or "the document"


def show_value(value: Any) -> str:
    """Write a value as short JSON, cut where it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def find_text_flaw(value: Any, path: str = "") -> tuple[str, str] | None:
    """Find a character that JSON's escapes can carry, and UTF-8 or a database can't.

    Args:
        value: JSON data, of a depth that was bounded when it was read.
        path: of the value, for example ``actions[2].parameters``.

    Returns:
        The path of the text, and what is in it: ``NUL (U+0000)`` or ``a lone surrogate (U+D83D)``. None where all text
        is fine.
    """
    if isinstance(value, str):
        character = _BAD_CHARACTER.search(value)
        if character is None:
            return None
        kind = "NUL" if character[0] == "\0" else "a lone surrogate"
        return path or "the document", f"{kind} (U+{ord(character[0]):04X})"
    if isinstance(value, dict):
        for key, item in value.items():
            if (flaw := find_text_flaw(key)) is not None:
                return f"a field's name of {path or 'the document'}", flaw[1]
            if (flaw := find_text_flaw(item, f"{path}.{key}" if path else key)) is not None:
                return flaw
    if isinstance(value, list):
        for place, item in enumerate(value):
            if (flaw := find_text_flaw(item, f"{path}[{place}]")) is not None:
                return flaw
    return None


def demand_of(error: ErrorDetails) -> str:
    """What a value must be, for example ``it must be a valid integer``."""
    message = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if message.startswith("Input should"):
        return f"it must{_UNABLE.sub('', message.removeprefix('Input should'))}"
    return f"{message[:1].lower()}{message[1:]}"


def _sentence(error: ErrorDetails, root: str) -> str:
    path = field_path(error["loc"], root)
    message = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if error["type"] == "missing":
        return f"{path} is missing: add it"
    if error["type"] == "value_error" and (not error["loc"] or isinstance(error["input"], dict | list)):
        return message if not error["loc"] else f"{path}: {message}"
    return f"{path} is {show_value(error['input'])}: {demand_of(error)}"


def describe(error: ValidationError, root: str = "", most: int = 3) -> str:
    """Turn a pydantic error into one line. ``root`` is what the paths start with, for example a file's name; ``most``
    problems are spelled out, the rest are counted.
    """
    problems = error.errors(include_url=False)
    sentences = [_sentence(problem, root) for problem in problems[:most]]
    if len(problems) > most:
        sentences.append(f"and {len(problems) - most} more")
    return "; ".join(sentences)
