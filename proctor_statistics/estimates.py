"""A mean with its standard error and its 95 % interval, of bounded values that come in units.

Runs of one scenario resemble each other, and so do runs of one seed: a unit holds runs that are drawn together.

Sources:

* standard error of clustered values: Miller, "Adding Error Bars to Evals" (2024, arXiv:2411.00640). It has
  the correction G / (G - 1) for few clusters (Cameron and Miller, "A Practitioner's Guide to Cluster-Robust
  Inference", Journal of Human Resources 50, 2015, on few clusters);
* interval: Rubin's Bayesian bootstrap over whole units, stratum by stratum ("The Bayesian Bootstrap", Annals of
  Statistics 9, 1981). It has half a unit at the lower bound for the lower limit and half a unit at the upper bound for
  the upper limit. The extra units stand for outcomes that have not been seen yet, such as a breakdown to 0 points. With
  weight 1 it is Gaffke's interval ("Three test statistics for a nonparametric one-sided hypothesis on the mean of a
  nonnegative variable", 2005; Learned-Miller and Thomas, arXiv:1905.06208), for 0/1 values Clopper and Pearson's; with
  weight 1/2 it is Jeffreys' interval for 0/1 values (Brown, Cai and DasGupta, Statistical Science 16, 2001).

A sample in which nothing has broken down yet looks the same whether or not one run in ten does. The interval therefore
covers more often than 95 % where values vary little, and at few units (``benchmarks.coverage`` prints the table).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # of it only ``special``: ``scipy.stats`` takes a second to import
from numpy.typing import NDArray

from proctor_protocol.statistics import Estimate

CONFIDENCE = 0.95
RESAMPLES = 3_999
UNSEEN = 0.5
"""The weight of an outcome at a bound that has not been seen, in units."""

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Unit:
    """Values that are drawn together.

    Attributes:
        values: at least one.
        stratum: units of one stratum represent each other; each stratum keeps its size.
    """

    values: tuple[float, ...]
    stratum: Hashable = None
    weight: float = 1.0

    @property
    def sum(self) -> float:
        return self.weight * sum(self.values)

    @property
    def size(self) -> float:
        return self.weight * len(self.values)


def estimated(units: Sequence[Unit], *, bounds: tuple[float, float], why_one: str | None = None) -> Estimate:
    """The mean of all values in the units, by their weights, and how sure it is. The same units give the same interval,
    every time.

    Args:
        bounds: the lowest and the highest possible value.
        why_one: why there is a single unit, for an estimate that has no interval.

    Raises:
        ValueError: there is no unit, or one without values.
    """
    if not units or not all(unit.values for unit in units):
        raise ValueError("a mean needs at least one unit, and each unit at least one value")
    strata = _strata(units)
    values = sum(len(unit.values) for unit in units)
    size = sum(unit.size for unit in units)
    mean = sum(unit.sum for unit in units) / size
    error = _error(strata, size)
    if error is None:
        why = why_one or "a single run has no interval"
        return Estimate(
            mean=mean, standard_error=None, low=None, high=None, values=values, units=len(units), method="none", why=why
        )
    low, high = limits(*_draws(strata, size, bounds), bounds)
    return Estimate(
        mean=mean,
        standard_error=error,
        low=min(low, mean),
        high=max(high, mean),
        values=values,
        units=len(units),
        method="endpoints",
    )


def standard_error(units: Sequence[Unit]) -> float | None:
    """The standard error alone, without the interval that takes long to find; None as in ``Estimate``."""
    return _error(_strata(units), sum(unit.size for unit in units))


def _error(strata: Sequence[tuple[_Floats, _Floats]], size: float) -> float | None:
    """None where each stratum is a single unit, which leaves nothing to compare."""
    if all(len(sums) == 1 for sums, _ in strata):
        return None
    return float(np.sqrt(sum(_variance(sums, counts) for sums, counts in strata)) / size)


def _strata(units: Sequence[Unit]) -> list[tuple[_Floats, _Floats]]:
    """The units' sums and counts, by stratum; all one stratum where one of them has a single unit."""
    by_stratum: dict[Hashable, list[Unit]] = {}
    for unit in units:
        by_stratum.setdefault(unit.stratum, []).append(unit)
    groups = list(by_stratum.values())
    if any(len(group) == 1 for group in groups):
        groups = [list(units)]
    return [(np.array([unit.sum for unit in group]), np.array([unit.size for unit in group])) for group in groups]


