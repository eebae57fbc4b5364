"""How often a run passes a threshold: at least once in k runs (pass@k), and in each of k runs (pass^k).

Sources: pass@k is the unbiased estimator of Chen et al., "Evaluating Large Language Models Trained on Code" (2021,
arXiv:2107.03374), section 2.1; pass^k that of Yao et al., "tau-bench" (2024, arXiv:2406.12045), section 4. Both are
taken for each task and averaged over tasks. The interval of the share that passes is Wilson's (Journal of the American
Statistical Association 22, 1927).
"""

from collections.abc import Mapping, Sequence
from math import comb

import scipy

from proctor_protocol.statistics import PassRates
from proctor_statistics.estimates import CONFIDENCE


def pass_at_k(runs: int, passed: int, k: int) -> float:
    """The chance that at least one of k runs drawn from these passes.

    Raises:
        ValueError: k isn't between 1 and runs.
    """
    _require(runs, passed, k)
    return 1.0 - comb(runs - passed, k) / comb(runs, k)


def pass_hat_k(runs: int, passed: int, k: int) -> float:
    """The chance that all of k runs drawn from these pass.

    Raises:
        ValueError: k isn't between 1 and runs.
    """
    _require(runs, passed, k)
    return comb(passed, k) / comb(runs, k)


def pass_rates(passed: Mapping[str, Sequence[bool]], threshold: float) -> PassRates | None:
    """Of each task's runs, whether they passed; None where there is no run."""
    tasks = [(len(runs), sum(runs)) for runs in passed.values() if runs]
    if not tasks:
        return None
    runs, passing = sum(n for n, _ in tasks), sum(c for _, c in tasks)
    share = scipy.stats.binomtest(passing, runs).proportion_ci(CONFIDENCE, method="wilson")
    ks = range(1, min(n for n, _ in tasks) + 1)
    return PassRates(
        threshold=threshold,
        runs=runs,
        passed=passing,
        low=float(share.low),
        high=float(share.high),
        at={k: sum(pass_at_k(n, c, k) for n, c in tasks) / len(tasks) for k in ks},
        hat={k: sum(pass_hat_k(n, c, k) for n, c in tasks) / len(tasks) for k in ks},
    )


def _require(runs: int, passed: int, k: int) -> None:
    if not 1 <= k <= runs or not 0 <= passed <= runs:
        raise ValueError(f"k is {k} and {passed} passed of {runs} runs: k is at least 1 and at most the number of runs")
