"""Score a criterion by its evaluator function (seed 000, section 3.2.1), in a scenario's confined process."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import httpx

from proctor.language.facts import Answer, Question, TextReader, reading
from proctor.protocol.evaluation import AgentBeatsEvalContext, CannotJudgeError, EvaluatorRegistry
from proctor.protocol.scenario import EvaluationCriterion
from purple_sdk.protocol.json_safe import json_safe, json_safe_text, storable_text
from purple_sdk.protocol.results import CriterionResult, Doubt
from purple_sdk.ues import ServerError, UESConnectionError, UESTimeoutError

# Evaluators use floats; 3 * 0.1 * 10 must not lose a point.
_NOISE = 1e-9
_PASSING_BY = (httpx.TransportError, UESConnectionError, UESTimeoutError, ServerError)
_LONGEST_SAID = 2_000
_LONGEST_EXPLANATION = 20_000
_LONGEST_TEXT = 200
_READINGS = 3
"""The most rounds of questions to a model. After an answer on one fact, an evaluator may look for another fact."""

_DOUBTS_KEPT = 100

ReadByModel = Callable[[Sequence[Question]], Awaitable[Mapping[tuple[str, str], Answer]]]
"""A function that lets a model decide whether texts state facts; it returns an answer for each question, by its key."""


class EvaluatorError(Exception):
    """An evaluator gave no verdict, by its own fault; the message names it and the reason."""


class PassingEvaluatorError(Exception):
    """An evaluator couldn't reach the simulator; another try may help."""


async def judge_by_evaluator(
    criterion: EvaluationCriterion,
    ctx: AgentBeatsEvalContext,
    evaluators: EvaluatorRegistry,
    read_by_model: ReadByModel | None = None,
    model: str = "",
) -> CriterionResult:
    """Score a criterion by its evaluator function.

    Only points that the criterion declares to need a model (``needs_model_for``) may stay unscored, and only without a
    model. The participant's actions never take a point out of the maximum.

    If the function looks for facts in texts (``proctor.language.facts``), a model decides; without a model, the facts'
    patterns do. An undecided fact is a doubt, and counts against the participant. The function then runs once more in
    the participant's favour: the difference is the worth of the doubts.

    Args:
        criterion: the criterion to score.
        ctx: the evidence.
        evaluators: the scenario's functions.
        read_by_model: lets a model decide facts; None without a model.
        model: the model's name.

    Raises:
        EvaluatorError: the function raised, or didn't return a result.
        PassingEvaluatorError: the function couldn't reach the simulator.
        Exception: any exception of ``read_by_model``.
    """

    async def score(reader: TextReader) -> CriterionResult:
        with reading(reader):
            return await _scored_once(criterion, ctx, evaluators)

    reader = TextReader()
    result = await score(reader)
    known: dict[tuple[str, str], Answer] = {}
    for _ in range(_READINGS if read_by_model else 0):
        new = [question for question in reader.questions if question.key not in known]
        if not new or read_by_model is None:
            break
        known |= await read_by_model(new)
        reader = TextReader(known)
        result = await score(reader)
    if not reader.questions or not result.max_score:
        return result
    read_by = f"model:{model}" if known else "patterns"
    result = result.model_copy(update={"judged_by": f"{result.judged_by} (texts by {read_by})"})
    if not reader.doubts:
        return result
    at_most = await score(TextReader(known, in_favour=True))
    doubts = [_doubt(question, is_model=question.key in known) for question in reader.doubts[:_DOUBTS_KEPT]]
    return result.model_copy(
        update={"doubtful_points": max(0, at_most.score - result.score), "doubts": doubts},
    )


def _doubt(question: Question, *, is_model: bool) -> Doubt:
    return Doubt(
        item=json_safe_text(question.fact.id),
        statement=json_safe_text(question.fact.statement),
        reason="the model gave no verdict that can be believed" if is_model else "patterns can't tell",
        text=json_safe_text(question.text[:_LONGEST_TEXT]),
    )


async def _scored_once(
    criterion: EvaluationCriterion, ctx: AgentBeatsEvalContext, evaluators: EvaluatorRegistry
) -> CriterionResult:
    name = criterion.evaluator_id or ""
    evaluator = evaluators.get(name)
    if evaluator is None:
        raise EvaluatorError(f"the scenario has no evaluator {name!r}")
    try:
        returned = await evaluator(ctx, dict(criterion.params or {}))
    except CannotJudgeError as error:
        raise EvaluatorError(
            f"evaluator {name} says that it can't judge ({safe_text(error)}): declare each question to a "
            "model with needs_model_for, and give points or none for each fact that it reports"
        ) from error
    except _PASSING_BY as error:
        raise PassingEvaluatorError(f"evaluator {name} can't reach the simulator: {safe_text(error)}") from error
    except MemoryError as error:
        raise EvaluatorError(f"evaluator {name} needed more memory than it may have") from error
    except Exception as error:
        raise EvaluatorError(f"evaluator {name} raised {type(error).__name__}: {safe_text(error)}") from error
    try:
        return _scale(criterion, name, returned, 0 if ctx.llm is not None else criterion.needs_model_for)
    except ValueError as error:
        raise EvaluatorError(f"evaluator {name} {error}") from None


def safe_text(problem: object) -> str:
    """Return the text of an exception or another object of a scenario's code, whose ``__str__`` may do anything."""
    try:
        text = str(problem)
    except BaseException:
        text = "(its message can't be read)"
    return storable_text(text, _LONGEST_SAID)


def _scale(criterion: EvaluationCriterion, name: str, returned: Any, may_leave_out: int) -> CriterionResult:
    """Return an evaluator's result in the criterion's points. The message of a ``ValueError`` continues the sentence
    "evaluator NAME …".
    """
    maximum = _number(returned, "max_score")
    score = _number(returned, "score")
    left_out = _number(returned, "unscored_points", 0.0)
    if maximum <= 0:
        raise ValueError(f"returned max_score {maximum:g}: it must be above 0")
    if not -_NOISE <= left_out <= maximum + _NOISE:
        raise ValueError(f"returned unscored_points {left_out:g}: it must be between 0 and max_score {maximum:g}")
    if not -_NOISE <= score <= maximum - left_out + _NOISE:
        raise ValueError(f"returned score {score:g}: it must be between 0 and {maximum - left_out:g}")
    points_each = criterion.max_score / maximum
    unscored_points = min(criterion.max_score, math.ceil(left_out * points_each - _NOISE))
    if unscored_points != may_leave_out:
        raise ValueError(
            f"left {unscored_points} of {criterion.max_score} points unscored, where needs_model_for declares "
            f"{may_leave_out}: the points that are judged must be the same for everybody"
        )
    judged = criterion.max_score - unscored_points
    explanation = storable_text(str(_field(returned, "explanation", None) or ""), _LONGEST_EXPLANATION)
    details = _field(returned, "details", None)
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
        unscored_reason=f"evaluator {name} needs a model for {left_out:g} of {maximum:g} points: {explanation}"
        if unscored_points
        else None,
    )


def _as_details(details: Any) -> dict[str, Any]:
    safe = json_safe(details)
    return safe if isinstance(safe, dict) else {"value": safe}


_MISSING = object()


def _field(returned: Any, name: str, default: Any) -> Any:
    return returned.get(name, default) if isinstance(returned, Mapping) else getattr(returned, name, default)


def _number(returned: Any, name: str, default: Any = _MISSING) -> float:
    value = _field(returned, name, default)
    if value is _MISSING:
        raise ValueError(
            f"returned {type(returned).__name__} without {name}: return EvalResult(score, max_score, explanation)"
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
