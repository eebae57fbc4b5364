"""What passes between the workflow and its activities: a frozen model each way, references instead of mailboxes."""

from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from activities.characters.messages import CharacterReply, OutgoingMessage
from proctor_protocol._wire import WHEN_USED
from proctor_protocol.durations import parse_iso8601_duration
from proctor_protocol.forks import ForkedFrom
from proctor_protocol.messages import ActionLogEntry, CompletionReason, InitialStateSummary, ModelUsage
from proctor_protocol.provenance import ModelUse, ParticipantCard
from proctor_protocol.results import ActionLogEntryWithTurn, AssessmentResults, Clarification, Dimension
from proctor_storage.blobs import BlobRef

TRIAL_WORKFLOW = "TerminalTrial"


class Model(BaseModel):
    """Frozen; fields may be added later, with defaults."""

    model_config = ConfigDict(frozen=True, defer_build=WHEN_USED)


class CriterionBrief(Model):
    """What the workflow has to know of a criterion; ``items`` is how many its rubric has."""

    criterion_id: str
    name: str
    dimension: Dimension
    max_score: int
    by_model: bool
    items: int = 1


class AdmitInput(Model):
    """A request that nobody has checked yet; ``owner`` is the caller whose it is, empty where nobody was asked."""

    task_id: str
    request: dict[str, Any] | str | None
    owner: str = ""


class ForkPlan(Model):
    """Where a fork comes from; ``inherited`` is the blob of what was played before it (``fork_plan.Inherited``)."""

    origin: ForkedFrom
    inherited: BlobRef


class Plan(Model):
    """An admitted assessment: everything that was decided before it starts. Timeouts are in seconds.

    ``scenario`` is the blob of the scenario's configuration, ``initial_state`` that of the UES scenario to start from,
    ``package`` that of all files of the scenario with its evaluators, which judge as they were then; None in plans of
    proctor 0.1. ``is_timed``: the initial state's clock stands at ``start_time``. ``is_state_in_package``: no blob has
    the initial state, it is read from ``package``, and ``initial_state`` only tells its hash and size. ``simulator`` is
    the address of the simulator's server that the simulation is on; None where there is one server only, which the
    settings name, and before one is chosen.
    """

    assessment_id: str
    simulation_id: str
    scenario: BlobRef
    initial_state: BlobRef
    scenario_id: str
    scenario_name: str
    participant: str
    participant_url: str
    seed: int
    offline: bool
    verbose_updates: bool
    max_turns: int
    turn_timeout: float
    turn_tries: int
    judge_timeout: float
    judges: list[str] = Field(default_factory=list)
    votes: int = 1
    assessment_timeout: float
    models_task_queue: str
    start_time: datetime
    end_time: datetime
    default_time_step: str
    expected_turns: int
    scenario_turns: int | None = None
    character_count: int
    criteria: list[CriterionBrief]
    warnings: list[str] = Field(default_factory=list)
    package: BlobRef | None = None
    scenario_version: str | None = None
    canary: str | None = None
    proctor_version: str | None = None
    fork: ForkPlan | None = None
    is_timed: bool = False
    is_state_in_package: bool = False
    simulator: str | None = None

    def step_of(self, time_step: str | None) -> timedelta:
        """How far time moves after a turn in whose answer the participant named this step, or none."""
        return parse_iso8601_duration(time_step or self.default_time_step)

    def end_of_turn(self, turn_start: datetime, time_step: str | None) -> datetime:
        """The instant that time moves to after a turn; never later than the scenario's end."""
        left, step = self.end_time - turn_start, self.step_of(time_step)
        return turn_start + step if step < left else self.end_time

    def for_step(self) -> "Plan":
        """What a step of the assessment has to know of it; who judges a criterion has its name, and the scenario."""
        return self.model_copy(update={"criteria": []})


class Prepared(Model):
    """The simulation as it stands when the participant is called: its checkpoint, its first state, its counts, and the
    simulator's server that it is on (``Plan.simulator``).
    """

    checkpoint: BlobRef
    initial_state: BlobRef
    current_time: datetime
    summary: InitialStateSummary
    simulator: str | None = None


class ParticipantKey(Model):
    """Which key the participant has: the fence of the attempt that made it, the run that this was in, and the server
    (``Plan.simulator``) that it opens.
    """

    issue: int = 0
    run: str = ""
    simulator: str | None = None


class Greeted(BlobRef):
    """The checkpoint that was reached when the participant was greeted, the key that it was told, and its card."""

    key: ParticipantKey = ParticipantKey()
    card: ParticipantCard | None = None

    @property
    def checkpoint(self) -> BlobRef:
        """The checkpoint alone."""
        return BlobRef(sha256=self.sha256, size=self.size)


class GreetInput(Model):
    """Tell the participant that an assessment begins; in mid-day, where ``resumes_turn`` says with which turn.

    ``is_reset`` tells of a run that is a reset: the participant may still be at tasks of the runs before.
    """

    plan: Plan
    prepared: Prepared
    resumes_turn: int | None = None
    is_reset: bool = True


