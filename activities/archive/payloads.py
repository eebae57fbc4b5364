"""What the archive gets of an assessment."""

from datetime import datetime
from typing import Any

from pydantic import Field

from activities.plan import Model, OfAssessment
from proctor_protocol.archive import ReplyRecord
from proctor_protocol.provenance import ParticipantCard
from proctor_protocol.results import AssessmentResults
from proctor_storage.blobs import BlobRef


class TurnNote(Model):
    """The archive's input for a turn that was played; ``turn`` 0 is the beginning.

    ``began_at`` and ``reached`` are simulated times; ``checkpoint`` is the simulation at ``reached``, and
    ``events_processed`` are the events that happened as its clock moved there. ``noise`` says how often each kind of
    noise came, ``moves`` what each request cost under a measured clock (simulated seconds).
    """

    turn: int
    began_at: datetime
    reached: datetime
    checkpoint: BlobRef
    replies: list[ReplyRecord] = Field(default_factory=list)
    events_processed: int = 0
    moves: list[float] = Field(default_factory=list)
    noise: dict[str, int] = Field(default_factory=dict)


class ArchiveInput(OfAssessment):
    """An assessment that has ended. ``updates`` are the items of its update stream, as base64 of Temporal's payloads.

    ``message`` is the A2A message that asked for it, ``owner`` the caller whose it is. ``trajectories`` are transcripts
    of turns, in the store.
    """

    context_id: str
    owner: str = ""
    message: dict[str, Any]
    results: AssessmentResults
    updates: list[str]
    turns: list[TurnNote]
    turn_notes: dict[int, str]
    trajectories: dict[int, BlobRef] = Field(default_factory=dict)
    card: ParticipantCard | None = None
    campaign: str | None = None
