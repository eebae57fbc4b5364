"""Weigh runs: the same weights for all means, differences, tables, pages, commands and exports.

The plan decides, not the number of runs. Scenarios weigh the same, and so do difficulties of one scenario, seeds of one
difficulty, and repeats of one seed.

A planned cell may lack a counted run: the evaluator lost it, or it was cancelled or never played. The mean of
neighbouring cells then replaces it. A repeat gets its seed's mean; a seed its stratum's (scenario and difficulty).
So a mean does not move to the easy cells when hard ones are lost. This is the weighting-class adjustment for missing
units (Oh and Scheuren, "Weighting Adjustment for Unit Nonresponse", in Incomplete Data in Sample Surveys 2, 1983;
Little, "Survey Nonresponse Adjustments for Estimates of Means", International Statistical Review 54, 1986). It has no
bias if the cells of a stratum are lost regardless of their scores, as when an evaluator breaks down.

A stratum without any run gets no estimate: the mean is over the other strata, and the row says so. Two agents are
compared over the cells that both have; their means over these cells are shown beside the difference.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import lcm, prod

from purple_sdk.protocol.statistics import Of, Run

Percent = Callable[[Run], float | None]
"""Returns the percentage that a run counts; None for a run that doesn't count."""


def weights(cells: Sequence[tuple[object, ...]]) -> list[float]:
    """Return the weight of each cell, a whole number. Equal weights are 1, so means of equal values are exact.

    Args:
        cells: tuples of equal length. All values at the first position weigh the same; under each of them, all values
            at the second position; and so on. Equal cells share the weight of one.
    """
    depths = range(len(cells[0]) if cells else 0)
    branches = Counter(prefix[:-1] for prefix in {cell[: depth + 1] for cell in cells for depth in depths})
    twins = Counter(cells)
    parts = [twins[cell] * prod(branches[cell[:depth]] for depth in depths) for cell in cells]
    whole = lcm(*parts)
    return [whole / part for part in parts]


def weighed_mean(values: Sequence[tuple[Run, float]]) -> float | None:
    """Return the weighted mean of the runs' values; each agent weighs the same. None without values."""
    sizes = weights([(run.agent, *run.cell) for run, _ in values])
    total = sum(size * value for size, (_, value) in zip(sizes, values, strict=True))
    return total / sum(sizes) if values else None


def parts_by_scenario(runs: Iterable[Run]) -> dict[str, set[tuple[Of, str]]]:
    """Return the dimensions and criteria of each scenario, from the judged runs of all agents."""
    parts: dict[str, set[tuple[Of, str]]] = {}
    for run in runs:
        if run.percent is not None:
            known = parts.setdefault(run.scenario, set())
            known.update(("dimension", name) for name in run.dimensions)
            known.update(("criterion", name) for name in run.criteria)
    return parts


def select_percent(of: Of, name: str, parts: Mapping[str, Collection[tuple[Of, str]]]) -> Percent:
    """Return a function that gives a run's percentage: of all points, of a dimension or of a criterion.

    A run that its agent failed has 0, except for a dimension or criterion that its scenario lacks.

    Args:
        name: the dimension's name, or the criterion's id, in any scenario.
        parts: the dimensions and criteria of scenarios (``parts_by_scenario``).
    """
    if of == "overall":
        return lambda run: run.counted_percent

    def percent(run: Run) -> float | None:
        if run.is_own_failure:
            return 0.0 if run.scenario not in parts or (of, name) in parts[run.scenario] else None
        points = run.parts(of).get(name)
        return points.percent if run.percent is not None and points is not None else None

    return percent
