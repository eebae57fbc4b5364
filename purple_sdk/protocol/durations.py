"""ISO 8601 durations, as scenarios and messages write them (``PT1H``, ``P1DT30M``)."""

from datetime import timedelta
from typing import Annotated

import isodate
from pydantic import AfterValidator


def parse_iso8601_duration(text: str) -> timedelta:
    """Read a non-negative ISO 8601 duration such as ``PT30M``. Years and months have no fixed length and are refused.

    Raises ``ValueError``; the message names the text and the remedy.
    """
    remedy = "write an ISO 8601 duration such as PT30M, PT1H or P1D"
    try:
        value = isodate.parse_duration(text)
    except (isodate.ISO8601Error, ValueError, TypeError, OverflowError, ArithmeticError):
        raise ValueError(f"{text!r} is not a duration: {remedy}") from None
    if not any(character.isdigit() for character in text):
        raise ValueError(f"{text!r} has no number: {remedy}")
    if isinstance(value, isodate.Duration):
        raise ValueError(f"{text!r} counts years or months, which have no fixed length: {remedy}")
    if value < timedelta(0):
        raise ValueError(f"{text!r} is negative: {remedy}")
    return timedelta(seconds=value.total_seconds())


def format_iso8601_duration(value: timedelta) -> str:
    """Write a duration in ISO 8601, for example ``PT1H``."""
    return str(isodate.duration_isoformat(value))


def _check_duration(text: str) -> str:
    parse_iso8601_duration(text)
    return text


Duration = Annotated[str, AfterValidator(_check_duration)]
"""A string that is a non-negative ISO 8601 duration. It is kept as it was written."""
