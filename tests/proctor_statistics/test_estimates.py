"""A mean's error and interval: against scipy, against known truth."""

import numpy as np
import pytest
import scipy

from proctor_statistics import Unit, estimated
from tests.work import only_nightly


def single(values: "np.ndarray") -> list[Unit]:
    return [Unit((float(value),)) for value in values]


def test_the_error_of_independent_values_is_scipys():
    values = np.random.default_rng(1).normal(70, 12, 40)
    assert estimated(single(values)).standard_error == pytest.approx(float(scipy.stats.sem(values)))


def test_the_error_of_equal_clusters_is_that_of_their_means():
    clusters = np.random.default_rng(2).normal(0, 1, (8, 1)) + np.random.default_rng(3).normal(0, 0.1, (8, 5))
    found = estimated([Unit(tuple(map(float, cluster))) for cluster in clusters])
    assert found.standard_error == pytest.approx(float(scipy.stats.sem(clusters.mean(axis=1))))
    assert found.standard_error > 1.9 * float(scipy.stats.sem(clusters.ravel()))  # taking them for independent flatters
    assert (found.values, found.units) == (40, 8)


def test_strata_take_the_difference_between_scenarios_out_of_the_error():
    random = np.random.default_rng(4)
    easy, hard = random.normal(90, 2, 10), random.normal(30, 2, 10)
    fixed = estimated([Unit((float(v),), name) for name, each in (("e", easy), ("h", hard)) for v in each])
    expected = np.sqrt(10**2 * (easy.var(ddof=1) / 10 + hard.var(ddof=1) / 10)) / 20
    assert fixed.standard_error == pytest.approx(float(expected))
    assert fixed.standard_error < estimated(single(np.concatenate([easy, hard]))).standard_error / 5


def test_two_values_have_students_interval():
    found = estimated([Unit((60.0,)), Unit((70.0,))])
    low, high = scipy.stats.t.interval(0.95, 1, loc=65, scale=scipy.stats.sem([60, 70]))
    assert (found.method, found.low, found.high) == ("t", pytest.approx(low), pytest.approx(high))
    assert estimated([Unit((60.0,)), Unit((70.0,))], bounds=(0, 100)).high == 100


def test_one_value_has_no_interval_and_equal_ones_have_no_width():
    assert estimated([Unit((60.0,))]).low is None
    same = estimated(single(np.full(6, 75.0)))
    assert (same.low, same.mean, same.high) == (75, 75, 75)
    with pytest.raises(ValueError, match="at least one"):
        estimated([])


@pytest.mark.parametrize("count", [10, pytest.param(50, marks=only_nightly)])
@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_the_interval_covers_the_truth_as_often_as_it_says(count: int, shape: str):
    random = np.random.default_rng(count)
    truth, draw = {
        "normal": (60.0, lambda: random.normal(60, 10, count)),
        "skewed": (100 * 4 / 6, lambda: 100 * random.beta(4, 2, count)),
    }[shape]
    trials = 400
    intervals = [estimated(single(draw()), bounds=(0, 100)) for _ in range(trials)]
    covered = sum(each.low <= truth <= each.high for each in intervals) / trials
    assert 0.92 <= covered <= 0.97
