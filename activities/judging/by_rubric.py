"""A criterion without an evaluator is judged by models, or offline by its rubric's checks."""

import asyncio

from temporalio import activity

from activities.judging.asked_models import AskedModels
from activities.judging.judge import judge
from activities.judging.model_judge import PROMPT_VERSION
from activities.judging.payloads import JudgeInput
from activities.models.factory import prepare
from activities.scenario_code.evidence import JudgeRecord, read_record
from proctor_protocol.evaluation import AgentBeatsEvalContext
from proctor_protocol.results import CriterionResult
from proctor_protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor_storage.blobs import BlobStore

_LAST_RESORT = 3
"""The attempt from which on a judge without a credible verdict counts as in doubt, instead of failing."""


async def judge_by_rubric(
    store: BlobStore, payload: JudgeInput, scenario: ScenarioConfig, criterion: EvaluationCriterion, models: AskedModels
) -> CriterionResult:
    """Judge one criterion.

    Args:
        store: has the evidence.
        payload: the plan and the evidence.
        scenario: the scenario as it was admitted.
        criterion: one of the scenario's.
        models: the panel; offline it is not asked.

    Raises:
        ModelError: a model can't be asked, or gives no usable answer.
    """
    record = await _read_record(store, payload)
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
    if not payload.plan.offline:
        await prepare()
    judges = models.judges(PROMPT_VERSION)
    is_last_resort = activity.info().attempt >= _LAST_RESORT
    window = models.configured.judge_window
    result = await judge(criterion, scenario, context, judges, window, is_last_resort=is_last_resort)
    return await models.with_calibration(result, "items") if judges else result


async def _read_record(store: BlobStore, payload: JudgeInput) -> JudgeRecord:
    content = await store.get(payload.evidence.record)
    if payload.plan.offline:  # a rubric's checks read the actions alone
        return JudgeRecord.model_validate_json(content)
    return await asyncio.to_thread(read_record, store, content)
