"""Runs that are copies of each other, and so say no more than one of them.

A rule-based agent plays a fixed scenario the same way each time: three seeds give the same day three times.
"""

from collections.abc import Sequence

from proctor_protocol.statistics import Run


def are_copies(runs: Sequence[Run]) -> bool:
    """Whether there are several runs of one agent on one scenario, and all are the same in every criterion and cost.

    Without criteria nobody can tell: then they are not taken for copies.
    """
    first, *others = [(run.status, run.overall, run.criteria, run.tokens, run.cost) for run in runs] or [None]
    return bool(others) and bool(runs[0].criteria) and all(other == first for other in others)


def same_runs(count: int) -> str:
    """How that is said."""
    return f"the {count} runs are the same in every criterion, so they count as one"
