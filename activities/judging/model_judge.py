"""A model as judge: its prompt, its structured verdict, and the verdict's credibility.

In the prompt, the evidence comes before the criterion, so a prompt cache serves the evidence for all criteria.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, create_model

from proctor.activities.judging.records import SHORTEST_QUOTE, Window
from proctor.activities.models.prompts import UNTRUSTED_NOTICE, quote_untrusted
from proctor.activities.models.structured import ask
from proctor.protocol.scenario import EvaluationCriterion, ItemScope, ScenarioConfig
from purple_sdk.protocol.json_safe import json_safe_text

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

PROMPT_VERSION = "5"
"""The version of the judge's prompt. Raise it with every change of the prompt: a calibration holds for one version."""

_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_SYSTEM = f"{_TEXTS['system']}\n{UNTRUSTED_NOTICE}"

_WHOLE = "score"
"""The id of the only item of a criterion without a rubric."""


class Quote(BaseModel):
    """Words of a record that decide an item."""

    record: str = Field(description="the record's id", max_length=40)
    quote: str = Field(
        description="some words of that record's text, exactly as they stand there; at least 8 characters, or all",
        max_length=300,
    )


class ItemVerdict(BaseModel):
    """A judgement of one item."""

    id: str = Field(description="the item's id, as given", max_length=80)
    quotes: list[Quote] = Field(description="the records that decide it; empty if no record bears on it", max_length=5)
    reason: str = Field(description="one sentence", max_length=400)
    points: int | None = Field(description="whole points, from 0 to the item's; null where no record bears on the item")


class Verdict(BaseModel):
    """A judgement of a criterion."""

    items: list[ItemVerdict] = Field(description="every item exactly once", max_length=60)
    explanation: str = Field(description="one or two sentences that sum it up", max_length=600)


@lru_cache(maxsize=64)
def verdict_type(item_ids: tuple[str, ...], *, is_narrow: bool = False) -> type[Verdict]:
    """Return a type of verdict that allows only these ids of items.

    One type serves all criteria of a scenario, since a schema is part of a provider's cached prefix. A narrow type
    requires exactly these items. It is for the second try, since small models also judge items outside the question.
    """
    items: Any = Verdict.model_fields["items"]
    if is_narrow:
        items = Field(description="every item exactly once", min_length=len(item_ids), max_length=len(item_ids))
    ids = (Literal[item_ids], Field(description="as given"))
    item = create_model("ItemVerdict", __base__=ItemVerdict, id=ids)  # type: ignore[arg-type]
    return create_model("Verdict", __base__=Verdict, items=(list[item], items))


@dataclass(frozen=True)
class Item:
    """The subject of a verdict: an item of the rubric, or the whole criterion if it has no rubric."""

    id: str
    points: int
    statement: str
    scope: ItemScope


@dataclass(frozen=True)
class Ballot:
    """One judge's verdict on one criterion: a verdict for each item, in order, combined from all windows of the
    evidence.
    """

    judge: str
    items: tuple[ItemVerdict, ...]
    explanation: str
    is_doubtful: bool = False
    """Whether the judge gave no credible verdict. If so, no item counts as met."""


def list_items(criterion: EvaluationCriterion) -> list[Item]:
    if criterion.rubric:
        return [Item(item.id, item.points, item.statement, item.scope) for item in criterion.rubric]
    return [Item(_WHOLE, criterion.max_score, criterion.name, "any")]


def list_item_ids(scenario: ScenarioConfig) -> tuple[str, ...]:
    """Return the ids of all items of a scenario, for ``verdict_type``."""
    return tuple(dict.fromkeys(item.id for criterion in scenario.criteria for item in list_items(criterion)))


async def vote(
    criterion: EvaluationCriterion,
    item_ids: tuple[str, ...],
    user_prompt: str,
    evidence: Sequence[Window],
    llm: "BaseChatModel",
    judge: str,
) -> Ballot:
    """Let one judge score a criterion, window by window. Raises the errors of ``structured.ask``."""
    items = list_items(criterion)
    verdicts = [
        await ask(
            llm,
            _SYSTEM,
            write_question(criterion, items, window),
            verdict_type(item_ids),
            lambda verdict, window=window: find_fault(verdict, items, window),  # type: ignore[misc]
            context=evidence_text(user_prompt, window),
            narrower_type=verdict_type(tuple(item.id for item in items), is_narrow=True),
        )
        for window in evidence
    ]
    by_item = [[_find_verdict(verdict, item) for verdict in verdicts] for item in items]
    return Ballot(
        judge,
        tuple(combine(item, verdicts_on_item) for item, verdicts_on_item in zip(items, by_item, strict=True)),
        json_safe_text(" ".join(dict.fromkeys(verdict.explanation for verdict in verdicts))),
    )


