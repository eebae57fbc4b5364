"""Lost points by criterion, and how to earn them, in words that a participant's author understands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from purple_sdk.protocol.results import AssessmentResults, CriterionResult

BIGGEST = 5
"""The number of losses in short lists."""


@dataclass(frozen=True)
class Loss:
    """The points lost in one criterion.

    Attributes:
        criterion: its verdict.
        points: the number of lost points, of the judged ones.
        earns: the author's description of how to earn its points; None if there is none.
        missing: the unmet requirements, one phrase each.
    """

    criterion: CriterionResult
    points: int
    earns: str | None
    missing: tuple[str, ...]


def losses(results: AssessmentResults) -> list[Loss]:
    """Return every criterion that lost points, largest loss first; among equal losses, the smaller criterion first."""
    losses = [
        measure_loss(criterion) for criterion in results.criteria_results if criterion.score < criterion.max_score
    ]
    return sorted(losses, key=lambda loss: (-loss.points, loss.criterion.max_score, loss.criterion.name))


def measure_loss(criterion: CriterionResult) -> Loss:
    """Return the loss in one criterion."""
    missing = tuple(_missing(criterion.details or {}))
    return Loss(criterion, criterion.max_score - criterion.score, criterion.description, missing)


def _missing(details: Mapping[str, Any]) -> list[str]:
    """Return the unmet parts in a verdict's details: a rubric's statements, or the names of points."""
    items = details.get("items")
    if isinstance(items, list):
        return [
            str(item.get("statement") or item.get("id")).rstrip(".")
            for item in items
            if isinstance(item, dict) and item.get("met") is False
        ]
    if isinstance(items, dict):
        return [
            f"{name}: {item['finding']}"
            for name, item in items.items()
            if isinstance(item, dict) and item.get("finding") and not item.get("points")
        ]
    points = details.get("points")
    if isinstance(points, dict):
        return [str(name) for name, earned in points.items() if not earned]
    return []
