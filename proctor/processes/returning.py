"""Help to restart children that die: describe how one ended, and compute the pause before its next start."""

import signal
import time

LONGEST_PAUSE = 10.0
"""The longest pause, in seconds, of a child that dies again and again."""

_FIRST_PAUSE = 0.5
_LONG_ENOUGH = 30.0


class Pauses:
    """The pauses of one child after each of its deaths. Each death soon after a start doubles the pause.

    Args:
        longest: maximum of the pause, in seconds.
    """

    def __init__(self, longest: float = LONGEST_PAUSE) -> None:
        self._longest = longest
        self._next = _FIRST_PAUSE
        self._began = time.monotonic()

    def begin(self) -> None:
        """Note that the child starts now."""
        self._began = time.monotonic()

    def after_death(self) -> float:
        """Return the seconds to wait before the child is started again."""
        if time.monotonic() - self._began > _LONG_ENOUGH:
            self._next = _FIRST_PAUSE
        pause = min(self._next, self._longest)
        self._next = min(self._next * 2, self._longest)
        return pause


def how_ended(exit_code: int | None) -> str:
    """Describe an end in words: the signal or the exit code."""
    code = exit_code or 0
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
