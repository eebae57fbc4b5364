"""Estimate the mean of bounded values that come in units, with its standard error and its 95 % interval.

Runs of one scenario resemble each other, and so do runs of one seed: a unit holds runs that are drawn together.

Sources:

* standard error of clustered values: Miller, "Adding Error Bars to Evals" (2024, arXiv:2411.00640). The
  correction for few clusters is G / (G - 1). Source: Cameron and Miller, "A Practitioner's Guide to Cluster-Robust
  Inference", Journal of Human Resources 50, 2015;
* interval: Rubin's Bayesian bootstrap over whole units, stratum by stratum ("The Bayesian Bootstrap", Annals of
  Statistics 9, 1981). It has half a unit at the lower bound for the lower limit and half a unit at the upper bound for
  the upper limit. The extra units represent outcomes that have not been seen yet, such as a breakdown to 0 points. With
  weight 1 it is Gaffke's interval ("Three test statistics for a nonparametric one-sided hypothesis on the mean of a
  nonnegative variable", 2005; Learned-Miller and Thomas, arXiv:1905.06208), for 0/1 values Clopper and Pearson's;
* shares: the same interval of 0/1 values, with three quarters of a unit. With half a unit, which resembles Jeffreys'
  interval (Brown, Cai and DasGupta, Statistical Science 16, 2001), it covers only 87.5 % at 4 units. With three
  quarters it covers at least 93.4 % at 2 to 20 units, for any share from 0.01 to 0.99. All outcomes were enumerated.
  Clopper and Pearson's is wider, and Wilson's and Agresti and Coull's cover 82.8 % at 2 units.

A sample without a breakdown looks the same whether or not one run in ten breaks down. The interval therefore covers
more often than 95 % if values vary little, and if units are few (``benchmarks.coverage`` prints the table).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from purple_sdk.protocol.statistics import Estimate

CONFIDENCE = 0.95
RESAMPLES = 3_999
UNSEEN = 0.5
"""The weight of an outcome at a bound that has not been seen, in units."""
UNSEEN_OF_SHARES = 0.75
"""The same weight if all values are at the bounds, as passes are."""

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Unit:
    """Values that are drawn together.

    Attributes:
        values: at least one.
        stratum: the group of units that represent each other; each stratum keeps its size.
        weights: one weight for each value; None if each has weight 1.
    """

    values: tuple[float, ...]
    stratum: Hashable = None
    weights: tuple[float, ...] | None = None

    @property
    def sum(self) -> float:
        weights = (1.0,) * len(self.values) if self.weights is None else self.weights
        return sum(weight * value for weight, value in zip(weights, self.values, strict=True))

    @property
    def size(self) -> float:
        return float(len(self.values)) if self.weights is None else sum(self.weights)


def estimated(units: Sequence[Unit], *, bounds: tuple[float, float], why_one: str | None = None) -> Estimate:
    """Estimate the weighted mean of all values in the units, with its interval. The same units always give the same
    interval.

    Args:
        bounds: the lowest and the highest possible value.
        why_one: why there is a single unit, for an estimate that has no interval.

    Raises:
        ValueError: there is no unit, or a unit has no values.
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
    low, high = _interval(strata, units, bounds)
    return Estimate(
        mean=mean,
        standard_error=error,
        low=min(low, mean),
        high=max(high, mean),
        values=values,
        units=len(units),
        method="endpoints",
    )


def _interval(
    strata: Sequence[tuple[_Floats, _Floats]], units: Sequence[Unit], bounds: tuple[float, float]
) -> tuple[float, float]:
    size = sum(float(counts.sum()) for _, counts in strata)
    if not all(value in bounds for unit in units for value in unit.values):
        return limits(*_draws(strata, size, bounds, UNSEEN), bounds)
    means, counts = strata[0][0] / strata[0][1], strata[0][1]
    if len(strata) == 1 and np.ptp(counts) < 1e-9 * counts[0] and np.isin(np.round(means, 9), bounds).all():
        width = bounds[1] - bounds[0]
        low, high = share_interval(float((means.mean() - bounds[0]) / width), len(means))
        return bounds[0] + low * width, bounds[0] + high * width
    return limits(*_draws(strata, size, bounds, UNSEEN_OF_SHARES), bounds)


