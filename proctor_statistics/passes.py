"""How often a run passes a threshold: at least once in k runs (pass@k), and in each of k runs (pass^k).

Sources: pass@k is the unbiased estimator of Chen et al., "Evaluating Large Language Models Trained on Code" (2021,
arXiv:2107.03374), section 2.1; pass^k that of Yao et al., "tau-bench" (2024, arXiv:2406.12045), section 4. Both are
taken for each task and averaged over tasks.

The interval of the share that passes is Clopper and Pearson's, of the effective number of independent runs, since
attempts at one task resemble each other. That number is the share's binomial variance over its variance by tasks.
It is scaled for the few degrees of freedom of the latter: Korn and Graubard, "Confidence Intervals for Proportions with
Small Expected Number of Positive Counts Estimated from Survey Data", Survey Methodology 24, 1998. It is the number of
tasks where these do not vary.
"""

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

import scipy

from proctor_protocol.statistics import PassRates
from proctor_statistics.estimates import CONFIDENCE, clopper_pearson


def pass_at_k(runs: int, passed: int, k: int) -> float:
    """The chance that at least one of k of these runs passes; a ValueError where k isn't between 1 and runs."""
    _require(runs, passed, k)
    return 1.0 - comb(runs - passed, k) / comb(runs, k)


def pass_hat_k(runs: int, passed: int, k: int) -> float:
    """The chance that all of k of these runs pass; a ValueError where k isn't between 1 and runs."""
    _require(runs, passed, k)
    return comb(passed, k) / comb(runs, k)


def pass_rates(
    passed: Mapping[Any, Sequence[bool]],
    threshold: float,
    units: Sequence[Sequence[bool]] | None = None,
    why_one: str | None = None,
) -> PassRates | None:
    """How often runs pass.

    Args:
        passed: for each task, whether each of its runs passed.
        threshold: the pass mark, in percent of the points.
        units: the same runs, as they are drawn together for the interval; by task where None.
    """
    tasks = [(len(runs), sum(runs)) for runs in passed.values() if runs]
    if not tasks:
        return None
    runs, passing = sum(n for n, _ in tasks), sum(c for _, c in tasks)
    drawn = [each for each in (passed.values() if units is None else units) if each]
    low, high = (None, None) if why_one else clopper_pearson(passing / runs, effective_runs(drawn))
    ks = range(1, min(n for n, _ in tasks) + 1)
    return PassRates(
        threshold=threshold,
        runs=runs,
        passed=passing,
        low=low,
        high=high,
        why=why_one,
        at={k: sum(pass_at_k(n, c, k) for n, c in tasks) / len(tasks) for k in ks},
        hat={k: sum(pass_hat_k(n, c, k) for n, c in tasks) / len(tasks) for k in ks},
    )


def effective_runs(units: Sequence[Sequence[bool]]) -> float:
    """How many independent runs say as much about the share that passes as these, which come in units."""
    runs = sum(map(len, units))
    if len(units) in (1, runs):
        return float(runs)
    share = sum(map(sum, units)) / runs
    residuals = [sum(unit) - share * len(unit) for unit in units]
    variance = sum(each**2 for each in residuals) * len(units) / (len(units) - 1) / runs**2
    if variance == 0:
        return float(len(units))
    t = scipy.special.stdtrit([runs - 1, len(units) - 1], (1 + CONFIDENCE) / 2)
    return float(min(runs, max(1.0, share * (1 - share) / variance * (t[0] / t[1]) ** 2)))


def _require(runs: int, passed: int, k: int) -> None:
    if not 1 <= k <= runs or not 0 <= passed <= runs:
        raise ValueError(f"k is {k} and {passed} passed of {runs} runs: k is at least 1 and at most the number of runs")
