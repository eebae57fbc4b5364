"""Inputs and results of the simulation's activities."""

from datetime import datetime, timedelta

from pydantic import Field

from proctor.activities.characters.messages import CharacterReply, OutgoingMessage
from proctor.activities.plan import Model, OfAssessment, OfTurn
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.messages import InitialStateSummary
from purple_sdk.protocol.results import ActionLogEntryWithTurn

TURN_SETTLES = timedelta(seconds=1)
"""How far the clock moves at the end of a turn, so the next turn begins at a later instant."""


class Prepared(Model):
    """The simulation when the participant is greeted: its checkpoint, first state, counts, and server
    (``Plan.simulator``).
    """

    checkpoint: BlobRef
    initial_state: BlobRef
    current_time: datetime
    summary: InitialStateSummary
    simulator: str | None = None


class Addressee(Model):
    """A character that a message reached; ``message`` is the message's place in the turn's list."""

    message: int
    character_id: str


class Sent(Model):
    """A message that reached the user of another role; that role's participant reads it."""

    role: str
    message: OutgoingMessage


class Advanced(Model):
    checkpoint: BlobRef
    current_time: datetime
    events_processed: int


class TurnApplied(Model):
    """The participant's actions, its messages, and the characters that they reached.

    The last four fields describe a turn with conditions, whose requests cost time or met noise.

    Attributes:
        sent: the messages to users of other roles.
        settled_at: the instant at which the turn was read.
        events_processed: the number of events until ``settled_at``.
        noise: how often each kind of noise occurred.
        moves: the simulated seconds that each request cost under a measured clock.
    """

    checkpoint: BlobRef
    actions: list[ActionLogEntryWithTurn]
    messages: list[OutgoingMessage]
    addressed: list[Addressee]
    settled_at: datetime | None = None
    events_processed: int = 0
    moves: list[float] = Field(default_factory=list)
    noise: dict[str, int] = Field(default_factory=dict)
    sent: list[Sent] = Field(default_factory=list)


class ApplyInput(OfAssessment, OfTurn):
    """A request to read the outcome of a turn that began at ``turn_start``."""

    checkpoint: BlobRef
    turn_start: datetime


class PlannedReply(Model):
    reply: CharacterReply
    message: OutgoingMessage


class AdvanceInput(OfAssessment, OfTurn):
    """A request to schedule replies, then move the clock to an absolute instant.

    ``arrivals`` are messages that participants of other roles sent to the user in this turn.
    """

    checkpoint: BlobRef
    replies: list[PlannedReply]
    to: datetime
    arrivals: list[OutgoingMessage] = Field(default_factory=list)


class ConcludeInput(OfAssessment):
    checkpoint: BlobRef
    initial_state: BlobRef
    action_log: list[ActionLogEntryWithTurn]
    turn_notes: dict[int, str]


class Evidence(Model):
    """The evidence for the judges: the simulation's last checkpoint, and a blob with states, action log and notes.

    ``fence`` is the fence of the attempt that closed the simulation. Local activities have no fence, so they read with
    this one.
    """

    checkpoint: BlobRef
    record: BlobRef
    fence: int = 0
