"""Two small learners that look for shortcuts: a tree, and a linear model (check 14).

Both learners get only numbers, and give each row a score. They are trained five times on four fifths of the days, and
tested on the rest. So each day is tested once.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Fitted = Callable[[Matrix], Matrix]
"""A fitted model: a function from rows to their scores."""

FOLDS = 5
_BINS, _DEPTH, _LEAST_ROWS = 16, 5, 15
_RIDGE = 1.0


def fit_tree(rows: Matrix, target: Matrix, depth: int = _DEPTH) -> Fitted:
    """Fit a regression tree. Each split lowers the squared error most, among up to 16 quantiles of each column."""
    split = _best_split(rows, target) if depth and len(target) >= 2 * _LEAST_ROWS else None
    if split is None:
        mean = float(target.mean())
        return lambda new: np.full(len(new), mean)
    column, bound = split
    is_low = rows[:, column] <= bound
    low, high = fit_tree(rows[is_low], target[is_low], depth - 1), fit_tree(rows[~is_low], target[~is_low], depth - 1)
    return lambda new: np.where(new[:, column] <= bound, low(new), high(new))


def _best_split(rows: Matrix, target: Matrix) -> tuple[int, float] | None:
    """The column and the bound of the best split; None if no split lowers the error."""
    count, total = len(target), target.sum()
    best, found = total**2 / count + 1e-9, None
    for column in range(rows.shape[1]):
        values = rows[:, column]
        bounds = np.unique(np.quantile(values, np.arange(1, _BINS) / _BINS, method="lower"))
        bins = np.searchsorted(bounds, values)
        below = np.cumsum(np.bincount(bins, minlength=len(bounds) + 1))[:-1]
        sums = np.cumsum(np.bincount(bins, target, len(bounds) + 1))[:-1]
        fits = (below >= _LEAST_ROWS) & (count - below >= _LEAST_ROWS)
        if not fits.any():
            continue
        below, sums, bounds = below[fits], sums[fits], bounds[fits]
        gains = sums**2 / below + (total - sums) ** 2 / (count - below)
        place = int(gains.argmax())
        if gains[place] > best:
            best, found = float(gains[place]), (column, float(bounds[place]))
    return found


def fit_line(rows: Matrix, target: Matrix) -> Fitted:
    """Fit a linear model by ridge regression. For a column of few values, each value is also a feature."""
    levels = [np.unique(rows[:, column]) for column in range(rows.shape[1])]
    mean, spread = rows.mean(0), rows.std(0) + 1e-9

    def widened(new: Matrix) -> Matrix:
        flags = [new[:, [n]] == values for n, values in enumerate(levels) if 2 < len(values) <= _BINS]
        return np.hstack([np.ones((len(new), 1)), (new - mean) / spread, *flags]).astype(np.float64)

    wide = widened(rows)
    weights = np.linalg.solve(wide.T @ wide + _RIDGE * np.eye(wide.shape[1]), wide.T @ target)
    return lambda new: widened(new) @ weights


def scores(fit: Callable[[Matrix, Matrix], Fitted], rows: Matrix, target: Matrix, folds: Sequence[int]) -> Matrix:
    """The score of each row, by a model that was fitted on the other folds."""
    found, own = np.zeros(len(target)), np.asarray(folds)
    for fold in range(FOLDS):
        is_test = own == fold
        if is_test.any() and not is_test.all():
            found[is_test] = fit(rows[~is_test], target[~is_test])(rows[is_test])
    return found


def right_among(scored: Matrix, is_right: NDArray[np.bool_]) -> float:
    """The share of right candidates among the N highest scores, where N is the number of right candidates.

    Candidates with the lowest of these scores count by their mean.
    """
    count = int(is_right.sum())
    bound = np.sort(scored)[-count]
    above, level = scored > bound, scored == bound
    places = count - int(above.sum())
    return float((is_right[above].sum() + places * is_right[level].mean()) / count)
