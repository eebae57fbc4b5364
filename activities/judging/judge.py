"""Scores one criterion (seed 000, section 3.6): by its evaluator function, by a model, or offline by its rubric.

A score is never made up: what can't be judged is *unscored*, with the reason, and stands outside score and maximum.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import httpx
from langchain_core.language_models.chat_models import BaseChatModel

from activities.judging.json_safe import json_safe, json_safe_text
from activities.judging.model_judge import judge_by_model
from activities.judging.rubric import ItemScore, score_rubric
from activities.models.factory import ModelError, ModelUnavailableError
from activities.models.structured import is_transient
from proctor_protocol.evaluation import AgentBeatsEvalContext, CannotJudgeError, EvaluatorFunc, EvaluatorRegistry
from proctor_protocol.results import CriterionResult, unscored
from proctor_protocol.scenario import EvaluationCriterion
from purple_sdk.ues import ServerError, UESConnectionError, UESTimeoutError

# Evaluators compute in floats; 3 * 0.1 * 10 must not lose a point.
_NOISE = 1e-9
_PASSING_BY = (httpx.TransportError, UESConnectionError, UESTimeoutError, ServerError, ConnectionError, TimeoutError)


async def judge(
    criterion: EvaluationCriterion,
    ctx: AgentBeatsEvalContext,
    evaluators: EvaluatorRegistry,
    llm: BaseChatModel | None,
    llm_name: str,
) -> CriterionResult:
    """Score a criterion.

    Args:
        criterion: what to score.
        ctx: the evidence.
        evaluators: the scenario's evaluator functions by name.
        llm: the judge's model; None offline, where a rubric's mechanical checks score what they can.
        llm_name: the model's name, for ``judged_by``.

    Returns:
        The score; wholly or partly unscored, with the reason, where nobody could judge.

    Raises:
        ModelUnavailableError, ModelAnswerError: the model failed; try again.
        ModelSettingsError: the model can't be used as it is configured.
        httpx.TransportError, purple_sdk.ues.UESError: an evaluator couldn't reach the simulator; try again.
    """
    if criterion.evaluator_id:
        evaluator = evaluators.get(criterion.evaluator_id)
        if evaluator is not None:
            return await _by_evaluator(criterion, ctx, criterion.evaluator_id, evaluator)
        if not criterion.evaluation_prompt:
            return unscored(criterion, f"the scenario has no evaluator {criterion.evaluator_id!r}")
    if llm is not None:
        return await judge_by_model(criterion, ctx, llm, llm_name)
    if criterion.rubric:
        return _by_offline_rubric(criterion, score_rubric(criterion.rubric, ctx.action_log))
    return unscored(criterion, "no model (offline)")


async def _by_evaluator(
    criterion: EvaluationCriterion, ctx: AgentBeatsEvalContext, name: str, evaluator: EvaluatorFunc
) -> CriterionResult:
    try:
        found = await evaluator(ctx, dict(criterion.params or {}))
    except CannotJudgeError as reason:
        return unscored(criterion, json_safe_text(str(reason)) or f"evaluator {name} can't judge here")
    except _PASSING_BY:
        raise
    except Exception as problem:
        if isinstance(problem, ModelError):
            raise
        if is_transient(problem):
            raise ModelUnavailableError(f"evaluator {name}: its model is not available: {problem}") from problem
        return unscored(criterion, json_safe_text(f"evaluator {name} raised {type(problem).__name__}: {problem}"))
    try:
        return _scaled(criterion, name, found)
    except ValueError as problem:
        return unscored(criterion, json_safe_text(f"evaluator {name} {problem}"))


def _scaled(criterion: EvaluationCriterion, name: str, found: Any) -> CriterionResult:
    """An evaluator's result in the criterion's points.

    Raises:
        ValueError: not a result; the message continues the sentence "evaluator NAME …".
    """
    maximum = _number(found, "max_score")
    score = _number(found, "score")
    left_out = _number(found, "unscored_points", 0.0)
    if maximum <= 0:
        raise ValueError(f"returned max_score {maximum:g}: it must be above 0")
    if not -_NOISE <= left_out <= maximum + _NOISE:
        raise ValueError(f"returned unscored_points {left_out:g}: it must be between 0 and max_score {maximum:g}")
    if not -_NOISE <= score <= maximum - left_out + _NOISE:
        raise ValueError(f"returned score {score:g}: it must be between 0 and {maximum - left_out:g}")
    points_each = criterion.max_score / maximum
    unscored_points = min(criterion.max_score, math.ceil(left_out * points_each - _NOISE))
    judged = criterion.max_score - unscored_points
    details = _field(found, "details", None)
    explanation = json_safe_text(str(_field(found, "explanation", None) or ""))
    return CriterionResult(
        criterion_id=criterion.criterion_id,
        name=criterion.name,
        dimension=criterion.dimension,
        score=max(0, min(judged, math.floor(score * points_each + _NOISE))),
        max_score=judged,
        explanation=explanation,
        details=None if details is None else _as_details(details),
        judged_by=f"evaluator:{name}" if judged else "nobody",
        unscored_points=unscored_points,
        unscored_reason=f"evaluator {name} could not judge {left_out:g} of {maximum:g} points: {explanation}"
        if unscored_points
        else None,
    )


def _as_details(details: Any) -> dict[str, Any]:
    safe = json_safe(details)
    return safe if isinstance(safe, dict) else {"value": safe}


_MISSING = object()


def _field(found: Any, name: str, default: Any) -> Any:
    return found.get(name, default) if isinstance(found, Mapping) else getattr(found, name, default)


def _number(found: Any, name: str, default: Any = _MISSING) -> float:
    value = _field(found, name, default)
    if value is _MISSING:
        raise ValueError(
            f"returned {type(found).__name__} without {name}: return EvalResult(score, max_score, explanation)"
        )
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise ValueError(f"returned {name} {value!r}: it must be a number")
    try:
        number = float(value)
    except (OverflowError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"returned {name} {value}: it must be a finite number")
    return number


def _by_offline_rubric(criterion: EvaluationCriterion, scores: list[ItemScore]) -> CriterionResult:
    judged = [score for score in scores if score.met is not None]
    if not judged:
        return unscored(criterion, "no model (offline), and no item of the rubric has a mechanical check")
    missing = [score for score in scores if score.met is None]
    points = sum(score.points for score in judged)
    judged_points = sum(score.item.points for score in judged)
    unmet = [f"{score.item.id} ({score.reason})" for score in judged if not score.met]
    explanation = f"{points} of {judged_points} mechanically checked points."
    if unmet:
        explanation += f" Not met: {'; '.join(unmet)}."
    return CriterionResult(
        criterion_id=criterion.criterion_id,
        name=criterion.name,
        dimension=criterion.dimension,
        score=points,
        max_score=judged_points,
        explanation=explanation,
        details={"items": [_item_details(score) for score in scores]},
        judged_by="offline_rubric",
        unscored_points=sum(score.item.points for score in missing),
        unscored_reason=(
            f"no model (offline), and these items have no mechanical check: {', '.join(s.item.id for s in missing)}"
            if missing
            else None
        ),
    )


def _item_details(score: ItemScore) -> dict[str, Any]:
    return {
        "id": score.item.id,
        "statement": score.item.statement,
        "points": score.points,
        "max_points": score.item.points,
        "met": score.met,
        "by": "offline_rubric" if score.met is not None else "nobody",
        "reason": score.reason,
    }
