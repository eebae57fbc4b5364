"""Inputs and results of the participant's activities."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from proctor.activities.plan import Model, OfAssessment, OfTurn
from proctor.activities.simulation.payloads import Prepared, TurnApplied
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.messages import ActionLogEntry, CompletionReason, ModelUsage
from purple_sdk.protocol.provenance import ParticipantCard
from purple_sdk.protocol.results import Clarification


class ParticipantKey(Model):
    """Identifies the participant's key: the fence and the run of the attempt that made it, and the server
    (``Plan.simulator``) that it opens.
    """

    issue: int = 0
    run: str = ""
    simulator: str | None = None


class Greeted(BlobRef):
    """The checkpoint after the participant was greeted, its key, and its agent card."""

    key: ParticipantKey = ParticipantKey()
    card: ParticipantCard | None = None

    @property
    def checkpoint(self) -> BlobRef:
        return BlobRef(sha256=self.sha256, size=self.size)


class AskedInRun(Model):
    """A step's input with the workflow's ``run`` that requested the step. After a reset in mid-step, ``run`` still
    names the earlier run, since the step is repeated with the old input.
    """

    run: str = ""


class GreetInput(OfAssessment, AskedInRun):
    """A request to tell the participant that an assessment begins.

    Attributes:
        resumes_turn: the first turn, if the assessment begins in mid-day.
        is_reset: whether the run is a reset. If so, the participant may still work on tasks of earlier runs.
    """

    prepared: Prepared
    resumes_turn: int | None = None
    is_reset: bool = True


class TurnInput(OfAssessment, OfTurn, AskedInRun):
    """A request to let the participant play a turn.

    Attributes:
        attempt: the number of the try, from 1.
        checkpoint: the turn's start.
        key: the participant's key so far.
        needs_new_key: whether the participant gets another key, because an earlier task may still use the old one.
        left: tasks of earlier tries on which the participant may still work.
    """

    attempt: int
    checkpoint: BlobRef
    current_time: datetime
    events_processed: int
    key: ParticipantKey = ParticipantKey()
    needs_new_key: bool = False
    left: list[str] = Field(default_factory=list)


class TurnAnswer(Model):
    """The participant's answer at the end of its turn, and the simulation's state then.

    Attributes:
        time_step: the participant's choice; None if it made none.
        is_reported: whether the answer has the turn's actions. An early completion may leave them out.
        applied: the turn's outcome, if the same step has read it. Otherwise ``apply`` reads it from ``checkpoint``.
        checkpoint: the checkpoint after ``applied``; without ``applied``, the checkpoint after the answer.
        trajectory: the turn's transcript in the store, if the participant sent one.
    """

    checkpoint: BlobRef
    kind: Literal["turn_complete", "early_completion"]
    reported: list[ActionLogEntry] = Field(default_factory=list)
    is_reported: bool = False
    notes: str | None = None
    time_step: str | None = None
    model_usage: list[ModelUsage] = Field(default_factory=list)
    clarifications: list[Clarification] = Field(default_factory=list)
    key: ParticipantKey = ParticipantKey()
    applied: TurnApplied | None = None
    trajectory: BlobRef | None = None


class FarewellInput(OfAssessment):
    """A request to tell the participant that the assessment has ended. ``left`` has tasks on which the participant may
    still work.
    """

    reason: CompletionReason
    left: list[str] = Field(default_factory=list)
