"""Each criterion is judged by an activity of its own, from the evidence that was kept when the turns were over."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from temporalio import activity

from activities.attempts import failures
from activities.attempts.fencing import own_fence
from activities.attempts.resets import asks_for_current_evaluators
from activities.judging.calibration import Asked, calibrations_of
from activities.judging.facts_by_model import read_facts
from activities.judging.judge import NO_MODEL, judge, points_left_out
from activities.judging.model_judge import PROMPT_VERSION
from activities.judging.panel import Judge, make_judges
from activities.judging.payloads import JudgeInput
from activities.judging.work import in_proportion, work_criterion
from activities.models.configured import ConfiguredModels
from activities.models.factory import ModelError, ModelSettingsError, prepare
from activities.models.metering import attempt_meter
from activities.models.structured import classified
from activities.models.usage import Meter
from activities.plan import Plan
from activities.scenario_code.evidence import JudgeRecord, read_record
from activities.scenario_code.facts_asked import FactsAsked
from activities.scenario_code.manager import ScenarioError
from activities.scenario_code.processes import Bench, EvaluatorFailedError, EvaluatorRetryError
from activities.scenario_code.scenarios import Scenarios
from activities.scenario_code.tasks import JudgeTask
from activities.simulation.hosts import Simulation
from activities.simulation.simulations import Simulations, require_still
from proctor_protocol.evaluation import AgentBeatsEvalContext
from proctor_protocol.results import CriterionResult, unscored
from proctor_protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor_settings.config import GreenAgentConfig
from proctor_storage.blobs import BlobRef, BlobStore

_LAST_RESORT = 3
"""The attempt from which on a judge that gives no verdict that can be believed is a doubt, and no failure any more."""

_LOCAL_SECONDS = 3.0
"""How long an evaluator may take in a local activity, behind which there is an ordinary one."""

_SEEDS = 1_000
_WISHES_KEPT = 1_000

_Place = tuple[str, str | None, BlobRef]
"""Which simulation, on which of the simulator's servers, and where it stands."""


