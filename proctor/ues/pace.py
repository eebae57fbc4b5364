"""Measured time: how long the participant had the word, while this server could have answered it.

The clock that counts it can't be set. Ticks come regularly, so that a pause of the server counts for half a second at
most.
"""

from collections.abc import Callable
from time import monotonic

TICK_SECONDS = 0.25
"""How often a pace ticks, in seconds."""

LONGEST_GAP = 2 * TICK_SECONDS
"""How much of the time between two ticks counts, in seconds; the server was stopped in the rest."""


class Pace:
    """Counts a participant's time. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._last = clock()
        self._counted = 0.0

    def tick(self) -> None:
        """Count the time since the last tick."""
        now = self._clock()
        self._counted += min(now - self._last, LONGEST_GAP)
        self._last = now

    def rest(self) -> None:
        """Forget the time until now: it wasn't the participant's."""
        self._last, self._counted = self._clock(), 0.0

    def take(self) -> float:
        """The seconds that were counted, which are used up by that."""
        self.tick()
        counted, self._counted = self._counted, 0.0
        return counted
