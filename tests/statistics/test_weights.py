"""One weighting: the difference of two agents is that of their means, and lost runs move no mean to the easy cells."""

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.protocol.campaigns import Tally
from proctor.statistics import compared, items, select_percent, summaries, weighed_mean, weights
from proctor.statistics.weights import parts_by_scenario
from purple_sdk.protocol.statistics import Comparison, PlannedCell, Points, Run, Summary
from tests.sentences import says
from tests.work import NIGHTLY

Cell = tuple[str, int | None, int | None, int]


def run(agent: str, cell: Cell, percent: float | None, **more: object) -> Run:
    scenario, difficulty, seed, repeat = cell
    about = {
        "run_id": f"{agent}-{cell}",
        "agent": agent,
        "scenario": scenario,
        "difficulty": difficulty,
        "seed": seed,
        "repeat": repeat,
        "overall": None if percent is None else Points(score=percent, max_score=100),
    }
    return Run.model_validate({**about, **more})


def whole(agent: str, runs: list[Run], **more: object) -> Summary:
    rows = summaries(runs, **more)  # type: ignore[arg-type]
    return next(row for row in rows if (row.agent, row.scenario, row.of) == (agent, None, "overall"))


def mean(row: Summary) -> float:
    assert row.percent is not None
    return row.percent.mean


def difference(found: Comparison) -> float:
    assert found.difference is not None
    return found.difference.mean


def test_scenarios_weigh_the_same_then_difficulties_then_seeds_then_repeats() -> None:
    cells = [("s", 1, 1, 0), ("s", 1, 1, 1), ("s", 1, 2, 0), ("s", 2, 1, 0), ("t", None, 1, 0)]
    shares = weights(cells)
    assert [share / sum(shares) for share in shares] == [1 / 16, 1 / 16, 1 / 8, 1 / 4, 1 / 2]
    assert weights([("s", 1), ("s", 2), ("t", 1), ("t", 2)]) == [1, 1, 1, 1]
    assert weights([("s", 1), ("s", 1), ("s", 2)]) == [1, 1, 2], "the same cell twice"
    assert weights([]) == []


CELLS = st.sets(
    st.tuples(st.sampled_from("abc"), st.sampled_from([None, 1, 2]), st.integers(1, 4), st.integers(0, 2)), min_size=1
)


@settings(max_examples=200 if NIGHTLY else 10, deadline=None)
@given(CELLS, st.randoms(use_true_random=False))
def test_the_difference_is_that_of_the_means_where_all_runs_are_paired(cells: set[Cell], chance: random.Random) -> None:
    """Also where the same cells were lost of both, and where one of the agents failed."""
    kinds: list[dict[str, object]] = [{}, {}, {}, {"status": "failed", "overall": None}]
    lost = {cell: chance.choice(kinds) for cell in sorted(cells, key=str)}
    runs = [run(agent, cell, chance.randint(0, 100), **lost[cell]) for agent in "xy" for cell in lost]
    own = {"status": "timeout", "failed_by_participant": True, "overall": None}
    runs = [record if lost[record.cell] or chance.random() < 0.9 else record.model_copy(update=own) for record in runs]
    for scenario in (None, min(cell[0] for cell in cells)):
        of_it = [record for record in runs if scenario in (None, record.scenario)]
        one, other = (whole(agent, of_it) for agent in "xy")
        found = compared("x", "y", of_it)
        assert found.unpaired == 0
        if found.difference is None:
            assert one.percent is other.percent is None
            continue
        assert difference(found) == pytest.approx(mean(one) - mean(other))
        assert (found.first_percent, found.second_percent) == pytest.approx((mean(one), mean(other)))


@settings(max_examples=400 if NIGHTLY else 25, deadline=None)
@given(CELLS, CELLS, st.randoms(use_true_random=False))
def test_otherwise_it_is_that_of_the_means_of_the_paired_runs(
    ones: set[Cell], others: set[Cell], chance: random.Random
) -> None:
    runs = [run(name, cell, chance.randint(0, 100)) for name, cells in (("x", ones), ("y", others)) for cell in cells]
    found = compared("x", "y", runs)
    assert found.unpaired == len(ones ^ others)
    if found.difference is not None and found.first_percent is not None and found.second_percent is not None:
        paired = [record for record in runs if record.cell in ones & others]
        assert difference(found) == pytest.approx(found.first_percent - found.second_percent)
        assert found.first_percent == pytest.approx(
            weighed_mean([(r, r.percent or 0) for r in paired if r.agent == "x"])
        )


