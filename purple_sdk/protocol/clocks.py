"""Clocks, which decide whether simulated time passes while the participant plays a turn, and their names in
requests.
"""

import re
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

STANDING = "standing"
"""The default clock: no time passes during a turn."""

_FIXED = re.compile(r"fixed:(\d{1,5}(?:\.\d{1,3})?)", re.ASCII)
_MEASURED = re.compile(r"measured(?::(\d{1,5}(?:\.\d{1,3})?))?", re.ASCII)
_MOST_SECONDS = 3600.0
_MOST_FACTOR = 10_000.0
_SHAPES = "choose standing, fixed:SECONDS per request, such as fixed:5, or measured, or measured:FACTOR"


class Clock(NamedTuple):
    """A clock.

    Attributes:
            seconds: simulated seconds that each of the participant's requests costs; 0 unless the clock is fixed.
            factor: simulated seconds that each second of the participant's time costs; 0 unless the clock is measured.
    """

    seconds: float = 0.0
    factor: float = 0.0


def read_clock(text: str) -> Clock:
    """Return the clock that a name describes. Raises ``ValueError`` whose message lists the available clocks."""
    if text == STANDING:
        return Clock()
    if (measured := _MEASURED.fullmatch(text)) is not None:
        factor = float(measured[1] or 1)
        if not 0 < factor <= _MOST_FACTOR:
            raise ValueError(f"the factor is more than 0 and at most {_MOST_FACTOR:g}: {_SHAPES}")
        return Clock(factor=factor)
    if (fixed := _FIXED.fullmatch(text)) is None:
        raise ValueError(_SHAPES)
    seconds = float(fixed[1])
    if not 0 < seconds <= _MOST_SECONDS:
        raise ValueError(f"a request costs more than 0 and at most {_MOST_SECONDS:g} s: {_SHAPES}")
    return Clock(seconds=seconds)


def _check_clock(text: str) -> str:
    read_clock(text)
    return text


ClockName = Annotated[str, AfterValidator(_check_clock)]
"""The name of a clock, as written in requests and results."""

NoiseLevel = Annotated[int, Field(ge=0, le=3)]
"""The level of noise in answers to the participant's requests, from 0 (none) to 3."""


def conditions_title(clock: str | None, noise: int | None) -> str:
    """Return the suffix for unusual conditions, `` · clock fixed:5 · noise 2``; empty for the defaults."""
    clocked = f" · clock {clock}" if clock not in (None, STANDING) else ""
    return clocked + (f" · noise {noise}" if noise else "")
