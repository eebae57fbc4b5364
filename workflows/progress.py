"""The progress of an assessment: the data that it passes on when its history grows too long for one run."""

from datetime import datetime
from typing import Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from temporalio.contrib.workflow_streams import WorkflowStreamState

from proctor.activities.admission.payloads import ForkSetUp, Inherited
from proctor.activities.archive.payloads import TurnNote
from proctor.activities.participant.payloads import ParticipantKey
from proctor.activities.plan import Plan
from proctor.activities.simulation.payloads import Prepared
from proctor.storage.blobs import BlobRef
from proctor.workflows.time_played import Timed
from purple_sdk.protocol.provenance import Drafts, ModelUse, ParticipantCard
from purple_sdk.protocol.results import ActionLogEntryWithTurn, Clarification, ReportedAction, TurnModelUsage


class Progress(Timed):
    """The state of the assessment between two turns. The participant may still work on ``tasks_left``. If
    ``is_key_given_up``, it may also still act with the abandoned ``key``.
    """

    prepared: Prepared = Field(validation_alias=AliasChoices("prepared", "scene"))
    checkpoint: BlobRef
    current_time: datetime
    key: ParticipantKey = ParticipantKey()
    is_key_given_up: bool = False
    turn: int = 0
    events_processed: int = 0
    early_completion: bool = False
    has_reported_all: bool = False
    action_log: list[ActionLogEntryWithTurn] = Field(default_factory=list)
    reported: list[ReportedAction] = Field(default_factory=list)
    participant_usage: list[TurnModelUsage] = Field(default_factory=list)
    clarifications: list[Clarification] = Field(default_factory=list)
    turn_notes: dict[int, str] = Field(default_factory=dict)
    trajectories: dict[int, BlobRef] = Field(default_factory=dict)
    turn_tries: dict[str, int] = Field(default_factory=dict)
    tasks_left: list[str] = Field(default_factory=list)
    card: ParticipantCard | None = None
    characters_usage: list[ModelUse] = Field(default_factory=list)
    drafts: Drafts = Drafts()
    turns: list[TurnNote] = Field(default_factory=list)

    @classmethod
    def of_fork(cls, started_at: datetime, fork: ForkSetUp) -> Self:
        """Return a fork's progress: the original's state after the inherited turns."""
        inherited = fork.inherited
        last = inherited.turns[-1]
        return cls(
            started_at=started_at,
            prepared=fork.beginning,
            checkpoint=fork.now.checkpoint,
            current_time=fork.now.current_time,
            turn=last.turn,
            early_completion=inherited.has_ended_early,
            events_processed=last.events_processed,
            turns=inherited.turns[1:],
            has_reported_all=inherited.has_reported_all,
            action_log=inherited.action_log,
            reported=inherited.reported,
            turn_notes=inherited.turn_notes,
            turn_tries=inherited.turn_tries,
        )

    def played(self) -> Inherited:
        """Return the finished turns, which a fork can inherit."""
        return Inherited(
            turns=self.notes(),
            has_ended_early=self.early_completion,
            has_reported_all=self.has_reported_all,
            action_log=self.action_log,
            reported=self.reported,
            turn_notes=self.turn_notes,
            turn_tries=self.turn_tries,
        )

    def notes(self) -> list[TurnNote]:
        """Return the archive's notes on the turns so far, the beginning first."""
        prepared = self.prepared
        beginning = TurnNote(
            turn=0,
            began_at=prepared.current_time,
            reached=prepared.current_time,
            checkpoint=prepared.checkpoint,
        )
        return [beginning, *self.turns]


class Together(Timed):
    """The state of several participants between two turns, by their roles.

    ``failed`` has the type and the sentence of each final failure.
    """

    roles: dict[str, Progress] = Field(default_factory=dict)
    failed: dict[str, tuple[str, str]] = Field(default_factory=dict)


class Carried(BaseModel):
    """The data with which the next run of the same assessment starts. ``together`` is set if the assessment has several
    participants.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    plan: Plan
    progress: Progress | None = None
    together: Together | None = None
    stream: WorkflowStreamState | None = None
