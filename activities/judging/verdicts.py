"""Each criterion is judged by an activity of its own, from the evidence that was kept when the turns were over."""

from pathlib import Path

from temporalio import activity

from activities.attempts import failures
from activities.judging.asked_models import AskedModels
from activities.judging.by_evaluator import EvaluatorJudge
from activities.judging.by_rubric import judge_by_rubric
from activities.judging.judge import NO_MODEL, points_left_out
from activities.judging.payloads import JudgeInput
from activities.judging.work import in_proportion, work_criterion
from activities.models.configured import ConfiguredModels
from activities.models.factory import ModelSettingsError
from activities.models.metering import attempt_meter
from activities.scenario_code.scenarios import Scenarios
from activities.simulation.simulations import Simulations
from proctor_protocol.results import CriterionResult, unscored
from proctor_protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor_settings.config import GreenAgentConfig
from proctor_storage.blobs import BlobStore


class VerdictActivities:
    def __init__(
        self,
        config: GreenAgentConfig,
        store: BlobStore,
        scenarios: Scenarios,
        simulations: Simulations,
        models: ConfiguredModels,
    ) -> None:
        self._state = Path(config.state)
        self._store = store
        self._scenarios = scenarios
        self._models = models
        self.evaluators = EvaluatorJudge(store, scenarios, simulations)

    @activity.defn
    async def judge_criterion(self, payload: JudgeInput) -> CriterionResult:
        """Judge one criterion; points that no one will judge, as was known at admission, come back unscored.

        A scenario whose evaluator gives no verdict is ``EvaluatorFailed``: mend it, then judge again. As a local
        activity, which asks no model, this gives an evaluator less time.
        """
        scenario = await self._scenarios.load_scenario(payload.plan.scenario)
        criterion = next(c for c in scenario.criteria if c.criterion_id == payload.criterion_id)
        with attempt_meter(self._models.prices) as meter:
            models = AskedModels(payload.plan, self._models, meter, self._state)
            try:
                verdict = await self._judge(payload, scenario, criterion, models)
            except ModelSettingsError as problem:
                raise failures.final(failures.MODEL_SETTING, str(problem)) from None
            return verdict.model_copy(update={"usage": meter.read(), "description": criterion.description})

    async def _judge(
        self, payload: JudgeInput, scenario: ScenarioConfig, criterion: EvaluationCriterion, models: AskedModels
    ) -> CriterionResult:
        if criterion.evaluator_id:
            if points_left_out(criterion, has_model=not payload.plan.offline) == criterion.max_score:
                return unscored(criterion, NO_MODEL)
            return await self.evaluators.judge(payload, scenario, criterion, models)
        verdict = await judge_by_rubric(self._store, payload, scenario, criterion, models)
        if (work := work_criterion(criterion)) is not None and verdict.max_score:
            return in_proportion(verdict, await self.evaluators.judge(payload, scenario, work, models))
        return verdict
