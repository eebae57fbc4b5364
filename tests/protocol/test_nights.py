"""Days and nights: where turns end, how many there are, and which scenarios are refused."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from proctor.protocol.nights import Night, count_turns, end_of_turn, last_turns, start_of_turn
from proctor.protocol.scenario import ScenarioConfig
from purple_sdk.protocol.problems import describe
from tests.protocol.test_scenario import GOOD
from tests.sentences import says

MONDAY = datetime(2026, 3, 2, 8, tzinfo=UTC)
NIGHTS = [
    Night(start=MONDAY + timedelta(hours=24 * day + 10), end=MONDAY + timedelta(hours=24 * day + 24))
    for day in range(4)
]
END = MONDAY + timedelta(days=4, hours=10)


def hours(moment: datetime) -> float:
    return (moment - MONDAY) / timedelta(hours=1)


@pytest.mark.parametrize(
    ("began", "step", "reached"),
    [(0, 4, 4), (8, 4, 24), (6, 4, 24), (9, 40, 24), (12, 1, 24), (24, 2, 26), (104, 4, 106), (97, 10_000_000, 106)],
)
def test_a_turn_ends_in_the_daytime(began: int, step: int, reached: int) -> None:
    at = MONDAY + timedelta(hours=began)
    assert hours(end_of_turn(at, timedelta(hours=step), NIGHTS, END)) == reached


@pytest.mark.parametrize("step", [1, 3, 4, 10, 20])
def test_as_many_turns_are_counted_as_are_played(step: int) -> None:
    now = MONDAY
    turns: list[tuple[int, datetime, datetime]] = []
    while now < END:
        reached = end_of_turn(now, timedelta(hours=step), NIGHTS, END)
        turns.append((len(turns) + 1, now, reached))
        now = reached
    assert len(turns) == count_turns(MONDAY, END, timedelta(hours=step), NIGHTS)
    begins = [start_of_turn(turn, MONDAY, END, timedelta(hours=step), NIGHTS) for turn in range(1, len(turns) + 3)]
    assert begins == [*(began for _, began, _ in turns), END, END]
    per_day = -(-10 // step)
    assert last_turns(turns, UTC) == [per_day * day for day in range(1, 5)]


def refusal(**changes: object) -> str:
    with pytest.raises(ValidationError) as refused:
        ScenarioConfig.model_validate({**GOOD, **changes})
    return describe(refused.value)


def test_nights_out_of_order_and_more_than_five_days_are_refused() -> None:
    night = {"start": "2026-03-02T18:00:00+01:00", "end": "2026-03-03T08:00:00+01:00"}
    good = ScenarioConfig.model_validate({**GOOD, "end_time": "2026-03-03T18:00:00+01:00", "nights": [night]})
    assert good.expected_turns == 9 + 10
    assert says("2026-03-02T20:30:00+01:00").within(refusal(nights=[night]))
    assert says("2026-03-02T18:00:00+01:00").within(refusal(nights=[{**night, "end": night["start"]}]))
    assert says("5.5", "start_time", "end_time").within(refusal(end_time="2026-03-07T21:00:00+01:00"))
