"""Scores one criterion (seed 000, section 3.6) that no evaluator function scores: by a model, or offline by its rubric.
A point that can't be judged is *unscored*, with the reason. Which points those are follows from the scenario and the
settings alone, never from what the participant did (``points_left_out``).
"""

from collections.abc import Sequence
from typing import Any

from activities.judging.panel import Judge, judge_by_panel
from activities.judging.records import records_of, windows
from activities.judging.rubric import ItemScore, score_rubric
from proctor_protocol.evaluation import AgentBeatsEvalContext
from proctor_protocol.results import CriterionResult, Doubt, unscored
from proctor_protocol.scenario import EvaluationCriterion, ScenarioConfig

NO_MODEL = "no model (offline)"


async def judge(
    criterion: EvaluationCriterion,
    scenario: ScenarioConfig,
    ctx: AgentBeatsEvalContext,
    judges: Sequence[Judge],
    window: int,
    *,
    is_last_resort: bool = False,
) -> CriterionResult:
    """Score a criterion that has no evaluator function.

    Args:
        criterion: what to score, one of the scenario's.
        scenario: the scenario as it was admitted.
        ctx: the evidence.
        judges: the models; none offline, where a rubric's mechanical checks score what they can.
        window: how many characters of evidence a model reads at once.
        is_last_resort: whether a judge whose answers can't be used counts as in doubt, instead of failing.

    Returns:
        The score; wholly or partly unscored, with the reason, where no judge could decide.

    Raises:
        ModelUnavailableError, ModelAnswerError: the model failed; try again.
        ModelSettingsError: the model can't be used as it is configured.
    """
    if judges:
        evidence = windows(records_of(ctx), window)
        return await judge_by_panel(criterion, scenario, evidence, judges, is_last_resort=is_last_resort)
    if criterion.rubric:
        return _by_offline_rubric(criterion, score_rubric(criterion.rubric, ctx.action_log, scenario.read))
    return unscored(criterion, NO_MODEL)


def points_left_out(criterion: EvaluationCriterion, has_model: bool) -> int:
    """How many of a criterion's points no judge will decide, independent of the participant's actions."""
    if has_model:
        return 0
    if criterion.evaluator_id:
        return criterion.needs_model_for
    return (
        sum(item.points for item in criterion.rubric if item.check is None) if criterion.rubric else criterion.max_score
    )


def _by_offline_rubric(criterion: EvaluationCriterion, scores: list[ItemScore]) -> CriterionResult:
    judged = [score for score in scores if score.met is not None]
    if not judged:
        return unscored(criterion, f"{NO_MODEL}, and no item of the rubric has a mechanical check")
    missing = [score for score in scores if score.met is None]
    points = sum(score.points for score in judged)
    judged_points = sum(score.item.points for score in judged)
    unmet = [f"{score.item.id} ({score.reason})" for score in judged if not score.met]
    doubtful = [score for score in judged if score.is_doubtful]
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
        doubtful_points=sum(score.item.points for score in doubtful),
        doubts=[Doubt(item=s.item.id, statement=s.item.statement, reason=s.reason) for s in doubtful],
        unscored_points=sum(score.item.points for score in missing),
        unscored_reason=(
            f"{NO_MODEL}, and these items have no mechanical check: {', '.join(s.item.id for s in missing)}"
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
        **({"doubt": True} if score.is_doubtful else {}),
    }
