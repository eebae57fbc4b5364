"""Compute the occurrences of a recurring event.

A series is counted from its event's start, in the local time of its event's time zone: nine o'clock stays nine o'clock
when the clocks change. A time that a change of clocks skips is an hour later by the new clock. A series has at most one
occurrence a day, and the day identifies the occurrence. ``interval`` counts days, weeks from Monday, months or years.
Within these:

- daily: each day that ``days_of_week``, ``day_of_month`` and ``month_of_year`` allow.
- weekly: the ``days_of_week``, else the start's; ``day_of_month`` and ``month_of_year`` restrict them.
- monthly: ``day_of_month``, else every one of the ``days_of_week``, else the start's day. If both fields are given, a
  day must fit both. A month without such a day has no occurrence. ``month_of_year`` restricts.
- yearly: the days as in "monthly", in the month ``month_of_year``, else the start's month.

``dateutil.rrule`` knows far more rules, but its search for a day has no bound: for a 30th of February, it lasts up to
the year 9999. Participants write these rules, so this module counts every day that it visits (``steps``). The tests
compare it with ``dateutil.rrule``.

``end_date`` is the last day that may have an occurrence, and ``count`` counts occurrences, including exceptions. Each
applies only with its ``end_type``.
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
"""The most days, weeks, months, years or exceptions that are visited for one request, and for one series in it.
Without a limit, a series with few occurrences would take long."""

DATE_LENGTH = len("2025-01-31")
"""The length of an exception that is a date; a longer one is a date-time."""

Rule = dict[str, Any]


def steps() -> Iterator[int]:
    """Return one request's budget of steps through series; all its series share it."""
    return iter(range(MOST_STEPS))


def day_or_instant(text: str) -> date | str | None:
    """Read an exception or a ``recurrence_id``: a date, an instant as canonical text, or None for neither."""
    try:
        return date.fromisoformat(text) if len(text) == DATE_LENGTH else parse(text)
    except ValueError:
        return None


class Occurrence(NamedTuple):
    """One occurrence: its day in the series' time zone, and its start and end as canonical text."""

    day: date
    start: str
    end: str


def overlaps(start: str, end: str, begin: str | None, over: str | None) -> bool:
    """Whether the time from ``start`` to ``end`` overlaps the time from ``begin`` to ``over`` (None: no bound).

    All are canonical text. A time without length counts at its start.
    """
    return (begin is None or end > begin or start >= begin) and (over is None or start < over)


def _to_local_time(text: str, place: tzinfo) -> datetime:
    """Return an instant's local time, without offset."""
    moment = from_text(text)
    try:
        return moment.astimezone(place).replace(tzinfo=None)
    except OverflowError:
        return moment.replace(tzinfo=None)


def _place(event: Event) -> tzinfo:
    """Return the time zone in which an event's days are counted.

    The days of an all-day event that doesn't start at midnight in its own zone are counted in UTC.
    """
    place = zone(event["timezone"]) or UTC
    if event["all_day"] and _to_local_time(event["start"], place).time() != time():
        return UTC
    return place


