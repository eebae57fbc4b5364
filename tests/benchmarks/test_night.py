"""The simulation of ``benchmarks.scale`` keeps the laws of queues, where these have an answer."""

import pytest

from benchmarks.scale.load import Load
from benchmarks.scale.night import Fleet, arrivals, play


def turns(count: int, cpu: float = 0.0, seconds: float = 0.0, **other: float) -> Load:
    return Load(turns=count, fixed={}, per_turn={"worker": cpu}, waiting={}, turn_seconds=(seconds, seconds), **other)


def test_one_alone_takes_the_sum_of_its_parts() -> None:
    alone = Load(turns=3, fixed={"worker": 1.0}, per_turn={"worker": 0.5, "Temporal": 0.25}, waiting={"worker": 0.1})
    outcome = play([alone], Fleet({"worker": 1, "Temporal": 1}), [0.0], seed=1)
    assert outcome.last_end == pytest.approx(1.0 + 3 * 0.75)
    assert outcome.held_up == [pytest.approx(0.0)]


def test_what_waits_costs_processor_time_too() -> None:
    waits = Load(turns=2, fixed={}, per_turn={"worker": 0.0}, waiting={"worker": 0.01}, turn_seconds=(10, 10))
    assert waits.cpu("worker") == pytest.approx(0.2)
    assert play([waits], Fleet({"worker": 1}), [0.0], seed=1).last_end == pytest.approx(20.2)


def piece() -> Load:
    """One piece of work of a second, after a second of waiting."""
    return Load(turns=1, fixed={}, per_turn={"worker": 0.0}, waiting={"worker": 1.0}, turn_seconds=(1.0, 1.0))


@pytest.mark.parametrize("used", [0.5, 0.8])
def test_one_server_with_equal_pieces_lets_wait_as_long_as_pollaczek_and_khinchin_say(used: float) -> None:
    """M/D/1: ``used / 2 / (1 - used)`` pieces' time, on average."""
    at = arrivals(40_000 * used, 40_000, seed=3)
    outcome = play([piece()], Fleet({"worker": 1}), at, seed=3, begin=2_000, end=40_000)
    assert outcome.used["worker"] == pytest.approx(used, rel=0.03)
    # The work that waiting makes is not in the shortest time.
    waited = sum(outcome.held_up) / outcome.ended - 1.0
    assert waited == pytest.approx(used / 2 / (1 - used), rel=0.12)


def test_what_is_saturated_does_what_it_can_and_no_more() -> None:
    outcome = play([piece()], Fleet({"worker": 2}), arrivals(4_000, 1_000, seed=1), seed=1, end=1_000)
    assert outcome.used["worker"] == pytest.approx(1.0, rel=0.01)
    assert outcome.ended == pytest.approx(2_000, rel=0.01)
    assert outcome.begun > 3_500


def test_a_rate_lets_so_much_through() -> None:
    busy = turns(1, actions=100.0)
    outcome = play([busy], Fleet({}, rates={"actions": 50.0}), [0.0] * 10, seed=1)
    assert outcome.last_end == pytest.approx(10 * 100 / 50)
    assert outcome.used["actions"] == pytest.approx(1.0)


def test_as_many_wait_as_there_are_slots() -> None:
    outcome = play([turns(1, seconds=10.0)], Fleet({}, slots=4), [0.0] * 12, seed=1)
    assert outcome.last_end == pytest.approx(30.0)
    assert outcome.used["slots"] == pytest.approx(1.0)


def test_judges_hold_as_many_slots_as_judge_side_by_side() -> None:
    judged = turns(0, judging=5.0, judges=10.0)
    outcome = play([judged], Fleet({}, model_slots=20), [0.0] * 4, seed=1)
    assert outcome.last_end == pytest.approx(10.0)


def test_as_many_are_under_way_as_littles_law_says() -> None:
    outcome = play([turns(4, seconds=5.0)], Fleet({}), arrivals(3_000, 3_000, seed=2), seed=2, begin=100, end=3_000)
    assert outcome.at_once == pytest.approx(20.0, rel=0.05)


def test_processes_of_one_machine_share_its_cores() -> None:
    both = Load(turns=0, fixed={"worker": 1.0, "Temporal": 1.0}, per_turn={}, waiting={})
    apart = play([both], Fleet({"worker": 8, "Temporal": 8}), [0.0] * 8, seed=1)
    shared = play([both], Fleet({"worker": 8, "Temporal": 8}, cores=2), [0.0] * 8, seed=1)
    assert apart.last_end == pytest.approx(2.0)
    assert shared.last_end == pytest.approx(8.0)
    assert shared.used["cores"] == pytest.approx(1.0)
