"""Validation errors as sentences that name the field, the value and the remedy."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from purple_sdk.protocol.json_safe import DEEPEST

_LONGEST_VALUE = 80
_UNABLE = re.compile(r", unable to (?:parse|interpret) .*$")
"""The part of pydantic's messages that repeats the type of the value."""

_BAD_CHARACTER = re.compile("[\x00\ud800-\udfff]")
_GOOD_TEXT = "text must be Unicode without NUL and without lone surrogates."
_LARGEST_NUMBER = 10**308
_SPELLED_OUT = 3


class Problem(str):
    """A problem and its remedy, as the text ``<problem>: <remedy>`` with both parts.

    Attributes:
        what: the problem, with the value.
        remedy: the action that solves it; empty if nothing helps.
    """

    what: str
    remedy: str

    def __new__(cls, what: str, remedy: str = "") -> Self:
        """Make the text."""
        problem = super().__new__(cls, f"{what}: {remedy}" if remedy else what)
        problem.what, problem.remedy = what, remedy
        return problem

    @classmethod
    def of(cls, error: Exception | str) -> Self:
        """Return the problem in an error; for a plain text, a problem without a remedy."""
        if isinstance(error, Exception):
            error = error.args[0] if error.args and isinstance(error.args[0], Problem) else str(error)
        return cls(error.what, error.remedy) if isinstance(error, Problem) else cls(error)


def field_path(location: Sequence[int | str], root: str = "") -> str:
    """Write the location of an error, such as ``criteria[2].max_score``."""
    path = root
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path or "the document"


def show_value(value: Any) -> str:
    """Write a value as JSON, shortened if it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


class Flaw(NamedTuple):
    """A value that JSON or Python accepts and other systems refuse: its path, a description and the remedy."""

    path: str
    what: str
    remedy: str


def find_flaw(value: Any, path: str = "", depth: int = 0) -> Flaw | None:
    """Find a value that JSON readers accept, but that a store, a database or A2A can't keep. Such values are NUL and
    lone surrogates in texts, numbers too large for a double, and more levels than ``DEEPEST``. Return None if there is
    none.

    Args:
        value: JSON data.
        path: the path of the value, for example ``actions[2].parameters``.
        depth: the number of levels around the value.
    """
    where = path or "the document"
    if isinstance(value, str) and (character := _BAD_CHARACTER.search(value)) is not None:
        kind = "NUL" if character[0] == "\0" else "a lone surrogate"
        return Flaw(where, f"{kind} (U+{ord(character[0]):04X})", _GOOD_TEXT)
    if isinstance(value, int | float) and not -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER:  # refuses NaN too
        what = "an integer beyond 10^308" if isinstance(value, int) else f"the number {value}"
        return Flaw(where, what, "JSON's numbers are finite.")
    if isinstance(value, dict | list) and depth >= DEEPEST:
        return Flaw(where, f"more than {DEEPEST} levels", "nest data less deeply, or send it as text.")
    if isinstance(value, dict):
        for key, item in value.items():
            if (flaw := find_flaw(key)) is not None:
                return flaw._replace(path=f"a field's name of {where}")
            if (flaw := find_flaw(item, f"{path}.{key}" if path else key, depth + 1)) is not None:
                return flaw
    if isinstance(value, list):
        for place, item in enumerate(value):
            if (flaw := find_flaw(item, f"{path}[{place}]", depth + 1)) is not None:
                return flaw
    return None


def describe_demand(error: ErrorDetails) -> str:
    """Return the requirement on a value, for example ``it must be a valid integer``."""
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
    return f"{path} is {show_value(error['input'])}: {describe_demand(error)}"


def describe(error: ValidationError, root: str = "") -> str:
    """Turn a pydantic error into one line. ``root`` is the start of all paths, for example a file's name.

    The first problems are described; further ones are only counted.
    """
    problems = error.errors(include_url=False)
    sentences = [_sentence(problem, root) for problem in problems[:_SPELLED_OUT]]
    if len(problems) > _SPELLED_OUT:
        sentences.append(f"and {len(problems) - _SPELLED_OUT} more")
    return "; ".join(sentences)
