"""Judging of a criterion by an evaluator function of the scenario, in a confined process."""

import asyncio
from pathlib import Path
from weakref import WeakValueDictionary

from temporalio import activity

from proctor.activities.attempts import failures
from proctor.activities.attempts.fencing import own_fence
from proctor.activities.attempts.resets import asks_for_current_evaluators
from proctor.activities.judging.asked_models import AskedModels
from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.scenario_code.manager import ScenarioError
from proctor.activities.scenario_code.processes import EvaluatorFailedError, EvaluatorRetryError, JudgeJob
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.scenario_code.tasks import JudgeTask
from proctor.activities.simulation.hosts import Simulation
from proctor.activities.simulation.simulations import Simulations, require_still
from proctor.protocol.scenario import EvaluationCriterion, ScenarioConfig
from proctor.storage.blobs import BlobRef, BlobStore
from purple_sdk.protocol.results import CriterionResult

_LOCAL_SECONDS = 3.0
"""Seconds for an evaluator in a local activity; an ordinary activity follows if it takes longer."""

_WISHES_KEPT = 1_000

_Place = tuple[str, str | None, BlobRef]
"""The id of a simulation, its simulator's server, and the checkpoint."""


class EvaluatorJudge:
    """Runs evaluators. Each gets a client for the simulation in its state after the last turn."""

    def __init__(self, store: BlobStore, scenarios: Scenarios, simulations: Simulations) -> None:
        self._store = store
        self._scenarios = scenarios
        self.looks = SharedLooks(simulations)
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._wants_current: dict[str, bool] = {}

    async def judge_by_function(
        self, payload: JudgeInput, scenario: ScenarioConfig, criterion: EvaluationCriterion, models: AskedModels
    ) -> CriterionResult:
        """Judge one criterion. Fails as ``EvaluatorFailed`` (final) or ``EvaluatorInterrupted`` (temporary)."""
        simulation = await self.looks.open_simulation(payload)
        try:
            result = await self._run(payload, scenario, criterion, models, simulation)
        except EvaluatorRetryError as error:
            self.looks.forget(payload, simulation)
            raise failures.EVALUATOR_INTERRUPTED.passing(_blame(criterion, str(error))) from None
        except (EvaluatorFailedError, ScenarioError) as error:
            # A simulator that was lost since then answers like an empty one, and an evaluator can't notice that.
            await self.looks.require_still(payload, simulation)
            raise failures.EVALUATOR_FAILED.final(_blame(criterion, str(error))) from None
        await self.looks.require_still(payload, simulation)
        return result

    async def _run(
        self,
        payload: JudgeInput,
        scenario: ScenarioConfig,
        criterion: EvaluationCriterion,
        models: AskedModels,
        simulation: Simulation,
    ) -> CriterionResult:
        is_offline = payload.plan.offline
        directory, code = await self._code(payload)
        job = JudgeJob(
            task=JudgeTask(
                directory=directory,
                scenario=scenario,
                simulation=simulation.reader.base_url,
                reader_key=simulation.reader_secret,
                has_model=not is_offline,
                model="" if is_offline else ", ".join(dict.fromkeys(models.names)),
            ),
            evidence=f"{payload.evidence.record.sha256} {code}",
            fetch=lambda: self._store.get(payload.evidence.record),
            contents=self._store,
        )
        seconds = _LOCAL_SECONDS if activity.info().is_local else None
        result = await self._scenarios.code.judge(job, criterion, models.answer, seconds)
        result = result.model_copy(update={"evaluator_hash": code})
        return await models.with_calibration(result, "facts") if models.meter.read() else result

    async def _code(self, payload: JudgeInput) -> tuple[Path, str]:
        """Return the folder of the evaluators and the hash of its files. These are the files stored at admission,
        unless a reset asks for the current ones.
        """
        plan = payload.plan
        if payload.is_reset and await self._is_current_wanted():
            if plan.instance:
                return await self._scenarios.unpack_with_current_kit(plan.scenario_id, plan.package)
            return await self._scenarios.unpack_current_code(plan.scenario_id)
        return await self._scenarios.unpack_frozen_code(plan.scenario_id, plan.package), plan.package.sha256

    async def _is_current_wanted(self) -> bool:
        """Return whether this run is a reset that asks for the current evaluators. The run's history is read once."""
        run = activity.info().workflow_run_id or ""
        async with self._reading.setdefault(run, asyncio.Lock()):
            if run not in self._wants_current:
                while len(self._wants_current) >= _WISHES_KEPT:
                    self._wants_current.pop(next(iter(self._wants_current)))
                workflow = activity.client().get_workflow_handle(activity.info().workflow_id or "", run_id=run)
                self._wants_current[run] = await asks_for_current_evaluators(workflow.fetch_history_events())
            return self._wants_current[run]


def _blame(criterion: EvaluationCriterion, sentence: str) -> str:
    return f"Criterion {criterion.criterion_id}: {sentence}."


class SharedLooks:
    """Simulations in the state after the last turn. Simultaneous judgements of an assessment share one simulation."""

    def __init__(self, simulations: Simulations) -> None:
        self._simulations = simulations
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._shared: WeakValueDictionary[_Place, Simulation] = WeakValueDictionary()

    async def open_simulation(self, payload: JudgeInput) -> Simulation:
        """Return the simulation. The first judgement restores it for all simultaneous ones. After judging, each
        judgement makes sure that the simulation is still the same.

        A local activity uses the fence of ``conclude``. Its own time comes from the worker's clock, and must not be a
        fence.
        """
        place = _find_place(payload)
        async with self._locks.setdefault(payload.plan.simulation_id, asyncio.Lock()):
            simulation = self._shared.get(place)
            if simulation is None:
                simulation = self._shared[place] = await self._simulations.of(payload.plan).open_for_reading(
                    payload.plan.simulation_id,
                    payload.evidence.checkpoint,
                    payload.evidence.fence if activity.info().is_local else own_fence(),
                )
        return simulation

    async def require_still(self, payload: JudgeInput, simulation: Simulation) -> None:
        """Call ``proctor.activities.simulation.simulations.require_still``. If the call fails, the next judgement
        restores the simulation again.
        """
        try:
            await require_still(simulation)
        except BaseException:
            self.forget(payload, simulation)
            raise

    def forget(self, payload: JudgeInput, simulation: Simulation) -> None:
        """Make the next judgement restore the simulation, because it can't be reached or has changed."""
        place = _find_place(payload)
        if self._shared.get(place) is simulation:
            del self._shared[place]


def _find_place(payload: JudgeInput) -> _Place:
    return payload.plan.simulation_id, payload.plan.simulator, payload.evidence.checkpoint