def test_means_and_difference_name_the_same_winner() -> None:
    """One family with many days, one scenario with few: means by scenario and differences by unit disagreed."""
    cells: list[Cell] = [("family", hard, seed, 0) for hard, seed in product((1, 2, 3, 4), range(1, 6))]
    cells += [("fixed", None, seed, 0) for seed in (1, 2)]
    runs = [run("x", cell, 45 if cell[0] == "family" else 60) for cell in cells]
    runs += [run("y", cell, 50 if cell[0] == "family" else 51) for cell in cells]
    by_unit = sum((45 - 50, 60 - 51)[cell[0] == "fixed"] for cell in cells) / len(cells)
    assert by_unit < 0
    assert mean(whole("x", runs)) - mean(whole("y", runs)) == pytest.approx(2)
    assert difference(compared("x", "y", runs)) == pytest.approx(2)


STRATA = ((1, 92), (3, 12))


def test_hard_runs_that_the_evaluator_loses_do_not_raise_the_mean() -> None:
    """Two agents with 52 points each; of one of them four of five hard runs are lost."""
    runs = [run(name, ("s", hard, seed, 0), points) for name in "xy" for hard, points in STRATA for seed in range(1, 6)]
    lost = {"status": "failed", "overall": None}
    hurt = [
        record.model_copy(update=lost) if record.cell[1] == 3 and record.seed != 1 and record.agent == "x" else record
        for record in runs
    ]
    assert (mean(whole("x", runs)), mean(whole("y", runs))) == (52, 52)
    plain = [record.percent for record in hurt if record.agent == "x" and record.percent is not None]
    assert sum(plain) / len(plain) == pytest.approx(78.7, abs=0.1)
    row = whole("x", hurt)
    assert mean(row) == 52
    assert (row.planned, len(row.lost), row.left_out) == (10, 4, [])
    assert row.lost[0] == PlannedCell(scenario="s", difficulty=3, seed=2)
    assert row.lost_in_words() == says("10")
    (of_scenario,) = [
        summary for summary in summaries(hurt) if (summary.agent, summary.scenario, summary.of) == ("x", "s", "overall")
    ]
    assert of_scenario.lost == row.lost
    assert of_scenario.lost_in_words(3) == says("10")
    found = compared("x", "y", hurt)
    assert (found.pairs, found.unpaired, found.first_percent, found.second_percent) == (6, 4, 52, 52)


def test_a_stratum_without_a_run_is_left_out_and_named() -> None:
    runs = [run("x", ("s", 1, seed, 0), 92) for seed in (1, 2)]
    planned = {
        name: [PlannedCell(scenario="s", difficulty=hard, seed=seed) for hard in (1, 3) for seed in (1, 2)]
        for name in "xz"
    }
    row = whole("x", runs, planned=planned)
    assert (mean(row), row.planned, len(row.lost), row.left_out) == (92, 4, 2, ["s · difficulty 3"])
    assert row.lost_in_words() == says()
    nothing = whole("z", runs, planned=planned)
    assert (nothing.percent, nothing.planned, len(nothing.lost)) == (None, 4, 4)
    assert whole("x", runs).lost_in_words() == ""


def test_pass_rates_and_criteria_have_the_same_weights() -> None:
    points = {"c": Points(score=1, max_score=1)}
    runs = [run("x", ("many", 1, seed, 0), 100, criteria=points) for seed in range(9)]
    runs.append(run("x", ("many", 2, 1, 0), 0, criteria={"c": Points(score=0, max_score=1)}))
    row = whole("x", runs)
    assert row.passes is not None
    assert (row.passes.passed, row.passes.runs, row.passes.at[1]) == (9, 10, 0.5)
    assert row.passes.low is not None
    assert row.passes.high is not None
    assert row.passes.low < 0.2
    assert row.passes.high > 0.8
    (item,) = items(runs)
    assert (item.percent, item.by_agent) == (50, {"x": 50})


def test_a_failed_run_has_no_points_of_a_criterion_that_its_scenario_lacks() -> None:
    points = {"c": Points(score=1, max_score=1)}
    own = {"status": "failed", "failed_by_participant": True, "overall": None}
    runs = [run("x", ("with", None, 1, 0), 100, dimensions=points), run("x", ("without", None, 1, 0), None, **own)]
    percent = select_percent("dimension", "c", parts_by_scenario([*runs, run("y", ("without", None, 1, 0), 50)]))
    assert [percent(record) for record in runs] == [100, None]
    unknown = select_percent("dimension", "c", parts_by_scenario(runs))
    assert [unknown(record) for record in runs] == [100, 0], "no run says what that scenario has"


def test_a_sum_of_costs_says_of_how_many_runs_it_is() -> None:
    runs = [run("x", ("s", None, seed, 0), 50, cost=0.25 if seed < 3 else None) for seed in range(1, 5)]
    row = whole("x", runs)
    assert (row.cost, row.cost_known, row.cost_text) == (0.5, 2, "0.5 (known for 2 of 4)")
    assert whole("x", runs[:2]).cost_text == "0.5"
    assert whole("x", [runs[2]]).cost_text == ""
    assert Tally(cost=1.5, cost_known=2, plays=3).cost_text == "1.5 (known for 2 of 3)"
