"""The user's free time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from purple_sdk.ues.items import CalendarEvent

_STEP = timedelta(minutes=30)
Span = tuple[datetime, datetime]


@dataclass
class Diary:
    """The offered days, and their appointments.

    Attributes:
        hours: the user's hours on each day that is offered.
        taken: spans without free time.
    """

    hours: dict[date, tuple[time, time]]
    zone: ZoneInfo
    taken: list[Span] = field(default_factory=list)

    def add(self, events: Iterable[CalendarEvent]) -> None:
        """Add appointments."""
        self.taken += [(event.start, event.end) for event in events if event.status != "cancelled"]

    def fits(self, start: datetime, length: timedelta) -> bool:
        """Whether a meeting lies within the user's hours of an offered day and overlaps nothing."""
        own = start.astimezone(self.zone)
        if own.date() not in self.hours:
            return False
        opens, closes = (datetime.combine(own.date(), at, self.zone) for at in self.hours[own.date()])
        end = start + length
        return opens <= start and end <= closes and all(end <= begin or done <= start for begin, done in self.taken)

    def free(self, length: timedelta) -> Iterator[datetime]:
        """Yield the times at which a meeting fits, earliest first: at whole and half hours, and right after other
        appointments.
        """
        starts = {done.astimezone(self.zone) for _, done in self.taken}
        for day, (opens, closes) in self.hours.items():
            at, end = datetime.combine(day, opens, self.zone), datetime.combine(day, closes, self.zone)
            while at < end:
                starts.add(at)
                at += _STEP
        yield from (start for start in sorted(starts) if self.fits(start, length))
