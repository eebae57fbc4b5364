"""Score a criterion (seed 000, section 3.6) that no evaluator function scores: by models, or offline by the criterion's
rubric.

A point that can't be judged is *unscored*, with the reason. Which points are unscored depends only on the scenario and
the settings, never on the participant's actions (``points_left_out``).
"""

import asyncio
from collections.abc import Sequence

from temporalio import activity

from proctor.activities.judging.asked_models import AskedModels
from proctor.activities.judging.panel import Judge, judge_by_panel
from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.judging.records import make_records, windows
from proctor.activities.judging.rubric import NO_MODEL, judge_by_checks
from proctor.activities.models.factory import prepare
from proctor.activities.scenario_code.evidence import JudgeRecord, read_record
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.protocol.results import CriterionResult, unscored

_LAST_RESORT = 3
"""From this attempt on, a judge without a credible verdict counts as in doubt and no longer fails."""


async def judge_by_rubric(
    store: BlobStore, payload: JudgeInput, scenario: ScenarioConfig, criterion: EvaluationCriterion, models: AskedModels
) -> CriterionResult:
    """Judge one criterion. Raises ``ModelError`` if a model can't be called, or gives no usable answer."""
    content = await store.get(payload.evidence.record)
    if payload.plan.offline:  # a rubric's checks read only the actions
        record = JudgeRecord.model_validate_json(content)
    else:
        record = await asyncio.to_thread(read_record, store, content)
        await prepare()
    context = AgentBeatsEvalContext(
        client=None,
        scenario_config=scenario.model_dump(mode="json"),
        action_log=list(record.action_log),
        initial_state=record.initial_state,
        final_state=record.final_state,
        user_prompt=scenario.user_prompt,
        llm=None,
        turn_notes=dict(record.turn_notes),
    )
    judges = models.panel
    is_last_resort = activity.info().attempt >= _LAST_RESORT
    window = models.configured.judge_window
    result = await judge(criterion, scenario, context, judges, window, is_last_resort=is_last_resort)
    return await models.with_calibration(result, "items") if judges else result


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
        criterion: the criterion to score, one of the scenario's.
        scenario: the scenario as it was admitted.
        ctx: the evidence.
        judges: the models; empty offline. Then a rubric's mechanical checks score the items that have a check.
        window: how many characters of evidence a model reads at once.
        is_last_resort: whether a judge without usable answers counts as in doubt, and doesn't fail.

    Returns:
        The score. Points that no judge could decide are unscored, with the reason.

    Raises:
        ModelUnavailableError, ModelAnswerError: the model failed; try again.
        ModelSettingsError: the model can't be used as it is configured.
    """
    if judges:
        evidence = windows(make_records(ctx), window)
        return await judge_by_panel(criterion, scenario, evidence, judges, is_last_resort=is_last_resort)
    if criterion.rubric:
        return judge_by_checks(criterion, ctx.action_log, scenario.read)
    return unscored(criterion, NO_MODEL)


def points_left_out(criterion: EvaluationCriterion) -> int:
    """Return how many of a criterion's points are unscored without a model, regardless of the participant's actions."""
    if criterion.evaluator_id:
        return criterion.needs_model_for
    return (
        sum(item.points for item in criterion.rubric if item.check is None) if criterion.rubric else criterion.max_score
    )
