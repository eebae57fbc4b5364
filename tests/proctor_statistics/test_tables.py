"""Pass rates, comparisons, summaries, items and forks, on data whose answers are known."""

from itertools import combinations, product
from math import comb

import pytest
import scipy

from proctor_protocol.statistics import Points, Run
from proctor_statistics import (
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


def run(agent: str, seed: int, percent: float | None, *, scenario: str = "triage", repeat: int = 0, **changes) -> Run:
    overall = None if percent is None else Points(score=percent, max_score=100)
    return Run(
        run_id=f"{agent}-{scenario}-{seed}-{repeat}",
        **{"agent": agent, "scenario": scenario, "seed": seed, "repeat": repeat, "overall": overall, **changes},
    )


@pytest.mark.parametrize(("runs", "passed", "k"), [(5, 2, 1), (5, 2, 3), (8, 8, 4), (8, 0, 4), (6, 5, 6)])
def test_pass_rates_are_those_of_all_draws(runs: int, passed: int, k: int):
    outcomes = [True] * passed + [False] * (runs - passed)
    draws = list(combinations(outcomes, k))
    assert pass_at_k(runs, passed, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(runs, passed, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_pass_at_k_is_the_published_estimator():
    """Chen et al., 2021: 1 - C(n - c, k) / C(n, k)."""
    assert pass_at_k(200, 37, 10) == pytest.approx(1 - comb(163, 10) / comb(200, 10))


def test_rates_are_averaged_over_tasks_and_k_ends_with_the_shortest():
    rates = pass_rates({"a": [True, True, False], "b": [True, False]}, 60)
    assert rates.at == pytest.approx({1: (2 / 3 + 1 / 2) / 2, 2: 1.0})
    assert rates.hat == pytest.approx({1: (2 / 3 + 1 / 2) / 2, 2: (1 / 3 + 0) / 2})
    expected = scipy.stats.binomtest(3, 5).proportion_ci(0.95, method="wilson")
    assert (rates.low, rates.high) == pytest.approx((expected.low, expected.high))


def test_two_agents_are_paired_by_scenario_seed_and_repeat():
    differences = [5, 7, 3, 6, 4, 8, 5, 6]
    runs = [run("b", seed, 60) for seed in range(9)]
    runs += [run("a", seed, 60 + difference) for seed, difference in enumerate(differences)]
    found = compared("a", "b", runs)
    assert (found.pairs, found.unpaired) == (8, 1)
    assert found.difference.mean == pytest.approx(5.5)
    assert found.difference.low > 0
    # Every one of the 2**8 flips but "all as they are" and "all flipped" has a smaller mean.
    assert found.p_value == pytest.approx(2 / 2**8)
    assert (found.units, found.units_needed[1]) == (8, 21)
    assert units_needed(found, 1) == 21  # ((1.96 + 0.8416) * 1.6036 / 1) ** 2 = 20.2
    assert compared("b", "a", runs).difference.mean == pytest.approx(-5.5)


def test_repeats_of_a_seed_are_one_unit():
    runs = [run("a", seed, 70 + 10 * seed, repeat=repeat) for seed, repeat in product(range(3), range(20))]
    runs += [run("b", seed, 70, repeat=repeat) for seed, repeat in product(range(3), range(20))]
    found = compared("a", "b", runs)
    assert (found.pairs, found.difference.units) == (60, 3)
    assert found.p_value >= 0.25


def test_agents_that_never_met_have_no_difference():
    found = compared("a", "b", [run("a", 1, 70), run("b", 2, 60)])
    assert (found.difference, found.p_value, units_needed(found, 5), found.unpaired) == (None, None, None, 2)
    with pytest.raises(ValueError, match="above 0"):
        units_needed(found, 0)


def test_what_is_not_judged_stands_beside_the_mean():
    runs = [
        run("a", 1, 80),
        run("a", 2, 60),
        run("a", 3, None, status="timeout", failed_by_participant=True),
        run("a", 4, None, status="failed"),
        run("a", 5, None, status="canceled"),
        run("a", 6, None),
    ]
    row = summaries(runs)[0]
    assert row.percent.mean == 70
    assert row.percent_failed_as_zero == pytest.approx(140 / 3)
    assert row.counts.model_dump() == {
        "runs": 6,
        "judged": 2,
        "failed_by_participant": 1,
        "failed_otherwise": 1,
        "canceled": 1,
        "unjudged": 1,
    }
    assert (row.passes.runs, row.passes.passed) == (3, 2)


def test_rows_of_an_agent():
    points = {"x": Points(score=1, max_score=2), "y": Points(score=2, max_score=2)}
    runs = [
        run("a", seed, 75, scenario=scenario, dimensions={"safety": points["x"]}, criteria=points, tokens=10)
        for seed, scenario in product(range(3), ("triage", "reschedule"))
    ]
    rows = {(row.scenario, row.of, row.name): row for row in summaries(runs)}
    assert rows[None, "overall", "overall"].counts.runs == 6
    assert rows[None, "overall", "overall"].tokens == 60
    assert rows[None, "overall", "overall"].by_scenario_error == 0
    assert rows["triage", "criterion", "x"].percent.mean == 50
    assert rows["triage", "dimension", "safety"].by_scenario_error is None
    assert (None, "criterion", "x") not in rows


def test_a_criterion_that_separates_comes_first():
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


def test_the_turn_that_decided():
    spreads = spread_by_turn({1: [40, 80, 40, 80], 2: [42, 78, 41, 79], 3: [80, 80, 79, 80], 4: [80.0]})
    assert [spread.turn for spread in spreads] == [1, 2, 3]
    assert max(spreads, key=lambda spread: spread.decided or 0).turn == 2
    assert spreads[-1].decided is None


def test_the_turn_that_decided_may_be_the_last_that_was_forked() -> None:
    forks = [("a", 1, 40.0), ("a", 1, 80.0), ("a", 2, 40.0), ("a", 2, 80.0), ("b", 1, 50.0), ("b", 1, 50.0)]
    one, other = forks_compared([*forks, ("b", 2, 50.0), ("b", 2, 50.0)])
    assert (one.agent, one.deciding) == ("a", 2)
    assert (other.agent, other.deciding) == ("b", None)
