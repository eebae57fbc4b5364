"""Clocks: whether simulated time passes while the participant plays a turn, and how a request names that."""

import re
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

STANDING = "standing"
"""The clock of a request that names none: no time passes during a turn."""

_FIXED = re.compile(r"fixed:(\d{1,5}(?:\.\d{1,3})?)", re.ASCII)
_MEASURED = re.compile(r"measured(?::(\d{1,5}(?:\.\d{1,3})?))?", re.ASCII)
_MOST_SECONDS = 3600.0
_MOST_FACTOR = 10_000.0
_SHAPES = "choose standing, fixed:SECONDS per request, such as fixed:5, or measured, or measured:FACTOR"


class Clock(NamedTuple):
    """A clock.

    Attributes:
        seconds: the simulated seconds that each request of the participant's costs; 0 unless that is fixed.
        factor: the simulated seconds that each second of the participant's time costs; 0 unless it is measured.
    """

    seconds: float = 0.0
    factor: float = 0.0


def read_clock(text: str) -> Clock:
    """The clock that a request names. Raises ``ValueError``, whose message says which there are."""
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


def _checked(text: str) -> str:
    read_clock(text)
    return text


ClockName = Annotated[str, AfterValidator(_checked)]
"""The name of a clock, as it is in requests and results."""

NoiseLevel = Annotated[int, Field(ge=0, le=3)]
"""How much noise the participant's requests meet: 0 for none, to 3."""


def conditions_title(clock: str | None, noise: int | None) -> str:
    """What lists say after the day of clock and noise: `` · clock fixed:5 · noise 2``; nothing of the usual ones."""
    clocked = f" · clock {clock}" if clock not in (None, STANDING) else ""
    return clocked + (f" · noise {noise}" if noise else "")