class TurnInput(Model):
    """Let the participant play a turn. ``attempt`` counts its tries from 1; ``checkpoint`` is the turn's start.

    ``key`` is the participant's so far; with ``needs_new_key`` it gets another one, since somebody may still act with
    that one. ``left`` are tasks that the participant may still be at, of tries before. ``settles``: whoever asks takes
    the turn's outcome with the answer (``TurnAnswer.applied``), of which workflows of proctor 0.1 don't know.
    """

    plan: Plan
    turn: int
    attempt: int
    checkpoint: BlobRef
    current_time: datetime
    events_processed: int
    key: ParticipantKey = ParticipantKey()
    needs_new_key: bool = False
    left: list[str] = Field(default_factory=list)
    settles: bool = False


class Addressed(Model):
    """A message (its place in the turn's list) and a character whom it reached."""

    message: int
    character_id: str


class Advanced(Model):
    """Where the simulation stands after its clock has moved."""

    checkpoint: BlobRef
    current_time: datetime
    events_processed: int


class TurnApplied(Model):
    """What the participant did, what it wrote, and whom that reached."""

    checkpoint: BlobRef
    actions: list[ActionLogEntryWithTurn]
    messages: list[OutgoingMessage]
    addressed: list[Addressed]


class TurnAnswer(Model):
    """What the participant said at the end of its turn, and where the simulation stands then.

    ``time_step`` is None where the participant named none. ``is_reported`` says whether the answer came with the turn's
    actions, which an early completion may leave out. ``applied`` is what came of the turn, where that was read in the
    same step, and ``checkpoint`` is where that has led; else it is read by ``apply``, from there.
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


class ApplyInput(Model):
    """Find out what the participant did in a turn that began at ``turn_start``."""

    plan: Plan
    turn: int
    checkpoint: BlobRef
    turn_start: datetime


class RespondInput(Model):
    """Let a character decide on an answer to a message."""

    scenario: BlobRef
    seed: int
    turn: int
    offline: bool
    character_id: str
    message: OutgoingMessage


class Responded(Model):
    """What a character made of a message: its reply, None for silence, and what was asked of models for that."""

    reply: CharacterReply | None = None
    usage: list[ModelUse] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _read_those_of_proctor_0_1(cls, data: Any) -> Any:
        return {"reply": data} if isinstance(data, dict) and "character_id" in data else data


class PlannedReply(Model):
    """A character's reply, not sent yet, and the message that it answers."""

    reply: CharacterReply
    message: OutgoingMessage


class AdvanceInput(Model):
    """Schedule replies, then move the clock to an instant (never "by" something)."""

    plan: Plan
    turn: int
    checkpoint: BlobRef
    replies: list[PlannedReply]
    to: datetime


class ConcludeInput(Model):
    """Close the simulation: revoke the participant's key and keep what the judges will look at."""

    plan: Plan
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


class JudgeInput(Model):
    """Judge one criterion. ``is_reset`` tells of a run that is a reset, which may ask for today's evaluators."""

    plan: Plan
    criterion_id: str
    evidence: Evidence
    is_reset: bool = False


class FarewellInput(Model):
    """Tell the participant that the assessment has ended. ``left`` are tasks that it may still be at."""

    plan: Plan
    reason: CompletionReason
    left: list[str] = Field(default_factory=list)


class JudgeRecord(Model):
    """The content of ``Evidence.record``; ``parts`` lists what of the states is in parts (``simulations.parts``)."""

    action_log: list[ActionLogEntryWithTurn]
    turn_notes: dict[int, str]
    initial_state: dict[str, JsonValue]
    final_state: dict[str, JsonValue]
    parts: list[dict[str, JsonValue]] = Field(default_factory=list)


TURN_SETTLES = timedelta(seconds=1)
"""How far the clock moves after a turn before its outcome is read, so that the next turn never shares its instant."""


class PausesInput(Model):
    """Measure for how long an assessment was not played, since an instant."""

    since: datetime


class NotedReply(Model):
    """A character's answer, as the transcript has it: when it arrives, and to what it is one."""

    character_id: str
    modality: str
    at: datetime
    text: str
    subject: str | None = None
    response: str | None = None
    to: str = ""


class TurnNote(Model):
    """What the archive has to know of a turn that was played; ``turn`` 0 stands for the beginning.

    ``began_at`` and ``reached`` are simulated times; ``checkpoint`` is the simulation at ``reached``, and
    ``events_processed`` are the events that happened as its clock moved there.
    """

    turn: int
    began_at: datetime
    reached: datetime
    checkpoint: BlobRef
    replies: list[NotedReply] = Field(default_factory=list)
    events_processed: int = 0


class ArchiveInput(Model):
    """An assessment that has ended. ``updates`` are the items of its update stream, as base64 of Temporal's payloads.

    ``message`` is the A2A message that asked for it, ``owner`` the caller whose it is.
    """

    context_id: str
    owner: str = ""
    message: dict[str, Any]
    plan: Plan
    results: AssessmentResults
    updates: list[str]
    turns: list[TurnNote]
    turn_notes: dict[int, str]
    card: ParticipantCard | None = None
    campaign: str | None = None


class QueueInput(Model):
    """Enter the queue of a context, as one of ``owner``'s."""

    queue_id: str
    task_id: str
    context_id: str = ""
    owner: str = ""
