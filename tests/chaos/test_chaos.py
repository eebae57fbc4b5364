"""A part of the table, nightly: each process is killed once, at another moment. ``make chaos`` plays all of it."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from proctor.protocol.nights import end_of_turn
from proctor.protocol.scenario import ScenarioConfig
from proctor.ues.noise import Noise
from proctor.ues.problems import Broken
from tests.chaos import abilities
from tests.chaos.moments import Moments, Together
from tests.chaos.rehearsals import Outcome, Schedule, killed_at
from tests.chaos.services import NIGHT, PAIR, Services, write_scenario
from tests.chaos.table import RECOVERY
from tests.work import only_nightly

DIAGONAL = [
    ("turn: during", "simulator"),
    ("quiet turn: settling", "worker"),
    ("settling", "worker"),
    ("quiet turn: moving on", "worker"),
    ("start message", "participant"),
    ("advancing", "gateway"),
    ("judging", "temporal"),
]


@only_nightly  # by default: tests/cli/test_up.py kills a worker, tests/activities/test_settling.py a step
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("phase", "process"), DIAGONAL)
async def test_killed_and_recovered(
    services: Services,
    reference: Outcome,
    phase: str,
    process: str,
    record_property: Callable[[str, object], None],
) -> None:
    recovery = await killed_at(services, phase, process, reference)
    record_property(RECOVERY, [phase, process, recovery.seconds, recovery.turn_tries, recovery.problem])
    assert not recovery.problem


def test_schedules_are_those_of_their_seeds() -> None:
    assert str(Schedule.drawn(3)) == str(Schedule.drawn(3))
    assert len({str(Schedule.drawn(seed)) for seed in range(200)}) == 200


def test_placements_are_those_of_their_seed_and_some_of_each_kind() -> None:
    names = [(placement.kind, placement.name) for placement in abilities.drawn(3, 200)]
    assert names == [(placement.kind, placement.name) for placement in abilities.drawn(3, 200)]
    assert names != [(placement.kind, placement.name) for placement in abilities.drawn(4, 200)]
    assert len(set(names)) == 200
    kinds = Counter(kind for kind, _ in names)
    assert len(kinds) == 3 * len(abilities.CASES)
    assert min(kinds.values()) >= 10
    kind, name = names[0]
    assert [placement.name for placement in abilities.drawn(3, 200, only=f"{kind} | {name}")] == [name]
    assert abilities.drawn(3, 200, only="no such place") == []


def test_two_are_held_together_and_the_same_one_only_once() -> None:
    moments = Moments()
    moment = moments.await_(Together(lambda seen: seen.what.endswith("turn 2 during")))

    def say(words: str) -> threading.Thread:
        thread = threading.Thread(target=moments.pass_by, args=("participant", words, {}, 0), daemon=True)
        thread.start()
        return thread

    first = say("turn 2 during")
    while moment.seen is None:
        first.join(0.01)
    again, other = say("turn 2 during"), say("turn 2 before")
    again.join(10)
    other.join(10)
    assert first.is_alive()
    assert not again.is_alive()
    assert not other.is_alive()
    assert not moment.reached.is_set()
    second = say("colleague turn 2 during")
    assert moment.reached.wait(10)
    moment.release()
    first.join(10)
    second.join(10)
    assert not first.is_alive()
    assert not second.is_alive()
    assert moments.pass_by("participant", "colleague turn 2 during", {}, 0), "the third one passes by"


def test_the_first_action_of_turn_2_is_done_and_said_to_have_failed() -> None:
    noise = Noise(abilities.NOISE.conditions["noise"], abilities.NOISE.conditions["seed"], 2)
    noise.begin()
    noise.fail_before()
    with pytest.raises(Broken):
        noise.fail_after()
    noise.begin()
    noise.fail_before()
    noise.fail_after()


def test_the_first_turn_of_a_night_ends_in_the_morning_and_two_have_a_day_of_their_own(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    night, pair = (
        ScenarioConfig.model_validate(json.loads((tmp_path / "scenarios" / name / "scenario.json").read_text()))
        for name in (NIGHT, PAIR)
    )
    morning = end_of_turn(night.start_time, timedelta(hours=1), night.nights, night.end_time)
    assert (morning.day, morning.hour) == (night.start_time.day + 1, 8)
    assert tuple(pair.roles) == abilities.TWO.roles
