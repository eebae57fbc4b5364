"""What happens between two turns of the participant: its deeds are read, characters answer, the clock moves."""

from datetime import datetime, timedelta
from typing import Any

from temporalio import activity

from activities import failures
from activities.actions.log import entries_from_events
from activities.characters import generator
from activities.characters.generator import answerable
from activities.characters.messages import OutgoingMessage
from activities.characters.outgoing import outgoing_messages
from activities.deployment import Deployment
from activities.metering import attempt_meter
from activities.models.factory import ModelSettingsError, prepare
from activities.plan import (
    TURN_SETTLES,
    Addressed,
    Advanced,
    AdvanceInput,
    ApplyInput,
    PlannedReply,
    Responded,
    RespondInput,
    TurnApplied,
)
from activities.simulations.hosts import PlannedEvent, Step, Stepped
from activities.simulations.keys import PARTICIPANT
from proctor_protocol.scenario import ScenarioConfig
from proctor_storage.blobs import BlobRef


class TurnActivities:
    """Everything that the evaluator does with the simulation in a turn."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    @activity.defn
    async def apply(self, given: ApplyInput) -> TurnApplied:
        """Let the turn settle, then read from the event log what the participant did and whom it wrote to.

        Where nobody has to be asked for an answer the clock moves on to ``given.quiet_to``, as by ``advance``.
        """
        plan = given.plan
        scenario = await self._deployment.load_scenario(plan.scenario)

        def read(found: Stepped) -> tuple[list[dict[str, Any]], list[tuple[OutgoingMessage, list[str]]]]:
            deeds = [{**deed, "agent_id": PARTICIPANT} for deed in found.deeds]
            return deeds, answerable(outgoing_messages(found.news, deeds), scenario)

        def go_on(found: Stepped) -> Step | None:
            return None if given.quiet_to is None or read(found)[1] else Step(to=given.quiet_to)

        (settled, *quiet), checkpoint = await self._deployment.simulations_of(plan).step_on(
            plan.simulation_id,
            given.checkpoint,
            Step(to=given.turn_start + TURN_SETTLES, deeds_at=given.turn_start),
            go_on,
        )
        deeds, answered = read(settled)
        return TurnApplied(
            checkpoint=checkpoint,
            actions=entries_from_events(deeds, PARTICIPANT, given.turn),
            messages=[message for message, _ in answered],
            addressed=[
                Addressed(message=place, character_id=character_id)
                for place, (_, characters) in enumerate(answered)
                for character_id in characters
            ],
            advanced=_advanced(given.quiet_to, quiet[0], checkpoint) if given.quiet_to and quiet else None,
        )

    @activity.defn
    async def respond(self, given: RespondInput) -> Responded:
        """Let one character decide whether, what and when it answers one message."""
        scenario = await self._deployment.load_scenario(given.scenario)
        meter = attempt_meter(self._deployment.prices)
        if not given.offline:
            await prepare()
        try:
            model = None if given.offline else self._deployment.make_character_model(given.seed, meter)
            reply = await generator.respond(given.message, given.character_id, scenario, model, given.seed, given.turn)
        except ModelSettingsError as problem:
            raise failures.final(failures.MODEL_SETTING, str(problem)) from None
        return Responded(reply=reply, usage=meter.read())

    @activity.defn
    async def advance(self, given: AdvanceInput) -> Advanced:
        """Schedule the characters' answers, then move the clock to ``given.to``; what is due on the way happens."""
        plan = given.plan
        scenario = await self._deployment.load_scenario(plan.scenario)
        found, checkpoint = await self._deployment.simulations_of(plan).step(
            plan.simulation_id,
            given.checkpoint,
            Step(events=tuple(_planned(reply, scenario, given.turn) for reply in given.replies), to=given.to),
        )
        return _advanced(given.to, found, checkpoint)


def _advanced(to: datetime, found: Stepped, checkpoint: BlobRef) -> Advanced:
    return Advanced(
        checkpoint=checkpoint, current_time=max(to, found.current_time), events_processed=found.events_executed
    )


def _planned(planned: PlannedReply, scenario: ScenarioConfig, turn: int) -> PlannedEvent:
    modality, data = generator.reply_event(planned.reply, planned.message, scenario)
    return PlannedEvent(
        scheduled_time=planned.message.sent_at + timedelta(seconds=planned.reply.delay_seconds),
        modality=modality,
        data=data,
        metadata={"character_id": planned.reply.character_id, "turn": turn},
    )
