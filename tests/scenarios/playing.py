"""Shipped scenarios, played in this process: what the evaluators judge is the real evidence of a real day.

The simulator is the real one, asked without a network; the activities are the real ones, called one after the other in
the order of ``workflows.assessment`` and ``workflows.turns``. What is missing is what no score may depend on: Temporal,
A2A, HTTP. That this gives the same result as the whole evaluator is itself tested (``test_reschedule_day``).
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from uuid import uuid4

import httpx
from langchain_core.callbacks import BaseCallbackHandler
from temporalio.testing import ActivityEnvironment

from activities.admission import AdmissionActivities
from activities.deployment import Deployment
from activities.judging.panel import Judge
from activities.lifecycle import LifecycleActivities
from activities.plan import (
    AdmitInput,
    AdvanceInput,
    ApplyInput,
    ConcludeInput,
    CriterionBrief,
    Evidence,
    JudgeInput,
    JudgeRecord,
    Plan,
    PlannedReply,
    RespondInput,
    TurnApplied,
)
from activities.simulations.keys import host_key
from activities.simulations.shared_host import SharedHost
from activities.simulations.simulations import Simulations
from activities.turns import TurnActivities
from activities.verdicts import VerdictActivities
from proctor_protocol.config import GreenAgentConfig
from proctor_protocol.durations import parse_iso8601_duration
from proctor_protocol.evaluation import AgentBeatsEvalContext
from proctor_protocol.messages import EarlyCompletionMessage, TurnCompleteMessage
from proctor_protocol.results import ActionLogEntryWithTurn, AssessmentResults, CriterionResult, assessment_results
from proctor_storage.blobs import BlobRef
from purple_sdk.ues import AsyncUESClient
from tests.attempts import noting
from tests.stack import SCENARIOS, Script, request_json
from ues_sim.server import create_app

T = TypeVar("T")

SIMULATOR = "http://simulator"


class _ToldDeployment(Deployment):
    """A deployment that tells of every answer of its judges."""

    on_answer: BaseCallbackHandler | None = None

    def make_judges(self, *given: Any, **named: Any) -> list[Judge]:
        found = super().make_judges(*given, **named)
        for judge in found:
            judge.llm.callbacks = [*(judge.llm.callbacks or ()), *filter(None, [self.on_answer])]  # type: ignore[misc]
        return found


class Rehearsal:
    """Plays scripts against an embedded simulator: ``await rehearsal.play("email_triage_basic", script)``.

    All plays share one deployment, in an event loop of their own, so that the scenarios' code is started once and not
    for every play.
    """

    def __init__(self, folder: Path, on_answer: BaseCallbackHandler | None = None, **settings: Any) -> None:
        self._config = GreenAgentConfig(
            secret="the-secret-of-the-rehearsals-0123456789",
            ues_url=SIMULATOR,
            storage_url=str(folder),
            scenarios_dir=str(SCENARIOS),
            **settings,
        )
        self._on_answer = on_answer
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._http, self._deployment = self._run(self._open()).result()

    async def play(
        self, scenario_id: str, script: Script, judging: "Judging | None" = None, *, seed: int = 7
    ) -> AssessmentResults:
        """Assess a script, offline; the same seed and script give the same result anywhere.

        With ``judging``, the deployment's model judges, and that judges as it likes.
        """
        results, _ = await self.play_and_keep(scenario_id, script, judging, seed=seed)
        return results

    async def play_and_keep(
        self, scenario_id: str, script: Script, judging: "Judging | None" = None, *, seed: int = 7
    ) -> tuple[AssessmentResults, AgentBeatsEvalContext]:
        """The same, with what the evaluators got to see (but for a client)."""
        played = _Assessment(self._deployment, self._http, judging).play(scenario_id, script, seed)
        return await asyncio.wrap_future(self._run(played))

    def close(self) -> None:
        """Let go of everything."""
        self._run(self._close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self) -> tuple[httpx.AsyncClient, Deployment]:
        simulator = create_app(host_key=host_key(self._config.secret.get_secret_value()))
        http = httpx.AsyncClient(transport=httpx.ASGITransport(simulator), base_url=SIMULATOR)
        deployment = _ToldDeployment(self._config)
        deployment.on_answer = self._on_answer
        deployment.simulations = Simulations(SharedHost(self._config, http), deployment.store)
        return http, deployment

    async def _close(self) -> None:
        await self._deployment.aclose()
        await self._http.aclose()

    def _run(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)


@contextmanager
def rehearsing(**settings: Any) -> Iterator[Rehearsal]:
    """A simulator and a store of its own, for any number of plays; settings are the deployment's."""
    with TemporaryDirectory(prefix="rehearsal-") as folder, closing(Rehearsal(Path(folder), **settings)) as rehearsal:
        yield rehearsal


@dataclass(frozen=True)
class Judging:
    """What a model shall judge: by itself, one criterion after the other, those without an evaluator first.

    Attributes:
        is_wanted: asked before each criterion; what isn't wanted stays out of the result.
        on_verdict: told of each verdict, and how many seconds it took.
    """

    is_wanted: Callable[[CriterionBrief], bool] = lambda _criterion: True
    on_verdict: Callable[[CriterionResult, float], None] = lambda _verdict, _seconds: None


