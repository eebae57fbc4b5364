"""Children that come back when they die: how they ended, and how long they stay away."""

import signal
import time

LONGEST_PAUSE = 10.0
"""How long a child that dies again and again stays away."""

_FIRST_PAUSE = 0.5
_LONG_ENOUGH = 30.0


class Pauses:
    """How long one child stays away after each of its deaths: each one soon after the last doubles it.

    Args:
        longest: seconds that it stays away at most.
    """

    def __init__(self, longest: float = LONGEST_PAUSE) -> None:
        self._longest = longest
        self._next = _FIRST_PAUSE
        self._began = time.monotonic()

    def begin(self) -> None:
        """The child is started now."""
        self._began = time.monotonic()

    def after_death(self) -> float:
        """Seconds to wait before it is started again."""
        if time.monotonic() - self._began > _LONG_ENOUGH:
            self._next = _FIRST_PAUSE
        pause = min(self._next, self._longest)
        self._next = min(self._next * 2, self._longest)
        return pause


def how_ended(exit_code: int | None) -> str:
    """In words: by which signal, or with which exit code."""
    code = exit_code or 0
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
