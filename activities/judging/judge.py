"""Scores one criterion (seed 000, section 3.6) that no evaluator function scores: by models, or offline by its rubric.
A point that can't be judged is *unscored*, with the reason. Which points those are follows from the scenario and the
settings alone, never from what the participant did (``points_left_out``).
"""

import asyncio
from collections.abc import Sequence

from temporalio import activity

from proctor.activities.judging.asked_models import AskedModels
from proctor.activities.judging.panel import Judge, judge_by_panel
from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.judging.records import records_of, windows
from proctor.activities.judging.rubric import NO_MODEL, judge_by_checks
from proctor.activities.models.factory import prepare
from proctor.activities.scenario_code.evidence import JudgeRecord, read_record
from proctor.protocol.evaluation import AgentBeatsEvalContext
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.protocol.results import CriterionResult, unscored

_LAST_RESORT = 3
"""The attempt from which on a judge without a credible verdict counts as in doubt, instead of failing."""


async def judge_by_rubric(
    store: BlobStore, payload: JudgeInput, scenario: ScenarioConfig, criterion: EvaluationCriterion, models: AskedModels
) -> CriterionResult:
    """Judge one criterion. Raises ``ModelError`` where a model can't be asked, or gives no usable answer."""
    content = await store.get(payload.evidence.record)
    if payload.plan.offline:  # a rubric's checks read the actions alone
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
        return judge_by_checks(criterion, ctx.action_log, scenario.read)
    return unscored(criterion, NO_MODEL)


def points_left_out(criterion: EvaluationCriterion) -> int:
    """How many of a criterion's points no judge decides without a model, independent of the participant's actions."""
    if criterion.evaluator_id:
        return criterion.needs_model_for
    return (
        sum(item.points for item in criterion.rubric if item.check is None) if criterion.rubric else criterion.max_score
    )
