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
  nonnegative variable", 2005; Learned-Miller and Thomas, arXiv:1905.06208), for 0/1 values Clopper and Pearson's;
* shares: the same interval of 0/1 values, with three quarters of a unit. With half a unit, which resembles Jeffreys'
  interval (Brown, Cai and DasGupta, Statistical Science 16, 2001), it covers only 87.5 % at 4 units. With three
  quarters it covers at least 93.4 % at 2 to 20 units and any share from 0.01 to 0.99, by enumeration of all outcomes.
  Clopper and Pearson's is wider, and Wilson's and Agresti and Coull's cover 82.8 % at 2 units.

A sample in which nothing has broken down yet looks the same whether or not one run in ten does. The interval therefore
covers more often than 95 % where values vary little, and at few units (``benchmarks.coverage`` prints the table).
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
"""The same where all values are at the bounds, as those of passes are."""

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Unit:
    """Values that are drawn together.

    Attributes:
        values: at least one.
        stratum: units of one stratum represent each other; each stratum keeps its size.
        weights: of the values; None where each has 1.
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


def error_of_mean(means: _Floats, sizes: _Floats) -> float | None:
    """The standard error of the mean of units by their sizes; None for a single unit."""
    return _error([(means * sizes, sizes)], float(sizes.sum()))


def endpoint_draws(means: _Floats, sizes: _Floats, bounds: tuple[float, float]) -> tuple[_Floats, _Floats]:
    """The draws whose quantiles are the interval of the mean of units: for its lower, its upper limit.

    What the lower ones have at or below a value, and the upper ones at or above it, is the one-sided p-value of that
    mean: the interval has the values that neither rejects.

    Args:
        sizes: what each unit weighs.
    """
    return _draws([(means * sizes, sizes)], float(sizes.sum()), bounds, UNSEEN)


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
    strata: Sequence[tuple[_Floats, _Floats]], size: float, bounds: tuple[float, float], unseen_weight: float
) -> tuple[_Floats, _Floats]:
    """The mean under random weights of the units, and of what was not seen at the lower bound, or at the upper one."""
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
    """The interval of a share, 0 to 1, of a number of trials that need not be whole.

    Source: this module's docstring; by the beta distribution, as Clopper and Pearson's ("The Use of Confidence or
    Fiducial Limits Illustrated in the Case of the Binomial", Biometrika 26, 1934).
    """
    from scipy import special

    passed, failed, tail = share * trials, (1 - share) * trials, (1 - CONFIDENCE) / 2
    low = float(special.betaincinv(passed, failed + UNSEEN_OF_SHARES, tail)) if passed > 0 else 0.0
    high = float(special.betaincinv(passed + UNSEEN_OF_SHARES, failed, 1 - tail)) if failed > 0 else 1.0
    return low, high
