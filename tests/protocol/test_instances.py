"""What days of families are called, and how older data is read that knows none."""

import pytest

from proctor.protocol.archive import ArchiveEntry, EntrySummary
from proctor.protocol.runs import RunCell
from purple_sdk.protocol.instances import Instance, did_you_mean, group_of, instance_title, variant_of
from purple_sdk.protocol.request import AssessmentConfig
from tests.sentences import says

OLD = {
    "id": "a",
    "status": "completed",
    "scenario_id": "reschedule_day",
    "seed": 7,
    "started_at": "2026-03-02T09:00:00Z",
    "ended_at": "2026-03-02T10:00:00Z",
}
DAY = {"scenario_id": "clear_the_day", "family": "clear_the_day", "difficulty": 2, "instance_seed": 7}


def test_a_day_is_named_by_family_difficulty_and_seed() -> None:
    assert Instance(family="clear_the_day", difficulty=2, seed=7).title == "clear_the_day · difficulty 2 · seed 7"
    assert instance_title("reschedule_day", None, 7) == "reschedule_day"
    assert instance_title("clear_the_day", 2, None) == "clear_the_day · difficulty 2"


def test_an_entry_says_which_day_it_is_of_whatever_seed_a_fork_has() -> None:
    entry = EntrySummary.model_validate({**OLD, **DAY, "seed": 10})
    assert entry.instance == Instance(family="clear_the_day", difficulty=2, seed=7)
    assert (entry.day, entry.seed) == ("clear_the_day · difficulty 2 · seed 7", 10)


def test_an_older_entry_is_of_no_family() -> None:
    entry = ArchiveEntry.model_validate(OLD)
    assert (entry.family, entry.difficulty, entry.instance) == (None, None, None)
    assert entry.day == "reschedule_day"
    cell = RunCell.model_validate(
        {"agent": "a", "scenario_id": "tiny", "seed": 1, "repeat": 0, "task_id": "t", "status": "completed"}
    )
    assert (cell.difficulty, cell.scenario_hash) == (None, None)


@pytest.mark.parametrize(("seed", "is_practice"), [(0, False), (1, True), (20, True), (21, False), (-1, False)])
def test_seeds_1_to_20_are_for_practice(seed: int, is_practice: bool) -> None:
    assert Instance(family="f", difficulty=1, seed=seed).is_practice == is_practice


def test_the_nearest_names_are_named() -> None:
    known = ["clear_the_day", "reschedule_day", "which_alex"]
    assert says("clear_the_day").within(did_you_mean("clear_teh_day", known))
    assert did_you_mean("zzz", known) == ""


@pytest.mark.parametrize(("difficulty", "nearest"), [(0, 1), (-3, 1), (5, 4)])
def test_a_difficulty_that_there_is_not_is_answered_with_the_nearest(difficulty: int, nearest: int) -> None:
    with pytest.raises(ValueError, check=says(str(nearest))):
        AssessmentConfig(scenario_id="clear_the_day", difficulty=difficulty)


def test_two_groups_of_seeds_alternate() -> None:
    groups: dict[int, list[int]] = {}
    for seed in range(1, 13):
        groups.setdefault(group_of(seed, 3), []).append(seed)
    assert groups == {1: [1, 3, 5], 2: [2, 4, 6], 7: [7, 9, 11], 8: [8, 10, 12]}
    assert [variant_of(seed, 3) for seed in range(1, 8)] == [0, 0, 1, 1, 2, 2, 0]
    assert all(group_of(seed, 1) == seed and variant_of(seed, 1) == 0 for seed in range(-3, 10))
