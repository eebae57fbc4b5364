"""Every criterion is judged by an activity of its own, from the evidence that was kept when the turns were over."""

import asyncio
from weakref import WeakValueDictionary

from temporalio import activity

from activities import failures
from activities.deployment import Deployment
from activities.judging.judge import judge
from activities.models.factory import ModelSettingsError
from activities.plan import JudgeInput, JudgeRecord
from activities.simulations.checkpoints import require_still, stand_still
from proctor_protocol.evaluation import AgentBeatsEvalContext, EvaluatorRegistry
from proctor_protocol.results import CriterionResult


class VerdictActivities:
    """The judges."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @activity.defn
    async def judge_criterion(self, given: JudgeInput) -> CriterionResult:
        """Judge one criterion; one that nobody can judge comes back unscored, with the reason."""
        plan, settings = given.plan, self._deployment.config
        scenario = await self._deployment.scenario(plan.scenario)
        criterion = next(c for c in scenario.criteria if c.criterion_id == given.criterion_id)
        record = JudgeRecord.model_validate_json(await self._deployment.store.get(given.evidence.record))
        lock = self._locks.setdefault(plan.simulation_id, asyncio.Lock())
        async with lock:  # one criterion's judge restores it for all
            simulation, mark = await stand_still(self._deployment, plan.simulation_id, given.evidence.checkpoint)
        context = AgentBeatsEvalContext(
            client=simulation.reader,
            scenario_config=scenario.model_dump(mode="json"),
            action_log=list(record.action_log),
            initial_state=record.initial_state,
            final_state=record.final_state,
            user_prompt=scenario.user_prompt,
            llm=None if plan.offline else self._deployment.judge_model(plan.seed),
            turn_notes=dict(record.turn_notes),
        )
        evaluators: EvaluatorRegistry = {}
        if criterion.evaluator_id:
            # From the files as they are now, so that a mended evaluator judges again after a reset.
            evaluators = self._deployment.scenarios.get_evaluators(plan.scenario_id)
        try:
            result = await judge(criterion, context, evaluators, context.llm, settings.evaluation_model)
        except ModelSettingsError as problem:
            raise failures.final(failures.MODEL_SETTING, str(problem)) from None
        if criterion.evaluator_id:
            await require_still(simulation, mark)
        return result
