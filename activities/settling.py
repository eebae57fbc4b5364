"""A turn settles: what the participant did is read, and where nobody has to be asked for an answer, time moves on.

Whoever is interrupted at it may do all of it again: time moves to instants, deeds are read at theirs, and a clock that
has moved on says that nobody had to be asked.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from activities import failures
from activities.actions.log import entries_from_events
from activities.characters.generator import answerable
from activities.characters.messages import OutgoingMessage
from activities.characters.outgoing import outgoing_messages
from activities.plan import TURN_SETTLES, Addressed, Advanced, TurnApplied
from activities.simulations.hosts import Step, Stepped
from activities.simulations.keys import PARTICIPANT
from proctor_protocol.scenario import ScenarioConfig
from proctor_storage.blobs import BlobRef


@dataclass(frozen=True)
class Settling:
    """The end of one turn.

    Attributes:
        scenario: whose characters may have to be asked.
        turn: its number. turn_start: its instant.
        quiet_to: where time moves on to at once, where no character has to be asked; None where it is to stay.
    """

    scenario: ScenarioConfig
    turn: int
    turn_start: datetime
    quiet_to: datetime | None

    @property
    def step(self) -> Step:
        """Let a second pass, and read what was done before it."""
        return Step(to=self._settled_at, deeds_at=self.turn_start)

    def go_on(self, found: Stepped) -> Step | None:
        """What follows, in view of what the first step found: the clock moves on, or nothing.

        Raises:
            ApplicationError: ``ParticipantMisbehaved``: an attempt before this one has moved the clock further, by
                another answer of the participant's.
        """
        if found.current_time > max(self._settled_at, self.quiet_to or self._settled_at):
            raise failures.final(
                failures.PARTICIPANT_MISBEHAVED,
                f"The participant has changed its answer to turn {self.turn} when it was asked once more.",
            )
        if self.quiet_to is None or self._answerable(found):
            return None
        return Step(to=self.quiet_to, counts_since=self._settled_at)

    def outcome(self, found: list[Stepped], checkpoint: BlobRef) -> TurnApplied:
        """What came of it: ``found`` by each step, and the checkpoint that the last one reached."""
        settled, *quiet = found
        answered = self._answerable(settled)
        return TurnApplied(
            checkpoint=checkpoint,
            actions=entries_from_events(_deeds(settled), PARTICIPANT, self.turn),
            messages=[message for message, _ in answered],
            addressed=[
                Addressed(message=place, character_id=character_id)
                for place, (_, characters) in enumerate(answered)
                for character_id in characters
            ],
            advanced=advanced(self.quiet_to, quiet[0], checkpoint) if self.quiet_to and quiet else None,
        )

    @property
    def _settled_at(self) -> datetime:
        return self.turn_start + TURN_SETTLES

    def _answerable(self, found: Stepped) -> list[tuple[OutgoingMessage, list[str]]]:
        if found.current_time > self._settled_at:
            return []
        return answerable(outgoing_messages(found.news, _deeds(found)), self.scenario)


def advanced(to: datetime, found: Stepped, checkpoint: BlobRef) -> Advanced:
    """Where a simulation stands whose clock was to move to an instant."""
    return Advanced(
        checkpoint=checkpoint, current_time=max(to, found.current_time), events_processed=found.events_executed
    )


def _deeds(found: Stepped) -> list[dict[str, Any]]:
    return [{**deed, "agent_id": PARTICIPANT} for deed in found.deeds]
