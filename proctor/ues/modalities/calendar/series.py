"""When a recurring event happens.

A series is counted from its event's start in local time of its event's time zone, so that nine o'clock stays nine
o'clock when the clocks change; a time that a change of clocks leaves out is an hour later by the new clock. It has at
most one occurrence a day, and that day says which occurrence is meant. ``interval`` counts days, weeks from Monday,
months or years. Within these:

- daily: each day that ``days_of_week``, ``day_of_month`` and ``month_of_year`` allow.
- weekly: the ``days_of_week``, else the start's; ``day_of_month`` and ``month_of_year`` restrict them.
- monthly: ``day_of_month``, else every one of the ``days_of_week``, else the start's day; given both, the days that
  are both. A month without such a day has none. ``month_of_year`` restricts.
- yearly: the same, in the month ``month_of_year``, else the start's.

Why not ``dateutil.rrule``, which knows far more rules: it looks for a day as long as it takes (for a 30th of February,
up to the year 9999), and no caller can bound that. A stranger writes these rules, so here every day that is looked at
is counted (``steps``). The tests hold this module against it.

``end_date`` is the last day that may have one, and ``count`` counts occurrences, exceptions included; each holds only
with its ``end_type``.
"""

from calendar import monthrange
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import islice, takewhile
from typing import Any, NamedTuple

from proctor.ues.modalities.calendar.entries import Event
from proctor.ues.times import from_text, parse, to_text, zone

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

MOST_STEPS, MOST_STEPS_OF_ONE = 100_000, 20_000
"""How many days, weeks, months, years or exceptions are looked at for one request, and for one series of it: a series
may hardly ever happen, and an end that counts has to be counted from the beginning."""

DATE_LENGTH = len("2025-01-31")
"""An exception of this length is a date, a longer one a date-time."""

Rule = dict[str, Any]


def steps() -> Iterator[int]:
    """What one request may spend on walking through series; share it among them."""
    return iter(range(MOST_STEPS))


def day_or_instant(text: str) -> date | str | None:
    """What an exception or a ``recurrence_id`` says: a date, an instant as canonical text, or None for neither."""
    try:
        return date.fromisoformat(text) if len(text) == DATE_LENGTH else parse(text)
    except ValueError:
        return None


class Occurrence(NamedTuple):
    """One occurrence: its day in the series' time zone, and when it starts and ends, as canonical text."""

    day: date
    start: str
    end: str


def overlaps(start: str, end: str, begin: str | None, over: str | None) -> bool:
    """Whether the time from ``start`` to ``end`` has a part from ``begin`` to ``over`` (None: no bound).

    All are canonical text. Without length it counts at its start.
    """
    return (begin is None or end > begin or start >= begin) and (over is None or start < over)


def _local(text: str, place: tzinfo) -> datetime:
    """Local time without its offset."""
    moment = from_text(text)
    try:
        return moment.astimezone(place).replace(tzinfo=None)
    except OverflowError:
        return moment.replace(tzinfo=None)


def _place(event: Event) -> tzinfo:
    """The time zone in which an event's days are counted. An all-day event given from midnight to midnight in UTC means
    those dates, wherever it takes place.
    """
    place = zone(event["timezone"]) or UTC
    if event["all_day"] and _local(event["start"], place).time() != time():
        return UTC
    return place


