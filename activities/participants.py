"""The participant's part: it is greeted, plays its turns, and is told when all is over.

A turn is the hard one: whatever dies meanwhile, the participant must not act twice. The simulation is *marked* with
the try that is being played before the message goes out. An attempt that finds the mark of its own try knows that the
participant may have acted already, and asks for the answer (by the task it was given, or by the same message id)
instead of starting over; one that should find the mark and doesn't knows that the simulator lost the turn.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities import called_off, failures, heartbeats
from activities.deployment import Deployment
from activities.lifecycle import summarise
from activities.participant_client import Answer, ParticipantClient, ParticipantClients, message_id
from activities.plan import FarewellInput, GreetInput, Plan, TurnAnswer, TurnInput
from activities.simulations.checkpoints import find, patiently, stand_at, take_checkpoint
from activities.simulations.hosts import Simulation, SimulationGoneError
from proctor_protocol.messages import (
    AssessmentCompleteMessage,
    AssessmentStartMessage,
    InitialStateSummary,
    TurnCompleteMessage,
    TurnStartMessage,
)
from proctor_storage.blobs import BlobRef
from purple_sdk.ues.answers import CurrentCheckpoint

T = TypeVar("T")

FAREWELL_SECONDS = 2.0
"""How long the end of an assessment may wait for the participant to take note of it."""

_CANCEL_SECONDS = 1.0
"""How long the participant is waited for when it is to stop."""

_LAST_KNOCK_SECONDS = 1.0
"""How long an attempt that comes when the time is over looks for the participant, and for an answer that was there
before: it may have been the store or the simulator that the attempt before had to wait for.
"""

_MARKED = "marked"
"""The note that the simulation was marked: from then on the participant may have been told."""


class ParticipantActivities:
    """Everything that is said to a participant."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._clients = ParticipantClients(deployment.config)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._clients.aclose()

    @activity.defn
    async def greet(self, given: GreetInput) -> BlobRef:
        """Send ``assessment_start``; returns the checkpoint reached, as a participant may act at once."""
        plan, prepared = given.plan, given.prepared
        step = f"{_run()} start"
        simulation, mark = await self._begin(plan, prepared.checkpoint, step, may_start_over=True)
        answer = await self._heard(
            plan, "the start message", lambda participant: self._start(participant, given, simulation, mark)
        )
        simulation = find(self._deployment, plan.simulation_id)
        stands = await patiently(simulation.current)
        if not _is_marked(stands.mark, step):
            raise failures.passing(  # whatever the participant says: it was not its fault
                failures.SIMULATION_LOST,
                "The simulator lost what the participant did when it was greeted: it has to be greeted again.",
            )
        answer.require_success()
        simulation.participant_was_told()
        return await self._reached(simulation, stands, prepared.checkpoint)

    @activity.defn
    async def purple_turn(self, given: TurnInput) -> TurnAnswer:
        """Let the participant play one try of a turn, from the turn's first checkpoint to its last."""
        plan = given.plan
        step = f"{_run()} turn {given.turn} try {given.attempt}"
        simulation, mark = await self._begin(plan, given.checkpoint, step, may_start_over=False)
        try:
            answer = await self._heard(
                plan, f"turn {given.turn}", lambda participant: self._play(participant, given, simulation, mark)
            )
            stands = await patiently(simulation.current)
            if stands.mark != mark:
                raise _lost(step)  # whatever the participant says: it was not its fault
            said = answer.to_turn()
            checkpoint = await self._reached(simulation, stands, given.checkpoint)
        except SimulationGoneError:
            raise _lost(step) from None
        if isinstance(said, TurnCompleteMessage):
            return TurnAnswer(
                checkpoint=checkpoint,
                kind="turn_complete",
                reported=said.actions,
                notes=said.notes,
                time_step=said.time_step if "time_step" in said.model_fields_set else None,
            )
        return TurnAnswer(checkpoint=checkpoint, kind="early_completion", notes=said.reason)

    @activity.defn
    async def farewell(self, given: FarewellInput) -> None:
        """Have the participant stop what it may still be at, and send ``assessment_complete``.

        A participant that can't be told is no failure.
        """
        plan = given.plan
        noted: list[str] = []
        with suppress(RPCError):
            noted = _tasks_in(await called_off.notes_under_way())
        with suppress(ApplicationError, TimeoutError):
            async with (
                asyncio.timeout(FAREWELL_SECONDS),
                self._clients.talk(plan.participant_url, plan.assessment_id) as participant,
            ):
                # Whoever waits for a task has it canceled too, unless it has died: then the next one knows of it by
                # its notes, or the participant says so.
                with suppress(TimeoutError):
                    async with asyncio.timeout(_CANCEL_SECONDS):
                        unfinished = {*noted, *await participant.unfinished()}
                        await asyncio.gather(*map(participant.cancel, unfinished))
                await participant.send(
                    AssessmentCompleteMessage(reason=given.reason), message_id(plan.assessment_id, _run(), "complete")
                )

    async def _begin(
        self, plan: Plan, checkpoint: BlobRef, step: str, *, may_start_over: bool
    ) -> tuple[Simulation, str]:
        """Have the simulation stand at the start of a step and marked with it, unless the step is under way there.

        Returns:
            The simulation and its mark. The mark names the attempt that made it, and messages derive their ids from
            it: where a mark was lost with what the participant did, the message that comes next is a new one.

        Raises:
            ApplicationError: ``SimulationLost`` where the step was under way and isn't any more, unless it
                ``may_start_over``.
        """

        async def begin() -> tuple[Simulation, str]:
            with suppress(SimulationGoneError):  # then it is made anew below
                simulation = find(self._deployment, plan.simulation_id)
                mark = (await simulation.current()).mark
                if mark and _is_marked(mark, step):
                    return simulation, mark
            if heartbeats.notes() and not may_start_over:
                raise _lost(step)
            return await self._start_over(plan, checkpoint, f"{step} since {activity.info().attempt}")

        return await patiently(begin)

    async def _start_over(self, plan: Plan, checkpoint: BlobRef, mark: str) -> tuple[Simulation, str]:
        """Have the simulation stand at the start of a step, with a new mark; what earlier attempts noted is void."""
        heartbeats.forget()
        simulation = await stand_at(self._deployment, plan.simulation_id, checkpoint)
        await simulation.mark(mark)
        heartbeats.note(_MARKED)
        return simulation, mark

    async def _reached(self, simulation: Simulation, stands: CurrentCheckpoint, before: BlobRef) -> BlobRef:
        """The checkpoint at which a step has ended."""
        if stands.checkpoint == before.sha256:
            return before
        return await patiently(lambda: take_checkpoint(self._deployment, simulation))

    async def _start(
        self, participant: ParticipantClient, given: GreetInput, simulation: Simulation, mark: str
    ) -> Answer:
        plan, prepared = given.plan, given.prepared
        if tasks := _tasks():
            known = await participant.rejoin(tasks[-1])
            if known is not None:
                return known
            # It was restarted while it was being greeted: whatever it has done until then, it knows nothing of it.
            again = f"{_run()} start since {activity.info().attempt} again"
            simulation, mark = await patiently(lambda: self._start_over(plan, prepared.checkpoint, again))
        message = await self._greeting(plan, simulation, prepared.current_time, prepared.summary)
        start_id = message_id(plan.assessment_id, mark, simulation.fingerprint)
        return await participant.send(message, start_id, _note_task)

    async def _play(
        self, participant: ParticipantClient, given: TurnInput, simulation: Simulation, mark: str
    ) -> Answer:
        message = TurnStartMessage(
            turn_number=given.turn,
            current_time=given.current_time,
            events_processed=given.events_processed,
            attempt=given.attempt,
        )
        step = (given.plan.assessment_id, mark)
        if tasks := _tasks():
            known = await participant.rejoin(tasks[-1])
            if known is None:
                raise failures.final(
                    failures.PARTICIPANT_FAILED,
                    f"The participant lost its task of turn {given.turn}: it was restarted in mid-turn.",
                )
            answer = known
        else:
            if not simulation.is_known_to_participant:
                greeted = await self._greet_again(participant, given, simulation)
                if greeted.has_failed:
                    return greeted
            answer = await participant.send(message, message_id(*step), _note_task)
        if answer.may_have_refused and (await patiently(simulation.current)).checkpoint == given.checkpoint.sha256:
            # It refused before doing anything: perhaps it was restarted and doesn't know the assessment any more.
            greeted = await self._greet_again(participant, given, simulation)
            if greeted.has_failed:
                return greeted
            answer = await participant.send(message, message_id(*step, "after start"), _note_task)
        return answer

    async def _greet_again(self, participant: ParticipantClient, given: TurnInput, simulation: Simulation) -> Answer:
        """Tell a participant in mid-assessment where the simulation is and how to get in."""
        plan = given.plan
        greeting = await self._greeting(
            plan, simulation, given.current_time, await summarise(simulation.admin, given.current_time)
        )
        start_id = message_id(plan.assessment_id, _run(), given.turn, given.attempt, "start")
        answer = await participant.send(greeting, start_id)
        if not answer.has_failed:
            simulation.participant_was_told()
        return answer

    async def _heard(
        self, plan: Plan, what: str, work: Callable[[ParticipantClient], Coroutine[Any, Any, Answer]]
    ) -> Answer:
        """Talk to the participant and wait for an answer; one that nobody waits for any more is told to stop.

        An attempt that is given up because another one has taken its place, or because its worker ends, tells nobody:
        the next one waits for the same task.
        """
        async with AsyncExitStack() as stack:
            talk = self._clients.talk(plan.participant_url, plan.assessment_id)
            try:
                participant = await _in_time(plan, what, stack.enter_async_context(talk), at_least=_LAST_KNOCK_SECONDS)
            except ApplicationError as problem:
                if problem.type == failures.PARTICIPANT_UNREACHABLE and _seconds_left(plan) <= 0:
                    raise failures.final(failures.PARTICIPANT_UNREACHABLE, problem.message) from None
                raise
            try:
                return await _in_time(plan, what, work(participant), at_least=_LAST_KNOCK_SECONDS)
            except ApplicationError as problem:
                if problem.type == failures.TURN_TIMEOUT:
                    await self._abandon(participant)
                raise
            except asyncio.CancelledError:
                if _is_unwanted():
                    await asyncio.shield(self._abandon(participant))
                raise

    async def _abandon(self, participant: ParticipantClient) -> None:
        """Have the participant's task of this step canceled."""
        if tasks := _tasks():
            with suppress(TimeoutError):
                async with asyncio.timeout(_CANCEL_SECONDS):
                    await participant.cancel(tasks[-1])

    async def _greeting(
        self, plan: Plan, simulation: Simulation, current_time: datetime, summary: InitialStateSummary
    ) -> AssessmentStartMessage:
        scenario = await self._deployment.scenario(plan.scenario)
        return AssessmentStartMessage(
            ues_url=simulation.address,
            api_key=simulation.participant_secret,
            assessment_instructions=scenario.user_prompt,
            current_time=current_time,
            initial_state_summary=summary,
        )


