"""Families in statistics: a day is a unit, and a family counts once, however many days of it were played."""

from itertools import product

import pytest

from proctor.statistics import Unit, compared, estimated, summaries
from proctor.statistics.comparisons import are_copies
from purple_sdk.protocol.statistics import Points, Run, Summary


def run(
    scenario: str, score: int, difficulty: int | None = None, seed: int = 1, repeat: int = 0, agent: str = "a"
) -> Run:
    points = Points(score=score, max_score=100)
    return Run(
        run_id=f"{agent}{scenario}{difficulty}{seed}{repeat}",
        agent=agent,
        scenario=scenario,
        difficulty=difficulty,
        seed=seed,
        repeat=repeat,
        overall=points,
        criteria={"c": points},
    )


def overall(runs: list[Run], scenario: str | None) -> Summary:
    (row,) = [row for row in summaries(runs) if row.of == "overall" and row.scenario == scenario]
    return row


DAYS = [
    run("family", 10 * difficulty + seed, difficulty, seed) for difficulty, seed in product((1, 2, 3, 4), (1, 2, 3))
]


def test_each_day_of_a_family_is_a_unit() -> None:
    row = overall(DAYS, "family")
    assert row.percent is not None
    assert (row.percent.values, row.percent.units) == (12, 12)
    assert row.percent.mean == pytest.approx(27)
    repeated = [*DAYS, *(day.model_copy(update={"repeat": 1, "run_id": f"{day.run_id}-"}) for day in DAYS)]
    again = overall(repeated, "family")
    assert again.percent is not None
    assert (again.percent.values, again.percent.units) == (24, 12)
    assert again.passes is not None
    assert set(again.passes.at) == {1, 2}, "a task is a day, which was played twice"


def test_a_family_counts_once_beside_a_fixed_scenario() -> None:
    fixed = [run("fixed", 90 + seed, seed=seed) for seed in (1, 2, 3)]
    row = overall([*DAYS, *fixed], None)
    assert row.percent is not None
    assert row.percent.mean == pytest.approx((27 + 92) / 2)
    assert row.percent.low is not None
    assert row.percent.high is not None
    assert row.percent.low < row.percent.mean < row.percent.high
    assert row.percent.values == 15
    without = overall([*(run("one", 10, seed=n) for n in range(3)), run("other", 90)], None)
    assert without.percent is not None
    assert without.percent.mean == 50, "fixed scenarios weigh the same, too"


def test_many_families_are_drawn_as_families() -> None:
    many = [
        day.model_copy(update={"scenario": f"f{n}", "run_id": f"{n}{day.run_id}"}) for n in range(12) for day in DAYS
    ]
    row = overall(many, None)
    assert row.percent is not None
    assert row.percent.units == 12


def test_equal_scores_on_different_days_are_no_copies() -> None:
    """A player that earns nothing is not one run: it has failed each of the days."""
    zeros = [run("family", 0, difficulty, seed) for difficulty, seed in product((1, 2), (1, 2, 3))]
    assert not are_copies(zeros)
    assert are_copies([run("family", 0, 1, 1, repeat) for repeat in range(3)]), "one day that was played again"
    assert are_copies([run("fixed", 0, seed=seed) for seed in range(3)])
    row = overall(zeros, "family")
    assert row.percent is not None
    assert row.percent.units == 6


def test_agents_are_compared_on_the_same_day() -> None:
    others = [day.model_copy(update={"agent": "b", "run_id": f"b{day.run_id}"}) for day in DAYS]
    found = compared("a", "b", [*DAYS, *others[:-1]])
    assert (found.pairs, found.unpaired, found.units) == (11, 1, 11)
    assert found.difference is not None
    assert found.difference.mean == 0


def test_weights_change_what_a_value_counts() -> None:
    found = estimated([Unit((0.0,)), Unit((100.0,), weights=(3.0,))], bounds=(0, 100))
    assert (found.mean, found.values) == (75, 2)
    same = [Unit((value,), "s", (2.0,)) for value in (20.0, 40.0, 60.0)]
    plain = [Unit(unit.values, "s") for unit in same]
    assert estimated(same, bounds=(0, 100)) == estimated(plain, bounds=(0, 100)), "equal weights change nothing"


def grouped(scores: dict[int, int], repeat: int = 0, difficulty: int = 2, agent: str = "a") -> list[Run]:
    """Days of a family with groups of three, by seed."""
    days = [run("triples", score, difficulty, seed, repeat, agent) for seed, score in scores.items()]
    return [day.model_copy(update={"group_size": 3}) for day in days]


def test_a_group_is_passed_where_each_of_its_days_is() -> None:
    first, second = {1: 90, 3: 100, 5: 60}, {2: 100, 4: 100, 6: 59}
    row = overall(grouped({**first, **second, 7: 100, 9: 100}), "triples")
    assert row.groups is not None
    assert (row.groups.groups, row.groups.passed) == (2, 1)
    again = overall([*grouped(first), *grouped(first, repeat=1)], "triples").groups
    assert again is not None
    assert (again.groups, again.passed) == (2, 2)
    assert overall(grouped({1: 90, 3: 100}), "triples").groups is None
    assert overall(DAYS, "family").groups is None


def test_days_of_a_group_are_one_unit() -> None:
    scores = {1: 90, 3: 80, 5: 70, 2: 30, 4: 20, 6: 10}
    row = overall(grouped(scores), "triples")
    assert row.percent is not None
    assert row.percent.units == 2
    worse = grouped({seed: score - 10 for seed, score in scores.items()}, agent="b")
    assert compared("a", "b", [*grouped(scores), *worse]).units == 2
