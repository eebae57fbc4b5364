"""Compare two agents on the same scenarios, seeds and repeats, and find how many runs would show a difference.

The interval, the p-value and the power all concern one value: the mean of the differences by unit (scenario and
seed; repeats of a seed are one unit), weighted by ``weights``. This mean equals the difference of the two agents' means
over the cells that both have. Sources:

* paired differences and their units: Miller (2024, arXiv:2411.00640), on paired analysis;
* interval: computed as in ``estimates``, with half a unit at -100 or +100 for unseen outcomes, such as a breakdown of
  one agent;
* p-value: twice the smaller share of the interval's draws on the far side of 0. The interval therefore excludes 0
  exactly when p is at most 0.05;
* power: the number of units with which the interval excludes 0 in four of five campaigns, if the units' mean is normal.
  Its range comes from the 90 % chi-squared interval of the spread. The spread is the standard error by units, times the
  root of their number.

With fewer than 6 units there is neither interval nor p-value. With 5 units, equal agents differ in the same direction
in every unit in 6 of 100 campaigns.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from proctor.statistics.estimates import UNSEEN, endpoint_draws, error_of_mean, limits
from proctor.statistics.weights import Percent, weights
from purple_sdk.protocol.statistics import Comparison, Estimate, Run

ALPHA = 0.05
POWER = 0.8
DIFFERENCES = (1, 2, 5, 10, 20)
"""The differences, in points, for which a comparison reports the number of units needed."""

SAME_RUNS = "all runs of a scenario are the same in every criterion, so they count as one"

FEWEST_UNITS = 6
"""The fewest units that can show a difference: 2 / 2**6 < 0.05 < 2 / 2**5."""

_SURE_OF_SPREAD = 0.9
_BOUNDS = (-100.0, 100.0)
_Cell = tuple[str, int | None, int | None, int]


def compared(
    first: str,
    second: str,
    runs: Sequence[Run],
    percent: Percent = lambda run: run.counted_percent,
) -> Comparison:
    """Compare two agents over the cells that both have played.

    Args:
        runs: all runs of both agents; runs of other agents are ignored.
        percent: returns the compared percentage of a run, 0 to 100; by default, of all points. A run that its agent
            failed has 0.
    """
    firsts, seconds = (_by_cell(agent, runs, percent) for agent in (first, second))
    shared = sorted(firsts.keys() & seconds.keys(), key=str)
    copied = {scenario for scenario in {cell[0] for cell in shared} if _is_copied(scenario, (first, second), runs)}
    groups = {run.unit: run.group for run in runs}
    shares = dict(zip(shared, weights(shared), strict=True))
    by_unit: dict[tuple[object, ...], list[_Cell]] = defaultdict(list)
    for cell in shared:
        by_unit[cell[:1] if cell[0] in copied else groups[cell[:3]]].append(cell)
    sizes = np.array([sum(shares[cell] for cell in cells) for cells in by_unit.values()])
    sums = np.array(
        [sum(shares[cell] * (firsts[cell] - seconds[cell]) for cell in cells) for cells in by_unit.values()]
    )
    difference, p_value = None, None
    if shared:
        difference, p_value = mean_difference(sums / sizes, len(shared), sizes, has_copies=bool(copied))
    error = difference.standard_error if difference else None
    comparison = Comparison(
        first=first,
        second=second,
        pairs=len(shared),
        unpaired=len(firsts.keys() ^ seconds.keys()),
        first_percent=_mean_over(shares, firsts),
        second_percent=_mean_over(shares, seconds),
        difference=difference,
        p_value=p_value,
        spread=None if error is None else error * len(sizes) ** 0.5,
        units=len(sizes),
    )
    needed = {points: count for points in DIFFERENCES if (count := units_needed(comparison, points)) is not None}
    ranges = {points: units_needed_range(comparison, points) for points in needed}
    return comparison.model_copy(
        update={"units_needed": needed, "units_needed_range": {p: span for p, span in ranges.items() if span}}
    )


def units_needed(comparison: Comparison, difference: float) -> int | None:
    """Return the number of units (scenario, difficulty and seed) that show a difference of this size, in points, four
    times in five. Returns None if their spread is unknown or 0.

    Raises:
        ValueError: the difference isn't above 0.
    """
    if difference <= 0:
        raise ValueError(f"difference is {difference}: it is a number of percentage points above 0")
    return _needed(comparison.spread, difference) if comparison.spread else None


def units_needed_range(comparison: Comparison, difference: float) -> tuple[int, int] | None:
    """Return the range of ``units_needed`` over the plausible spreads; None if the spread is unknown."""
    if not comparison.spread or comparison.units < 2:
        return None
    from scipy import special

    free = comparison.units - 1
    chi2 = 2 * special.gammaincinv(free / 2, [(1 + _SURE_OF_SPREAD) / 2, (1 - _SURE_OF_SPREAD) / 2])
    low, high = (_needed(comparison.spread * float(np.sqrt(free / quantile)), difference) for quantile in chi2)
    return low, high


def _needed(spread: float, difference: float) -> int:
    """Find the number of units by bisection: if a number is enough, a larger number is too."""
    most = FEWEST_UNITS
    while not _shows(most, spread, difference):
        most *= 2
    return bisect_left(range(most), True, lo=FEWEST_UNITS, key=lambda units: _shows(units, spread, difference))


def _shows(units: int, spread: float, difference: float) -> bool:
    """Whether the lower limit is above 0 if the units' mean is the value that four of five campaigns exceed.

    The draws of the lower limit are ``(1 - u) * mean - 100 * u``, with u from Beta(1/2, units) as the bound's weight.
    """
    from scipy import special

    u = special.betaincinv(UNSEEN, units, (np.arange(100) + 0.5) / 100)
    mean = difference - special.ndtri(POWER) * spread / np.sqrt(units)
    below = special.ndtr((_BOUNDS[1] * u / (1 - u) - mean) / (spread / np.sqrt(units + 1)))
    return bool(below.mean() <= ALPHA / 2)


def are_copies(runs: Sequence[Run]) -> bool:
    """Whether several runs of one agent on one scenario are equal in every criterion and in cost.

    A rule-based agent plays a fixed scenario the same way each time: three seeds give the same day three times.

    Runs without criteria and runs of different days of a family don't count as copies.
    """
    if len(runs) < 2 or not runs[0].criteria:
        return False
    if runs[0].difficulty is not None and len({run.unit for run in runs}) > 1:
        return False
    first, *others = [(run.status, run.overall, run.criteria, run.tokens, run.cost) for run in runs]
    return all(other == first for other in others)


def same_runs(count: int) -> str:
    return f"the {count} runs are the same in every criterion, so they count as one"


def _by_cell(agent: str, runs: Sequence[Run], percent: Percent) -> dict[_Cell, float]:
    return {run.cell: value for run in runs if run.agent == agent and (value := percent(run)) is not None}


def _mean_over(shares: Mapping[_Cell, float], values: Mapping[_Cell, float]) -> float | None:
    total = sum(share * values[cell] for cell, share in shares.items())
    return total / sum(shares.values()) if shares else None


def _is_copied(scenario: str, agents: Sequence[str], runs: Sequence[Run]) -> bool:
    return all(are_copies([run for run in runs if run.agent == agent and run.scenario == scenario]) for agent in agents)


def mean_difference(
    means: np.ndarray, pairs: int, sizes: np.ndarray | None = None, *, has_copies: bool = False
) -> tuple[Estimate, float | None]:
    """Return the mean of the units' differences, -100 to 100, with its interval, and the p-value.

    Args:
        means: the mean difference of each unit, in points, -100 to 100; at least one.
        pairs: the number of pairs of runs behind the means.
        sizes: the weight of each unit; None if all weigh the same.
        has_copies: whether some scenario's runs are copies, which explains few units.
    """
    units = len(means)
    sizes = np.ones(units) if sizes is None else sizes
    mean = float(np.average(means, weights=sizes))
    estimate = Estimate(
        mean=mean,
        standard_error=error_of_mean(means, sizes),
        low=None,
        high=None,
        values=pairs,
        units=units,
        method="none",
    )
    if units < FEWEST_UNITS:
        few = f"{units} independent pair{'' if units == 1 else 's'}, and a difference takes at least {FEWEST_UNITS}"
        return estimate.model_copy(update={"why": f"{SAME_RUNS}; {few}" if has_copies else few}), None
    lows, highs = endpoint_draws(means, sizes, _BOUNDS)
    low, high = limits(lows, highs, _BOUNDS)
    p_value = min(1.0, 2 * float(min((lows <= 0).mean(), (highs >= 0).mean())))
    return estimate.model_copy(update={"low": min(low, mean), "high": max(high, mean), "method": "endpoints"}), p_value