def _run() -> str:
    """Part of every message id, so that a run that was reset doesn't repeat the ids of the run before."""
    return str(activity.info().workflow_run_id)


def _tasks() -> list[str]:
    """The participant's tasks that attempts of this step were given."""
    return _tasks_in(heartbeats.notes())


def _tasks_in(notes: list[str]) -> list[str]:
    return [note for note in notes if note != _MARKED]


def _note_task(answer: Answer) -> None:
    if answer.task_id:
        heartbeats.note(answer.task_id)


def _is_marked(mark: str | None, step: str) -> bool:
    return mark is not None and mark.startswith(f"{step} since ")


def _is_unwanted() -> bool:
    """Whether this attempt is canceled because the assessment wants no answer any more."""
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested


def _lost(step: str) -> ApplicationError:
    what = step.partition(" ")[2]
    return failures.final(
        failures.SIMULATION_LOST,
        f"The simulator lost what the participant did in {what}: it has to be played again.",
    )


async def _in_time(plan: Plan, what: str, work: Coroutine[Any, Any, T], at_least: float = 0.0) -> T:
    """Wait for the participant, but no longer than a turn may take since this step was first scheduled."""
    try:
        async with asyncio.timeout(max(_seconds_left(plan), at_least)):
            return await work
    except TimeoutError:
        raise failures.final(
            failures.TURN_TIMEOUT,
            f"The participant did not finish {what} within {plan.turn_timeout:g} s.",
        ) from None


def _seconds_left(plan: Plan) -> float:
    over = activity.info().scheduled_time + timedelta(seconds=plan.turn_timeout)
    return (over - datetime.now(UTC)).total_seconds()
