"""The real workflows with scripted activities: each does nothing and answers at once, unless a test wants otherwise."""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Interceptor

from proctor.activities.admission.payloads import AdmitInput, QueueInput
from proctor.activities.admission.queueing import QueueActivities, is_running, join
from proctor.activities.archive.payloads import ArchiveInput
from proctor.activities.attempts import failures
from proctor.activities.attempts.resets import ResetActivities
from proctor.activities.characters.messages import Responded, RespondInput
from proctor.activities.judging.payloads import JudgeInput
from proctor.activities.participant.payloads import FarewellInput, GreetInput, TurnAnswer, TurnInput
from proctor.activities.plan import CriterionBrief, Plan
from proctor.activities.simulation.payloads import (
    Advanced,
    AdvanceInput,
    ApplyInput,
    ConcludeInput,
    Evidence,
    Prepared,
    TurnApplied,
)
from proctor.service.worker import WORKFLOWS
from proctor.storage.blobs import BlobRef, BlobStore
from purple_sdk.protocol.messages import CalendarSummary, ChatSummary, EmailSummary, InitialStateSummary, SMSSummary
from purple_sdk.protocol.results import AssessmentResults, CriterionResult
from tests.workflows.workers import working

MORNING = datetime(2026, 3, 2, 8, tzinfo=UTC)
NOWHERE = BlobRef(sha256="0" * 64, size=0)
EMPTY = InitialStateSummary(
    email=EmailSummary(total_emails=0, total_threads=0, unread=0, draft_count=0),
    calendar=CalendarSummary(event_count=0, calendar_count=0, events_today=0),
    sms=SMSSummary(total_messages=0, total_conversations=0, unread=0),
    chat=ChatSummary(total_messages=0, conversation_count=0),
)

LOCAL_JUDGEMENT = "judge_criterion, local"
"""The name, in ``ScriptedActivities``, of a judgement by a local activity."""

Replacement = Callable[[Any], Awaitable[Any]]
"""What a test has an activity do, given its input; what it returns stands for the activity's result, unless None."""


def plan(task_id: str, task_queue: str) -> Plan:
    """Two turns, one criterion; not offline."""
    return Plan(
        assessment_id=task_id,
        simulation_id=task_id,
        scenario=NOWHERE,
        initial_state=NOWHERE,
        package=NOWHERE,
        scenario_id="scripted",
        scenario_name="Scripted",
        participant="assistant",
        participant_url="http://participant",
        seed=7,
        offline=False,
        verbose_updates=True,
        max_turns=2,
        turn_timeout=60,
        turn_tries=1,
        judge_timeout=30,
        assessment_timeout=3600,
        models_task_queue=task_queue,
        start_time=MORNING,
        end_time=MORNING + timedelta(hours=2),
        default_time_step="PT1H",
        expected_turns=2,
        character_count=0,
        criteria=[CriterionBrief(criterion_id="c1", name="All", dimension="accuracy", max_score=5, by_model=False)],
    )


def verdict(criterion_id: str) -> CriterionResult:
    """Four points of five."""
    return CriterionResult(
        criterion_id=criterion_id,
        name="All",
        dimension="accuracy",
        score=4,
        max_score=5,
        explanation="Nearly all.",
        judged_by="evaluator:all",
    )


