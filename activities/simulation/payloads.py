"""What the activities of the simulation take and return."""

from datetime import datetime, timedelta

from pydantic import Field

from proctor.activities.characters.messages import CharacterReply, OutgoingMessage
from proctor.activities.plan import Model, OfAssessment, OfTurn
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.messages import InitialStateSummary
from purple_sdk.protocol.results import ActionLogEntryWithTurn

TURN_SETTLES = timedelta(seconds=1)
"""How far the clock moves after a turn before its outcome is read, so that the next turn never shares its instant."""


class Prepared(Model):
    """The simulation when the participant is called: its checkpoint, its first state, its counts, and the
    simulator's server that it is on (``Plan.simulator``).
    """

    checkpoint: BlobRef
    initial_state: BlobRef
    current_time: datetime
    summary: InitialStateSummary
    simulator: str | None = None


class Addressee(Model):
    """A character whom a message reached; ``message`` is its place in the turn's list."""

    message: int
    character_id: str


class Sent(Model):
    """A message that reached the user of another role, whose participant reads it."""

    role: str
    message: OutgoingMessage


class Advanced(Model):
    checkpoint: BlobRef
    current_time: datetime
    events_processed: int


class TurnApplied(Model):
    """What the participant did, what it wrote, and whom that reached.

    The rest is of a turn whose requests cost time or met noise: it was read at ``settled_at``; ``events_processed`` is
    how many events happened until then, ``noise`` how often each kind came. ``moves`` are the simulated seconds that
    each request cost under a measured clock. ``sent`` are the messages to users of other roles.
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
    """Find out what the participant did in a turn that began at ``turn_start``."""

    checkpoint: BlobRef
    turn_start: datetime


class PlannedReply(Model):
    reply: CharacterReply
    message: OutgoingMessage


class AdvanceInput(OfAssessment, OfTurn):
    """Schedule replies, then move the clock to an instant (never "by" something).

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
    """What the judges look at: the simulation's last checkpoint, and a blob with states, action log and notes.

    ``fence`` is that of the attempt which closed the simulation: local activities, which have none, look with it.
    """

    checkpoint: BlobRef
    record: BlobRef
    fence: int = 0
