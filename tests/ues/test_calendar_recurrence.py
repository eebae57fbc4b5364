"""Recurring events: when they happen, and what queries tell of them."""

import random
from datetime import date, datetime, timedelta
from itertools import count
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import DAILY, MONTHLY, WEEKLY, YEARLY, rrule

from proctor.ues.modalities.calendar.series import MOST_STEPS_OF_ONE, WEEKDAYS, Series, steps
from tests.ues.helpers import Sim
from tests.ues.stories.calendar import create
from tests.ues.test_calendar import event, refused
from tests.work import NIGHTLY, some_of

WEEKLY_CALL: dict[str, Any] = {
    "title": "Call",
    "start": "2025-01-06T09:00:00+01:00",
    "end": "2025-01-06T09:30:00+01:00",
    "timezone": "Europe/Berlin",
    "recurrence": {"frequency": "weekly"},
}
"""Mondays at nine, Berlin time."""


def occurrences(sim: Sim, start: str | None = "2025-01-01", end: str | None = "2025-02-04", **body: object) -> Any:
    body |= {"start": start and f"{start}T00:00:00Z", "end": end and f"{end}T00:00:00Z"}
    return sim.query("calendar", expand_recurring=True, **body)["events"]


def days(sim: Sim, start: str | None = "2025-01-01", end: str | None = "2025-02-04", **body: object) -> list[str]:
    """The occurrences as day, hour and title, in Berlin's time."""
    berlin = ZoneInfo("Europe/Berlin")
    return [
        f"{datetime.fromisoformat(found['start']).astimezone(berlin):%m-%d %H:%M} {found['title']}"
        for found in occurrences(sim, start, end, **body)
    ]


@pytest.fixture
def call(sim: Sim) -> str:
    return create(sim, **WEEKLY_CALL)


def test_an_expanded_query(sim: Sim, call: str) -> None:
    second = occurrences(sim)[1]
    assert second == {
        **event(sim, call),
        "start": "2025-01-13T08:00:00+00:00",
        "end": "2025-01-13T08:30:00+00:00",
        "recurrence_id": "2025-01-13T08:00:00+00:00",
        "parent_event_id": call,
    }
    assert days(sim) == [f"{day} 09:00 Call" for day in ("01-06", "01-13", "01-20", "01-27", "02-03")]


def test_a_query_that_does_not_expand(sim: Sim, call: str) -> None:
    (found,) = sim.query("calendar", start="2031-01-01T00:00:00Z", end="2031-02-01T00:00:00Z")["events"]
    assert found == event(sim, call)
    assert sim.query("calendar", end="2025-01-06T08:00:00Z")["events"] == []
    assert sim.query("calendar", start="2025-01-07T00:00:00Z", end="2025-01-12T00:00:00Z")["events"] == []
    assert len(sim.query("calendar", recurring=True)["events"]) == 1
    assert sim.query("calendar", recurring=False, expand_recurring=True)["events"] == []


def test_nine_o_clock_stays_nine_o_clock(sim: Sim, call: str) -> None:
    found = occurrences(sim, "2025-03-20", "2025-04-02")
    assert [occurrence["start"] for occurrence in found] == ["2025-03-24T08:00:00+00:00", "2025-03-31T07:00:00+00:00"]


def test_an_hour_that_the_change_of_clocks_leaves_out(sim: Sim) -> None:
    times = {"start": "2025-03-29T02:30:00+01:00", "end": "2025-03-29T02:45:00+01:00", "timezone": "Europe/Berlin"}
    create(sim, "Early", **times, recurrence={"frequency": "daily"})
    assert days(sim, "2025-03-29", "2025-04-01") == ["03-29 02:30 Early", "03-30 03:30 Early", "03-31 02:30 Early"]