def _variance(sums: _Floats, counts: _Floats) -> float:
    """Of the total of one stratum: the units' residuals around the stratum's own mean."""
    size = len(sums)
    if size == 1:
        return 0.0
    residuals = sums - sums.sum() / counts.sum() * counts
    return float((residuals**2).sum() * size / (size - 1))


def endpoint_draws(means: _Floats, bounds: tuple[float, float]) -> tuple[_Floats, _Floats]:
    """The draws whose quantiles are the interval of the mean of units that count alike: for its lower, its upper limit.

    What the lower ones have at or below a value, and the upper ones at or above it, is the one-sided p-value of that
    mean: the interval has the values that neither rejects.
    """
    return _draws([(means, np.ones(len(means)))], len(means), bounds)


def limits(lows: _Floats, highs: _Floats, bounds: tuple[float, float]) -> tuple[float, float]:
    """The interval of a mean, from its draws.

    Args:
        lows, highs: draws for the lower and for the upper limit.
        bounds: the lowest and the highest possible value.
    """
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(lows, tail, method="lower"), np.quantile(highs, 1 - tail, method="higher")
    return float(np.clip(low, *bounds)), float(np.clip(high, *bounds))


def _draws(
    strata: Sequence[tuple[_Floats, _Floats]], size: float, bounds: tuple[float, float]
) -> tuple[_Floats, _Floats]:
    """The mean under random weights of the units, and of half a unit at the lower bound, or at the upper one."""
    random = np.random.default_rng(0)
    lows, highs = np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    for sums, counts in strata:
        weights = random.standard_exponential((RESAMPLES, len(sums)))
        unseen = random.standard_gamma(UNSEEN, RESAMPLES) * counts.mean()
        total, weight = weights @ sums, weights @ counts + unseen
        share = counts.sum() / size
        lows += share * (total + unseen * bounds[0]) / weight
        highs += share * (total + unseen * bounds[1]) / weight
    return lows, highs


def wilson(share: float, trials: float) -> tuple[float, float]:
    """The score interval of a share, 0 to 1, of a number of trials that need not be whole.

    Sources: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of the American
    Statistical Association 22, 1927; with an effective number of trials: Franco, Little, Louis and Slud, "Comparative
    Study of Confidence Intervals for Proportions in Complex Sample Surveys", Journal of Survey Statistics and
    Methodology 7, 2019.
    """
    z = float(scipy.special.ndtri((1 + CONFIDENCE) / 2))
    middle = share + z * z / (2 * trials)
    half = z * (share * (1 - share) / trials + z * z / (4 * trials * trials)) ** 0.5
    whole = 1 + z * z / trials
    low, high = (middle - half) / whole, (middle + half) / whole
    return 0.0 if share == 0 else max(low, 0.0), 1.0 if share == 1 else min(high, 1.0)


def clopper_pearson(share: float, trials: float) -> tuple[float, float]:
    """The exact interval of a share, 0 to 1, of a number of trials that need not be whole.

    Source: Clopper and Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
    Biometrika 26, 1934, by the beta distribution.
    """
    passed, failed, tail = share * trials, (1 - share) * trials, (1 - CONFIDENCE) / 2
    low = float(scipy.special.betaincinv(passed, failed + 1, tail)) if passed > 0 else 0.0
    high = float(scipy.special.betaincinv(passed + 1, failed, 1 - tail)) if failed > 0 else 1.0
    return low, high
