"""A mean's error and interval: against scipy, against known truth."""

from itertools import product

import numpy as np
import pytest
import scipy

from benchmarks.coverage import (
    DISTRIBUTIONS,
    HELD_OUT,
    PAIRS,
    SHARES,
    SIZES,
    coverage,
    difference_coverage,
    share_coverage,
    share_widths,
    strata_coverage,
)
from proctor.statistics import Unit, comparisons, estimated
from purple_sdk.protocol.statistics import Estimate
from tests.sentences import says
from tests.values import expect
from tests.work import NIGHTLY, some_of

KNOWN_BY = 2_000_000 if NIGHTLY else 200_000


def single(values: "np.ndarray") -> list[Unit]:
    return [Unit((float(value),)) for value in values]


def of(units: list[Unit]) -> Estimate:
    return estimated(units, bounds=(-1000, 1000))


def test_the_error_of_independent_values_is_scipys() -> None:
    values = np.random.default_rng(1).normal(70, 12, 40)
    assert of(single(values)).standard_error == pytest.approx(float(scipy.stats.sem(values)))


def test_the_error_of_equal_clusters_is_that_of_their_means() -> None:
    clusters = np.random.default_rng(2).normal(0, 1, (8, 1)) + np.random.default_rng(3).normal(0, 0.1, (8, 5))
    found = of([Unit(tuple(map(float, cluster))) for cluster in clusters])
    assert found.standard_error == pytest.approx(float(scipy.stats.sem(clusters.mean(axis=1))))
    assert expect(found.standard_error) > 1.9 * float(
        scipy.stats.sem(clusters.ravel())
    )  # taking them for independent flatters
    assert (found.values, found.units) == (40, 8)


def test_strata_take_the_difference_between_scenarios_out_of_the_error() -> None:
    random = np.random.default_rng(4)
    easy, hard = random.normal(90, 2, 10), random.normal(30, 2, 10)
    fixed = of([Unit((float(v),), name) for name, values in (("e", easy), ("h", hard)) for v in values])
    expected = np.sqrt(10**2 * (easy.var(ddof=1) / 10 + hard.var(ddof=1) / 10)) / 20
    assert fixed.standard_error == pytest.approx(float(expected))
    assert expect(fixed.standard_error) < expect(of(single(np.concatenate([easy, hard]))).standard_error) / 5


def percents(*values: float) -> Estimate:
    return estimated([Unit((value,)) for value in values], bounds=(0, 100))


def test_an_interval_never_ends_on_the_mean_of_what_was_seen() -> None:
    """Nine of ten, ten of ten, and nine at 95 with one at 20: what has not been seen yet may still happen."""
    nine, ten, broken = percents(*[100] * 9, 0), percents(*[100] * 10), percents(*[95] * 9, 20)
    assert (nine.mean, ten.mean, broken.mean) == (90, 100, 87.5)
    assert 56 < (nine.low or 0) < 60
    assert 98 < (nine.high or 0) < 100
    assert 70 < (ten.low or 0) < 76
    assert ten.high == 100
    assert (broken.low or 0) < 68
    assert (broken.high or 0) > 92


def test_for_0_and_1_it_is_that_of_shares() -> None:
    """Quantiles of beta distributions with three quarters of a unit at the bound, one limit at a time."""
    found, beta = percents(*[100] * 7, *[0] * 13), scipy.stats.beta.ppf
    assert (found.low, found.high) == pytest.approx((100 * beta(0.025, 7, 13.75), 100 * beta(0.975, 7.75, 13)))
    clustered = estimated([Unit((100.0, 100.0)), Unit((0.0, 0.0)), Unit((100.0, 100.0))], bounds=(0, 100))
    assert (clustered.low, clustered.high) == pytest.approx((100 * beta(0.025, 2, 1.75), 100 * beta(0.975, 2.75, 1)))


def test_one_unit_has_no_interval_and_says_why() -> None:
    assert percents(60).low is None
    assert percents(60).why == says()
    assert estimated([Unit((60.0, 60.0))], bounds=(0, 100), why_one="they are copies").why == "they are copies"
    with pytest.raises(ValueError, check=says()):
        estimated([], bounds=(0, 100))


CELLS = [
    ("normal, 60 ± 10", 10),
    ("0/1, 80 % pass", 5),
    ("0/1, 95 % pass", 20),
    ("95 ± 3, 10 % break down to 0", 2),
    ("95 ± 3, 10 % break down to 0", 10),
    ("80 ± 8, 20 % break down to 0…30", 20),
    ("ceiling: 70 % at 100, else 50…100", 40),
    ("rare disaster: 99, 5 % at 10", 10),
]
EVERYTHING = {**DISTRIBUTIONS, **HELD_OUT}


@pytest.mark.parametrize(
    ("name", "units"), [(name, n) for name in EVERYTHING for n in SIZES] if NIGHTLY else CELLS[3::4]
)
def test_the_interval_covers_the_truth_as_often_as_it_says(name: str, units: int) -> None:
    """At least 93 of 100. More where values vary little, since a sample can't show that nothing ever breaks down."""
    assert coverage(EVERYTHING[name], units, 2_000 if NIGHTLY else 200, known_by=KNOWN_BY) >= 0.92


PAIR_CELLS = [("98 ± 3, and 10 % break down", 6), ("0/1, 80 % pass, both", 10), ("10 % and 20 % break down", 20)]


@pytest.mark.parametrize(
    ("name", "units"), [(name, n) for name in PAIRS for n in (6, 10, 20, 40, 80)] if NIGHTLY else PAIR_CELLS[:2]
)
def test_the_interval_of_a_difference_covers_the_truth(name: str, units: int) -> None:
    """Where the sign-flip test's inversion covers it in 49, 78 and 96 of 100."""
    assert difference_coverage(PAIRS[name], units, 1_000 if NIGHTLY else 100, known_by=KNOWN_BY) >= 0.92


@pytest.mark.parametrize(("spread", "points"), some_of([(10, 10), (25, 10), (5, 20)], 1))
def test_the_number_of_units_is_enough_in_four_of_five_campaigns(spread: float, points: float) -> None:
    random, units = np.random.default_rng(0), comparisons._needed(spread, points)
    lows = [comparisons.mean_difference(random.normal(points, spread, units), units)[0].low for _ in range(300)]
    assert np.mean([(low or 0) > 0 for low in lows]) > 0.75


def test_the_interval_of_a_share_covers_it_at_every_size_and_share() -> None:
    """By enumeration of all outcomes; with half a unit it is 87.5 % at n = 4 and a pass rate of 47 %."""
    least = {units: min(share_coverage(share, units) for share in SHARES) for units in range(2, 21)}
    assert min(least.values()) >= 0.93, least
    assert least[4] == pytest.approx(0.963, abs=0.001)
    if NIGHTLY:
        assert min(share_coverage(share, units) for units in range(21, 201) for share in SHARES) >= 0.93


def test_the_interval_of_a_share_is_at_most_15_percent_wider_than_before() -> None:
    """On average over the outcomes, from 10 units on."""
    for units in range(10, 21):
        (_, growth, _) = share_widths(units)
        assert 1 <= growth <= 1.15


def test_shares_in_strata_are_covered() -> None:
    """Two scenarios with their own pass rates, which the mean weighs the same."""
    for units, shares in product((2, 3, 5), ((0.05, 0.5), (0.5, 0.5), (0.9, 0.99))):
        assert strata_coverage(units, shares) >= 0.93
