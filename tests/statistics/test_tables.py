"""Pass rates, comparisons, summaries, items and forks, on data whose answers are known."""

from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import pytest
import scipy

from proctor.statistics import (
    compared,
    forks_compared,
    items,
    pass_at_k,
    pass_hat_k,
    pass_rates,
    spread_by_turn,
    summaries,
    units_needed,
)
from proctor.statistics.comparisons import mean_difference
from purple_sdk.protocol.statistics import Points, Run
from tests.sentences import says
from tests.values import expect
from tests.work import some_of


def run(
    agent: str, seed: int, percent: float | None, *, scenario: str = "triage", repeat: int = 0, **changes: Any
) -> Run:
    overall = None if percent is None else Points(score=percent, max_score=100)
    return Run(
        run_id=f"{agent}-{scenario}-{seed}-{repeat}",
        **{"agent": agent, "scenario": scenario, "seed": seed, "repeat": repeat, "overall": overall, **changes},
    )


@pytest.mark.parametrize(("runs", "passed", "k"), [(5, 2, 1), (5, 2, 3), (8, 8, 4), (8, 0, 4), (6, 5, 6)])
def test_pass_rates_are_those_of_all_draws(runs: int, passed: int, k: int) -> None:
    outcomes = [True] * passed + [False] * (runs - passed)
    draws = list(combinations(outcomes, k))
    assert pass_at_k(runs, passed, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(runs, passed, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_pass_at_k_is_the_published_estimator() -> None:
    """Chen et al., 2021: 1 - C(n - c, k) / C(n, k)."""
    assert pass_at_k(200, 37, 10) == pytest.approx(1 - comb(163, 10) / comb(200, 10))


def test_rates_are_averaged_over_tasks_and_k_ends_with_the_shortest() -> None:
    rates = expect(pass_rates({"a": [True, True, False], "b": [True, False]}, 60))
    assert rates.at == pytest.approx({1: (2 / 3 + 1 / 2) / 2, 2: 1.0})
    assert rates.hat == pytest.approx({1: (2 / 3 + 1 / 2) / 2, 2: (1 / 3 + 0) / 2})
    alone = expect(pass_rates({str(n): [n != 3] for n in range(10)}, 60))
    beta = scipy.stats.beta.ppf
    assert (alone.low, alone.high) == pytest.approx((beta(0.025, 9, 1.75), beta(0.975, 9.75, 1)))


def test_attempts_at_one_task_count_for_as_much_as_they_say_together() -> None:
    """Twenty attempts at four tasks, each task passed always or never, say what four runs say."""
    same = expect(pass_rates({name: [name != "d"] * 5 for name in "abcd"}, 60))
    four = expect(pass_rates({name: [name != "d"] for name in "abcd"}, 60))
    mixed = expect(pass_rates({name: [True, True, True, False] for name in "abcdefgh"}, 60))
    of_32 = scipy.stats.binomtest(24, 32).proportion_ci(0.95, method="exact")
    assert expect(same.low) < expect(four.low) + 0.02
    assert expect(mixed.high) - expect(mixed.low) > of_32.high - of_32.low
    always = expect(pass_rates({name: [True] * 5 for name in "abcd"}, 60))
    assert always.low == pytest.approx(scipy.stats.beta.ppf(0.025, 4, 0.75))


def test_two_agents_are_paired_by_scenario_seed_and_repeat() -> None:
    gains = [50, 70, 30, 60, 40, 80, 50, 60]
    runs = [run("b", seed, 20) for seed in range(9)]
    runs += [run("a", seed, 20 + gain) for seed, gain in enumerate(gains)]
    found = compared("a", "b", runs)
    assert (found.pairs, found.unpaired) == (8, 1)
    difference = expect(found.difference)
    assert difference.mean == pytest.approx(55)
    assert 0 < expect(difference.low) < 20  # and p is below 0.05: both ask the same
    assert 0.005 < expect(found.p_value) < 0.05
    assert (found.units, found.units_needed[20]) == (8, units_needed(found, 20))
    assert expect(compared("b", "a", runs).difference).mean == pytest.approx(-55)


def test_a_small_difference_in_few_units_may_be_outweighed_by_one_breakdown() -> None:
    """Eight of eight by 5 points: one run in ten that breaks down to 0 would take more than that."""
    runs = [run(agent, seed, points) for agent, points in (("a", 90), ("b", 85)) for seed in range(8)]
    found = compared("a", "b", runs)
    difference = expect(found.difference)
    assert expect(difference.low) < 0 < expect(difference.high)
    assert expect(found.p_value) > 0.05


def test_repeats_of_a_seed_are_one_unit() -> None:
    runs = [run("a", seed, 70 + 10 * seed, repeat=repeat) for seed, repeat in product(range(3), range(20))]
    runs += [run("b", seed, 70, repeat=repeat) for seed, repeat in product(range(3), range(20))]
    found = compared("a", "b", runs)
    difference = expect(found.difference)
    assert (found.pairs, difference.units) == (60, 3)
    assert found.p_value is None
    assert difference.low is None
    assert difference.why == says()


def test_agents_that_never_met_have_no_difference() -> None:
    found = compared("a", "b", [run("a", 1, 70), run("b", 2, 60)])
    assert (found.difference, found.p_value, units_needed(found, 5), found.unpaired) == (None, None, None, 2)
    with pytest.raises(ValueError, match="above 0"):
        units_needed(found, 0)


@pytest.mark.parametrize("units", some_of([6, 7, 10, 13, 20], 2))
def test_the_interval_excludes_no_difference_exactly_where_p_is_at_most_5_percent(units: int) -> None:
    random = np.random.default_rng(units)
    seen = set()
    for _ in range(200):
        found, p_value = mean_difference(random.normal(random.uniform(-60, 60), 10, units), units)
        low, high = expect(found.low), expect(found.high)
        is_excluded = low > 0 or high < 0
        assert is_excluded == (expect(p_value) <= 0.05)
        assert low <= found.mean <= high
        seen.add(is_excluded)
    assert seen == {True, False}


def test_equal_agents_differ_in_5_of_100_campaigns_at_most() -> None:
    """Also where both break down now and then. (400 campaigns: 8 % is three standard errors above 5 %.)"""
    random = np.random.default_rng(3)
    found = 0
    for units in (6, 10):
        for _ in range(200):
            scores = np.where(random.random((2, units)) < 0.15, 5.0, np.clip(random.normal(90, 5, (2, units)), 0, 100))
            found += expect(mean_difference(scores[0] - scores[1], units)[1]) <= 0.05
    assert found / 400 <= 0.08


def test_power_needs_six_pairs_at_least_and_has_a_range() -> None:
    runs = [run("b", seed, 60) for seed in range(8)] + [run("a", seed, 60 + 0.1 * (seed % 2)) for seed in range(8)]
    found = compared("a", "b", runs)
    assert found.units_needed == {1: 254, 2: 128, 5: 52, 10: 27, 20: 15}, "a breakdown that nobody has seen yet"
    assert units_needed(found, 100) == 6
    wide = compared("a", "b", [*runs[:8], *(run("a", seed, 60 + 10 * seed) for seed in range(3))])
    low, high = wide.units_needed_range[5]
    assert low < wide.units_needed[5] < high
    assert high > 10 * low  # three units say little of a spread


def test_copies_count_as_one_run_and_have_no_interval() -> None:
    """A rule-based agent plays a fixed day the same way with every seed."""
    points = {"x": Points(score=3, max_score=4)}
    runs = [
        run(agent, seed, percent, criteria=points) for agent, percent in (("a", 80), ("b", 40)) for seed in range(9)
    ]
    row = summaries(runs)[0]
    percent, passes = expect(row.percent), expect(row.passes)
    assert (percent.mean, percent.low, percent.high) == (80, None, None)
    assert percent.why == says()
    assert (passes.low, passes.why) == (None, percent.why)
    found = compared("a", "b", runs)
    difference = expect(found.difference)
    assert (difference.mean, difference.low, found.p_value, found.units) == (40, None, None, 1)
    assert says().within(expect(difference.why))
    assert found.units_needed == {}
    other = [run("a", seed, 30, criteria=points, scenario="reschedule") for seed in range(9)]
    both = summaries([*runs, *other])[0]
    assert expect(both.percent).units == 2
    assert both.by_scenario_error == pytest.approx(25)
    different = [run.model_copy(update={"tokens": 100 + n}) for n, run in enumerate(runs)]
    assert expect(expect(summaries(different)[0].percent).low) < 80


def test_a_run_that_its_participant_failed_has_no_points_anywhere() -> None:
    """An agent that raises on the hard scenario must not beat one that plays both."""
    criteria = {"x": Points(score=9, max_score=10)}
    dimensions = {"safety": Points(score=9, max_score=10)}
    runs = [
        run(agent, seed, 90, scenario=scenario, criteria=criteria, dimensions=dimensions, tokens=seed)
        for agent, seed, scenario in product("ab", range(8), ("easy", "hard"))
    ]
    failed: dict[str, object] = {
        "overall": None,
        "criteria": {},
        "dimensions": {},
        "status": "failed",
        "failed_by_participant": True,
    }
    runs = [run.model_copy(update=failed) if (run.agent, run.scenario) == ("a", "hard") else run for run in runs]
    rows = {(row.agent, row.scenario, row.of): row for row in summaries(runs)}
    whole = rows["a", None, "overall"]
    percent, passes = expect(whole.percent), expect(whole.passes)
    assert (percent.mean, whole.percent_judged) == (45, 90)
    assert expect(percent.high) < 90
    assert expect(rows["a", "hard", "overall"].percent).mean == 0
    assert expect(rows["a", None, "dimension"].percent).mean == 45
    assert (passes.passed, passes.runs, passes.hat[8]) == (8, 16, 0.5)
    found = compared("a", "b", runs)
    assert (found.pairs, found.unpaired, expect(found.difference).mean) == (16, 0, -45)
    assert expect(found.p_value) < 0.05


def test_means_stand_with_and_without_the_doubtful_verdicts() -> None:
    doubtful = [run("a", 1, 100, is_doubtful=True), run("a", 2, 0, is_doubtful=True)]
    certain = [run("a", 3, 100), run("a", 4, 100)]
    (row, *_) = summaries([*doubtful, *certain])
    assert (expect(row.percent).mean, row.percent_without_doubtful, row.counts.doubtful) == (75, 100, 2)
    assert summaries(certain)[0].percent_without_doubtful is None
    assert summaries(doubtful)[0].percent_without_doubtful is None


def test_what_is_not_judged_is_listed_beside_the_mean() -> None:
    runs = [
        run("a", 1, 80),
        run("a", 2, 60),
        run("a", 3, None, status="timeout", failed_by_participant=True),
        run("a", 4, None, status="failed"),
        run("a", 5, None, status="canceled"),
        run("a", 6, None),
    ]
    row = summaries(runs)[0]
    assert row.percent_judged == 70
    assert expect(row.percent).mean == pytest.approx(140 / 3)
    assert row.counts.model_dump() == {
        "runs": 6,
        "judged": 2,
        "failed_by_participant": 1,
        "failed_otherwise": 1,
        "canceled": 1,
        "unjudged": 1,
        "doubtful": 0,
    }
    passes = expect(row.passes)
    assert (passes.runs, passes.passed) == (3, 2)


def test_rows_of_an_agent() -> None:
    points = {"x": Points(score=1, max_score=2), "y": Points(score=2, max_score=2)}
    runs = [
        run("a", seed, 75, scenario=scenario, dimensions={"safety": points["x"]}, criteria=points, tokens=10)
        for seed, scenario in product(range(3), ("triage", "reschedule"))
    ]
    rows = {(row.scenario, row.of, row.name): row for row in summaries(runs)}
    assert rows[None, "overall", "overall"].counts.runs == 6
    assert rows[None, "overall", "overall"].tokens == 60
    assert rows[None, "overall", "overall"].by_scenario_error == 0
    assert expect(rows["triage", "criterion", "x"].percent).mean == 50
    assert rows["triage", "dimension", "safety"].by_scenario_error is None
    assert (None, "criterion", "x") not in rows


def test_a_criterion_that_separates_comes_first() -> None:
    def of(agent: str, seed: int, *scores: int) -> Run:
        criteria = {name: Points(score=score, max_score=10) for name, score in zip("pqrs", scores, strict=True)}
        return run(agent, seed, None, criteria=criteria).model_copy(
            update={"overall": Points(score=sum(scores), max_score=40)}
        )

    found = items([of("good", 1, 10, 10, 5, 0), of("good", 2, 9, 10, 9, 0), of("bad", 1, 1, 10, 4, 0)])
    assert [item.criterion for item in found[:1]] == ["p"]
    by_name = {item.criterion: item for item in found}
    assert by_name["p"].by_agent == {"good": 95, "bad": 10}
    assert (by_name["q"].met_by, by_name["s"].met_by, by_name["q"].discrimination) == ("everybody", "nobody", None)


def test_the_turn_that_decided() -> None:
    spreads = spread_by_turn({1: [40, 80, 40, 80], 2: [42, 78, 41, 79], 3: [80, 80, 79, 80], 4: [80.0]})
    assert [spread.turn for spread in spreads] == [1, 2, 3]
    assert max(spreads, key=lambda spread: spread.decided or 0).turn == 2
    assert spreads[-1].decided is None


def test_the_turn_that_decided_may_be_the_last_that_was_forked() -> None:
    forks = [("a", 1, 40.0), ("a", 1, 80.0), ("a", 2, 40.0), ("a", 2, 80.0), ("b", 1, 50.0), ("b", 1, 50.0)]
    one, other = forks_compared([*forks, ("b", 2, 50.0), ("b", 2, 50.0)])
    assert (one.agent, one.deciding) == ("a", 2)
    assert (other.agent, other.deciding) == ("b", None)
