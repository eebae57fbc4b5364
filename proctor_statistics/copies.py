"""Runs that are copies of each other, and so say no more than one of them.

A rule-based agent plays a fixed scenario the same way each time: three seeds give the same day three times.
"""

from collections.abc import Sequence

from proctor_protocol.statistics import Run


def are_copies(runs: Sequence[Run]) -> bool:
    """Whether there are several runs of one agent on one scenario, and all are the same in every criterion and cost.

    Runs without criteria are not taken for copies, nor are those of different days of a family.
    """
    if len(runs) < 2 or not runs[0].criteria:
        return False
    if runs[0].difficulty is not None and len({run.unit for run in runs}) > 1:
        return False
    first, *others = [(run.status, run.overall, run.criteria, run.tokens, run.cost) for run in runs]
    return all(other == first for other in others)


SAME_RUNS = "all runs of a scenario are the same in every criterion, so they count as one"


def same_runs(count: int) -> str:
    return f"the {count} runs are the same in every criterion, so they count as one"
