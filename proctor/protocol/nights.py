"""Days and nights of a scenario: the times of its turns, and the last turn of each day."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, model_validator

LONGEST = timedelta(days=5)
"""The longest time from a scenario's start to its end."""


class Night(BaseModel):
    """A time without turns. A turn that would end during the night, or after it, ends when the night does."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    start: AwareDatetime
    end: AwareDatetime

    @model_validator(mode="after")
    def _ends_after_start(self) -> Self:
        if self.end <= self.start:
            raise ValueError(f"the night ends at {self.end.isoformat()}: choose a time after {self.start.isoformat()}")
        return self


def end_of_turn(began_at: datetime, step: timedelta, nights: Sequence[Night], end_time: datetime) -> datetime:
    """Return the simulated time at the end of a turn. If the turn reaches a night, time moves to the night's end.

    ``step`` is the move in the daytime. ``nights`` are in order. No turn passes ``end_time``.
    """
    target = began_at + step if step < end_time - began_at else end_time
    return next((night.end for night in nights if began_at < night.end and target >= night.start), target)


def start_of_turn(turn: int, start: datetime, end: datetime, step: timedelta, nights: Sequence[Night]) -> datetime:
    """Return when a turn (from 1) begins if each turn before it took one step; ``end`` if time runs out before it.

    ``step`` is the move in the daytime, and positive. ``nights`` are in order.
    """
    at = start
    while turn > 1 and at < end:
        turn, at = turn - 1, end_of_turn(at, step, nights, end)
    return at


def count_turns(start: datetime, end: datetime, step: timedelta, nights: Sequence[Night]) -> int:
    """Return the number of turns of length ``step`` between two instants; the last turn of a day may be shorter."""
    begins = [start, *(night.end for night in nights)]
    ends = [*(night.start for night in nights), end]
    return sum(-((morning - evening) // step) for morning, evening in zip(begins, ends, strict=True))


def last_turns(turns: Iterable[tuple[int, datetime, datetime]], zone: tzinfo | None) -> list[int]:
    """Return the last turn of each day except the final day. Such a turn ends on a later date than it begins.

    ``turns`` has the number of each turn, its start, and the next turn's start.
    """
    return [
        number for number, began, reached in turns if began.astimezone(zone).date() < reached.astimezone(zone).date()
    ]


def check_nights(start: datetime, end: datetime, nights: Sequence[Night]) -> None:
    """Raise ``ValueError`` if a scenario is too long, or its nights are out of order or outside its start and end."""
    if end - start > LONGEST:
        raise ValueError(
            f"it takes {(end - start).total_seconds() / 86_400:.1f} days from start_time to end_time: choose at most "
            f"{LONGEST.days} days"
        )
    times = [start, *(time for night in nights for time in (night.start, night.end)), end]
    wrong = next((later for earlier, later in pairwise(times) if later <= earlier), None)
    if nights and wrong is not None:
        raise ValueError(
            f"nights has the time {wrong.isoformat()} in the wrong place: name nights in order, between start_time and "
            "end_time"
        )
