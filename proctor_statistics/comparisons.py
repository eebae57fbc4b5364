"""Two agents on the same scenarios, seeds and repeats: is one better, by how much, and what would tell?

The interval, the p-value and the power all ask about the same thing: the mean of the differences by unit (scenario and
seed; repeats of a seed are one unit). Sources:

* paired differences and their units: Miller (2024, arXiv:2411.00640), on paired analysis;
* p-value: the sign-flip permutation test (Good, "Permutation, Parametric, and Bootstrap Tests of Hypotheses", 2005),
  exact up to 13 units. If the agents are equal, each unit's difference is as likely to be positive as negative;
* interval: the differences that this test does not reject, which are those between two means of subsets of the units
  (Hartigan, "Using Subsample Values as Typical Values", Journal of the American Statistical Association 64, 1969). It
  excludes 0 exactly where p is at most 0.05. Like the test, it takes differences for symmetric around their mean;
* power: the two-sided normal formula ``((z(1 - alpha/2) + z(power)) * spread / difference) ** 2`` (Miller, on power
  analysis), and its range from the 90 % chi-squared interval of the spread.

With fewer than 6 units no outcome has p at most 0.05: then there is neither interval nor p-value.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import ceil

import numpy as np
import scipy

from proctor_protocol.statistics import Comparison, Estimate, Run
from proctor_statistics.copies import are_copies, same_runs

ALPHA = 0.05
POWER = 0.8
DIFFERENCES = (1, 2, 5, 10, 20)
"""For which differences, in points, a comparison says how many units they need."""

FEWEST_UNITS = 6
"""The fewest that can show a difference at all: 2 / 2**6 < 0.05 < 2 / 2**5."""

_SURE_OF_SPREAD = 0.9
_EXACT_UP_TO = 13
_SUBSETS = 9_999
_Key = tuple[str, int | None, int]


def compared(
    first: str,
    second: str,
    runs: Sequence[Run],
    percent: Callable[[Run], float | None] = lambda run: run.counted_percent,
) -> Comparison:
    """Set two agents side by side.

    Args:
        first: the agent whose points count positively.
        second: the other agent.
        runs: all runs of both; others are left out.
        percent: what is compared, 0 to 100; all points unless told otherwise. A run that its agent failed has 0.
    """
    firsts, seconds = (_by_key(agent, runs, percent) for agent in (first, second))
    shared = sorted(firsts.keys() & seconds.keys(), key=str)
    copied = {scenario for scenario in {key[0] for key in shared} if _is_copied(scenario, (first, second), runs)}
    by_unit: dict[tuple[str, int | None], list[float]] = defaultdict(list)
    for key in shared:
        by_unit[key[0], None if key[0] in copied else key[1]].append(firsts[key] - seconds[key])
    means = np.array([np.mean(differences) for differences in by_unit.values()])
    found = Comparison(
        first=first,
        second=second,
        pairs=len(shared),
        unpaired=len(firsts.keys() ^ seconds.keys()),
        difference=_estimated(means, len(shared), has_copies=bool(copied)) if shared else None,
        p_value=_p_value(means) if len(means) >= FEWEST_UNITS else None,
        spread=float(np.std(means, ddof=1)) if len(means) > 1 else None,
        units=len(means),
    )
    needed = {points: count for points in DIFFERENCES if (count := units_needed(found, points)) is not None}
    ranges = {points: units_needed_range(found, points) for points in needed}
    return found.model_copy(
        update={"units_needed": needed, "units_needed_range": {p: each for p, each in ranges.items() if each}}
    )


def units_needed(found: Comparison, difference: float) -> int | None:
    """How many units (scenario and seed) would show such a difference, in points, four times in five; None unknown.

    Raises:
        ValueError: the difference isn't above 0.
    """
    if difference <= 0:
        raise ValueError(f"difference is {difference}: it is a number of percentage points above 0")
    return None if found.spread is None else _needed(found.spread, difference)


def units_needed_range(found: Comparison, difference: float) -> tuple[int, int] | None:
    """The range of ``units_needed`` by what the spread may be; None where it isn't known."""
    if found.spread is None or found.units < 2:
        return None
    free = found.units - 1
    tails = scipy.stats.chi2.ppf([(1 + _SURE_OF_SPREAD) / 2, (1 - _SURE_OF_SPREAD) / 2], free)
    low, high = (_needed(found.spread * float(np.sqrt(free / each)), difference) for each in tails)
    return low, high


def _needed(spread: float, difference: float) -> int:
    z = scipy.stats.norm.ppf(1 - ALPHA / 2) + scipy.stats.norm.ppf(POWER)
    return max(FEWEST_UNITS, ceil(float(z * spread / difference) ** 2))


def _by_key(agent: str, runs: Sequence[Run], percent: Callable[[Run], float | None]) -> dict[_Key, float]:
    return {
        (run.scenario, run.seed, run.repeat): value
        for run in runs
        if run.agent == agent and (value := percent(run)) is not None
    }


def _is_copied(scenario: str, agents: Sequence[str], runs: Sequence[Run]) -> bool:
    return all(are_copies([run for run in runs if run.agent == agent and run.scenario == scenario]) for agent in agents)


def _estimated(means: np.ndarray, pairs: int, *, has_copies: bool) -> Estimate:
    """The mean difference of the units with the interval that belongs to the test."""
    units = len(means)
    error = float(np.std(means, ddof=1) / np.sqrt(units)) if units > 1 else None
    found = Estimate(
        mean=float(means.mean()),
        standard_error=error,
        low=None,
        high=None,
        values=pairs,
        units=units,
        method="none",
    )
    if units < FEWEST_UNITS:
        few = f"{units} independent pair{'' if units == 1 else 's'}, and a difference takes at least {FEWEST_UNITS}"
        return found.model_copy(update={"why": f"{same_runs(pairs)}; {few}" if has_copies else few})
    subsets = np.sort(_subset_means(means))
    rank = int(ALPHA / 2 * (len(subsets) + 1))
    low, high = subsets[rank - 1], subsets[-rank]
    limits = {"low": max(-100.0, float(low)), "high": min(100.0, float(high)), "method": "sign-flip"}
    return found.model_copy(update=limits)


def _p_value(means: np.ndarray) -> float:
    subsets = _subset_means(means)
    fewer = min(int((subsets <= 0).sum()), int((subsets >= 0).sum()))
    return min(1.0, 2 * (fewer + 1) / (len(subsets) + 1))


def _subset_means(means: np.ndarray) -> np.ndarray:
    """The means of all subsets of the units but the empty one; of random ones where there are too many."""
    units = len(means)
    if units <= _EXACT_UP_TO:
        chosen = (np.arange(1, 2**units)[:, None] >> np.arange(units)) & 1
    else:
        chosen = np.random.default_rng(0).integers(2, size=(_SUBSETS, units))
        chosen[chosen.sum(axis=1) == 0, 0] = 1
    return np.asarray(chosen @ means / chosen.sum(axis=1))
