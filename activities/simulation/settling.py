"""Settle a turn: let a second pass, and read the participant's actions in the turn."""

from dataclasses import dataclass
from datetime import datetime

from proctor.activities.characters.addressing import answerable, roles_reached
from proctor.activities.characters.outgoing import outgoing_messages
from proctor.activities.simulation.action_log import entries_from_events
from proctor.activities.simulation.hosts import Step, Stepped
from proctor.activities.simulation.keys import PARTICIPANT
from proctor.activities.simulation.payloads import TURN_SETTLES, Addressee, Sent, TurnApplied
from proctor.activities.simulation.simulations import Simulations
from proctor.protocol.scenario import ScenarioConfig
from proctor.storage.blobs import BlobRef


@dataclass(frozen=True)
class Settling:
    """The end of a turn that began at ``turn_start``."""

    scenario: ScenarioConfig
    turn: int
    turn_start: datetime

    @property
    def step(self) -> Step:
        """The step that reads the turn's actions, and lets a second pass."""
        return Step(to=self.turn_start + TURN_SETTLES, actions_at=self.turn_start)

    async def settle(self, simulations: Simulations, simulation_id: str, mark: str) -> TurnApplied:
        """Settle the turn while its work is in progress with this mark (``Simulations.step_in_hand``)."""
        return self.outcome(*await simulations.step_in_hand(simulation_id, mark, self.step))

    async def settle_kept(self, simulations: Simulations, simulation_id: str, checkpoint: BlobRef) -> TurnApplied:
        """Settle the turn from the checkpoint that was taken when the participant had answered."""
        return self.outcome(*await simulations.step(simulation_id, checkpoint, self.step))

    def outcome(self, stepped: Stepped, checkpoint: BlobRef) -> TurnApplied:
        """Return the turn's outcome from the step's result, with the checkpoint that the step reached."""
        scenario, course, own = self.scenario, stepped.course, self.scenario.user.email
        actions = [{**action, "agent_id": PARTICIPANT} for action in stepped.actions]
        outgoing = outgoing_messages(stepped.news, actions)
        answered, elsewhere = answerable(outgoing, scenario), roles_reached(outgoing, scenario)
        return TurnApplied(
            checkpoint=checkpoint,
            actions=entries_from_events(actions, PARTICIPANT, self.turn),
            messages=[message for message, _ in answered],
            addressed=[
                Addressee(message=place, character_id=character_id)
                for place, (_, characters) in enumerate(answered)
                for character_id in characters
            ],
            settled_at=stepped.current_time if course else None,
            events_processed=course.events_executed + stepped.events_executed if course else 0,
            moves=course.moves if course else [],
            noise=course.noise if course else {},
            sent=[
                Sent(role=role, message=message.model_copy(update={"thread": [], "sender": message.sender or own}))
                for message, role in elsewhere
            ],
        )