class ScriptedActivities:
    """Every activity of the worker, by name.

    Attributes:
        replacements: what a step does instead, by the activity's name. calls: the steps that ran,
        every attempt, in order. inputs: what each step was given, by the activity's name. changes: of the plan.
        store: where results so far are kept, if anywhere.
    """

    def __init__(self, store: BlobStore | None = None, **changes: Any) -> None:
        self.store = store
        self.replacements: dict[str, Replacement] = {}
        self.calls: list[str] = []
        self.inputs: defaultdict[str, list[Any]] = defaultdict(list)
        self.changes = changes

    def all(self) -> list[Callable[..., Any]]:
        return [
            self.admit,
            self.join_queue,
            self.is_running,
            self.wait_until_over,
            ResetActivities().measure_pauses,
            self.set_up,
            self.greet,
            self.purple_turn,
            self.apply,
            self.respond,
            self.advance,
            self.conclude,
            self.judge_criterion,
            self.farewell,
            self.keep_results,
            self.take_down,
            self.archive,
        ]

    def worker(self, client: Client, task_queue: str, *interceptors: Interceptor) -> AbstractAsyncContextManager[None]:
        """A worker with these activities and the real workflows; ``interceptors`` stand behind a worker's own."""
        return working(client, task_queue, WORKFLOWS, self.all(), *interceptors)

    async def _does(self, given: Any, usually: Any = None, name: str = "") -> Any:
        name = name or activity.info().activity_type
        self.calls.append(name)
        self.inputs[name].append(given)
        done = await self.replacements[name](given) if name in self.replacements else None
        return usually if done is None else done

    @activity.defn
    async def admit(self, given: AdmitInput) -> Plan:
        usual = plan(given.task_id, activity.info().task_queue).model_copy(update=self.changes)
        return await self._does(given, usual)  # type: ignore[no-any-return]

    @activity.defn
    async def join_queue(self, given: QueueInput) -> None:
        await self._does(given)
        await join(activity.client(), activity.info().task_queue, given)

    @activity.defn
    async def wait_until_over(self, task_id: str) -> None:
        await self._does(task_id)
        await QueueActivities().wait_until_over(task_id)

    @activity.defn
    async def is_running(self, task_id: str) -> bool:
        return await is_running(activity.client(), task_id)

    @activity.defn
    async def set_up(self, given: Plan) -> Prepared:
        usual = Prepared(checkpoint=NOWHERE, initial_state=NOWHERE, current_time=given.start_time, summary=EMPTY)
        return await self._does(given, usual)  # type: ignore[no-any-return]

    @activity.defn
    async def greet(self, given: GreetInput) -> BlobRef:
        return await self._does(given, NOWHERE)  # type: ignore[no-any-return]

    @activity.defn
    async def purple_turn(self, given: TurnInput) -> TurnAnswer:
        usual = TurnAnswer(checkpoint=NOWHERE, kind="turn_complete")
        return await self._does(given, usual)  # type: ignore[no-any-return]

    @activity.defn
    async def apply(self, given: ApplyInput) -> TurnApplied:
        usual = TurnApplied(checkpoint=NOWHERE, actions=[], messages=[], addressed=[])
        return await self._does(given, usual)  # type: ignore[no-any-return]

    @activity.defn
    async def respond(self, given: RespondInput) -> Responded:
        return await self._does(given, Responded())  # type: ignore[no-any-return]

    @activity.defn
    async def advance(self, given: AdvanceInput) -> Advanced:
        usual = Advanced(checkpoint=NOWHERE, current_time=given.to, events_processed=0)
        return await self._does(given, usual)  # type: ignore[no-any-return]

    @activity.defn
    async def conclude(self, given: ConcludeInput) -> Evidence:
        return await self._does(given, Evidence(checkpoint=NOWHERE, record=NOWHERE))  # type: ignore[no-any-return]

    @activity.defn
    async def judge_criterion(self, given: JudgeInput) -> CriterionResult:
        name = LOCAL_JUDGEMENT if activity.info().is_local else "judge_criterion"
        return await self._does(given, verdict(given.criterion_id), name)  # type: ignore[no-any-return]

    @activity.defn
    async def farewell(self, given: FarewellInput) -> None:
        await self._does(given)

    @activity.defn
    async def keep_results(self, results: AssessmentResults) -> BlobRef:
        usual = await self.store.put(results.model_dump_json().encode()) if self.store else NOWHERE
        return await self._does(results, usual)  # type: ignore[no-any-return]

    @activity.defn
    async def take_down(self, simulation_id: str) -> None:
        await self._does(simulation_id)

    @activity.defn
    async def archive(self, given: ArchiveInput) -> None:
        await self._does(given)


def fails(kind: str, sentence: str, *, times: int | None = None) -> Replacement:
    """An activity that fails for good; with ``times``, one whose first so many attempts fail."""

    async def fail(_given: Any) -> None:
        if times is None:
            raise failures.Kind(kind).final(sentence)
        if activity.info().attempt <= times:
            raise failures.Kind(kind).passing(sentence)

    return fail
