"""A turn settles: a second passes, and what the participant did in the turn is read."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from activities.characters.generator import answerable
from activities.characters.outgoing import outgoing_messages
from activities.simulation.action_log import entries_from_events
from activities.simulation.delivering import sent_to_colleagues
from activities.simulation.hosts import Step, Stepped
from activities.simulation.keys import PARTICIPANT
from activities.simulation.payloads import TURN_SETTLES, Addressee, TurnApplied
from activities.simulation.simulations import Simulations
from proctor_protocol.scenario import ScenarioConfig
from proctor_storage.blobs import BlobRef


@dataclass(frozen=True)
class Settling:
    """The end of a turn that began at ``turn_start``."""

    scenario: ScenarioConfig
    turn: int
    turn_start: datetime

    @property
    def step(self) -> Step:
        """Let a second pass, and read what was done before it."""
        return Step(to=self.turn_start + TURN_SETTLES, actions_at=self.turn_start)

    async def settle(self, simulations: Simulations, simulation_id: str, mark: str) -> TurnApplied:
        """Settle the turn with the work in hand, which has this mark (``Simulations.step_in_hand``)."""
        return self.outcome(*await simulations.step_in_hand(simulation_id, mark, self.step))

    async def settle_kept(self, simulations: Simulations, simulation_id: str, checkpoint: BlobRef) -> TurnApplied:
        """Settle the turn from the checkpoint that was taken when the participant had answered."""
        return self.outcome(*await simulations.step(simulation_id, checkpoint, self.step))

    def outcome(self, stepped: Stepped, checkpoint: BlobRef) -> TurnApplied:
        """What the participant did, by the result of the step, and the checkpoint that the step reached."""
        actions = [{**action, "agent_id": PARTICIPANT} for action in stepped.actions]
        outgoing = outgoing_messages(stepped.news, actions)
        answered = answerable(outgoing, self.scenario)
        return TurnApplied(
            checkpoint=checkpoint,
            actions=entries_from_events(actions, PARTICIPANT, self.turn),
            messages=[message for message, _ in answered],
            addressed=[
                Addressee(message=place, character_id=character_id)
                for place, (_, characters) in enumerate(answered)
                for character_id in characters
            ],
            sent=sent_to_colleagues(outgoing, self.scenario),
            **_of_course(stepped),
        )


def _of_course(stepped: Stepped) -> dict[str, Any]:
    course = stepped.course
    if course is None:
        return {}
    return {
        "settled_at": stepped.current_time,
        "events_processed": course.events_executed + stepped.events_executed,
        "moves": course.moves,
        "noise": course.noise,
    }
