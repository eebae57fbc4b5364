"""What the activities of the participant take and return."""

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
    """Which key the participant has: the fence of the attempt that made it, the run that this was in, and the server
    (``Plan.simulator``) that it opens.
    """

    issue: int = 0
    run: str = ""
    simulator: str | None = None


class Greeted(BlobRef):
    """The checkpoint that was reached when the participant was greeted, the key that it got, and its card."""

    key: ParticipantKey = ParticipantKey()
    card: ParticipantCard | None = None

    @property
    def checkpoint(self) -> BlobRef:
        return BlobRef(sha256=self.sha256, size=self.size)


class AskedInRun(Model):
    """``run`` is the run of the workflow that asked for a step. A reset in mid-step has it done again as it was asked
    for before.
    """

    run: str = ""


class GreetInput(OfAssessment, AskedInRun):
    """Tell the participant that an assessment begins; in mid-day, where ``resumes_turn`` says with which turn.

    ``is_reset`` tells of a run that is a reset: the participant may still be at tasks of the runs before.
    """

    prepared: Prepared
    resumes_turn: int | None = None
    is_reset: bool = True


class TurnInput(OfAssessment, OfTurn, AskedInRun):
    """Let the participant play a turn. ``attempt`` counts its tries from 1; ``checkpoint`` is the turn's start.

    ``key`` is the participant's so far; with ``needs_new_key`` it gets another one, since somebody may still act with
    that one. ``left`` are tasks of earlier tries on which the participant may still work.
    """

    attempt: int
    checkpoint: BlobRef
    current_time: datetime
    events_processed: int
    key: ParticipantKey = ParticipantKey()
    needs_new_key: bool = False
    left: list[str] = Field(default_factory=list)


class TurnAnswer(Model):
    """What the participant said at the end of its turn, and the simulation's state then.

    ``time_step`` is None where the participant named none. ``is_reported`` says whether the answer came with the turn's
    actions, which an early completion may leave out. ``applied`` is what came of the turn, where that was read in the
    same step, and ``checkpoint`` is where that has led; else it is read by ``apply``, from there. ``trajectory`` is the
    turn's transcript in the store, where the participant sent one.
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
    """Tell the participant that the assessment has ended. ``left`` are tasks that it may still be at."""

    reason: CompletionReason
    left: list[str] = Field(default_factory=list)
