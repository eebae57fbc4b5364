"""The activity that judges one criterion, from the evidence that was stored after the last turn."""

import math
from pathlib import Path

from temporalio import activity

from proctor.activities.attempts import failures
from proctor.activities.judging.asked_models import AskedModels
from proctor.activities.judging.by_evaluator import EvaluatorJudge
from proctor.activities.judging.judge import judge_by_rubric, points_left_out
from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.judging.rubric import NO_MODEL
from proctor.activities.models.configured import ConfiguredModels
from proctor.activities.models.factory import ModelSettingsError
from proctor.activities.models.metering import attempt_meter
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.simulation.simulations import Simulations
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.protocol.results import CriterionResult, unscored


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
        """Judge one criterion. Points without a judge come back unscored; admission already knew these points.

        Fails as ``EvaluatorFailed`` if the scenario's evaluator gives no verdict; fix the evaluator, then judge again.
        A local activity calls no model, and gives an evaluator less time.
        """
        scenario = await self._scenarios.load_scenario(payload.plan.scenario)
        criterion = next(c for c in scenario.criteria if c.criterion_id == payload.criterion_id)
        with attempt_meter(self._models.prices) as meter:
            models = AskedModels(payload.plan, scenario.user_prompt, self._models, meter, self._state)
            try:
                verdict = await self._judge(payload, scenario, criterion, models)
            except ModelSettingsError as error:
                raise failures.MODEL_SETTING.final(str(error)) from None
            return verdict.model_copy(update={"usage": meter.read(), "description": criterion.description})

    async def _judge(
        self, payload: JudgeInput, scenario: ScenarioConfig, criterion: EvaluationCriterion, models: AskedModels
    ) -> CriterionResult:
        if criterion.evaluator_id:
            if payload.plan.offline and points_left_out(criterion) == criterion.max_score:
                return unscored(criterion, NO_MODEL)
            return await self.evaluators.judge_by_function(payload, scenario, criterion, models)
        verdict = await judge_by_rubric(self._store, payload, scenario, criterion, models)
        if (work := work_criterion(criterion)) is not None and verdict.max_score:
            return in_proportion(verdict, await self.evaluators.judge_by_function(payload, scenario, work, models))
        return verdict


_FINE = 10_000
_NOISE = 1e-9


def work_criterion(criterion: EvaluationCriterion) -> EvaluationCriterion | None:
    """Return a criterion for the scenario's function that measures how much of the work was done. None if ``criterion``
    names no such function.
    """
    if criterion.work_evaluator_id is None:
        return None
    return EvaluationCriterion(
        criterion_id=criterion.criterion_id,
        name=criterion.name,
        dimension=criterion.dimension,
        max_score=_FINE,
        evaluator_id=criterion.work_evaluator_id,
        params=criterion.params,
    )


def in_proportion(verdict: CriterionResult, work: CriterionResult) -> CriterionResult:
    """Reduce a verdict on the quality of the work in proportion to the amount of work.

    The maximum stays the same for all participants. Points are rounded down, and the explanation names the reduction.
    """
    share = work.score / work.max_score
    share_at_most = (work.score + work.doubtful_points) / work.max_score
    score = _scale_points(verdict.score, share)
    sentence = f"In proportion to the work, {share:.0%} of {verdict.score} points: {work.explanation}."
    return verdict.model_copy(
        update={
            "score": score,
            "doubtful_points": _scale_points(verdict.score + verdict.doubtful_points, share_at_most) - score,
            "doubts": [*verdict.doubts, *work.doubts],
            "explanation": f"{verdict.explanation} {sentence}" if share < 1 and verdict.score else verdict.explanation,
            "details": {**(verdict.details or {}), "work": {"share": share, "explanation": work.explanation}},
            "evaluator_hash": work.evaluator_hash,
        }
    )


def _scale_points(points: int, share: float) -> int:
    return math.floor(points * share + _NOISE)
