"""Let several judges score one criterion. Each item gets the median of its points, which is robust against one judge's
error. If there are two middle values, the lower one counts, and their difference is reported as a doubt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_high, median_low
from typing import TYPE_CHECKING, Any

from proctor.activities.judging.model_judge import PROMPT_VERSION, Ballot, Item, doubt, list_item_ids, list_items, vote
from proctor.activities.judging.records import Window
from proctor.activities.models.factory import ModelAnswerError
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.json_safe import json_safe_text
from purple_sdk.protocol.results import CriterionResult, Doubt

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel


@dataclass(frozen=True)
class Judge:
    """A judging model, with its name in results. One model may be on a panel several times."""

    name: str
    llm: "BaseChatModel"


async def judge_by_panel(
    criterion: EvaluationCriterion,
    scenario: ScenarioConfig,
    evidence: Sequence[Window],
    judges: Sequence[Judge],
    *,
    is_last_resort: bool = False,
) -> CriterionResult:
    """Let every judge score a criterion. Raises the errors of ``structured.ask``.

    ``evidence`` has all windows. With ``is_last_resort``, a judge without usable answers counts as in doubt, and
    doesn't fail.
    """
    item_ids = list_item_ids(scenario)

    async def ballot(judge: Judge) -> Ballot:
        try:
            return await vote(criterion, item_ids, scenario.user_prompt, evidence, judge.llm, judge.name)
        except ModelAnswerError as error:
            if not is_last_resort:
                raise
            return doubt(criterion, judge.name, str(error))

    ballots = await do_all(*map(ballot, judges))
    rows = [_row(item, place, ballots, evidence) for place, item in enumerate(list_items(criterion))]
    models = list(dict.fromkeys(judge.name for judge in judges))
    details: dict[str, Any] = {"items": rows, "windows": len(evidence), "prompt_version": PROMPT_VERSION}
    if len(judges) > 1:
        details["disagreements"] = [row["id"] for row in rows if row["spread"]]
    return CriterionResult(
        criterion_id=criterion.criterion_id,
        name=criterion.name,
        dimension=criterion.dimension,
        score=sum(row["points"] for row in rows),
        max_score=criterion.max_score,
        explanation=_explanation(ballots, rows),
        details=details,
        judged_by=f"model:{', '.join(models)}",
        doubtful_points=sum(row["at_most"] - row["points"] for row in rows if row.get("doubt")),
        doubts=[
            Doubt(item=row["id"], statement=row["statement"], reason=row["reason"]) for row in rows if row.get("doubt")
        ],
    )


def _row(item: Item, place: int, ballots: Sequence[Ballot], evidence: Sequence[Window]) -> dict[str, Any]:
    """Return one item's row. Its reason and quotes come from a judge that gave the median."""
    votes = [ballot.items[place].points or 0 for ballot in ballots]
    points = median_low(votes)
    ballot = ballots[votes.index(points)]
    decisive = ballot.items[place]
    row: dict[str, Any] = {
        "id": item.id,
        "statement": item.statement,
        "points": points,
        "max_points": item.points,
        "met": points == item.points,
        "by": f"model:{ballot.judge}",
        "reason": json_safe_text(decisive.reason),
        "quotes": [_quote_row(quote, evidence) for quote in decisive.quotes],
    }
    # The median if every doubt is decided for the participant.
    at_most = median_high(
        item.points if ballot.is_doubtful else vote for ballot, vote in zip(ballots, votes, strict=True)
    )
    if at_most > points:
        row |= {"doubt": True, "at_most": at_most}
        if median_high(votes) > points:
            row["reason"] = f"the votes disagree ({', '.join(map(str, votes))} of {item.points}): {row['reason']}"
    if len(votes) > 1:
        row |= {"votes": votes, "spread": max(votes) - min(votes)}
    return row


def _quote_row(quote: Any, evidence: Sequence[Window]) -> dict[str, Any]:
    record = next(record for window in evidence if (record := window.find(quote.record)))
    shown: dict[str, Any] = {"record": record.id, "quote": json_safe_text(quote.quote), "kind": record.kind}
    known = {"turn": record.turn, "time": record.time, "channel": record.channel, "entry": record.facts.get("entry")}
    return shown | {name: value for name, value in known.items() if value is not None}


def _explanation(ballots: Sequence[Ballot], rows: Sequence[dict[str, Any]]) -> str:
    if len(ballots) == 1:
        return ballots[0].explanation
    unanimous = sum(not row["spread"] for row in rows)
    return f"{len(ballots)} judges, of one mind on {unanimous} of {len(rows)} items. {ballots[0].explanation}"
