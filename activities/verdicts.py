"""Every criterion is judged by an activity of its own, from the evidence that was kept when the turns were over."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakValueDictionary

from temporalio import activity

from activities import failures
from activities.deployment import Deployment
from activities.judging.judge import NO_MODEL, judge, points_left_out
from activities.judging.panel import Judge
from activities.models.factory import ModelError, ModelSettingsError
from activities.models.structured import classified
from activities.packages.manager import ScenarioError
from activities.packages.processes import Bench, EvaluatorFailedError, EvaluatorRetryError
from activities.packages.relayed_model import answer
from activities.packages.tasks import JudgeTask
from activities.plan import JudgeInput, JudgeRecord, Plan
from activities.simulations.simulations import require_still
from proctor_protocol.evaluation import AgentBeatsEvalContext
from proctor_protocol.results import CriterionResult, unscored
from proctor_protocol.scenario import EvaluationCriterion, ScenarioConfig

_LAST_RESORT = 3
"""The attempt from which on a judge that gives no verdict that can be believed is a doubt, and no failure any more."""

_SEEDS = 1_000


class VerdictActivities:
    """The judges."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @activity.defn
    async def judge_criterion(self, given: JudgeInput) -> CriterionResult:
        """Judge one criterion; points that nobody will judge, as was known at admission, come back unscored.

        A scenario whose evaluator gives no verdict is ``EvaluatorFailed``: it is mended, and the judging done again.
        """
        scenario = await self._deployment.scenario(given.plan.scenario)
        criterion = next(c for c in scenario.criteria if c.criterion_id == given.criterion_id)
        try:
            if not criterion.evaluator_id:
                return await self._by_model_or_rubric(given, scenario, criterion)
            if points_left_out(criterion, has_model=not given.plan.offline) == criterion.max_score:
                return unscored(criterion, NO_MODEL)
            return await self._by_evaluator(given, scenario, criterion)
        except ModelSettingsError as problem:
            raise failures.final(failures.MODEL_SETTING, str(problem)) from None

    async def _by_model_or_rubric(
        self, given: JudgeInput, scenario: ScenarioConfig, criterion: EvaluationCriterion
    ) -> CriterionResult:
        record = JudgeRecord.model_validate_json(await self._deployment.store.get(given.evidence.record))
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
        return await judge(
            criterion,
            scenario,
            context,
            self._judges(given.plan),
            self._deployment.config.judge_window,
            is_last_resort=activity.info().attempt >= _LAST_RESORT,
        )

    def _judges(self, plan: Plan) -> list[Judge]:
        """The panel; an attempt that follows one whose answers were refused asks with another seed."""
        if plan.offline:
            return []
        models = plan.judges or [self._deployment.config.evaluation_model]
        return self._deployment.judges(models, plan.votes, plan.seed + _SEEDS * (activity.info().attempt - 1))

    async def _by_evaluator(
        self, given: JudgeInput, scenario: ScenarioConfig, criterion: EvaluationCriterion
    ) -> CriterionResult:
        """By the scenario's files as they are now, so that a mended evaluator judges again after a reset."""
        plan = given.plan
        lock = self._locks.setdefault(plan.simulation_id, asyncio.Lock())
        async with lock:  # one criterion's judge restores it for all
            simulation = await self._deployment.simulations.look_at(plan.simulation_id, given.evidence.checkpoint)
        try:
            directory, code = await self._deployment.code_of(plan.scenario_id)
            bench = Bench(
                task=JudgeTask(
                    directory=directory,
                    scenario=scenario,
                    simulation=simulation.reader.base_url,
                    reader_key=simulation.reader_secret,
                    has_model=not plan.offline,
                ),
                evidence=f"{given.evidence.record.sha256} {code}",
                fetch=lambda: self._deployment.store.get(given.evidence.record),
            )
            result = await self._deployment.code.judge(bench, criterion, self._asking(plan))
        except EvaluatorRetryError as problem:
            raise failures.passing(failures.EVALUATOR_INTERRUPTED, _blame(criterion, str(problem))) from None
        except (EvaluatorFailedError, ScenarioError) as problem:
            # A simulator that was lost meanwhile answers like an empty one, which an evaluator can't know.
            await require_still(simulation)
            raise failures.final(failures.EVALUATOR_FAILED, _blame(criterion, str(problem))) from None
        await require_still(simulation)
        return result

    def _asking(self, plan: Plan) -> Callable[[dict[str, Any]], Awaitable[bytes]]:
        """How an evaluator's questions reach the model."""

        async def ask(question: dict[str, Any]) -> bytes:
            try:
                return await answer(question, self._judges(plan)[0].llm)
            except ModelError:
                raise
            except Exception as problem:
                raise classified(problem, self._deployment.config.evaluation_model) from problem

        return ask


def _blame(criterion: EvaluationCriterion, sentence: str) -> str:
    return f"Criterion {criterion.criterion_id}: {sentence}."