def standard_error(units: Sequence[Unit]) -> float | None:
    """Return only the standard error, without the interval, which is slow to compute; None if it can't be estimated."""
    return _error(_strata(units), sum(unit.size for unit in units))


def _error(strata: Sequence[tuple[_Floats, _Floats]], size: float) -> float | None:
    """Return the standard error; None if each stratum is a single unit, which leaves nothing to compare."""
    if all(len(sums) == 1 for sums, _ in strata):
        return None
    return float(np.sqrt(sum(_variance(sums, counts) for sums, counts in strata)) / size)


def _strata(units: Sequence[Unit]) -> list[tuple[_Floats, _Floats]]:
    """Return the units' sums and counts, by stratum. If a stratum has a single unit, all units form one stratum."""
    by_stratum: dict[Hashable, list[Unit]] = {}
    for unit in units:
        by_stratum.setdefault(unit.stratum, []).append(unit)
    groups = list(by_stratum.values())
    if any(len(group) == 1 for group in groups):
        groups = [list(units)]
    return [(np.array([unit.sum for unit in group]), np.array([unit.size for unit in group])) for group in groups]


def _variance(sums: _Floats, counts: _Floats) -> float:
    """Return the variance of one stratum's total, from the units' residuals around the stratum's mean."""
    size = len(sums)
    if size == 1:
        return 0.0
    residuals = sums - sums.sum() / counts.sum() * counts
    return float((residuals**2).sum() * size / (size - 1))


def error_of_mean(means: _Floats, sizes: _Floats) -> float | None:
    """Return the standard error of the mean of units, weighted by their sizes; None for a single unit."""
    return _error([(means * sizes, sizes)], float(sizes.sum()))


def endpoint_draws(means: _Floats, sizes: _Floats, bounds: tuple[float, float]) -> tuple[_Floats, _Floats]:
    """Return the draws for the lower and for the upper limit of the mean of units: their quantiles are the limits.

    The share of lower draws at or below a value is the one-sided p-value of that mean. The same holds for upper draws
    at or above it. The interval contains the values that neither test rejects.

    Args:
        sizes: the weight of each unit.
    """
    return _draws([(means * sizes, sizes)], float(sizes.sum()), bounds, UNSEEN)


def limits(lows: _Floats, highs: _Floats, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the interval of a mean, from its draws.

    Args:
        lows, highs: draws for the lower and for the upper limit.
        bounds: the lowest and the highest possible value.
    """
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(lows, tail, method="lower"), np.quantile(highs, 1 - tail, method="higher")
    return float(np.clip(low, *bounds)), float(np.clip(high, *bounds))


def _draws(
    strata: Sequence[tuple[_Floats, _Floats]], size: float, bounds: tuple[float, float], unseen_weight: float
) -> tuple[_Floats, _Floats]:
    """Draw means under random weights: with an unseen outcome at the lower bound, and with one at the upper bound."""
    random = np.random.default_rng(0)
    lows, highs = np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    for sums, counts in strata:
        weights = random.standard_exponential((RESAMPLES, len(sums)))
        unseen = random.standard_gamma(unseen_weight, RESAMPLES) * counts.mean()
        total, weight = weights @ sums, weights @ counts + unseen
        share = counts.sum() / size
        lows += share * (total + unseen * bounds[0]) / weight
        highs += share * (total + unseen * bounds[1]) / weight
    return lows, highs


def share_interval(share: float, trials: float) -> tuple[float, float]:
    """Return the interval of a share, 0 to 1; the number of trials need not be whole.

    Source: this module's docstring. Clopper and Pearson also use the beta distribution ("The Use of Confidence or
    Fiducial Limits Illustrated in the Case of the Binomial", Biometrika 26, 1934).
    """
    from scipy import special

    passed, failed, tail = share * trials, (1 - share) * trials, (1 - CONFIDENCE) / 2
    low = float(special.betaincinv(passed, failed + UNSEEN_OF_SHARES, tail)) if passed > 0 else 0.0
    high = float(special.betaincinv(passed + UNSEEN_OF_SHARES, failed, 1 - tail)) if failed > 0 else 1.0
    return low, high
