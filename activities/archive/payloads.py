"""The archive's input about an assessment."""

import base64
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field
from temporalio import activity
from temporalio.api.common.v1 import Payload

from proctor.activities.plan import Model, OfAssessment
from proctor.protocol.archive import ArchivedUpdate, ReplyRecord
from proctor.protocol.updates import RECORDED_AT
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.provenance import ParticipantCard
from purple_sdk.protocol.results import AssessmentResults


class TurnNote(Model):
    """A turn that was played, for the archive; ``turn`` 0 is the beginning.

    Attributes:
        began_at, reached: the turn's first and last simulated time.
        checkpoint: the simulation at ``reached``.
        events_processed: the number of events until ``reached``.
        moves: the cost of each request under a measured clock, in simulated seconds.
        noise: the count of each kind of noise.
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
    """An assessment that has ended.

    Attributes:
        owner: the caller.
        message: the A2A message that started the assessment.
        updates: the items of the update stream, as base64 of Temporal's payloads.
        trajectories: the stored transcripts of turns.
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


def as_lines(records: Iterable[BaseModel]) -> bytes:
    return b"".join(record.model_dump_json().encode() + b"\n" for record in records)


def decode_updates(items: Iterable[str]) -> list[ArchivedUpdate]:
    """Decode the items of an update stream from their payloads."""
    converter = activity.payload_converter()
    lines = []
    for sequence, item in enumerate(items):
        payload = Payload.FromString(base64.b64decode(item))
        at = payload.metadata.get(RECORDED_AT)
        lines.append(
            ArchivedUpdate(
                sequence=sequence,
                recorded_at=at.decode() if at else None,
                data=converter.from_payload(payload, dict),
            )
        )
    return lines
