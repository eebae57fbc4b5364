"""Play a scenario in this process, for tests by the scenario's author.

The simulator and the activities are the real ones, so the evidence is the same as in a deployment. The activities are
called one after the other, in the order of ``proctor.workflows.assessment`` and ``proctor.workflows.turns``. Temporal,
A2A and the network are missing, but they don't affect a score. A play takes seconds.

    with rehearsing(Path("scenarios")) as rehearsal:
        results = asyncio.run(rehearsal.play("team_lunch", script))
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from uuid import uuid4

import httpx
from anyio.from_thread import start_blocking_portal

from proctor.activities.admission.activities import AdmissionActivities
from proctor.activities.admission.payloads import AdmitInput
from proctor.activities.archive.payloads import TurnNote
from proctor.activities.characters.activities import CharacterActivities
from proctor.activities.characters.messages import RespondInput
from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.judging.verdicts import VerdictActivities
from proctor.activities.models.configured import ConfiguredModels
from proctor.activities.plan import CriterionBrief, Plan
from proctor.activities.scenario_code.evidence import JudgeRecord, read_record
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.simulation.hosts import Conditions
from proctor.activities.simulation.keys import host_key
from proctor.activities.simulation.lifecycle import LifecycleActivities
from proctor.activities.simulation.payloads import (
    AdvanceInput,
    ApplyInput,
    ConcludeInput,
    Evidence,
    PlannedReply,
    TurnApplied,
)
from proctor.activities.simulation.settling import Settling
from proctor.activities.simulation.simulations import connect_simulations
from proctor.activities.simulation.turns import TurnActivities
from proctor.local.doing import do
from proctor.service.parts import Parts
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef, BlobStore
from proctor.ues.server import create_app
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.messages import EarlyCompletionMessage, TurnCompleteMessage
from purple_sdk.protocol.results import ActionLogEntryWithTurn, AssessmentResults, CriterionResult, assessment_results
from purple_sdk.ues import AsyncUESClient

T = TypeVar("T")

Script = Callable[[int, AsyncUESClient, datetime], Awaitable[Any]]
"""A scripted participant. ``await script(turn, ues, now)`` plays a turn.

It returns None (the turn is done), a ``TurnCompleteMessage`` or an ``EarlyCompletionMessage``.
"""

SIMULATOR = "http://simulator"
_SECRET = "the-secret-of-the-rehearsals-0123456789"


class Rehearsal:
    """Plays scripts against an embedded simulator, offline.

    All plays share the same deployment and event loop, so scenarios' code is started once, not for every play.
    """

    def __init__(self, folder: Path, scenarios_dir: Path, **settings: Any) -> None:
        self.config = GreenAgentConfig(
            secret=_SECRET, ues_url=SIMULATOR, storage_url=str(folder), scenarios_dir=str(scenarios_dir), **settings
        )
        self._leaving = ExitStack()
        self._portal = self._leaving.enter_context(start_blocking_portal())
        self.http, self.parts = self._portal.call(self._open)

    async def play(
        self,
        scenario_id: str,
        script: Script,
        *,
        seed: int = 7,
        difficulty: int | None = None,
        clock: str | None = None,
        noise: int | None = None,
    ) -> AssessmentResults:
        """Assess a script; the same seed and script give the same result anywhere.

        Args:
            scenario_id: the scenario's id.
            script: plays each turn, as the participant.
            seed: the seed of all random choices.
            difficulty, clock, noise: as in a request.

        Raises:
            temporalio.exceptions.ApplicationError: the scenario can't be played; the message says why.
        """
        chosen = {"difficulty": difficulty, "clock": clock, "noise": noise}
        playing = RehearsedAssessment(self).play(scenario_id, script, seed, **chosen)
        results, _ = await asyncio.wrap_future(self.run(playing))
        return results

    def make_models(self) -> ConfiguredModels:
        """The models that judge and write for characters."""
        return ConfiguredModels(self.config)

    def close(self) -> None:
        """Release all resources, and cancel running plays."""
        self._portal.call(self._close)
        self._portal.call(self._portal.stop, True)
        self._leaving.close()

    def run(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the rehearsal's own event loop."""
        return self._portal.start_task_soon(lambda: work)

    async def _open(self) -> tuple[httpx.AsyncClient, Parts]:
        simulator = create_app(host_key=host_key(_SECRET))
        http = make_http_client(transport=httpx.ASGITransport(simulator), base_url=SIMULATOR)
        store = BlobStore(self.config.storage_url)
        simulations = connect_simulations(self.config, http, store)
        return http, Parts(self.config, store, Scenarios(self.config, store), self.make_models(), simulations)

    async def _close(self) -> None:
        await self.parts.scenarios.aclose()
        await self.http.aclose()


