"""How much is read of what a participant sends."""

from dataclasses import dataclass
from typing import Self

from activities.participant.bounded_http import Bounds, Limit
from proctor_settings.config import GreenAgentConfig

LONGEST_TASK_ID = 256
"""Characters; the id of a participant's task goes into Temporal with every heartbeat."""


@dataclass(frozen=True)
class ParticipantBounds:
    """The limits for participants; each is a setting.

    Attributes:
        card: of the response with the agent card.
        answer: of every other response.
        actions: how many actions may be reported for a turn.
        report: bytes of their JSON.
        notes: bytes of a turn's notes, or of the reason for early completion.
    """

    card: Bounds
    answer: Bounds
    actions: Limit
    report: Limit
    notes: Limit

    @classmethod
    def of(cls, config: GreenAgentConfig) -> Self:
        def limit(name: str) -> Limit:
            most: int = getattr(config, name)
            return Limit(most, f"AGENTBEATS_GREEN_{name.upper()}")

        values = limit("participant_answer_values")
        return cls(
            card=Bounds("The participant's agent card", limit("participant_card_bytes"), values),
            answer=Bounds(
                "The participant's answer",
                limit("participant_answer_bytes"),
                values,
                limit("participant_stream_events"),
                limit("participant_stream_bytes"),
            ),
            actions=limit("participant_actions"),
            report=limit("participant_report_bytes"),
            notes=limit("participant_notes_bytes"),
        )