class Series:
    """The occurrences of a recurring event.

    ``replaced`` has the ``recurrence_id`` of each occurrence that a separate event replaces. These occurrences are left
    out, like the event's exceptions.
    """

    def __init__(self, event: Event, replaced: Iterable[str] = ()) -> None:
        # A copy: the series keeps its old values when its event changes.
        self._event = dict(event)
        self._rule: Rule = event["recurrence"]
        self._place = _place(event)
        self.first = _to_local_time(event["start"], self._place)
        """The series' first start, in local time, whether or not the rule has an occurrence then."""
        self._left_out = {self.find_day(text) for text in (*event["recurrence_exceptions"], *replaced)}

    def find_day(self, text: str) -> date | None:
        """Return the day that an exception or a ``recurrence_id`` names; None if the text is neither date nor instant.

        An instant is an occurrence's start. If the series doesn't start at midnight, midnight in UTC is read as a date.
        """
        instant = day_or_instant(text)
        if instant is None or isinstance(instant, date):
            return instant
        local, plain = _to_local_time(instant, self._place), _to_local_time(instant, UTC)
        return plain.date() if plain.time() == time() != self.first.time() else local.date()

    def find_start(self, day: date) -> str:
        """Return the start of an occurrence on a day. Raises OverflowError outside the years 1 to 9999."""
        if day == self.first.date():
            start: str = self._event["start"]
            return start
        return to_text(datetime.combine(day, self.first.time(), self._place))

    def move_start(self, occurrence: str, start: str) -> str:
        """Return the start of the series if its occurrence at the instant ``occurrence`` moves to ``start``.

        Raises OverflowError outside the years 1 to 9999.
        """
        shift = _to_local_time(start, self._place) - _to_local_time(occurrence, self._place)
        return to_text((self.first + shift).replace(tzinfo=self._place))

    def on(self, day: date) -> Occurrence | None:
        """Return the occurrence on a day, whether or not it is left out; None if there is none."""
        first = next((candidate for candidate in self._days(day, steps()) if candidate >= day), None)
        return self._occurrence(day) if first == day else None

    def leaves_out(self, day: date) -> bool:
        """Whether an occurrence on a day would be left out."""
        return day in self._left_out

    def is_first_day(self, day: date) -> bool:
        """Whether there is no occurrence before a day."""
        return next(self._days(date.min, steps()), day) >= day

    def count_before(self, day: date) -> int:
        """Return the number of occurrences before a day, including those left out."""
        return sum(1 for _ in takewhile(lambda each: each < day, self._days(date.min, steps())))

    def list_between(self, begin: str | None, over: str | None, budget: Iterator[int]) -> Iterator[Occurrence]:
        """Yield the occurrences that overlap ``begin`` to ``over`` (canonical text; None: no bound), in order.

        Each visited period takes a step of ``budget``; the list ends when the budget is used up.
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
        """Return the occurrence on a day; None if it lies outside the years 1 to 9999."""
        event = self._event
        try:
            start = self.find_start(day)
            if event["all_day"]:
                end = _to_local_time(event["end"], self._place) + (day - self.first.date())
                return Occurrence(day, start, to_text(end.replace(tzinfo=self._place)))
            length = from_text(event["end"]) - from_text(event["start"])
            return Occurrence(day, start, to_text(from_text(start) + length))
        except OverflowError:
            return None

    def _days(self, since: date, budget: Iterator[int]) -> Iterator[date]:
        """Yield the days of the series in order: all from ``since`` on, and maybe some before it."""
        rule, first = self._rule, self.first.date()
        remaining = rule["count"] if rule["end_type"] == "count" else None
        last = date.fromisoformat(rule["end_date"]) if rule["end_type"] == "until" and rule["end_date"] else date.max
        # A rule with a count must be followed from its beginning.
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
    """Return the number of whole intervals between two days, or one fewer."""
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
    """Return the rule's days in the ``number``-th interval. Raises OverflowError or ValueError past year 9999."""
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
    """Return the days of a day's week, Monday to Sunday, as far as they exist."""
    monday = day.toordinal() - day.weekday()
    return (date.fromordinal(n) for n in range(max(1, monday), min(date.max.toordinal(), monday + 6) + 1))


def _allowed(rule: Rule, day: date) -> bool:
    return (
        (not rule["days_of_week"] or WEEKDAYS[day.weekday()] in rule["days_of_week"])
        and rule["day_of_month"] in (None, day.day)
        and rule["month_of_year"] in (None, day.month)
    )


def moved_rule(rule: Rule, old: date, new: date) -> Rule:
    """Return the rule of a series whose start moves from the day ``old`` to ``new``.

    Weekdays shift by the same number of days. The day and the month of ``old`` become those of ``new``.
    """
    moved = dict(rule)
    if rule["days_of_week"]:
        shift = (new - old).days
        moved["days_of_week"] = [WEEKDAYS[(WEEKDAYS.index(name) + shift) % 7] for name in rule["days_of_week"]]
    if rule["day_of_month"] == old.day:
        moved["day_of_month"] = new.day
    if rule["month_of_year"] == old.month:
        moved["month_of_year"] = new.month
    return moved
