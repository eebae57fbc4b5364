"""What happens between two turns of the participant: its deeds are read, characters answer, the clock moves."""

from datetime import datetime, timedelta
from typing import Any

from temporalio import activity

from activities import failures
from activities.actions.log import entries_from_events
from activities.characters import generator
from activities.characters.generator import characters_addressed
from activities.characters.messages import CharacterReply
from activities.characters.outgoing import outgoing_messages
from activities.deployment import Deployment
from activities.models.factory import ModelSettingsError
from activities.plan import (
    TURN_SETTLES,
    Addressed,
    Advanced,
    AdvanceInput,
    ApplyInput,
    RespondInput,
    TurnApplied,
)
from activities.simulations.checkpoints import stand_at, take_checkpoint
from activities.simulations.hosts import Simulation
from activities.simulations.keys import PARTICIPANT_KEY_ID
from purple_sdk.ues import AsyncUESClient

_PAGE = 1000


class TurnActivities:
    """Everything that the evaluator does with the simulation in a turn."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    @activity.defn
    async def apply(self, given: ApplyInput) -> TurnApplied:
        """Let the turn settle, then read from the event log what the participant did and whom it wrote to."""
        plan = given.plan
        simulation = await stand_at(self._deployment, plan.simulation_id, given.checkpoint)
        now = (await simulation.admin.time.get_state()).current_time
        await _move_clock(simulation.admin, now, given.turn_start + TURN_SETTLES)
        events = await _events_of_turn(simulation, given)
        scenario = await self._deployment.scenario(plan.scenario)
        messages = await outgoing_messages(simulation.admin, events)
        return TurnApplied(
            checkpoint=await take_checkpoint(self._deployment, simulation),
            actions=entries_from_events(events, PARTICIPANT_KEY_ID, given.turn),
            messages=messages,
            addressed=[
                Addressed(message=place, character_id=character_id)
                for place, message in enumerate(messages)
                for character_id in characters_addressed(message, scenario)
            ],
        )

    @activity.defn
    async def respond(self, given: RespondInput) -> CharacterReply | None:
        """Let one character decide whether, what and when it answers one message."""
        scenario = await self._deployment.scenario(given.scenario)
        model = None if given.offline else self._deployment.character_model(given.seed)
        try:
            return await generator.respond(given.message, given.character_id, scenario, model, given.seed, given.turn)
        except ModelSettingsError as problem:
            raise failures.final(failures.MODEL_SETTING, str(problem)) from None

    @activity.defn
    async def advance(self, given: AdvanceInput) -> Advanced:
        """Schedule the characters' replies, then move the clock to ``given.to``; what is due on the way happens."""
        plan = given.plan
        simulation = await stand_at(self._deployment, plan.simulation_id, given.checkpoint)
        scenario = await self._deployment.scenario(plan.scenario)
        now = (await simulation.admin.time.get_state()).current_time
        for planned in given.replies:
            modality, data = generator.reply_event(planned.reply, planned.message, scenario)
            due = max(now, planned.message.sent_at + timedelta(seconds=planned.reply.delay_seconds))
            await simulation.admin.events.create(
                scheduled_time=due,
                modality=modality,
                data={**data, "timestamp": due.isoformat()},
                metadata={"character_id": planned.reply.character_id, "turn": given.turn},
            )
        processed = await _move_clock(simulation.admin, now, given.to)
        return Advanced(
            checkpoint=await take_checkpoint(self._deployment, simulation),
            current_time=max(given.to, now),
            events_processed=processed,
        )


async def _move_clock(admin: AsyncUESClient, now: datetime, to: datetime) -> int:
    """Move the clock to an instant, unless it is there already; returns how many events happened on the way."""
    left = (to - now).total_seconds()
    return (await admin.time.advance(left)).events_executed if left > 0 else 0


async def _events_of_turn(simulation: Simulation, given: ApplyInput) -> list[dict[str, Any]]:
    """The participant's events since the turn began, in the order in which they were executed."""
    found: list[dict[str, Any]] = []
    while True:
        page = await simulation.admin.events.list(
            start_time=given.turn_start, end_time=given.turn_start, limit=_PAGE, offset=len(found)
        )
        found.extend(event.model_dump() for event in page.events)
        if len(page.events) < _PAGE:
            break
    own = [event for event in found if event.get("agent_id") in simulation.participant_key_ids]
    return [{**event, "agent_id": PARTICIPANT_KEY_ID} for event in own]
