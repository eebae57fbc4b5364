"""How far an assessment has come: what it carries along when its history grows too long for one run."""

from datetime import datetime

from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from temporalio.contrib.workflow_streams import WorkflowStreamState

from activities.plan import ParticipantKey, Plan, Prepared, TurnNote
from proctor_protocol.provenance import ModelUse, ParticipantCard
from proctor_protocol.results import ActionLogEntryWithTurn, ReportedAction, TurnModelUsage
from proctor_storage.blobs import BlobRef
from workflows.time_played import Timed


class Progress(Timed):
    """Where the assessment stands between two turns; ``tasks_left`` are those the participant may still be at."""

    prepared: Prepared = Field(validation_alias=AliasChoices("prepared", "scene"))
    checkpoint: BlobRef
    current_time: datetime
    key: ParticipantKey = ParticipantKey()
    turn: int = 0
    events_processed: int = 0
    early_completion: bool = False
    has_reported_all: bool = False
    action_log: list[ActionLogEntryWithTurn] = Field(default_factory=list)
    reported: list[ReportedAction] = Field(default_factory=list)
    participant_usage: list[TurnModelUsage] = Field(default_factory=list)
    turn_notes: dict[int, str] = Field(default_factory=dict)
    turn_tries: dict[str, int] = Field(default_factory=dict)
    tasks_left: list[str] = Field(default_factory=list)
    card: ParticipantCard | None = None
    characters_usage: list[ModelUse] = Field(default_factory=list)
    turns: list[TurnNote] = Field(default_factory=list)

    def notes(self) -> list[TurnNote]:
        """What the archive has to know of the turns so far, the beginning first."""
        prepared = self.prepared
        beginning = TurnNote(
            turn=0,
            began_at=prepared.current_time,
            reached=prepared.current_time,
            checkpoint=prepared.checkpoint,
        )
        return [beginning, *self.turns]


class Carried(BaseModel):
    """What the next run of the same assessment starts with."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    plan: Plan
    progress: Progress
    stream: WorkflowStreamState | None = None
