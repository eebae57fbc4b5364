"""The participant's part: it is greeted, plays its turns, and is notified of the end.

A turn is the hard one: whichever process dies, the participant must not act twice. Before the message is sent, the
simulation is *marked* with the current try, in the same request by which the attempt claims it. An attempt that finds
the mark of its own try knows that the participant may have acted already. It doesn't start over but asks for the
answer, by the task that it got or by the same message id. An attempt that should find the mark and doesn't knows that
the simulator lost the turn.

No overtaken attempt may act or send: an attempt looks whether it was overtaken right before it says something,
unless it has just claimed the simulation, and its messages carry its fence. Where the participant may still work on
an abandoned request, it gets a new key, the old one is refused, and it is greeted again. That happens in a new run,
in a try after one whose end it didn't confirm, and by an attempt that can't know the requests of those before it. The
mark names the key, by the fence of the attempt that made it. ``tests/model`` goes through what can happen.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from proctor.activities.attempts import failures, heartbeats, notes
from proctor.activities.attempts.elapsed import counting_stops, since_scheduled, waited_for_worker
from proctor.activities.attempts.fencing import own_fence
from proctor.activities.attempts.patience import patiently
from proctor.activities.participant import Answer, AnswerLostError, ParticipantClient, ParticipantClients, message_id
from proctor.activities.participant.answer import OnEvent, UnreadableTurnError
from proctor.activities.participant.earlier_tasks import CANCEL_SECONDS, cancel_all, end_all, was_asked_in_earlier_run
from proctor.activities.participant.payloads import (
    FarewellInput,
    Greeted,
    GreetInput,
    ParticipantKey,
    TurnAnswer,
    TurnInput,
)
from proctor.activities.participant.transcripts import kept_transcript
from proctor.activities.plan import Model, Plan
from proctor.activities.scenario_code.scenarios import Scenarios
from proctor.activities.simulation.hosts import Access, Conditions, Simulation, SimulationGoneError
from proctor.activities.simulation.lifecycle import summarise
from proctor.activities.simulation.payloads import TurnApplied
from proctor.activities.simulation.simulations import Simulations
from proctor.activities.simulation.turns import Settling
from proctor.protocol.task_ids import unique_part
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef, BlobStore
from purple_sdk.protocol import messages
from purple_sdk.protocol.json_safe import json_safe_text
from purple_sdk.protocol.problems import show_value
from purple_sdk.protocol.provenance import ParticipantCard
from purple_sdk.protocol.results import Clarification
from purple_sdk.ues import UESError
from purple_sdk.ues.answers import CurrentCheckpoint

T = TypeVar("T")

FAREWELL_SECONDS = 2.0
"""How long the end of an assessment may wait for the participant to take note of it."""

_LAST_KNOCK_SECONDS = 1.0
"""How long an attempt that comes when the time is over looks for the participant, and for an answer that was there
before: it may have been the store or the simulator that the attempt before had to wait for.
"""

_WORTH_NOTING = 1.0
"""How many seconds a step has to wait for a worker until later attempts are informed."""

_JUST_SECONDS = 0.03
"""For how long a claim stands for a look: about as long as it takes to look and to speak after it."""

_LOOK_SECONDS = 0.5
"""How long the simulator is waited for when another worker may have continued the assessment."""

_LONGEST_PROBLEM = 500

_NO_ANSWER = (
    "No one can answer questions during this assessment. Decide with the information that you have, continue the "
    "turn, and end it with a turn_complete message."
)
_ASKED_AGAIN = (
    "Your answer could not be read. {problem} What you did in this turn counts: don't do it again. Send the turn's "
    'answer once more, as one JSON object and nothing else, such as {{"message_type": "turn_complete", "actions": []}}.'
)


class ParticipantActivities:
    def __init__(
        self,
        config: GreenAgentConfig,
        scenarios: Scenarios,
        simulations: Simulations,
        store: BlobStore | None = None,
    ) -> None:
        self._scenarios = scenarios
        self._simulations = simulations
        self._clients = ParticipantClients(config)
        self._store = store

    async def aclose(self) -> None:
        await self._clients.aclose()

    @activity.defn
    async def greet(self, payload: GreetInput) -> Greeted:
        """Send ``assessment_start``; returns the checkpoint reached, as a participant may act at once."""
        plan, prepared = payload.plan, payload.prepared
        work = _Work(plan, prepared.checkpoint, f"{_run()} start", None, may_start_over=True)
        simulation = await self._begin(work)
        is_reset = payload.is_reset or was_asked_in_earlier_run(payload)
        try:
            answer, simulation, card = await self._converse(
                plan,
                "the start message",
                lambda participant: self._start(participant, payload, work, simulation),
                simulation if is_reset else None,
            )
            is_remembered = (await patiently(simulation.look)).mark == simulation.mark
        except SimulationGoneError:
            is_remembered = False
        if not is_remembered:
            raise failures.SIMULATION_LOST.passing(  # whatever the participant says: it was not its fault
                "The simulator lost what the participant did when it was greeted: it has to be greeted again."
            )
        answer.require_success()
        simulation.note_access_sent()
        checkpoint = await patiently(lambda: self._simulations.of(plan).keep(simulation))
        return Greeted(
            sha256=checkpoint.sha256,
            size=checkpoint.size,
            key=ParticipantKey(issue=_key_in(simulation), run=_run(), simulator=plan.simulator),
            card=card,
        )

    @activity.defn
    async def purple_turn(self, payload: TurnInput) -> TurnAnswer:
        """Let the participant play one try of a turn, from the turn's first checkpoint to its last."""
        plan = payload.plan
        step = f"{_run()} turn {payload.turn} try {payload.attempt}"
        issue = None if payload.needs_new_key or was_asked_in_earlier_run(payload) else payload.key.issue
        work = _Work(plan, payload.checkpoint, step, issue, Conditions.of(plan, payload.turn))
        simulation = await self._begin(work)
        try:
            answer = await self._converse(
                plan,
                f"turn {payload.turn}",
                lambda participant: self._play_to_the_end(participant, payload, simulation),
                simulation if _key_in(simulation) != payload.key.issue else None,
                payload.left,
            )
            try:
                return await self._take_answer(payload, answer, simulation, step)
            except ApplicationError as problem:
                raise failures.altered(problem, failures.OVER) from None
        except SimulationGoneError:
            raise _lost_error(step) from None

    async def _take_answer(self, payload: TurnInput, answer: Answer, simulation: Simulation, step: str) -> TurnAnswer:
        """Take the answer to a turn. Where it may settle with the simulation in hand, it does."""
        simulations = self._simulations.of(payload.plan)
        clarifications = [each.clarification for each in notes.noted(notes.ClarificationNote)]
        try:
            message = answer.to_turn()
        except ApplicationError as problem:
            await _require_mark(simulation, step)  # whatever the participant says: it was not its fault
            raise _after(clarifications, problem) from None
        issue = _key_in(simulation)
        if simulations.host.outlive_workers:
            applied = await self._settle(payload, simulation)
            checkpoint = applied.checkpoint
        else:
            applied = None
            current = await _require_mark(simulation, step)
            checkpoint = payload.checkpoint
            if issue != payload.key.issue or not current.is_untouched:
                checkpoint = await patiently(lambda: simulations.keep(simulation))
        return TurnAnswer(
            checkpoint=checkpoint,
            kind=message.message_type,
            reported=message.actions or [],
            is_reported=message.actions is not None,
            notes=message.reason if isinstance(message, messages.EarlyCompletionMessage) else message.notes,
            time_step=_time_step(message),
            model_usage=message.model_usage,
            clarifications=clarifications,
            key=payload.key
            if issue == payload.key.issue
            else ParticipantKey(issue=issue, run=_run(), simulator=payload.plan.simulator),
            applied=applied,
            trajectory=await self._keep_trajectory(message),
        )

    async def _keep_trajectory(self, message: messages.FromParticipant) -> BlobRef | None:
        store, trajectory = self._store, message.trajectory
        if store is None or trajectory is None:
            return None
        return await patiently(lambda: store.put(kept_transcript(trajectory)))

    async def _settle(self, payload: TurnInput, simulation: Simulation) -> TurnApplied:
        plan = payload.plan
        scenario = await patiently(lambda: self._scenarios.load_scenario(plan.scenario))
        settling = Settling(scenario, payload.turn, payload.current_time)
        settled, checkpoint = await self._simulations.of(plan).step_in_hand(
            plan.simulation_id, simulation.mark or "", settling.step
        )
        return settling.outcome(settled, checkpoint)

    @activity.defn
    async def farewell(self, payload: FarewellInput) -> None:
        """Have the participant stop what it may still be at, and send ``assessment_complete``.

        It isn't a failure if the participant can't be informed. An assessment that has been reset since hasn't ended.
        """
        plan = payload.plan
        with suppress(UESError, TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                if await self._simulations.of(plan).is_held_by_newer(plan.simulation_id):
                    return
        unfinished = list(payload.left)
        with suppress(RPCError):
            unfinished += await notes.tasks_called_off()
        with suppress(ApplicationError, TimeoutError):
            async with (
                asyncio.timeout(FAREWELL_SECONDS),
                self._clients.talk(plan.participant_url, unique_part(plan.assessment_id)) as participant,
            ):
                # Whoever waits for a task has it canceled too, unless it has died: then the next one knows of it by
                # its notes, or the participant says so.
                await cancel_all(participant, unfinished)
                await participant.send(
                    messages.AssessmentCompleteMessage(reason=payload.reason),
                    message_id(plan.assessment_id, _run(), "complete"),
                    fence=own_fence(),
                )

    async def _begin(self, work: "_Work", again: bool = False) -> Simulation:
        """Have the simulation at the start of a step and marked with it; or continue the step, where an earlier attempt
        has noted the mark that it made, and the simulation still has that. ``SimulationLost`` where the step was under
        way and isn't any more, unless it ``may_start_over``; what earlier attempts noted is void then.

        Messages derive their ids from the mark: where one was lost with what the participant did, the message that
        comes next is a new one.
        """
        simulations, plan = self._simulations.of(work.plan), work.plan
        if (waited := _wait_seconds()) > _WORTH_NOTING:
            notes.note(notes.WaitNote(seconds=waited))

        async def begin() -> Simulation:
            if noted := notes.noted(notes.MarkNote):
                try:
                    return await simulations.take_over(plan.simulation_id, mark=noted[-1].mark)
                except SimulationGoneError:
                    if not work.may_start_over:
                        raise _lost_error(work.step) from None
                    _forget()
            # Who isn't the first and finds no note can't know what those before it have asked the participant to do.
            is_first = activity.info().attempt == 1
            issue = own_fence() if work.issue is None or not is_first else work.issue
            mark = _Mark(step=work.step, fence=own_fence(), is_again=again, issue=issue).model_dump_json()
            conditions = work.conditions if issue == work.issue else None  # else it is greeted first
            simulation = await simulations.begin(
                plan.simulation_id, work.checkpoint, mark=mark, issue=issue, conditions=conditions
            )
            notes.note(notes.MarkNote(mark=simulation.mark or ""))
            return simulation

        return await patiently(begin)

    async def _start(
        self, participant: ParticipantClient, payload: GreetInput, work: "_Work", simulation: Simulation
    ) -> tuple[Answer, Simulation, ParticipantCard]:
        prepared, known = payload.prepared, None
        if tasks := notes.noted_tasks():
            known = await participant.rejoin(tasks[-1])
            if known is not None and not known.may_have_refused:
                return known, simulation, participant.card
            if known is None:
                # It was restarted while it was being greeted: whatever it has done until then, it knows nothing of it.
                _forget()
                simulation = await self._begin(work, again=True)
        access = simulation.make_access(_key_in(simulation))
        message = await self._greeting(
            payload.plan, access, prepared.current_time, prepared.summary, resumes_turn=payload.resumes_turn
        )
        start_id = message_id(payload.plan.assessment_id, simulation.mark, access.fingerprint)
        try:
            answer = known or await self._say(participant, simulation, message, start_id, _note_task)
            answer = await self._say_as_text(participant, simulation, message, start_id, answer, _note_task)
        except _CutOffError:
            _forget()  # so the next attempt begins again, with a new key
            raise failures.PARTICIPANT_UNREACHABLE.passing(
                "The connection to the participant was lost after it had begun to act: it has to be greeted again."
            ) from None
        return answer, simulation, participant.card

    async def _play_to_the_end(
        self, participant: ParticipantClient, payload: TurnInput, simulation: Simulation
    ) -> Answer:
        """Play a turn. A question is answered once, and an answer that can't be read is asked for once more.

        Each clarification is noted before it is sent, and its message id derives from the step: an attempt that comes
        after a killed one sends the same message again, or waits for the task that the participant began for it.
        """
        sent: set[str] = set()
        try:
            answer = await self._play(participant, payload, simulation)
            while (needed := _find_clarification(payload.turn, answer)) is not None:
                made = [each.clarification for each in notes.noted(notes.ClarificationNote)]
                noted = [each for each in made if each.kind == needed.kind]
                if needed.kind in sent or any(map(notes.has_task_after, noted)):
                    break
                sent.add(needed.kind)
                notes.note(notes.ClarificationNote(clarification=noted[0] if noted else needed))
                after = await self._clarify(participant, payload, simulation, needed, answer)
                if after is None or (after.has_failed and needed.kind == "unreadable"):
                    break
                answer = after
        except _CutOffError:
            if not _is_own(simulation):
                raise failures.WORKERS_LOST.final(
                    f"The worker at turn {payload.turn} was lost after the participant had begun to act, and nothing "
                    "tells of its task: the turn has to be played again."
                ) from None
            raise failures.PARTICIPANT_FAILED.final(
                f"The connection to the participant was lost in turn {payload.turn}, after it had begun to act: "
                "the turn has to be played again."
            ) from None
        return answer

    async def _clarify(
        self,
        participant: ParticipantClient,
        payload: TurnInput,
        simulation: Simulation,
        clarification: Clarification,
        answer: Answer,
    ) -> Answer | None:
        """Give the participant a clarification; None where it can't take one."""
        if not _was_just_claimed(simulation):
            await patiently(simulation.look)
        is_question = clarification.kind == "question"
        try:
            return await participant.tell(
                _NO_ANSWER if is_question else _ASKED_AGAIN.format(problem=clarification.problem),
                message_id(payload.plan.assessment_id, simulation.mark, clarification.kind),
                _note_task,
                fence=own_fence(),
                task_id=answer.task_id if is_question else None,
            )
        except ApplicationError as problem:
            if problem.type != failures.PARTICIPANT_MISBEHAVED:
                raise
            return None

    async def _play(self, participant: ParticipantClient, payload: TurnInput, simulation: Simulation) -> Answer:
        message = messages.TurnStartMessage(
            turn_number=payload.turn,
            current_time=payload.current_time,
            events_processed=payload.events_processed,
            attempt=payload.attempt,
        )
        step = (payload.plan.assessment_id, simulation.mark)
        if tasks := notes.noted_tasks():
            known = await participant.rejoin(tasks[-1])
            if known is None:
                raise failures.PARTICIPANT_FAILED.final(
                    f"The participant lost its task of turn {payload.turn}: it was restarted in mid-turn."
                )
            answer = known
        else:
            if _key_in(simulation) != payload.key.issue or not simulation.is_known_to_participant:
                greeted = await self._greet_again(participant, payload, simulation)
                if greeted.has_failed:
                    return greeted
            await self._begin_course(payload, simulation)
            answer = await self._say(participant, simulation, message, message_id(*step), _note_task)
        if answer.may_have_refused and (await patiently(simulation.look)).is_untouched:
            # It refused before doing anything: perhaps it was restarted and doesn't know the assessment any more.
            await self._set_conditions(payload, simulation, None)
            greeted = await self._greet_again(participant, payload, simulation)
            if greeted.has_failed:
                return greeted
            await self._begin_course(payload, simulation)
            answer = await self._say(participant, simulation, message, message_id(*step, "after start"), _note_task)
        return answer

    async def _greet_again(self, participant: ParticipantClient, payload: TurnInput, simulation: Simulation) -> Answer:
        access = simulation.make_access(_key_in(simulation))
        summary = await summarise(simulation.admin, payload.current_time)
        greeting = await self._greeting(payload.plan, access, payload.current_time, summary, resumes_turn=payload.turn)
        start_id = message_id(payload.plan.assessment_id, simulation.mark, "start", access.fingerprint)
        answer = await self._say(participant, simulation, greeting, start_id)
        answer = await self._say_as_text(participant, simulation, greeting, start_id, answer)
        if not answer.has_failed:
            simulation.note_access_sent()
        return answer

    async def _begin_course(self, payload: TurnInput, simulation: Simulation) -> None:
        """Have the turn's message find the turn's conditions, however far an earlier attempt came: a course that has
        begun already continues.
        """
        await self._set_conditions(payload, simulation, Conditions.of(payload.plan, payload.turn))

    async def _set_conditions(self, payload: TurnInput, simulation: Simulation, conditions: Conditions | None) -> None:
        plan = payload.plan
        if simulation.conditions != conditions and Conditions.of(plan, payload.turn) is not None:
            simulations, mark = self._simulations.of(plan), simulation.mark or ""
            await patiently(lambda: simulations.set_conditions(plan.simulation_id, mark, conditions))
            simulation.conditions = conditions

    async def _say(
        self,
        participant: ParticipantClient,
        simulation: Simulation,
        message: messages.ToParticipant,
        message_id: str,
        on_event: OnEvent | None = None,
    ) -> Answer:
        """Send a message, unless this attempt was overtaken: one that was stopped for a while finds out by looking.

        Who has claimed the simulation just now knows; a stop since then shows by the clock. An attempt that has
        taken work over waits for the participant's task for the message.

        Raises:
            _CutOffError: the connection was lost after the message went out, or the attempt that sent it was, and the
                simulation has changed since. The participant may have died half-way, or continue: the same message
                would have it act twice.
            ApplicationError: as ``ParticipantClient.send`` does. The next attempt may send the same message.
        """
        if not _was_just_claimed(simulation):
            current = await patiently(simulation.look)
            if not (current.is_untouched or _is_own(simulation)):
                has_task = await self._has_task(participant, message_id, on_event)
                known = await participant.rejoin(notes.noted_tasks()[-1]) if has_task else None
                if known is None:
                    raise _CutOffError
                return known
        try:
            return await participant.send(message, message_id, on_event, fence=own_fence())
        except AnswerLostError:
            if notes.noted_tasks() or await self._has_task(participant, message_id, on_event):
                raise
            if (await patiently(simulation.look)).is_untouched:
                raise
            raise _CutOffError from None

    async def _has_task(self, participant: ParticipantClient, message_id: str, on_event: OnEvent | None) -> bool:
        if on_event is None:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):
                if (task_id := await participant.find_task(message_id)) is not None:
                    await notes.note_task(task_id)
                    return True
        return False

    async def _say_as_text(
        self,
        participant: ParticipantClient,
        simulation: Simulation,
        message: messages.ToParticipant,
        message_id_before: str,
        answer: Answer,
        on_event: OnEvent | None = None,
    ) -> Answer:
        """Send a greeting again without its data part, where the participant failed before it did anything; returns the
        answer to that, where it is better than ``answer``.
        """
        if not (answer.may_have_refused and participant.line.takes_data):
            return answer
        if not (await patiently(simulation.look)).is_untouched:
            return answer
        participant.line.takes_data = False
        again = await self._say(participant, simulation, message, message_id(message_id_before, "text"), on_event)
        participant.line.takes_data = again.has_failed
        return answer if again.has_failed else again

    async def _converse(
        self,
        plan: Plan,
        what: str,
        work: Callable[[ParticipantClient], Coroutine[Any, Any, T]],
        renewed: Simulation | None = None,
        left: Sequence[str] = (),
    ) -> T:
        """Talk to the participant and wait for an answer; one whose answer is no longer awaited is asked to stop.

        A ``renewed`` simulation has a new key: before the work begins, the participant's earlier tasks are ended, those
        that are ``left`` and those of earlier runs.

        An attempt that ends because another one has taken its place, or with its worker, sends no cancellation:
        the next one waits for the same task.
        """
        async with AsyncExitStack() as stack:
            talk = self._clients.talk(plan.participant_url, unique_part(plan.assessment_id))
            try:
                participant = await _in_time(plan, what, stack.enter_async_context(talk), at_least=_LAST_KNOCK_SECONDS)
            except ApplicationError as problem:
                if problem.type == failures.PARTICIPANT_UNREACHABLE and _seconds_left(plan) <= 0:
                    raise failures.PARTICIPANT_UNREACHABLE.final(problem.message) from None
                raise
            try:
                if renewed is not None and not notes.noted_tasks():
                    await _end_earlier(plan, participant, renewed, left)
                return await _in_time(plan, what, work(participant), at_least=_LAST_KNOCK_SECONDS)
            except ApplicationError as problem:
                if problem.type == failures.TURN_TIMEOUT:
                    await self._abandon(participant)
                raise notes.with_tasks(problem) from None
            except asyncio.CancelledError:
                await asyncio.shield(self._abandon_unwanted(participant))
                raise

    async def _abandon_unwanted(self, participant: ParticipantClient) -> None:
        """Have this step's task canceled if the assessment wants no answer any more: it is being cancelled, or was
        reset, or terminated. An attempt in whose place another one waits for the same answer leaves it alone.
        """
        details = activity.cancellation_details()
        if details is None or not notes.noted_tasks():
            return
        is_unwanted = details.cancel_requested
        if details.not_found:
            with suppress(RPCError, TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    is_unwanted = await notes.has_run_ended()
        if is_unwanted:
            await self._abandon(participant)

    async def _abandon(self, participant: ParticipantClient) -> None:
        if tasks := notes.noted_tasks():
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await participant.cancel(tasks[-1])

    async def _greeting(
        self,
        plan: Plan,
        access: Access,
        current_time: datetime,
        summary: messages.InitialStateSummary,
        resumes_turn: int | None = None,
    ) -> messages.AssessmentStartMessage:
        scenario = await self._scenarios.load_scenario(plan.scenario)
        return messages.AssessmentStartMessage(
            ues_url=access.address,
            api_key=access.secret,
            assessment_instructions=scenario.user_prompt,
            current_time=current_time,
            initial_state_summary=summary,
            resumes_turn=resumes_turn,
            mcp_url=access.mcp,
        )


class _CutOffError(Exception):
    """The participant may have acted on a message, and can't be heard any more."""


@dataclass(frozen=True)
class _Work:
    """What a participant is to do, and from where; ``issue`` is None where the attempt that begins makes a new key."""

    plan: Plan
    checkpoint: BlobRef
    step: str
    issue: int | None
    conditions: Conditions | None = None
    may_start_over: bool = False


class _Mark(Model):
    """What marks a simulation while a step's work is in hand; ``issue`` is the participant's key."""

    step: str
    fence: int
    is_again: bool = False
    issue: int


def _key_in(simulation: Simulation) -> int:
    return _Mark.model_validate_json(simulation.mark or "").issue


def _is_own(simulation: Simulation) -> bool:
    """Whether this attempt has begun the work in hand, and not one before it."""
    return _Mark.model_validate_json(simulation.mark or "").fence == own_fence()


def _was_just_claimed(simulation: Simulation) -> bool:
    now = counting_stops()
    return now is not None and simulation.claimed_at is not None and now - simulation.claimed_at < _JUST_SECONDS


def _run() -> str:
    """Part of every message id, so that a run that was reset doesn't repeat the ids of the run before."""
    return str(activity.info().workflow_run_id)


def _find_clarification(turn: int, answer: Answer) -> Clarification | None:
    """The objection to send to the participant before its answer to a turn can be taken."""
    if answer.has_failed:
        return None
    try:
        answer.read_turn()
    except UnreadableTurnError as problem:
        if answer.asks:
            return Clarification(turn=turn, kind="question", problem=json_safe_text(show_value(answer.find_text())))
        return Clarification(turn=turn, kind="unreadable", problem=json_safe_text(str(problem)[:_LONGEST_PROBLEM]))
    except ApplicationError:
        return None  # too large: to be told when it is taken
    return None


def _after(clarifications: Sequence[Clarification], problem: ApplicationError) -> ApplicationError:
    """The same failure, with the objection that the participant got before."""
    words = [problem.message]
    for clarification in clarifications:
        if clarification.kind == "question":
            words.insert(0, clarification.sentence())
        elif problem.type == failures.PARTICIPANT_MISBEHAVED:
            words.append("It was asked once more.")
    return failures.altered(problem, message=" ".join(words))


async def _note_task(answer: Answer) -> None:
    await notes.note_task(answer.task_id)


async def _end_earlier(plan: Plan, participant: ParticipantClient, simulation: Simulation, left: Sequence[str]) -> None:
    """Have the participant end what it is still at. An attempt that has taken a renewed simulation over ends what is
    known to be of before only, since other tasks may be this step's. The time isn't charged.
    """
    known = [*left, *await notes.tasks_of_earlier_runs()]
    is_own = _key_in(simulation) == own_fence()
    seconds = await end_all(participant, known, lists=is_own, seconds=plan.turn_timeout)
    if seconds > _WORTH_NOTING:
        notes.note(notes.WaitNote(seconds=_wait_seconds() + seconds))


def _time_step(message: messages.FromParticipant) -> str | None:
    if not isinstance(message, messages.TurnCompleteMessage) or "time_step" not in message.model_fields_set:
        return None
    return message.time_step


async def _require_mark(simulation: Simulation, step: str) -> CurrentCheckpoint:
    """Make sure that the simulator still has what was done in a step; fails as ``SimulationLost``."""
    current = await patiently(simulation.look)
    if current.mark != simulation.mark:
        raise _lost_error(step)
    return current


def _lost_error(step: str) -> ApplicationError:
    what = step.partition(" ")[2]
    return failures.SIMULATION_LOST.final(
        f"The simulator lost what the participant did in {what}: it has to be played again."
    )


async def _in_time(plan: Plan, what: str, work: Coroutine[Any, Any, T], at_least: float = 0.0) -> T:
    """Wait for the participant, but no longer than a turn may take since this step was first scheduled."""
    try:
        async with asyncio.timeout(max(_seconds_left(plan), at_least)):
            return await work
    except TimeoutError:
        raise failures.TURN_TIMEOUT.final(
            f"The participant did not finish {what} within {plan.turn_timeout:g} s."
        ) from None


def _seconds_left(plan: Plan) -> float:
    """What is left of the participant's time: it begins when a worker first gets at the step."""
    return plan.turn_timeout + _wait_seconds() - since_scheduled().total_seconds()


def _wait_seconds() -> float:
    """How many seconds of the step weren't the participant's: it had to wait for its first attempt, since workers had
    others to serve or there were none, or for the end of earlier tasks.
    """
    if noted := notes.noted(notes.WaitNote):
        return noted[-1].seconds
    return waited_for_worker().total_seconds() if activity.info().attempt == 1 else 0.0


def _forget() -> None:
    """Let the next attempt begin again: of what was noted it knows the time only that isn't the participant's."""
    waited = _wait_seconds()
    heartbeats.forget()
    notes.note(notes.WaitNote(seconds=waited))