def test_all_day_series_keep_to_their_dates(sim: Sim) -> None:
    rule = {"frequency": "daily", "end_type": "count", "count": 3}
    local = {"start": "2025-03-29T00:00:00+01:00", "end": "2025-03-30T00:00:00+01:00", "timezone": "Europe/Berlin"}
    create(sim, "Fair", all_day=True, recurrence=rule, **local)
    plain = {"start": "2025-03-29T00:00:00Z", "end": "2025-03-30T00:00:00Z", "timezone": "America/New_York"}
    other = create(sim, "Plain", all_day=True, recurrence=rule, **plain)
    found = occurrences(sim, "2025-03-01", "2025-05-01")
    assert [
        (occurrence["start"][5:16], occurrence["end"][5:16]) for occurrence in found if occurrence["title"] == "Fair"
    ] == [
        ("03-28T23:00", "03-29T23:00"),
        ("03-29T23:00", "03-30T22:00"),
        ("03-30T22:00", "03-31T22:00"),
    ]
    assert [occurrence["start"][5:16] for occurrence in found if occurrence["title"] == "Plain"] == [
        "03-29T00:00",
        "03-30T00:00",
        "03-31T00:00",
    ]
    sim.do("/calendar/delete", event_id=other, recurrence_id="2025-03-30")
    kept = [occurrence["start"][:10] for occurrence in occurrences(sim, None, None) if occurrence["title"] == "Plain"]
    assert kept == ["2025-03-29", "2025-03-31"]


@pytest.mark.parametrize(
    "exception",
    ["2025-01-13", "2025-01-13T09:00:00+01:00", "2025-01-13T08:00:00Z", "2025-01-13T08:00:00", "2025-01-13T00:00:00Z"],
)
def test_how_exceptions_may_be_written(sim: Sim, exception: str) -> None:
    create(sim, **WEEKLY_CALL, recurrence_exceptions=[exception, exception])
    assert days(sim, end="2025-01-21") == ["01-06 09:00 Call", "01-20 09:00 Call"]


def test_exceptions_that_are_none(sim: Sim) -> None:
    assert "'next week'" in refused(sim, "/calendar/create", **WEEKLY_CALL, recurrence_exceptions=["next week"])


def test_exceptions_count(sim: Sim) -> None:
    rule = {"frequency": "weekly", "end_type": "count", "count": 3}
    create(sim, **{**WEEKLY_CALL, "recurrence": rule}, recurrence_exceptions=["2025-01-13"])
    assert days(sim) == ["01-06 09:00 Call", "01-20 09:00 Call"]


def test_the_end_date_is_the_last_day(sim: Sim) -> None:
    create(sim, **{**WEEKLY_CALL, "recurrence": {"frequency": "weekly", "end_type": "until", "end_date": "2025-01-20"}})
    assert days(sim)[-1] == "01-20 09:00 Call"


def test_an_end_that_is_not_asked_for_is_none(sim: Sim) -> None:
    rule = {"frequency": "weekly", "end_type": "never", "end_date": "2025-01-20", "count": 1}
    create(sim, **{**WEEKLY_CALL, "recurrence": rule})
    assert len(days(sim)) == 5


def test_endless_series_are_listed_for_a_year(sim: Sim, call: str) -> None:
    assert len(occurrences(sim, None, None)) == 53
    assert [occurrence["start"][:4] for occurrence in (occurrences(sim, "2040-01-01", None)[n] for n in (0, -1))] == [
        "2040",
        "2040",
    ]


def test_at_most_a_thousand_occurrences(sim: Sim) -> None:
    for title in ("One", "Two"):
        create(sim, **{**WEEKLY_CALL, "title": title, "recurrence": {"frequency": "daily"}})
    create(sim, "Single", start="2040-01-01T00:00:00Z", end="2040-01-01T00:00:00Z")
    answer = sim.query("calendar", expand_recurring=True, end="2050-01-01T00:00:00Z", limit=1000)
    assert (answer["total_count"], answer["returned_count"]) == (1001, 1000)
    assert answer["events"][-1]["start"] == "2026-05-20T07:00:00+00:00"


