"""Validation errors as sentences that name the field, the value and the remedy."""

import json
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_LONGEST_VALUE = 80


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


def _sentence(error: ErrorDetails, root: str) -> str:
    path = field_path(error["loc"], root)
    message = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if error["type"] == "missing":
        return f"{path} is missing: add it"
    if error["type"] == "value_error" and (not error["loc"] or isinstance(error["input"], dict | list)):
        return message if not error["loc"] else f"{path}: {message}"
    return f"{path} is {show_value(error['input'])}: {message[:1].lower()}{message[1:]}"


def describe(error: ValidationError, root: str = "", most: int = 3) -> str:
    """Turn a pydantic error into one line.

    Args:
        error: what pydantic raised.
        root: what the paths start with, for example a file's name or ``config``.
        most: how many problems are spelled out; the rest are counted.
    """
    problems = error.errors(include_url=False)
    sentences = [_sentence(problem, root) for problem in problems[:most]]
    if len(problems) > most:
        sentences.append(f"and {len(problems) - most} more")
    return "; ".join(sentences)
