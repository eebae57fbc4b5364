"""How often a run passes a threshold: at least once in k runs (pass@k), and in each of k runs (pass^k).

Sources: pass@k is the unbiased estimator of Chen et al., "Evaluating Large Language Models Trained on Code" (2021,
arXiv:2107.03374), section 2.1; pass^k is the estimator of Yao et al., "tau-bench" (2024, arXiv:2406.12045), section 4.
Both are computed for each task and averaged over tasks, by the weights of their runs.

The interval of the share that passes is computed as in ``estimates`` for shares. Attempts at one task resemble each
other, so the interval is based on the effective number of independent runs. This number is the share's binomial
variance over its variance by tasks, scaled for the few degrees of freedom of the latter. Source: Korn and Graubard,
"Confidence Intervals for Proportions with Small Expected Number of Positive Counts Estimated from Survey Data", Survey
Methodology 24, 1998. If tasks do not vary, the effective number is the number of tasks. If their weights are unequal,
it is then the squared sum of the weights over the sum of their squares (Kish, Survey Sampling, 1965, section 11.7).
"""

from collections.abc import Callable, Mapping, Sequence
from math import comb
from typing import Any

from proctor.statistics.estimates import CONFIDENCE, share_interval
from purple_sdk.protocol.statistics import PassRates


def pass_at_k(runs: int, passed: int, k: int) -> float:
    """Return the chance that at least one of k of these runs passes. Raises ValueError unless 1 <= k <= runs."""
    _require(runs, passed, k)
    return 1.0 - comb(runs - passed, k) / comb(runs, k)


def pass_hat_k(runs: int, passed: int, k: int) -> float:
    """Return the chance that all of k of these runs pass. Raises ValueError unless 1 <= k <= runs."""
    _require(runs, passed, k)
    return comb(passed, k) / comb(runs, k)


def pass_rates(
    passed: Mapping[Any, Sequence[bool]],
    threshold: float,
    units: Sequence[Sequence[bool]] | None = None,
    why_one: str | None = None,
    weights: Sequence[float] | None = None,
    unit_weights: Sequence[float] | None = None,
) -> PassRates | None:
    """Return how often runs pass, with pass@k and pass^k; None without tasks.

    Args:
        passed: for each task, whether each of its runs passed; at least one run each.
        threshold: the pass mark, in percent of the points.
        units: the same runs, grouped as the interval draws them together; None groups them by task.
        why_one: the reason why there is no interval, if there is none.
        weights: the weight of each task; None if all runs weigh the same.
        unit_weights: the weight of each unit.
    """
    tasks = [(len(runs), sum(runs)) for runs in passed.values()]
    if not tasks:
        return None
    runs, passing = sum(n for n, _ in tasks), sum(c for _, c in tasks)
    drawn = list(passed.values()) if units is None else units
    shares = weights or [1.0] * len(tasks)

    def averaged(rate: Callable[[int, int, int], float], k: int) -> float:
        return sum(share * rate(n, c, k) for share, (n, c) in zip(shares, tasks, strict=True)) / sum(shares)

    at = {k: averaged(pass_at_k, k) for k in range(1, min(n for n, _ in tasks) + 1)}
    share = at[1] if weights else passing / runs
    low, high = (None, None) if why_one else share_interval(share, effective_runs(drawn, unit_weights))
    return PassRates(
        threshold=threshold,
        runs=runs,
        passed=passing,
        low=low,
        high=high,
        why=why_one,
        at=at,
        hat={k: averaged(pass_hat_k, k) for k in at},
    )


def effective_runs(units: Sequence[Sequence[bool]], weights: Sequence[float] | None = None) -> float:
    """Return the number of independent runs that say as much about the pass share as these runs, which come in units.

    Args:
        weights: the weight of each unit; None if all runs weigh the same.
    """
    runs = sum(map(len, units))
    sizes = weights or [float(len(unit)) for unit in units]
    whole = sum(sizes)
    alike = whole**2 / sum(size**2 for size in sizes)
    if len(units) == 1:
        return float(runs)
    if len(units) == runs:
        return alike
    shares = [sum(unit) / len(unit) for unit in units]
    share = sum(size * unit_share for size, unit_share in zip(sizes, shares, strict=True)) / whole
    residuals = [size * (unit_share - share) for size, unit_share in zip(sizes, shares, strict=True)]
    variance = sum(residual**2 for residual in residuals) * len(units) / (len(units) - 1) / whole**2
    if variance < 1e-12:
        return alike
    from scipy import special

    t = special.stdtrit([runs - 1, len(units) - 1], (1 + CONFIDENCE) / 2)
    return float(min(runs, max(1.0, share * (1 - share) / variance * (t[0] / t[1]) ** 2)))


def _require(runs: int, passed: int, k: int) -> None:
    if not 1 <= k <= runs or not 0 <= passed <= runs:
        raise ValueError(f"k is {k} and {passed} passed of {runs} runs: k is at least 1 and at most the number of runs")