@contextmanager
def rehearsing(scenarios_dir: Path, **settings: Any) -> Iterator[Rehearsal]:
    """Open a rehearsal, with its own simulator and store, for any number of plays of a folder's scenarios.

    ``settings`` are fields of ``GreenAgentConfig``.
    """
    with (
        TemporaryDirectory(prefix="rehearsal-") as folder,
        closing(Rehearsal(Path(folder), scenarios_dir, **settings)) as rehearsal,
    ):
        yield rehearsal


class RehearsedAssessment:
    """One play, from admission to verdicts.

    Attributes:
        plan, notes, turn_notes: further data that an archive needs, besides the result (``ArchiveInput``).
    """

    offline = True

    def __init__(self, rehearsal: Rehearsal) -> None:
        parts = self.parts = rehearsal.parts
        self.verdicts = VerdictActivities(parts.config, parts.store, parts.scenarios, parts.simulations, parts.models)
        self._http = rehearsal.http
        self.plan: Plan | None = None
        self.notes: list[TurnNote] = []
        self.turn_notes: dict[int, str] = {}
        self._turns = TurnActivities(parts.scenarios, parts.simulations)
        self._characters = CharacterActivities(parts.scenarios, parts.models)
        self._lifecycle = LifecycleActivities(parts.store, parts.scenarios, parts.simulations)

    async def play(
        self, scenario_id: str, script: Script, seed: int, **settings: Any
    ) -> tuple[AssessmentResults, JudgeRecord]:
        """Play an assessment from its beginning to its end.

        Args:
            scenario_id: the scenario's or the family's id.
            script: plays each turn, as the participant.
            seed: the seed of all random choices, and of a family's day.
            settings: further fields of the request; None for fields that it leaves out.

        Returns:
            The result, and the evidence that was judged.
        """
        chosen: dict[str, Any] = {"scenario_id": scenario_id, "offline": True, "seed": seed}
        chosen |= {name: value for name, value in settings.items() if value is not None}
        request = json.dumps({"participants": {"personal_assistant": "http://nobody"}, "config": chosen})
        admission = AdmissionActivities(self.parts.config, self.parts.store, self.parts.scenarios)
        plan = self.plan = await admission.admit(AdmitInput(task_id=str(uuid4()), request=request))
        prepared = await do(self._lifecycle.set_up, plan)
        now, turn, has_ended_early = prepared.current_time, 0, False
        checkpoint, log, notes = prepared.checkpoint, list[ActionLogEntryWithTurn](), self.turn_notes
        self.notes.append(TurnNote(turn=0, began_at=now, reached=now, checkpoint=checkpoint))
        while not has_ended_early and turn < plan.max_turns and now < plan.end_time:
            turn, began_at = turn + 1, now
            message, checkpoint = await do(self._participant_plays, plan, checkpoint, script, turn, now)
            has_ended_early = isinstance(message, EarlyCompletionMessage)
            applied = await self._settle(plan, checkpoint, turn, now)
            checkpoint = applied.checkpoint
            log += applied.actions
            if isinstance(message, TurnCompleteMessage) and message.notes:
                notes[turn] = message.notes
            if not has_ended_early:
                step = message.time_step if isinstance(message, TurnCompleteMessage) and message.time_step else None
                advanced = await do(
                    self._turns.advance,
                    AdvanceInput(
                        plan=plan,
                        turn=turn,
                        checkpoint=checkpoint,
                        replies=await self._characters_answer(plan, turn, applied),
                        to=plan.end_of_turn(now, step),
                    ),
                )
                checkpoint, now = advanced.checkpoint, advanced.current_time
            self.notes.append(TurnNote(turn=turn, began_at=began_at, reached=now, checkpoint=checkpoint))
        evidence = await do(
            self._lifecycle.conclude,
            ConcludeInput(
                plan=plan,
                checkpoint=checkpoint,
                initial_state=prepared.initial_state,
                action_log=log,
                turn_notes=notes,
            ),
        )
        verdicts = await self.judge(plan, evidence)
        await do(self._lifecycle.take_down, plan.simulation_id)
        results = assessment_results(
            assessment_id=plan.assessment_id,
            scenario_id=scenario_id,
            participant=plan.participant,
            status="completed",
            duration_seconds=0.0,
            turns_taken=turn,
            criteria_results=verdicts,
            action_log=log,
            seed=plan.seed,
            offline=self.offline,
            family=plan.instance.family if plan.instance else None,
            difficulty=plan.instance.difficulty if plan.instance else None,
            instance_seed=plan.instance.seed if plan.instance else None,
            clock=plan.clock,
            noise=plan.noise,
        )
        store = self.parts.store
        return results, await asyncio.to_thread(read_record, store, await store.get(evidence.record))

    async def judge(self, plan: Plan, evidence: Evidence) -> list[CriterionResult]:
        """Judge all criteria, each separately."""

        async def judge(criterion: CriterionBrief) -> CriterionResult:
            payload = JudgeInput(plan=plan, criterion_id=criterion.criterion_id, evidence=evidence)
            return await do(self.verdicts.judge_criterion, payload)

        return await do_all(*map(judge, plan.criteria))

    async def _participant_plays(
        self, plan: Plan, checkpoint: BlobRef, script: Script, turn: int, now: datetime
    ) -> tuple[TurnCompleteMessage | EarlyCompletionMessage | None, BlobRef]:
        simulations = self.parts.simulations
        simulation = await simulations.begin(
            plan.simulation_id, checkpoint, mark=f"turn {turn}", issue=1, conditions=Conditions.of(plan, turn)
        )
        access = simulation.make_access(1)
        outcome = await script(turn, AsyncUESClient(access.address, access.secret, http=self._http), now)
        message = outcome if isinstance(outcome, TurnCompleteMessage | EarlyCompletionMessage) else None
        return message, await simulations.keep(simulation)

    async def _settle(self, plan: Plan, checkpoint: BlobRef, turn: int, now: datetime) -> TurnApplied:
        if Conditions.of(plan, turn) is None:
            payload = ApplyInput(plan=plan, turn=turn, checkpoint=checkpoint, turn_start=now)
            return await do(self._turns.apply, payload)
        settling = Settling(await self.parts.scenarios.load_scenario(plan.scenario), turn, now)
        return await do(settling.settle, self.parts.simulations, plan.simulation_id, f"turn {turn}")

    async def _characters_answer(self, plan: Plan, turn: int, applied: TurnApplied) -> list[PlannedReply]:
        replies = []
        for addressed in applied.addressed:
            message = applied.messages[addressed.message]
            responded = await do(
                self._characters.respond,
                RespondInput(
                    scenario=plan.scenario,
                    seed=plan.seed,
                    turn=turn,
                    offline=True,
                    character_id=addressed.character_id,
                    message=message,
                ),
            )
            if responded.reply is not None:
                replies.append(PlannedReply(reply=responded.reply, message=message))
        return replies
