"""Track the course of a turn whose clock runs, or whose requests meet noise.

The evaluator sets the conditions together with the mark of a turn (``claims``). A turn without conditions has no course
and costs nothing. Checkpoints don't contain the course. If the course is lost, the turn begins again from its
checkpoint, with its first request.
"""

from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Annotated

from pydantic import Field

from proctor.ues.noise import Noise
from proctor.ues.pace import Pace
from proctor.ues.schema import Int, JsonObject, Request
from proctor.ues.times import from_text, shift, to_text

MOST_MOVES = 1_000
"""The most requests of a turn whose costs are recorded one by one."""


class TurnConditions(Request):
    """The conditions of the participant's requests in a turn."""

    turn: Annotated[Int, Field(ge=0)]
    seed: Int = 0
    """The seed of the noise, whose draws also depend on ``turn``."""
    seconds: Annotated[float, Field(ge=0, le=86_400)] = 0.0
    """The simulated seconds that each request costs; 0 for a clock that doesn't run."""
    factor: Annotated[float, Field(ge=0, le=10_000)] = 0.0
    """The simulated seconds that each second of the participant's time costs (``proctor.ues.pace``); 0 for none."""
    noise: Annotated[Int, Field(ge=0, le=3)] = 0
    """The level of noise; 0 for none."""


class Course:
    """The progress of a turn.

    Attributes:
        noise: the turn's noise; None without noise.
        requests: the number of served requests.
        events_executed: the number of events that ran because requests cost time.
        pace: the measured time; None unless the clock is measured.
        moves: the simulated seconds that each request cost under a measured clock, in order. Beyond ``MOST_MOVES``
            requests, the last entry is the sum of the rest.
        ended_at: the instant of the turn's last request (canonical text), once the turn is over.
    """

    def __init__(self, conditions: TurnConditions, clock: Callable[[], float] = monotonic) -> None:
        self._conditions = conditions
        self.noise = Noise(conditions.noise, conditions.seed, conditions.turn) if conditions.noise else None
        self.pace = Pace(clock) if conditions.factor else None
        self.moves: list[float] = []
        self.requests = 0
        self.events_executed = 0
        self.ended_at: str | None = None

    def begin_request(self) -> float:
        """Count a request; returns the simulated seconds that it costs."""
        self.requests += 1
        late = self.noise.begin() if self.noise is not None else 0.0
        if self.pace is None:
            return self._conditions.seconds + late if self._conditions.seconds else 0.0
        cost = round(self.pace.take() * self._conditions.factor + late, 3)
        if len(self.moves) < MOST_MOVES:
            self.moves.append(cost)
        else:
            self.moves[-1] = round(self.moves[-1] + cost, 3)
        return cost

    def rest(self) -> None:
        """Discard the time measured until now: it wasn't the participant's."""
        if self.pace is not None:
            self.pace.rest()

    def end(self, now: str) -> None:
        """Note the instant at which the turn is over. Later calls, for a turn that is read again, change nothing."""
        self.ended_at = self.ended_at or now

    def find_reading_time(self, to: str, began_at: str) -> str:
        """Return the instant at which the turn is read: the turn's end plus the time from ``began_at`` to ``to``.

        The instant is never before ``to``.
        """
        pause: timedelta = from_text(to) - from_text(began_at)
        return max(to, to_text(shift(from_text(self.ended_at or began_at), pause.total_seconds())))

    def describe(self) -> JsonObject:
        return {
            "ended_at": self.ended_at,
            "requests": self.requests,
            "events_executed": self.events_executed,
            "moves": self.moves,
            "noise": self.noise.counts if self.noise is not None else {},
        }
