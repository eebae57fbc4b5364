"""How often intervals of a mean contain the truth, by distribution and number of units.

``python -m benchmarks.coverage`` prints Markdown tables. A cell is the share of simulated campaigns, in percent, whose
95 % interval contains the true mean. The last table is of 0/1 values, by enumeration. By number of units, it has the
least coverage for pass rates of 1 to 99 %, its rate, and the mean width in points. Growth is how much wider the
interval is than with half a unit for unseen values: on average over the outcomes, and at most.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np
import scipy

from benchmarks import table as markdown
from proctor.statistics import Unit, estimated
from proctor.statistics.comparisons import mean_difference
from proctor.statistics.estimates import CONFIDENCE, UNSEEN
from purple_sdk.protocol.statistics import Estimate

Draw = Callable[[np.random.Generator, int], np.ndarray]
SIZES = (2, 3, 5, 10, 20, 40, 80)
SHARE_SIZES = (*range(2, 21), 30, 40, 60, 80, 100, 200)
SHARES = [n / 100 for n in range(1, 100)]
"""The numbers of units and the pass rates whose outcomes are enumerated."""
KNOWN = 2_000_000
"""The number of values from which the true mean is computed."""


def _normal(mean: float, spread: float) -> Draw:
    return lambda random, n: np.clip(random.normal(mean, spread, n), 0, 100)


def _broken(share: float, well: Draw, broken: Draw) -> Draw:
    return lambda random, n: np.where(random.random(n) < share, broken(random, n), well(random, n))


def _constant(value: float) -> Draw:
    return lambda random, n: np.full(n, value)


def _uniform(low: float, high: float) -> Draw:
    return lambda random, n: random.uniform(low, high, n)


DISTRIBUTIONS: Mapping[str, Draw] = {
    "normal, 60 ± 10": _normal(60, 10),
    "skewed, 100 × Beta(4, 2)": lambda random, n: 100 * random.beta(4, 2, n),
    "0/1, half pass": _broken(0.5, _constant(100), _constant(0)),
    "0/1, 80 % pass": _broken(0.2, _constant(100), _constant(0)),
    "0/1, 95 % pass": _broken(0.05, _constant(100), _constant(0)),
    "95 ± 3, 10 % break down to 0": _broken(0.1, _normal(95, 3), _constant(0)),
    "95 ± 3, 20 % break down to 0": _broken(0.2, _normal(95, 3), _constant(0)),
    "80 ± 8, 10 % break down to 0…30": _broken(0.1, _normal(80, 8), _uniform(0, 30)),
    "80 ± 8, 20 % break down to 0…30": _broken(0.2, _normal(80, 8), _uniform(0, 30)),
    "95, 15 % break down to 20": _broken(0.15, _constant(95), _constant(20)),
    "ceiling: 98 ± 3": _normal(98, 3),
    "ceiling: 70 % at 100, else 50…100": _broken(0.3, _constant(100), _uniform(50, 100)),
    "ceiling: 90 % at 100, else 60…100": _broken(0.1, _constant(100), _uniform(60, 100)),
}
"""The distributions by which the interval was chosen."""

HELD_OUT: Mapping[str, Draw] = {
    "two groups, 40 ± 5 and 90 ± 5": _broken(0.4, _normal(90, 5), _normal(40, 5)),
    "rare disaster: 99, 5 % at 10": _broken(0.05, _constant(99), _constant(10)),
    "floor: 85 % at 0, else 20…80": _broken(0.15, _constant(0), _uniform(20, 80)),
    "uniform, 0…100": _uniform(0, 100),
    "exponential from the ceiling": lambda random, n: np.clip(100 - random.exponential(8, n), 0, 100),
    "70 ± 15, 12 % break down to 0": _broken(0.12, _normal(70, 15), _constant(0)),
}
"""Distributions that had no part in the choice."""


PAIRS: Mapping[str, tuple[Draw, Draw]] = {
    "70 ± 15, 12 % break down, and 60 ± 10": (
        HELD_OUT["70 ± 15, 12 % break down to 0"],
        DISTRIBUTIONS["normal, 60 ± 10"],
    ),
    "0/1, half pass, and 80 %": (DISTRIBUTIONS["0/1, half pass"], DISTRIBUTIONS["0/1, 80 % pass"]),
    "0/1, 80 % pass, both": (DISTRIBUTIONS["0/1, 80 % pass"], DISTRIBUTIONS["0/1, 80 % pass"]),
    "10 % and 20 % break down": (
        DISTRIBUTIONS["95 ± 3, 10 % break down to 0"],
        DISTRIBUTIONS["95 ± 3, 20 % break down to 0"],
    ),
    "98 ± 3, and 10 % break down": (DISTRIBUTIONS["ceiling: 98 ± 3"], DISTRIBUTIONS["95 ± 3, 10 % break down to 0"]),
}
"""Two agents on the same units, from ``FEWEST_UNITS`` on."""


def difference_coverage(
    pair: tuple[Draw, Draw], units: int, campaigns: int, seed: int = 0, known_by: int = KNOWN
) -> float:
    """As ``coverage``, of the mean difference of two agents."""

    def difference(random: np.random.Generator, n: int) -> np.ndarray:
        return pair[0](random, n) - pair[1](random, n)

    return _covered(difference, lambda values: mean_difference(values, units)[0], units, campaigns, seed, known_by)


def coverage(draw: Draw, units: int, campaigns: int, seed: int = 0, known_by: int = KNOWN) -> float:
    """Return the share, 0 to 1, of simulated campaigns whose interval contains the mean of ``known_by`` values."""

    def interval(values: np.ndarray) -> Estimate:
        return estimated([Unit((float(value),)) for value in values], bounds=(0, 100))

    return _covered(draw, interval, units, campaigns, seed, known_by)


def _covered(
    draw: Draw, interval: Callable[[np.ndarray], Estimate], units: int, campaigns: int, seed: int, known_by: int
) -> float:
    random = np.random.default_rng([seed, units])
    truth = float(draw(np.random.default_rng(seed), known_by).mean())
    covered = 0
    for _ in range(campaigns):
        estimate = interval(draw(random, units))
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low - 1e-9 <= truth <= estimate.high + 1e-9
    return covered / campaigns


def share_coverage(share: float, units: int) -> float:
    """Return the chance, 0 to 1, that a share's interval contains the share, by enumeration of all outcomes."""
    inside = np.array([low <= share <= high for low, high in _intervals_of_shares(units)])
    return float(_chances(units, share)[inside].sum())


