"""The course of a turn whose clock runs, or whose requests meet noise.

The evaluator names the conditions with the mark of a turn (``claims``). A turn without any has no course, and costs
nothing. No checkpoint holds a course: where it is lost, the work in hand is lost with it, and the turn begins again at
its checkpoint with its first request.
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
"""How many requests of a turn have their cost recorded one by one."""


class TurnConditions(Request):
    """What the participant's requests of the turn meet (``proctor.ues.course.Conditions``)."""

    turn: Annotated[Int, Field(ge=0)]
    seed: Int = 0
    """Names, with the turn, the draws of its noise."""
    seconds: Annotated[float, Field(ge=0, le=86_400)] = 0.0
    """The simulated seconds that each request costs; 0 for a standing clock."""
    factor: Annotated[float, Field(ge=0, le=10_000)] = 0.0
    """The simulated seconds that each second of the participant's time costs (``proctor.ues.pace``); 0 for none."""
    noise: Annotated[Int, Field(ge=0, le=3)] = 0
    """Its level; 0 for none."""


class Course:
    """How far a turn has come.

    Attributes:
        noise: None without any.
        requests: how many were served.
        events_executed: those that were due as the requests cost time.
        pace: of a measured clock.
        moves: the simulated seconds that each request cost under a measured clock, in order; of a turn with very many
            the last has the sum of the rest.
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
        """Note that what was measured until now wasn't the participant's time."""
        if self.pace is not None:
            self.pace.rest()

    def end(self, now: str) -> None:
        """Note the instant at which the turn is over. Its first end counts: one that is read again ends there, too."""
        self.ended_at = self.ended_at or now

    def settles_at(self, to: str, began_at: str) -> str:
        """The instant at which the turn is read: as long after its last request as ``to`` is after its beginning."""
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