@pytest.mark.parametrize("end_type", some_of([{"end_type": "count", "count": 2**62}, {}], 1))
def test_series_that_never_happen_are_not_searched_for_ever(sim: Sim, end_type: dict[str, Any]) -> None:
    rule = {"frequency": "daily", "day_of_month": 30, "month_of_year": 2, **end_type}
    made = [create(sim, **{**WEEKLY_CALL, "recurrence": rule}) for _ in range(6)]
    assert occurrences(sim, "2025-01-01", "9999-01-01") == []
    assert sim.query("calendar", start="9000-01-01T00:00:00Z")["events"] == []
    alone, shared = count(), steps()
    for series in (Series(event(sim, event_id)) for event_id in made):
        for budget in (alone, shared):
            assert list(series.list_between("9000-01-01", "9999-01-01", budget)) == []
    assert next(alone) <= 6 * MOST_STEPS_OF_ONE
    assert next(shared, "used up") == "used up"


LATEST = datetime(2029, 1, 1)
FREQUENCIES: dict[str, Literal[0, 1, 2, 3, 4, 5, 6]] = {
    "daily": DAILY,
    "weekly": WEEKLY,
    "monthly": MONTHLY,
    "yearly": YEARLY,
}


def some_rule(chance: random.Random) -> dict[str, object]:
    rule = {"frequency": chance.choice(list(FREQUENCIES)), "interval": chance.choice([1, 1, 2, 3, 7])}
    rule["days_of_week"] = chance.choice([None, None, [], chance.sample(WEEKDAYS, chance.randint(1, 4))])
    rule["day_of_month"] = chance.choice([None, None, chance.randint(1, 31)])
    rule["month_of_year"] = chance.choice([None, None, chance.randint(1, 12)])
    rule["end_type"] = chance.choice(["never", "until", "count"])
    rule["end_date"] = (date(2024, 1, 1) + timedelta(days=chance.randint(0, 2000))).isoformat()
    return {**rule, "count": chance.randint(1, 30)}


def by_dateutil(rule: dict[str, Any], first: date) -> list[date]:
    """The same series by another's hand."""
    last = LATEST - timedelta(days=1)
    if rule["end_type"] == "until":
        last = min(last, datetime.fromisoformat(rule["end_date"]))
    options: dict[str, Any] = {
        "interval": rule["interval"],
        "dtstart": datetime(first.year, first.month, first.day),
        "until": last,
    }
    month, day, names = rule["month_of_year"], rule["day_of_month"], rule["days_of_week"]
    if rule["frequency"] == "yearly":
        # The simulator's yearly series keep to one month; RFC 5545's don't when a day is given.
        month = month or first.month
    if rule["frequency"] in ("monthly", "yearly") and not day and not names:
        day = first.day
    if names:
        options["byweekday"] = [WEEKDAYS.index(name) for name in names]
    elif rule["frequency"] == "weekly":
        options["byweekday"] = first.weekday()
    options |= {name: value for name, value in (("bymonth", month), ("bymonthday", day)) if value}
    found = [moment.date() for moment in rrule(FREQUENCIES[rule["frequency"]], **options)]
    return found[: rule["count"]] if rule["end_type"] == "count" else found


@pytest.mark.parametrize("seed", range(8 if NIGHTLY else 1))
def test_series_agree_with_dateutil(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20 if NIGHTLY else 7):
        rule, first = some_rule(chance), date(2024, 1, 1) + timedelta(days=chance.randint(0, 800))
        start, later = (f"{first + timedelta(days=n)}T12:00:00+00:00" for n in (0, chance.randint(0, 700)))
        event = {"start": start, "end": start, "all_day": False, "timezone": "UTC", "recurrence_exceptions": []}
        series, expected = Series({**event, "recurrence": rule}), by_dateutil(rule, first)
        assert [found.day for found in series.list_between(None, f"{LATEST.date()}", steps())] == expected, rule
        seen = [f"{found.day}" for found in series.list_between(later, f"{LATEST.date()}", steps())]
        assert seen == [f"{day}" for day in expected if f"{day}" >= later[:10]], rule
        assert all(series.on(day) for day in expected[:5]), rule
        assert [series.count_before(day) for day in expected[:5]] == list(range(len(expected[:5]))), rule
