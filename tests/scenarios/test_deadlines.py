"""Days and times in reports: resolved against the time of the message, and one value for one deadline."""

from datetime import UTC, date, datetime, time

import pytest

from proctor.scenarios.kit.deadlines import When, moments_named, says_when

NOW = datetime(2026, 3, 10, 8, tzinfo=UTC)
"""A Tuesday."""


def _when(day: int, hour: int | None = None, minute: int = 0, month: int = 3) -> When:
    return When(date(2026, month, day), None if hour is None else time(hour, minute))


FIVE, THURSDAY, FRIDAY = _when(10, 17), _when(12), _when(13)


@pytest.mark.parametrize(
    "text",
    [
        "by 17:00 today",
        "until 17h",
        "by five this afternoon",
        "before 5 pm",
        "5.00pm at the latest",
        "17 o'clock latest",
        "deadline five",
        "EOD today, 17:00",
        "by 1700",
        "by 17:00 today, else it stops at midnight",
        "wanted at 16:00 before, now by 17:00",
    ],
)
def test_a_time_today(text: str) -> None:
    assert says_when(text, NOW, [FIVE])


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("by tomorrow noon", _when(11)),
        ("by noon tomorrow", _when(11)),
        ("by the day after tomorrow", THURSDAY),
        ("in two days", THURSDAY),
        ("before Thursday's meeting at 10", THURSDAY),
        ("Thu 12 Mar, 10:00", THURSDAY),
        ("by EOD Friday", FRIDAY),
        ("by the end of the week", FRIDAY),
        ("by Friday, 13 March", FRIDAY),
        ("by 13/3", FRIDAY),
        ("due 13.03.", FRIDAY),
        ("by March 13th", FRIDAY),
        ("by 2026-03-13", FRIDAY),
        ("by Friday 27", _when(27)),
        ("by Friday next week", _when(20)),
        ("by the end of the month", _when(31)),
        ("by end of March", _when(31)),
        ("by end of day", _when(10)),
        ("before the day is out", _when(10)),
        ("by close of business", _when(10)),
        ("within two hours", _when(10, 10)),
    ],
)
def test_a_day(text: str, day: When) -> None:
    assert says_when(text, NOW, [day])


@pytest.mark.parametrize(
    "text",
    [
        "by 18:00",
        "by tomorrow",
        "by 5 people",
        "17 % are late",
        "by 17:00 or by 18:00",
        "by 15:00, 16:00, 17:00 or 18:00",
        "by 17:00. Correction: 18:00.",
        "by 17:00, or rather 19:30",
        "14:00 14:30 15:00 15:30 16:00 16:30 17:00 17:30",
        "by 17:00 tomorrow",
        "asap",
    ],
)
def test_another_time_or_several(text: str) -> None:
    assert not says_when(text, NOW, [FIVE])


@pytest.mark.parametrize(
    "text",
    ["by Thursday or Friday", "by Thursday; correction: by Friday", "Mon Tue Wed Thu Fri", "by 12, 13 or 14 March"],
)
def test_another_day_or_several(text: str) -> None:
    assert not says_when(text, NOW, [FRIDAY])


def test_figures_that_are_no_times() -> None:
    assert moments_named("Release 4.18.0 failed 2.1 % of 1,850 calls, 4 people, INC-2291, ticket 7714.", NOW) == []