def doubt(criterion: EvaluationCriterion, judge: str, reason: str) -> Ballot:
    """Return the ballot of a judge without credible answers. No item is met, and the result says so. The reason is cut
    to 400 characters.
    """
    reason = json_safe_text(reason)[:400]
    items = tuple(ItemVerdict(id=item.id, quotes=[], reason=reason, points=0) for item in list_items(criterion))
    return Ballot(judge, items, "The judge gave no verdict that can be believed; nothing is counted.", is_doubtful=True)


def evidence_text(user_prompt: str, window: Window) -> str:
    """Return the part of the prompt that every criterion of an assessment shares."""
    lines = "\n".join(record.render() for record in window.records) or "(nothing)"
    records = quote_untrusted("records of the assessment", lines)
    return json_safe_text(_TEXTS["evidence"].format(user_prompt=user_prompt, records=records))


def write_question(criterion: EvaluationCriterion, items: Sequence[Item], window: Window) -> str:
    """Return the part of the prompt that differs by criterion."""
    task = [
        f"Now judge this criterion: {criterion.name}",
        criterion.description,
        f"Dimension: {criterion.dimension}. Maximum: {criterion.max_score} points.",
        criterion.evaluation_prompt or "",
        _TEXTS["items" if criterion.rubric else "whole"],
        *(f"- {item.id} ({item.points} points; {_TEXTS['scopes'][item.scope]}): {item.statement}" for item in items),
    ]
    if window.of > 1:
        task.append(_TEXTS["window"].format(number=window.number, of=window.of))
    task.append(_TEXTS["verdict"])
    return "\n".join(line for line in task if line)


def find_fault(verdict: Verdict, items: Sequence[Item], window: Window) -> str | None:
    """Find a fault in a verdict on a window.

    Args:
        verdict: the model's answer.
        items: the requested items. Each must be judged once, with points from 0 to the item's maximum.
        window: the records that the model has read. Quotes must come from them.

    Returns:
        A sentence that asks the model for a correction; None if the verdict is credible.
    """
    wanted = {item.id: item for item in items}
    ids = [item.id for item in verdict.items]
    if sorted(ids) != sorted(wanted):
        return f"items are {', '.join(ids) or 'none'}: give each of {', '.join(wanted)} exactly once"
    for answer in verdict.items:
        item = wanted[answer.id]
        if answer.points is not None and not 0 <= answer.points <= item.points:
            return f"item {answer.id} has {answer.points} points: it must be between 0 and {item.points}"
        for quote in answer.quotes:
            record = window.find(quote.record)
            if record is None:
                return f"item {answer.id} quotes record {quote.record!r}: there is no such record"
            if not quote.quote.strip() or not record.has(quote.quote):
                return f"item {answer.id} quotes {quote.quote[:80]!r}: that is not in record {quote.record}"
            if record.is_too_short(quote.quote):
                return (
                    f"item {answer.id} quotes {quote.quote!r} of record {quote.record}: quote at least "
                    f"{SHORTEST_QUOTE} characters, a whole word, or the whole text"
                )
        if not answer.quotes and _needs_quote(item, answer.points):
            return (
                f"item {answer.id} has {answer.points} points and no quote: name and quote the record that decides it"
            )
    return None


def _needs_quote(item: Item, points: int | None) -> bool:
    """Return whether a verdict needs a quote. Earned points and violations need one; an absence can't be quoted."""
    if points is None:
        return False
    return points > 0 if item.scope == "any" else points < item.points


def combine(item: Item, verdicts: Sequence[ItemVerdict]) -> ItemVerdict:
    """Combine the verdicts of all windows.

    If an item can be earned in any window, its best window counts. The item gets 0 if no window bears on it. If an item
    is kept unless violated, its worst window counts. The item gets all points if no window bears on it.
    """
    bearing = [verdict for verdict in verdicts if verdict.points is not None]
    if not bearing:
        points = 0 if item.scope == "any" else item.points
        return verdicts[0].model_copy(update={"points": points})
    choose = max if item.scope == "any" else min
    return choose(bearing, key=lambda verdict: verdict.points or 0)


def _find_verdict(verdict: Verdict, item: Item) -> ItemVerdict:
    return next(answer for answer in verdict.items if answer.id == item.id)
