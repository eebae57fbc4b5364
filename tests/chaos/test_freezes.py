"""Nobody from the past acts: processes that were stopped and go on later, networks that were cut, runs that were reset
at work.

A part of it; ``python -m tests.chaos --past`` plays every placement, every reset, and 200 random schedules.
"""

import pytest

from tests.chaos import replays, stops
from tests.chaos.freezes import RESET, placements, reset_at, stopped_at
from tests.chaos.mixtures import Event, Mixture, disturbed_by
from tests.chaos.rehearsals import Outcome
from tests.chaos.services import CUTS as NETWORKS
from tests.chaos.services import PROCESSES, Services
from tests.chaos.stops import stopped_for
from tests.work import NIGHTLY, only_nightly

STOPPED_AND_GOES_ON = [
    ("turn, before its claim", "in the turn"),
    *([("settling, before", "in the next turn"), ("advance, after", "when all is over")] if NIGHTLY else []),
]
STOPPED_FOR = [
    ("turn: during", "simulator", "1 s"),
    *([("settling", "gateway", "in the next turn"), ("advancing", "temporal", "1 s")] if NIGHTLY else []),
]
EVERY_OTHER_WAY: list[tuple[str, int | None, replays.Way]] = [
    ("judging", None, "twice in a row"),
    ("turn: during", 2, "cancelled before"),
    ("advancing", 1, "terminated before"),
]
REPLAYED: list[tuple[str, int | None, replays.Way]] = [
    ("turn: after", 2, "temporal workflow reset"),
    *(EVERY_OTHER_WAY if NIGHTLY else []),
]
CUTS = Mixture(
    0,
    (
        Event(0.3, "stop", "worker to simulator", 1.0),
        Event(0.3, "kill", "worker to Temporal"),
        Event(0.3, "stop", "worker", 1.0),
        Event(0.3, "kill", "worker to simulator"),
    ),
)
RESET_WHILE = ["turn, under way", *(["advance, before", "finishing, before"] if NIGHTLY else [])]


@only_nightly
@pytest.mark.timeout(1200)
async def test_what_comes_from_the_past_changes_nothing(services: Services, reference: Outcome) -> None:
    problems = []
    for at, until in STOPPED_AND_GOES_ON:
        thaw = await stopped_at(services, at, until, reference)
        problems += [f"stopped {at}, goes on {until}: {thaw.problem}"] if thaw.problem else []
    for at in RESET_WHILE:
        thaw = await reset_at(services, at, RESET[at], reference)
        problems += [f"reset {at}: {thaw.problem}"] if thaw.problem else []
    assert not problems


@pytest.mark.timeout(1200)
@only_nightly
async def test_what_is_stopped_cut_off_or_set_back_changes_nothing(services: Services, reference: Outcome) -> None:
    found = {f"{placement}": await stopped_for(services, *placement, reference) for placement in STOPPED_FOR}
    found |= {f"{placement}": await replays.replayed_at(services, *placement, reference) for placement in REPLAYED}
    both = await disturbed_by(services, CUTS, reference)
    found |= {f"{CUTS}, assessment {number}": recovery for number, recovery in enumerate(both)}
    assert {name: recovery.problem for name, recovery in found.items() if recovery.problem} == {}


def test_mixtures_are_those_of_their_seeds() -> None:
    assert str(Mixture.drawn(3)) == str(Mixture.drawn(3))
    events = [event for seed in range(200) for event in Mixture.drawn(seed).events]
    assert {event.whom for event in events} == {*PROCESSES, *NETWORKS}
    assert {event.way for event in events} == {"kill", "stop"}
    assert all(1 <= event.seconds <= 60 for event in events if event.way == "stop")


def test_there_are_enough_placements() -> None:
    assert len(placements()) + len(stops.placements()) >= 300
    assert len(set(replays.placements())) == len(replays.placements()) >= 100


def test_every_placement_lies_later_in_the_story() -> None:
    found = placements()
    assert len(found) == len(set(found)) == 73
    assert set(STOPPED_AND_GOES_ON) <= set(found)