def strata_coverage(units: int, shares: tuple[float, float]) -> float:
    """As ``share_coverage``, of the mean share of two scenarios with ``units`` units each."""
    truth, covered = sum(shares) / 2, 0.0
    chances = [_chances(units, share) for share in shares]
    for counts in product(range(units + 1), repeat=2):
        low, high = _interval_of_strata(units, counts)
        covered += float(chances[0][counts[0]] * chances[1][counts[1]]) if low <= truth <= high else 0.0
    return covered


def share_widths(units: int) -> tuple[float, float, float]:
    """Return the mean width of a share's interval over the outcomes, and its growth on average and at most.

    Growth is the ratio to the width with half a unit for unseen values.
    """
    counts = np.arange(units + 1)
    tail = (1 - CONFIDENCE) / 2
    lows = np.nan_to_num(scipy.stats.beta.ppf(tail, counts, units - counts + UNSEEN))
    highs = np.nan_to_num(scipy.stats.beta.ppf(1 - tail, counts + UNSEEN, units - counts), nan=1.0)
    widths = np.array([high - low for low, high in _intervals_of_shares(units)])
    return float(widths.mean()), float(widths.mean() / (highs - lows).mean()), float((widths / (highs - lows)).max())


def _chances(units: int, share: float) -> np.ndarray:
    counts = np.arange(units + 1)
    return np.asarray(scipy.special.binom(units, counts) * share**counts * (1 - share) ** (units - counts))


@cache
def _intervals_of_shares(units: int) -> Sequence[tuple[float, float]]:
    """The interval of each share that this number of units can have."""
    return [_limits([Unit((1.0,))] * passed + [Unit((0.0,))] * (units - passed)) for passed in range(units + 1)]


@cache
def _interval_of_strata(units: int, counts: tuple[int, ...]) -> tuple[float, float]:
    return _limits([Unit((float(n < passed),), stratum) for stratum, passed in enumerate(counts) for n in range(units)])


def _limits(units: Sequence[Unit]) -> tuple[float, float]:
    estimate = estimated(units, bounds=(0, 1))
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low - 1e-9, estimate.high + 1e-9


def table(rows: Mapping[str, Sequence[float]], what: str, sizes: Sequence[int] = SIZES) -> str:
    cells = [[name, *(f"{100 * share:.1f}" for share in row)] for name, row in rows.items()]
    return markdown([what, *(f"n = {n}" for n in sizes)], cells)


def table_of_shares(sizes: Sequence[int]) -> str:
    """Return a Markdown table of the coverage and width of shares' intervals by number of units, by enumeration."""
    cells = []
    for n in sizes:
        covered = {share: share_coverage(share, n) for share in SHARES}
        worst = min(covered, key=lambda share: covered[share])
        width, growth, most = share_widths(n)
        figures = [f"{100 * covered[worst]:.1f}", f"{worst:.2f}", f"{100 * np.mean(list(covered.values())):.1f}"]
        cells.append([str(n), *figures, f"{100 * width:.1f}", f"{growth:.3f}", f"{most:.3f}"])
    return markdown(["n", "least coverage", "at", "mean coverage", "mean width", "growth", "most growth"], cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1000, help="simulated campaigns for each cell")
    campaigns = parser.parse_args().campaigns
    for what, distributions in (("distribution", DISTRIBUTIONS), ("held out", HELD_OUT)):
        rows = {name: [coverage(draw, n, campaigns) for n in SIZES] for name, draw in distributions.items()}
        print(table(rows, what), end="\n\n")
    sizes = [n for n in SIZES if n >= 10]
    rows = {name: [difference_coverage(pair, n, campaigns) for n in sizes] for name, pair in PAIRS.items()}
    print(table(rows, "difference of two agents", sizes), end="\n\n")
    shares = {f"{share:.0%} pass": [share_coverage(share, n) for n in SIZES] for share in (0.05, 0.1, 0.5, 0.8, 0.95)}
    print(table(shares, "pass rates"), end="\n\n")
    print(table_of_shares(SHARE_SIZES))


if __name__ == "__main__":
    main()
