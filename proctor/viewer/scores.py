"""The score as a table, biggest losses first; each verdict with its reason, and quotes that lead to what they quote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proctor.protocol.archive import TurnRecord
from proctor.protocol.losses import loss_of
from proctor.viewer.versions import anchor_of
from proctor.viewer.words import clip
from purple_sdk.protocol.results import DIMENSIONS, AssessmentResults, CriterionResult

_SECTIONS = {"email": "emails", "sms": "messages", "chat": "messages", "calendar": "events", "contacts": "contacts"}


@dataclass(frozen=True)
class Quote:
    """Words that a verdict quotes, and their place: a turn, and the name of an action or an item in it."""

    text: str
    where: str
    turn: int | None = None
    anchor: str | None = None


@dataclass(frozen=True)
class Item:
    statement: str
    points: str
    is_met: bool | None
    reason: str
    by: str
    quotes: list[Quote] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    result: CriterionResult
    lost: int
    missing: list[str]
    items: list[Item]

    @property
    def share(self) -> float:
        """The points earned, of those judged: 0 to 1."""
        return self.result.score / self.result.max_score if self.result.max_score else 0.0


@dataclass(frozen=True)
class DimensionRows:
    name: str
    score: str
    max_score: int
    rows: list[Row]


def dimensions_of(results: AssessmentResults, turns: Sequence[TurnRecord]) -> list[DimensionRows]:
    """All dimensions, and in each the criteria that cost most first."""
    dimensions = []
    for name in DIMENSIONS:
        rows = [row_of(c, turns, results) for c in results.criteria_results if c.dimension == name]
        if rows:
            whole = results.scores.dimensions[name]
            rows.sort(key=lambda row: (-row.lost, row.result.name))
            dimensions.append(DimensionRows(name.replace("_", " "), whole.score_text, whole.max_score, rows))
    return dimensions


def row_of(criterion: CriterionResult, turns: Sequence[TurnRecord], results: AssessmentResults) -> Row:
    """One criterion with its verdict's items."""
    loss = loss_of(criterion)
    items = (criterion.details or {}).get("items")
    rows: list[Item] = []
    if isinstance(items, list):
        rows = [_item(item, turns, results) for item in items if isinstance(item, Mapping)]
    elif isinstance(items, Mapping):
        rows = [
            Item(clip(name), _points(item), None if item.get("points") else False, clip(item.get("finding"), 2_000), "")
            for name, item in items.items()
            if isinstance(item, Mapping)
        ]
    return Row(criterion, loss.points, [clip(each) for each in loss.missing], rows)


def _item(item: Mapping[str, Any], turns: Sequence[TurnRecord], results: AssessmentResults) -> Item:
    quotes, met = item.get("quotes"), item.get("met")
    quotes = quotes if isinstance(quotes, list) else []
    return Item(
        statement=clip(item.get("statement") or item.get("id"), 1_000),
        points=_points(item),
        is_met=met if isinstance(met, bool) else None,
        reason=clip(item.get("reason"), 2_000),
        by=clip(item.get("by"), 120),
        quotes=[_quote(each, turns, results) for each in quotes if isinstance(each, Mapping)],
    )


def _points(item: Mapping[str, Any]) -> str:
    points, most = item.get("points"), item.get("max_points")
    earned = f"{points:g}" if isinstance(points, int | float) else ""
    return f"{earned}/{most:g}" if isinstance(most, int | float) else earned


def _quote(quote: Mapping[str, Any], turns: Sequence[TurnRecord], results: AssessmentResults) -> Quote:
    text, kind, channel = clip(quote.get("quote"), 600), str(quote.get("kind") or ""), str(quote.get("channel") or "")
    turn = quote.get("turn")
    if kind == "state" and quote.get("entry"):
        path = f"{channel}/{_SECTIONS.get(channel, channel)}/{quote['entry']}"
        return Quote(text, f"{channel} at the end", results.turns_taken, anchor_of(path))
    if isinstance(turn, int):
        return Quote(text, f"{kind} in turn {turn}", turn, _action_with(text, turn, channel, turns))
    return Quote(text, kind)


def _action_with(text: str, turn: int, channel: str, turns: Sequence[TurnRecord]) -> str | None:
    words = " ".join(text.split())
    for record in turns:
        if record.turn == turn:
            for number, action in enumerate(record.actions):
                text_of_action = " ".join(" ".join(str(value) for value in action.parameters.values()).split())
                if action.action.startswith(channel) and words in text_of_action:
                    return f"d{turn}-{number}"
    return None
