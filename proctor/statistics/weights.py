"""What a run counts, and how much: the one weighting of means, differences, tables, pages, commands and exports.

What was planned decides: each scenario weighs the same, in it each difficulty, in it each seed, in it each repeat. How
many runs there are of something doesn't.

A planned cell without a run that counts (the evaluator lost it, or it was cancelled or never played) is replaced by the
mean of the cells beside it: a repeat by its seed's, a seed by its stratum's (scenario and difficulty). So a mean does
not move to the easy cells when hard ones are lost. This is the weighting-class adjustment for missing units (Oh and
Scheuren, "Weighting Adjustment for Unit Nonresponse", in Incomplete Data in Sample Surveys 2, 1983; Little, "Survey
Nonresponse Adjustments for Estimates of Means", International Statistical Review 54, 1986). It has no bias where the
cells of a stratum are lost without regard to their scores, as they are when an evaluator breaks down.

No estimate is made for a stratum without any run: the mean is over the other strata, and is said to be. Two agents are
compared over the cells that both have, whose means stand beside the difference.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import lcm, prod

from purple_sdk.protocol.statistics import Of, Run

Percent = Callable[[Run], float | None]
"""What a run counts, in percent; None for a run that doesn't count."""


def weights(cells: Sequence[tuple[object, ...]]) -> list[float]:
    """What each cell weighs: whole numbers, so that equal weights are 1 and means of equal values are exact.

    Args:
        cells: of equal length. All values in the first place weigh the same; in each of them, all values in the second
            place; and so on. Equal cells share the weight of one.
    """
    depths = range(len(cells[0]) if cells else 0)
    branches = Counter(prefix[:-1] for prefix in {cell[: depth + 1] for cell in cells for depth in depths})
    twins = Counter(cells)
    parts = [twins[cell] * prod(branches[cell[:depth]] for depth in depths) for cell in cells]
    whole = lcm(*parts)
    return [whole / part for part in parts]


def weighed_mean(values: Sequence[tuple[Run, float]]) -> float | None:
    """The mean of the values of runs; of several agents each weighs the same. None without any."""
    sizes = weights([(run.agent, *run.cell) for run, _ in values])
    total = sum(size * value for size, (_, value) in zip(sizes, values, strict=True))
    return total / sum(sizes) if values else None


def parts_by_scenario(runs: Iterable[Run]) -> dict[str, set[tuple[Of, str]]]:
    """The dimensions and criteria of each scenario, as judged runs of any agent have them."""
    parts: dict[str, set[tuple[Of, str]]] = {}
    for run in runs:
        if run.percent is not None:
            known = parts.setdefault(run.scenario, set())
            known.update(("dimension", name) for name in run.dimensions)
            known.update(("criterion", name) for name in run.criteria)
    return parts


def percent_of(of: Of, name: str, parts: Mapping[str, Collection[tuple[Of, str]]]) -> Percent:
    """What a run counts of all points, of a dimension or of a criterion.

    A run that its agent failed has 0, but not of a dimension or criterion that its scenario lacks.

    Args:
        name: of the dimension, or the criterion's id, in any scenario.
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