class VerdictActivities:
    """The judges."""

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
        self._simulations = simulations
        self._configured = models
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._wishes: dict[str, bool] = {}
        self._looked_at: WeakValueDictionary[_Place, Simulation] = WeakValueDictionary()

    @activity.defn
    async def judge_criterion(self, given: JudgeInput) -> CriterionResult:
        """Judge one criterion; points that nobody will judge, as was known at admission, come back unscored.

        A scenario whose evaluator gives no verdict is ``EvaluatorFailed``: it is mended, and the judging done again.

        As a local activity, which asks no model, it gives an evaluator less time. It looks at the simulation with the
        fence of ``conclude``: its own time is the worker's, which must not become a fence.
        """
        scenario = await self._scenarios.load_scenario(given.plan.scenario)
        criterion = next(c for c in scenario.criteria if c.criterion_id == given.criterion_id)
        with attempt_meter(self._configured.prices) as meter:

            async def by_rubric(asked: EvaluationCriterion) -> CriterionResult:
                return await self._by_model_or_rubric(given, scenario, asked, meter, await self._read_record(given))

            async def by_evaluator(asked: EvaluationCriterion) -> CriterionResult:
                return await self._by_evaluator(given, scenario, asked, meter)

            try:
                return await _judged(given.plan, criterion, by_rubric, by_evaluator, meter)
            except ModelSettingsError as problem:
                raise failures.final(failures.MODEL_SETTING, str(problem)) from None

    async def _read_record(self, given: JudgeInput) -> JudgeRecord:
        content = await self._store.get(given.evidence.record)
        # Offline a rubric looks at what was done alone.
        if given.plan.offline:
            return JudgeRecord.model_validate_json(content)
        return await asyncio.to_thread(read_record, self._store, content)

    async def _by_model_or_rubric(
        self,
        given: JudgeInput,
        scenario: ScenarioConfig,
        criterion: EvaluationCriterion,
        meter: Meter,
        record: JudgeRecord,
    ) -> CriterionResult:
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
        if not given.plan.offline:
            await prepare()
        judges = self._judges(given.plan, meter, PROMPT_VERSION)
        result = await judge(
            criterion,
            scenario,
            context,
            judges,
            self._configured.judge_window,
            is_last_resort=activity.info().attempt >= _LAST_RESORT,
        )
        return await self._with_calibration(given.plan, result, "items") if judges else result

    async def _with_calibration(self, plan: Plan, result: CriterionResult, what: Asked) -> CriterionResult:
        """A verdict with what is known of the models that were asked for it."""
        names = self._models(plan)
        found = await asyncio.to_thread(calibrations_of, self._state, plan.scenario_id, names, what)
        return result.model_copy(
            update={
                "details": {**(result.details or {}), "calibration": found},
                "judge_warnings": [each["warning"] for each in found if each["warning"]],
            }
        )

    def _judges(self, plan: Plan, meter: Meter, prompt_version: str | None) -> list[Judge]:
        """The panel; an attempt that follows one whose answers were refused asks with another seed."""
        if plan.offline:
            return []
        seed = plan.seed + _SEEDS * (activity.info().attempt - 1)
        return make_judges(self._configured, self._models(plan), plan.votes, seed, meter, prompt_version)

    def _models(self, plan: Plan) -> list[str]:
        return list(plan.judges or [self._configured.judge_name])

    async def _by_evaluator(
        self, given: JudgeInput, scenario: ScenarioConfig, criterion: EvaluationCriterion, meter: Meter
    ) -> CriterionResult:
        simulation = await self._look_at(given)
        try:
            result = await self._found(given, scenario, criterion, meter, simulation)
        except EvaluatorRetryError as problem:
            self._forget(given, simulation)
            raise failures.passing(failures.EVALUATOR_INTERRUPTED, _blame(criterion, str(problem))) from None
        except (EvaluatorFailedError, ScenarioError) as problem:
            # A simulator that was lost meanwhile answers like an empty one, which an evaluator can't know.
            await self._require_still(given, simulation)
            raise failures.final(failures.EVALUATOR_FAILED, _blame(criterion, str(problem))) from None
        await self._require_still(given, simulation)
        return result

    async def _found(
        self,
        given: JudgeInput,
        scenario: ScenarioConfig,
        criterion: EvaluationCriterion,
        meter: Meter,
        simulation: Simulation,
    ) -> CriterionResult:
        """By the scenario's files as they were at admission, unless a reset asks for those of today."""
        plan = given.plan
        directory, code = await self._code(given)
        bench = Bench(
            task=JudgeTask(
                directory=directory,
                scenario=scenario,
                simulation=simulation.reader.base_url,
                reader_key=simulation.reader_secret,
                has_model=not plan.offline,
                model="" if plan.offline else ", ".join(dict.fromkeys(self._models(plan))),
            ),
            evidence=f"{given.evidence.record.sha256} {code}",
            fetch=lambda: self._store.get(given.evidence.record),
            contents=self._store,
        )
        seconds = _LOCAL_SECONDS if activity.info().is_local else None
        result = await self._scenarios.code.judge(bench, criterion, self._asking(plan, scenario, meter), seconds)
        result = result.model_copy(update={"evaluator_hash": code})
        return await self._with_calibration(plan, result, "facts") if meter.read() else result

    async def _look_at(self, given: JudgeInput) -> Simulation:
        """The simulation as it was when the turns were over. One criterion's judge has it restored for all that are at
        work at the same time: each makes sure, when it has judged, that it is still the same one.
        """
        place = _place_of(given)
        async with self._locks.setdefault(given.plan.simulation_id, asyncio.Lock()):
            simulation = self._looked_at.get(place)
            if simulation is None:
                simulations = self._simulations.of(given.plan)
                simulation = self._looked_at[place] = await simulations.look_at(
                    given.plan.simulation_id,
                    given.evidence.checkpoint,
                    given.evidence.fence if activity.info().is_local else own_fence(),
                )
        return simulation

    async def _require_still(self, given: JudgeInput, simulation: Simulation) -> None:
        """As ``require_still``; where it isn't, whoever comes next looks anew."""
        try:
            await require_still(simulation)
        except BaseException:
            self._forget(given, simulation)
            raise

    def _forget(self, given: JudgeInput, simulation: Simulation) -> None:
        """Have whoever comes next look anew: this one couldn't be reached, or is another one now."""
        place = _place_of(given)
        if self._looked_at.get(place) is simulation:
            del self._looked_at[place]

    async def _code(self, given: JudgeInput) -> tuple[Path, str]:
        """The folder with the evaluators that judge, and the hash of its files."""
        plan = given.plan
        if given.is_reset and await self._is_current_wanted():
            return await self._scenarios.unpack_current_code(plan.scenario_id)
        return await self._scenarios.unpack_frozen_code(plan.scenario_id, plan.package), plan.package.sha256

    async def _is_current_wanted(self) -> bool:
        """Whether this run is a reset that asks for today's evaluators; its history is read once."""
        run = activity.info().workflow_run_id or ""
        lock = self._locks.setdefault(run, asyncio.Lock())
        async with lock:
            if run not in self._wishes:
                while len(self._wishes) >= _WISHES_KEPT:
                    self._wishes.pop(next(iter(self._wishes)))
                workflow = activity.client().get_workflow_handle(activity.info().workflow_id or "", run_id=run)
                self._wishes[run] = await asks_for_current_evaluators(workflow.fetch_history_events())
            return self._wishes[run]

    def _asking(
        self, plan: Plan, scenario: ScenarioConfig, meter: Meter
    ) -> Callable[[dict[str, Any]], Awaitable[bytes]]:
        """How an evaluator's questions reach the model, and what it looks for in texts the panel."""
        judges, panel = list[Judge](), list[Judge]()

        async def ask(question: dict[str, Any]) -> bytes:
            await prepare()
            from activities.scenario_code.relayed_model import answer

            try:
                if "facts" in question:
                    panel.extend([] if panel else self._judges(plan, meter, PROMPT_VERSION))
                    asked = FactsAsked.model_validate(question)
                    told = await read_facts(asked, scenario.user_prompt, panel, self._configured.judge_window)
                    return json.dumps(told).encode()
                judges.extend([] if judges else self._judges(plan, meter, None))
                return await answer(question, judges[0].llm)
            except ModelError:
                raise
            except Exception as problem:
                raise classified(problem, self._configured.judge_name) from problem

        return ask


async def _judged(
    plan: Plan,
    criterion: EvaluationCriterion,
    by_rubric: Callable[[EvaluationCriterion], Awaitable[CriterionResult]],
    by_evaluator: Callable[[EvaluationCriterion], Awaitable[CriterionResult]],
    meter: Meter,
) -> CriterionResult:
    """The verdict on a criterion, by whoever is to judge it; what was asked of models is on the meter."""
    if not criterion.evaluator_id:
        verdict = await by_rubric(criterion)
        if (work := work_criterion(criterion)) is not None and verdict.max_score:
            verdict = in_proportion(verdict, await by_evaluator(work))
    elif points_left_out(criterion, has_model=not plan.offline) == criterion.max_score:
        verdict = unscored(criterion, NO_MODEL)
    else:
        verdict = await by_evaluator(criterion)
    return verdict.model_copy(update={"usage": meter.read(), "description": criterion.description})


def _place_of(given: JudgeInput) -> _Place:
    return given.plan.simulation_id, given.plan.simulator, given.evidence.checkpoint


def _blame(criterion: EvaluationCriterion, sentence: str) -> str:
    return f"Criterion {criterion.criterion_id}: {sentence}."
