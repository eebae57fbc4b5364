"""A mean with its standard error and its 95 % interval, of values that hang together in units.

Runs of one scenario resemble each other, and so do runs of one seed: they are drawn together or not at all. Sources:

* standard error of clustered values: Miller, "Adding Error Bars to Evals" (2024, arXiv:2411.00640), with
  the correction G / (G - 1) for few clusters (Cameron and Miller, "A Practitioner's Guide to Cluster-Robust
  Inference", Journal of Human Resources 50, 2015, on few clusters);
* interval: bootstrap-t over whole units, stratum by stratum (Efron and Tibshirani, "An Introduction to the Bootstrap",
  1993, chapter 12); it covers better than percentiles where there are few units;
* fewer than five units in all: Student's t around the same standard error, as resampling has too little to draw from.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from proctor_protocol.statistics import Estimate

CONFIDENCE = 0.95
RESAMPLES = 1_999
_FEWEST_UNITS_TO_RESAMPLE = 5
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Unit:
    """Values that are drawn together.

    Attributes:
        values: at least one.
        stratum: units of one stratum stand for each other; each stratum stays as large as it is.
    """

    values: tuple[float, ...]
    stratum: Hashable = None


def estimated(units: Sequence[Unit], *, bounds: tuple[float, float] = (-np.inf, np.inf)) -> Estimate:
    """The mean of all values in the units, and how sure it is. The same units give the same interval, every time.

    Raises:
        ValueError: there is no unit, or one without values.
    """
    if not units or not all(unit.values for unit in units):
        raise ValueError("a mean needs at least one unit, and each unit at least one value")
    strata = _strata(units)
    values = sum(len(unit.values) for unit in units)
    mean = sum(map(sum, (unit.values for unit in units))) / values
    free = len(units) - len(strata)
    error = _error(strata, values)
    if error is None:
        return Estimate(
            mean=mean, standard_error=None, low=None, high=None, values=values, units=len(units), method="none"
        )
    if error <= 1e-12 * max(1.0, abs(mean)):
        below = above = 0.0
        method: Literal["bootstrap-t", "t"] = "t"
    elif len(units) < _FEWEST_UNITS_TO_RESAMPLE:
        below = above = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, free))
        method = "t"
    else:
        below, above = _studentized(strata, mean)
        method = "bootstrap-t"
    low, high = (float(np.clip(each, *bounds)) for each in (mean - below * error, mean + above * error))
    return Estimate(mean=mean, standard_error=error, low=low, high=high, values=values, units=len(units), method=method)


def standard_error(units: Sequence[Unit]) -> float | None:
    """The standard error alone, without the interval that takes long to find; None as in ``Estimate``."""
    return _error(_strata(units), sum(len(unit.values) for unit in units))


def _error(strata: Sequence[tuple[_Floats, _Floats]], values: int) -> float | None:
    """None where each stratum is a single unit, which leaves nothing to compare."""
    if all(len(sums) == 1 for sums, _ in strata):
        return None
    return float(np.sqrt(sum(_variance(sums[None, :], counts[None, :])[0] for sums, counts in strata)) / values)


def _strata(units: Sequence[Unit]) -> list[tuple[_Floats, _Floats]]:
    """The units' sums and counts, by stratum; all one stratum where one of them has a single unit."""
    by_stratum: dict[Hashable, list[Unit]] = {}
    for unit in units:
        by_stratum.setdefault(unit.stratum, []).append(unit)
    groups = list(by_stratum.values())
    if any(len(group) == 1 for group in groups):
        groups = [list(units)]
    return [
        (np.array([sum(unit.values) for unit in group]), np.array([float(len(unit.values)) for unit in group]))
        for group in groups
    ]


def _variance(sums: _Floats, counts: _Floats) -> _Floats:
    """Of the total of one stratum, for each row: the units' residuals around the stratum's own mean."""
    size = sums.shape[1]
    if size == 1:
        return np.zeros(len(sums))
    means = sums.sum(axis=1) / counts.sum(axis=1)
    residuals = sums - means[:, None] * counts
    return np.asarray((residuals**2).sum(axis=1) * size / (size - 1))


def _studentized(strata: Sequence[tuple[_Floats, _Floats]], mean: float) -> tuple[float, float]:
    """How many standard errors the interval goes below and above the mean."""
    random = np.random.default_rng(0)
    total, count, variance = np.zeros(RESAMPLES), np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    for sums, counts in strata:
        drawn = random.integers(len(sums), size=(RESAMPLES, len(sums)))
        total += sums[drawn].sum(axis=1)
        count += counts[drawn].sum(axis=1)
        variance += _variance(sums[drawn], counts[drawn])
    varied = variance > 0  # a draw of the same unit again and again has no error of its own
    ratios = (total[varied] / count[varied] - mean) * count[varied] / np.sqrt(variance[varied])
    tail = (1 - CONFIDENCE) / 2
    lowest, highest = np.quantile(ratios, [tail, 1 - tail])
    return max(0.0, float(highest)), max(0.0, float(-lowest))
