"""Two agents on the same scenarios, seeds and repeats: is one better, by how much, and what would tell?

Sources: the paired difference and its units as in Miller (2024, arXiv:2411.00640), on paired analysis; the p-value is
that of the sign-flip permutation test (Good, "Permutation, Parametric, and Bootstrap Tests of Hypotheses", 2005), exact
up to 13 units, by scipy; the number of units that a difference needs is the two-sided normal formula
``((z(1 - alpha/2) + z(power)) * spread / difference) ** 2`` (Miller, on power analysis).
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import ceil

import numpy as np
import scipy

from proctor_protocol.statistics import Comparison, Run
from proctor_statistics.estimates import Unit, estimated

ALPHA = 0.05
POWER = 0.8
DIFFERENCES = (1, 2, 5, 10, 20)
"""For which differences, in points, a comparison says how many units they need."""

_PERMUTATIONS = 9_999
_Key = tuple[str, int | None, int]


def compared(
    first: str,
    second: str,
    runs: Sequence[Run],
    percent: Callable[[Run], float | None] = lambda run: run.percent,
) -> Comparison:
    """Set two agents side by side; ``percent`` is what is compared, all points unless told otherwise."""
    firsts, seconds = (_by_key(agent, runs, percent) for agent in (first, second))
    shared = sorted(firsts.keys() & seconds.keys(), key=str)
    unpaired = len(firsts.keys() ^ seconds.keys())
    by_seed: dict[tuple[str, int | None], list[float]] = defaultdict(list)
    for key in shared:
        by_seed[key[:2]].append(firsts[key] - seconds[key])
    means = np.array([np.mean(differences) for differences in by_seed.values()])
    found = Comparison(
        first=first,
        second=second,
        pairs=len(shared),
        unpaired=unpaired,
        difference=estimated(
            [Unit(tuple(differences), scenario) for (scenario, _), differences in by_seed.items()], bounds=(-100, 100)
        )
        if shared
        else None,
        p_value=_p_value(means) if len(means) > 1 else None,
        spread=float(np.std(means, ddof=1)) if len(means) > 1 else None,
        units=len(means),
    )
    needed = {points: count for points in DIFFERENCES if (count := units_needed(found, points)) is not None}
    return found.model_copy(update={"units_needed": needed})


def units_needed(found: Comparison, difference: float) -> int | None:
    """How many units (scenario and seed) would show such a difference, in points, four times in five; None unknown.

    Raises:
        ValueError: the difference isn't above 0.
    """
    if difference <= 0:
        raise ValueError(f"difference is {difference}: it is a number of percentage points above 0")
    if found.spread is None:
        return None
    z = scipy.stats.norm.ppf(1 - ALPHA / 2) + scipy.stats.norm.ppf(POWER)
    return max(2, ceil(float(z * found.spread / difference) ** 2))


def _by_key(agent: str, runs: Sequence[Run], percent: Callable[[Run], float | None]) -> dict[_Key, float]:
    return {
        (run.scenario, run.seed, run.repeat): value
        for run in runs
        if run.agent == agent and (value := percent(run)) is not None
    }


def _p_value(differences: np.ndarray) -> float:
    found = scipy.stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=_PERMUTATIONS,
        alternative="two-sided",
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)
