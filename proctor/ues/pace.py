"""Measure the time during which a participant could act and this server could have answered it.

The clock is monotonic: it can't be set. Ticks come regularly, so a pause of the server counts for at most half a
second.
"""

from collections.abc import Callable
from time import monotonic

TICK_SECONDS = 0.25
"""The seconds between two ticks."""

LONGEST_GAP = 2 * TICK_SECONDS
"""The most seconds that count between two ticks. During any further seconds, the server was stopped."""


class Pace:
    """Counts a participant's time; ``clock`` returns seconds."""

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
        """Discard the time until now: it wasn't the participant's."""
        self._last, self._counted = self._clock(), 0.0

    def take(self) -> float:
        """Return the counted seconds and start again at 0."""
        self.tick()
        counted, self._counted = self._counted, 0.0
        return counted