class Series:
    """The occurrences of a recurring event. ``replaced`` are the ``recurrence_id`` of those that stand as events of
    their own: they are left out, as are the event's exceptions.
    """

    def __init__(self, event: Event, replaced: Iterable[str] = ()) -> None:
        # A copy, so that a series can be asked what it was when its event has been changed.
        self._event = dict(event)
        self._rule: Rule = event["recurrence"]
        self._place = _place(event)
        self.first = _local(event["start"], self._place)
        """When it first starts, in local time, whether or not the rule has an occurrence then."""
        self._left_out = {self.find_day(text) for text in (*event["recurrence_exceptions"], *replaced)}

    def find_day(self, text: str) -> date | None:
        """The day that an exception or a ``recurrence_id`` names: a date, or when the occurrence starts; None when it
        is neither. Midnight in UTC, where the series starts at another time, is read as a date.
        """
        instant = day_or_instant(text)
        if instant is None or isinstance(instant, date):
            return instant
        local, plain = _local(instant, self._place), _local(instant, UTC)
        return plain.date() if plain.time() == time() != self.first.time() else local.date()

    def start_on(self, day: date) -> str:
        """When an occurrence on that day starts. Raises OverflowError outside the years 1 to 9999."""
        if day == self.first.date():
            start: str = self._event["start"]
            return start
        return to_text(datetime.combine(day, self.first.time(), self._place))

    def move_start(self, occurrence: str, start: str) -> str:
        """When the series starts if the occurrence that starts at the one instant is to start at the other. Raises
        OverflowError.
        """
        shift = _local(start, self._place) - _local(occurrence, self._place)
        return to_text((self.first + shift).replace(tzinfo=self._place))

    def on(self, day: date) -> Occurrence | None:
        """The occurrence on that day, left out or not; None when there is none."""
        first = next((each for each in self._days(day, steps()) if each >= day), None)
        return self._occurrence(day) if first == day else None

    def leaves_out(self, day: date) -> bool:
        """Whether the occurrence on that day is left out, if there is one."""
        return day in self._left_out

    def begins_on(self, day: date) -> bool:
        """Whether there is no occurrence before that day."""
        return next(self._days(date.min, steps()), day) >= day

    def count_before(self, day: date) -> int:
        """How many occurrences there are before that day, those left out included."""
        return sum(1 for _ in takewhile(lambda each: each < day, self._days(date.min, steps())))

    def list_between(self, begin: str | None, over: str | None, budget: Iterator[int]) -> Iterator[Occurrence]:
        """The occurrences with a part from ``begin`` to ``over`` (canonical text; None: no bound), in order.

        Each period that is looked at takes a step of ``budget``; the list ends where that is used up.
        """
        since = date.min
        if begin is not None:
            length = from_text(self._event["end"]) - from_text(self._event["start"])
            try:
                since = (from_text(begin) - length - timedelta(days=2)).date()
            except OverflowError:
                pass
        for day in self._days(since, budget):
            occurrence = self._occurrence(day)
            if occurrence is None or (over is not None and occurrence.start >= over):
                return
            if day not in self._left_out and overlaps(occurrence.start, occurrence.end, begin, over):
                yield occurrence

    def _occurrence(self, day: date) -> Occurrence | None:
        """The occurrence on that day; None when it doesn't lie within the years 1 to 9999."""
        event = self._event
        try:
            start = self.start_on(day)
            if event["all_day"]:
                end = _local(event["end"], self._place) + (day - self.first.date())
                return Occurrence(day, start, to_text(end.replace(tzinfo=self._place)))
            length = from_text(event["end"]) - from_text(event["start"])
            return Occurrence(day, start, to_text(from_text(start) + length))
        except OverflowError:
            return None

    def _days(self, since: date, budget: Iterator[int]) -> Iterator[date]:
        """The days of the series in order: all from ``since`` on, and maybe some before it."""
        rule, first = self._rule, self.first.date()
        remaining = rule["count"] if rule["end_type"] == "count" else None
        last = date.fromisoformat(rule["end_date"]) if rule["end_type"] == "until" and rule["end_date"] else date.max
        # What is counted has to be walked through from its beginning.
        number = 0 if remaining is not None else max(0, _periods(rule, first, max(first, since)) - 1)
        for _ in islice(budget, MOST_STEPS_OF_ONE):
            try:
                days = _days_of_period(rule, first, number)
            except (OverflowError, ValueError):
                return
            number += 1
            for day in days:
                if day > last or remaining == 0:
                    return
                if day >= first:
                    yield day
                    remaining = None if remaining is None else remaining - 1


def _periods(rule: Rule, first: date, day: date) -> int:
    """How many whole intervals lie between two days, or one fewer."""
    apart: int
    if rule["frequency"] == "daily":
        apart = (day - first).days
    elif rule["frequency"] == "weekly":
        apart = (day - first).days // 7
    elif rule["frequency"] == "monthly":
        apart = (day.year - first.year) * 12 + day.month - first.month
    else:
        apart = day.year - first.year
    return apart // int(rule["interval"])


def _days_of_period(rule: Rule, first: date, number: int) -> list[date]:
    """The days that the rule has in the ``number``-th interval. Raises OverflowError or ValueError past year 9999."""
    step = number * rule["interval"]
    if rule["frequency"] == "daily":
        return [day for day in (first + timedelta(days=step),) if _allowed(rule, day)]
    if rule["frequency"] == "weekly":
        weekdays = rule["days_of_week"] or [WEEKDAYS[first.weekday()]]
        day = first + timedelta(weeks=step)
        return [day for day in _week(day) if WEEKDAYS[day.weekday()] in weekdays and _allowed(rule, day)]
    if rule["frequency"] == "monthly":
        year, month = divmod(first.year * 12 + first.month - 1 + step, 12)
        month += 1
    else:
        year, month = first.year + step, rule["month_of_year"] or first.month
    length, wanted = monthrange(year, month)[1], rule["day_of_month"] or (None if rule["days_of_week"] else first.day)
    numbers = range(1, length + 1) if wanted is None else range(wanted, min(wanted, length) + 1)
    return [day for day in (date(year, month, number) for number in numbers) if _allowed(rule, day)]


def _week(day: date) -> Iterator[date]:
    """The days of the week, Monday to Sunday, that a day lies in, so far as there are such days."""
    monday = day.toordinal() - day.weekday()
    return (date.fromordinal(n) for n in range(max(1, monday), min(date.max.toordinal(), monday + 6) + 1))


def _allowed(rule: Rule, day: date) -> bool:
    return (
        (not rule["days_of_week"] or WEEKDAYS[day.weekday()] in rule["days_of_week"])
        and rule["day_of_month"] in (None, day.day)
        and rule["month_of_year"] in (None, day.month)
    )


def moved_rule(rule: Rule, old: date, new: date) -> Rule:
    """The rule of a series whose start moves from the day ``old`` to ``new``: ``old`` in it becomes ``new``."""
    moved = dict(rule)
    if rule["days_of_week"]:
        shift = (new - old).days
        moved["days_of_week"] = [WEEKDAYS[(WEEKDAYS.index(name) + shift) % 7] for name in rule["days_of_week"]]
    if rule["day_of_month"] == old.day:
        moved["day_of_month"] = new.day
    if rule["month_of_year"] == old.month:
        moved["month_of_year"] = new.month
    return moved
