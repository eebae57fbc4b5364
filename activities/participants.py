"""The participant's part: it is greeted, plays its turns, and is told when all is over.

A turn is the hard one: whatever dies meanwhile, the participant must not act twice. The simulation is *marked* with
the try that is being played before the message goes out. An attempt that finds the mark of its own try knows that the
participant may have acted already, and asks for the answer (by the task it was given, or by the same message id)
instead of starting over; one that should find the mark and doesn't knows that the simulator lost the turn.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import failures, heartbeats
from activities.deployment import Deployment
from activities.participant_client import Answer, ParticipantClient, ParticipantClients, message_id
from activities.plan import FarewellInput, GreetInput, Plan, TurnAnswer, TurnInput
from activities.scenes import summarise
from activities.simulations.checkpoints import find, stand_at, take_checkpoint
from activities.simulations.worlds import SimulationGoneError, World
from protocol.messages import (
    AssessmentCompleteMessage,
    AssessmentStartMessage,
    InitialStateSummary,
    TurnCompleteMessage,
    TurnStartMessage,
)
from purple_sdk.ues import UESConnectionError
from storage.blobs import BlobRef

T = TypeVar("T")

FAREWELL_SECONDS = 5.0
_MARKED = "marked"
"""The note that the simulation was marked: from then on the participant may have been told."""


class ParticipantActivities:
    """Everything that is said to a participant."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._clients = ParticipantClients(deployment.config.connect_timeout)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._clients.aclose()

    @activity.defn
    async def greet(self, given: GreetInput) -> BlobRef:
        """Send ``assessment_start``; returns the checkpoint reached, as a participant may act at once."""
        plan, scene = given.plan, given.scene
        world = await stand_at(self._deployment, plan.simulation_id, scene.checkpoint)
        message = await self._greeting(plan, world, scene.current_time, scene.summary)
        async with self._clients.talk(plan.participant_url, plan.assessment_id) as participant:
            start_id = message_id(plan.assessment_id, _run(), "start", world.fingerprint)
            answer = await self._heard(
                participant, plan, "the start message", participant.send(message, start_id, _note_task)
            )
        answer.require_success()
        world.participant_was_told()
        if (await world.current()).checkpoint == scene.checkpoint.sha256:
            return scene.checkpoint
        return await take_checkpoint(self._deployment, world)

    @activity.defn
    async def purple_turn(self, given: TurnInput) -> TurnAnswer:
        """Let the participant play one try of a turn, from the turn's first checkpoint to its last."""
        plan = given.plan
        mark = f"{_run()} turn {given.turn} try {given.attempt}"
        world = await self._begin(given, mark)
        async with self._clients.talk(plan.participant_url, plan.assessment_id) as participant:
            answer = await self._heard(participant, plan, f"turn {given.turn}", self._play(participant, given, world))
        said = answer.to_turn()
        try:
            stands = await world.current()
            if stands.mark != mark:
                raise _lost(given.turn)
            is_unchanged = stands.checkpoint == given.checkpoint.sha256
            checkpoint = given.checkpoint if is_unchanged else await take_checkpoint(self._deployment, world)
        except (SimulationGoneError, UESConnectionError):
            raise _lost(given.turn) from None
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
        """Send ``assessment_complete``; a participant that can't be told is no failure."""
        plan = given.plan
        with suppress(ApplicationError, TimeoutError):
            async with (
                asyncio.timeout(FAREWELL_SECONDS),
                self._clients.talk(plan.participant_url, plan.assessment_id) as participant,
            ):
                await participant.send(
                    AssessmentCompleteMessage(reason=given.reason), message_id(plan.assessment_id, _run(), "complete")
                )

    async def _begin(self, given: TurnInput, mark: str) -> World:
        """Have the simulation stand at the start of this try, marked with it."""
        try:
            world = find(self._deployment, given.plan.simulation_id)
            if (await world.current()).mark == mark:
                return world
        except SimulationGoneError:
            pass  # the simulation is gone: it is made anew below
        if heartbeats.notes():
            raise _lost(given.turn)
        world = await stand_at(self._deployment, given.plan.simulation_id, given.checkpoint)
        await world.mark(mark)
        heartbeats.note(_MARKED)
        return world

    async def _play(self, participant: ParticipantClient, given: TurnInput, world: World) -> Answer:
        if tasks := _tasks():
            known = await participant.rejoin(tasks[-1])
            if known is None:
                raise failures.final(
                    failures.PARTICIPANT_FAILED,
                    f"The participant lost its task of turn {given.turn}: it was restarted in mid-turn.",
                )
            return known
        plan = given.plan
        step = (plan.assessment_id, _run(), given.turn, given.attempt)
        message = TurnStartMessage(
            turn_number=given.turn,
            current_time=given.current_time,
            events_processed=given.events_processed,
            attempt=given.attempt,
        )
        if not world.is_known_to_participant:
            await self._greet_again(participant, given, world)
        answer = await participant.send(message, message_id(*step), _note_task)
        if answer.has_failed and (await world.current()).checkpoint == given.checkpoint.sha256:
            # It refused before doing anything: perhaps it was restarted and doesn't know the assessment any more.
            await self._greet_again(participant, given, world)
            answer = await participant.send(message, message_id(*step, "after start"), _note_task)
        return answer

    async def _greet_again(self, participant: ParticipantClient, given: TurnInput, world: World) -> None:
        """Tell a participant in mid-assessment where the simulation is and how to get in."""
        plan = given.plan
        greeting = await self._greeting(
            plan, world, given.current_time, await summarise(world.admin, given.current_time)
        )
        start_id = message_id(plan.assessment_id, _run(), given.turn, given.attempt, "start")
        (await participant.send(greeting, start_id)).require_success()
        world.participant_was_told()

    async def _heard(
        self, participant: ParticipantClient, plan: Plan, what: str, work: Coroutine[Any, Any, Answer]
    ) -> Answer:
        """Wait for an answer; a participant that nobody waits for any more is told to stop."""
        try:
            return await _in_time(plan, what, work)
        except ApplicationError as problem:
            if problem.type == failures.TURN_TIMEOUT:
                await self._abandon(participant)
            raise
        except asyncio.CancelledError:
            await asyncio.shield(self._abandon(participant))
            raise

    async def _abandon(self, participant: ParticipantClient) -> None:
        """Have the participant's task of this step canceled."""
        if tasks := _tasks():
            await participant.cancel(tasks[-1])

    async def _greeting(
        self, plan: Plan, world: World, current_time: datetime, summary: InitialStateSummary
    ) -> AssessmentStartMessage:
        scenario = await self._deployment.scenario(plan.scenario)
        return AssessmentStartMessage(
            ues_url=world.address,
            api_key=world.participant_secret,
            assessment_instructions=scenario.user_prompt,
            current_time=current_time,
            initial_state_summary=summary,
        )


def _run() -> str:
    """Part of every message id, so that a run that was reset doesn't repeat the ids of the run before."""
    return str(activity.info().workflow_run_id)


def _tasks() -> list[str]:
    """The participant's tasks that attempts of this step were given."""
    return [note for note in heartbeats.notes() if note != _MARKED]


def _note_task(answer: Answer) -> None:
    if answer.task_id:
        heartbeats.note(answer.task_id)


def _lost(turn: int) -> ApplicationError:
    return failures.final(
        failures.SIMULATION_LOST,
        f"The simulator lost what the participant did in turn {turn}: it has to be played again.",
    )


async def _in_time(plan: Plan, what: str, work: Coroutine[Any, Any, T]) -> T:
    """Wait for the participant, but no longer than a turn may take since this step was first scheduled."""
    scheduled = activity.info().scheduled_time
    left = scheduled + timedelta(seconds=plan.turn_timeout) - datetime.now(UTC)
    try:
        async with asyncio.timeout(max(left.total_seconds(), 0.0)):
            return await work
    except TimeoutError:
        raise failures.final(
            failures.TURN_TIMEOUT,
            f"The participant did not finish {what} within {plan.turn_timeout:g} s.",
        ) from None
