"""Where points were lost, and what would have earned them, in words that a participant's author understands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from purple_sdk.protocol.results import AssessmentResults, CriterionResult

BIGGEST = 5
"""How many losses are listed where there is no room for all."""


@dataclass(frozen=True)
class Loss:
    """What one criterion cost.

    Attributes:
        criterion: its verdict. points: how many points were lost, of those that were judged. earns: what earns its
        points, in its author's words; None where there are none. missing: what wasn't met, one phrase each.
    """

    criterion: CriterionResult
    points: int
    earns: str | None
    missing: tuple[str, ...]


def losses(results: AssessmentResults) -> list[Loss]:
    """Every criterion that lost points, the biggest loss first; of equal ones the greater share of its criterion."""
    losses = [loss_of(criterion) for criterion in results.criteria_results if criterion.score < criterion.max_score]
    return sorted(losses, key=lambda loss: (-loss.points, loss.criterion.max_score, loss.criterion.name))


def loss_of(criterion: CriterionResult) -> Loss:
    """What one criterion cost."""
    missing = tuple(_missing(criterion.details or {}))
    return Loss(criterion, criterion.max_score - criterion.score, criterion.description, missing)


def _missing(details: Mapping[str, Any]) -> list[str]:
    """What of a verdict's details is not met: a rubric's items by their statements, named points by their names."""
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
