"""A model as judge: prompt, structured answer, and the bounds that the answer has to keep."""

from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from pydantic import BaseModel, Field

from activities.judging.evidence import evidence
from activities.judging.json_safe import json_safe_text
from activities.models.prompts import UNTRUSTED_NOTICE
from activities.models.structured import ask
from proctor_protocol.evaluation import AgentBeatsEvalContext
from proctor_protocol.results import CriterionResult
from proctor_protocol.scenario import EvaluationCriterion, RubricItem

_SYSTEM = f"""You are the judge in an assessment of an AI personal assistant. You score one criterion, on the evidence \
alone: what the simulator's event log and state show counts, what the assistant says about itself doesn't. Points are \
earned by work that was done; what can't be found in the evidence earns none. Be strict, fair and consistent.
{UNTRUSTED_NOTICE}"""


class ScoreAnswer(BaseModel):
    """A judgement of a criterion without a rubric."""

    explanation: str = Field(description="two or three sentences that name the evidence")
    score: int = Field(description="whole points, from 0 to the criterion's maximum")


class ItemAnswer(BaseModel):
    """A judgement of one rubric item."""

    id: str = Field(description="the item's id, as given")
    reason: str = Field(description="one sentence that names the evidence")
    points: int = Field(description="whole points, from 0 to the item's points")


class RubricAnswer(BaseModel):
    """A judgement of a criterion by its rubric."""

    items: list[ItemAnswer] = Field(description="every item of the rubric exactly once")
    explanation: str = Field(description="one or two sentences that sum it up")


async def judge_by_model(
    criterion: EvaluationCriterion, ctx: AgentBeatsEvalContext, llm: BaseChatModel, llm_name: str
) -> CriterionResult:
    """Let a model score a criterion; raises as ``structured.ask`` does."""
    question = judge_question(criterion, ctx)
    details: dict[str, Any] | None = None
    if criterion.rubric:
        rubric = criterion.rubric
        judged = await ask(llm, _SYSTEM, question, RubricAnswer, lambda answer: _wrong_items(answer, rubric))
        score, explanation = sum(item.points for item in judged.items), judged.explanation
        details = {"items": _item_details(judged, rubric, llm_name)}
    else:
        answer = await ask(llm, _SYSTEM, question, ScoreAnswer, lambda given: _wrong_score(given, criterion.max_score))
        score, explanation = answer.score, answer.explanation
    return CriterionResult(
        criterion_id=criterion.criterion_id,
        name=criterion.name,
        dimension=criterion.dimension,
        score=score,
        max_score=criterion.max_score,
        explanation=json_safe_text(explanation),
        details=details,
        judged_by=f"model:{llm_name}",
    )


def judge_question(criterion: EvaluationCriterion, ctx: AgentBeatsEvalContext) -> str:
    """The prompt: what is asked first, then the evidence, then what is asked again, out of the evidence's reach."""
    task = [
        f"Criterion: {criterion.name}",
        criterion.description,
        f"Dimension: {criterion.dimension}",
        f"Maximum: {criterion.max_score} points",
        criterion.evaluation_prompt or "",
    ]
    if criterion.rubric:
        task.append("Rubric (each statement is true of a good performance; give it its share of points):")
        task += [f"- {item.id} ({item.points} points): {item.statement}" for item in criterion.rubric]
        closing = "Score every item of the rubric exactly once, by its id, each from 0 to its points."
    else:
        closing = f"Give a score from 0 to {criterion.max_score} and say why."
    return "\n\n".join(
        [
            "\n".join(line for line in task if line),
            f"What the user asked the assistant to do:\n{ctx.user_prompt}",
            evidence(ctx),
            f'Now judge the criterion "{criterion.name}". {closing}',
        ]
    )


def _wrong_score(answer: ScoreAnswer, maximum: int) -> str | None:
    if 0 <= answer.score <= maximum:
        return None
    return f"score is {answer.score}: it must be between 0 and {maximum}"


def _wrong_items(answer: RubricAnswer, rubric: list[RubricItem]) -> str | None:
    points = {item.id: item.points for item in rubric}
    given = [item.id for item in answer.items]
    if sorted(given) != sorted(points):
        return f"items are {', '.join(given) or 'none'}: give each of {', '.join(points)} exactly once"
    for item in answer.items:
        if not 0 <= item.points <= points[item.id]:
            return f"item {item.id} has {item.points} points: it must be between 0 and {points[item.id]}"
    return None


def _item_details(answer: RubricAnswer, rubric: list[RubricItem], llm_name: str) -> list[dict[str, Any]]:
    judged = {item.id: item for item in answer.items}
    return [
        {
            "id": item.id,
            "statement": item.statement,
            "points": judged[item.id].points,
            "max_points": item.points,
            "met": judged[item.id].points == item.points,
            "by": f"model:{llm_name}",
            "reason": json_safe_text(judged[item.id].reason),
        }
        for item in rubric
    ]