class _Assessment:
    """One play, from admission to verdicts."""

    def __init__(self, deployment: Deployment, http: httpx.AsyncClient, judging: Judging | None) -> None:
        self._deployment = deployment
        self._judging = judging
        self._http = http
        self._turns = TurnActivities(deployment)
        self._lifecycle = LifecycleActivities(deployment)
        self._verdicts = VerdictActivities(deployment)

    async def play(
        self, scenario_id: str, script: Script, seed: int
    ) -> tuple[AssessmentResults, AgentBeatsEvalContext]:
        request = request_json("http://nobody", scenario_id, seed=seed)
        task_id = str(uuid4())
        plan = await AdmissionActivities(self._deployment).admit(AdmitInput(task_id=task_id, request=request))
        prepared = await _do(self._lifecycle.set_up, plan)
        now, turn, has_left = prepared.current_time, 0, False
        checkpoint, log, notes = prepared.checkpoint, list[ActionLogEntryWithTurn](), dict[int, str]()
        while not has_left and turn < plan.max_turns and now < plan.end_time:
            turn += 1
            said, checkpoint = await _do(self._participant_plays, plan, checkpoint, script, turn, now)
            has_left = isinstance(said, EarlyCompletionMessage)
            applied = await _do(
                self._turns.apply, ApplyInput(plan=plan, turn=turn, checkpoint=checkpoint, turn_start=now)
            )
            checkpoint = applied.checkpoint
            log += applied.actions
            if said is not None and not has_left and said.notes:
                notes[turn] = said.notes
            if not has_left:
                step = said.time_step if isinstance(said, TurnCompleteMessage) and said.time_step else None
                advanced = await _do(
                    self._turns.advance,
                    AdvanceInput(
                        plan=plan,
                        turn=turn,
                        checkpoint=checkpoint,
                        replies=await self._characters_answer(plan, turn, applied),
                        to=min(now + parse_iso8601_duration(step or plan.default_time_step), plan.end_time),
                    ),
                )
                checkpoint, now = advanced.checkpoint, advanced.current_time
        evidence = await _do(
            self._lifecycle.conclude,
            ConcludeInput(
                plan=plan,
                checkpoint=checkpoint,
                initial_state=prepared.initial_state,
                action_log=log,
                turn_notes=notes,
            ),
        )
        verdicts = await (self._judge_by_model(plan, evidence) if self._judging else self._judge(plan, evidence))
        await _do(self._lifecycle.take_down, plan.simulation_id)
        results = assessment_results(
            assessment_id=plan.assessment_id,
            scenario_id=scenario_id,
            participant=plan.participant,
            status="completed",
            duration_seconds=0.0,
            turns_taken=turn,
            criteria_results=list(verdicts),
            action_log=log,
            seed=plan.seed,
            offline=self._judging is None,
        )
        record = JudgeRecord.model_validate_json(await self._deployment.store.get(evidence.record))
        states = record.initial_state, record.final_state
        seen = AgentBeatsEvalContext(None, {}, list(record.action_log), *states, user_prompt="")
        return results, seen

    async def _judge(self, plan: Plan, evidence: Evidence) -> list[CriterionResult]:
        given = [JudgeInput(plan=plan, criterion_id=c.criterion_id, evidence=evidence) for c in plan.criteria]
        return await asyncio.gather(*(_do(self._verdicts.judge_criterion, each) for each in given))

    async def _judge_by_model(self, plan: Plan, evidence: Evidence) -> list[CriterionResult]:
        assert self._judging is not None
        plan, found = plan.model_copy(update={"offline": False}), []
        for criterion in sorted(plan.criteria, key=lambda criterion: not criterion.by_model):
            if self._judging.is_wanted(criterion):
                began = time.monotonic()
                given = JudgeInput(plan=plan, criterion_id=criterion.criterion_id, evidence=evidence)
                # The last of its attempts: what a model says that can't be believed is in doubt, and no failure.
                verdict = await _do(self._verdicts.judge_criterion, given, attempt=3)
                self._judging.on_verdict(verdict, time.monotonic() - began)
                found.append(verdict)
        return found

    async def _participant_plays(
        self, plan: Plan, checkpoint: BlobRef, script: Script, turn: int, now: datetime
    ) -> tuple[TurnCompleteMessage | EarlyCompletionMessage | None, BlobRef]:
        simulations = self._deployment.simulations
        simulation = await simulations.begin(plan.simulation_id, checkpoint, mark=f"turn {turn}", issue=1)
        access = simulation.make_access(1)
        said = await script(turn, AsyncUESClient(access.address, access.secret, http=self._http), now)
        told = said if isinstance(said, TurnCompleteMessage | EarlyCompletionMessage) else None
        return told, await simulations.keep(simulation)

    async def _characters_answer(self, plan: Plan, turn: int, applied: TurnApplied) -> list[PlannedReply]:
        replies = []
        for addressed in applied.addressed:
            message = applied.messages[addressed.message]
            responded = await self._turns.respond(
                RespondInput(
                    scenario=plan.scenario,
                    seed=plan.seed,
                    turn=turn,
                    offline=True,
                    character_id=addressed.character_id,
                    message=message,
                )
            )
            if responded.reply is not None:
                replies.append(PlannedReply(reply=responded.reply, message=message))
        return replies


async def _do(activity: Callable[..., Awaitable[T]], *given: Any, attempt: int = 1) -> T:
    """Have an activity done, as Temporal would hand it out just now."""
    surroundings = ActivityEnvironment()
    now = datetime.now(UTC)
    surroundings.info = replace(surroundings.info, current_attempt_scheduled_time=now, attempt=attempt)
    found: T = await surroundings.run(noting(activity), *given)
    return found
