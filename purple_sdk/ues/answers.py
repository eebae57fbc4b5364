"""What the simulator answers where the shape is fixed (UES contract); modality states and queries are plain JSON."""

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import from_json

from proctor_protocol._wire import WHEN_USED

Json = dict[str, Any]

Instant = Annotated[datetime, AfterValidator(lambda time: time if time.tzinfo else time.replace(tzinfo=UTC))]
"""An instant, always aware: the contract reads a naive one as UTC."""


def json_object(body: bytes) -> Json:
    """Read a JSON object.

    Raises:
        ValueError: something else.
    """
    answer = from_json(body)
    if not isinstance(answer, dict):
        raise ValueError(f"expected a JSON object, got {type(answer).__name__}")
    return answer


def raw(body: bytes) -> bytes:
    """Take a body as it is."""
    return body


class UESAnswer(BaseModel):
    """A frozen answer; fields that a newer server adds are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=WHEN_USED)

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Read the answer from a body.

        Raises:
            pydantic.ValidationError: it doesn't fit.
        """
        return cls.model_validate_json(body)


class ActionResult(UESAnswer):
    """What every action answers; ``status`` is ``executed`` or ``failed``, ``scheduled_time`` the simulated now."""

    event_id: str
    scheduled_time: Instant
    status: str
    message: str = ""
    modality: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the action was carried out."""
        return self.status == "executed"


class TimeState(UESAnswer):
    """The simulated clock."""

    current_time: Instant
    time_scale: float = 1.0
    is_paused: bool = False
    auto_advance: bool = False
    mode: str = ""


class EventExecution(UESAnswer):
    """How one event ran while the clock moved."""

    event_id: str
    modality: str
    status: str
    error: str | None = None


class TimeAdvanced(UESAnswer):
    """The clock after ``advance``; ``time_advanced`` as the server writes it."""

    previous_time: Instant
    current_time: Instant
    time_advanced: str
    events_executed: int
    events_failed: int
    execution_details: list[EventExecution] = Field(default_factory=list)


class TimeSet(UESAnswer):
    """The clock after ``set_time``."""

    previous_time: Instant
    current_time: Instant
    skipped_events: int
    executed_events: int


class TimeSkipped(UESAnswer):
    """The clock after ``skip_to_next``."""

    previous_time: Instant
    current_time: Instant
    events_executed: int
    next_event_time: Instant | None = None


class EventRecord(UESAnswer):
    """One event of the simulation: waiting, done or failed."""

    event_id: str
    scheduled_time: Instant
    modality: str
    status: str
    priority: int
    created_at: Instant
    executed_at: Instant | None = None
    error_message: str | None = None
    data: Json | None = None
    agent_id: str | None = None
    metadata: Json | None = None


class EventList(UESAnswer):
    """A page of events; the counts are over all that match."""

    events: list[EventRecord]
    total: int
    pending: int
    executed: int
    failed: int
    skipped: int


class EventSummary(UESAnswer):
    """Counts of all events."""

    total: int
    pending: int
    executed: int
    failed: int
    skipped: int
    by_modality: dict[str, int]
    next_event_time: Instant | None = None


class BatchItem(UESAnswer):
    """What became of one event of a batch."""

    index: int
    success: bool
    event_id: str | None = None
    error: str | None = None


class BatchResult(UESAnswer):
    """What became of a batch."""

    total_submitted: int
    total_created: int
    total_failed: int
    events: list[BatchItem]


class SimulationStarted(UESAnswer):
    """The simulation after ``start``."""

    simulation_id: str
    status: str
    current_time: Instant
    auto_advance: bool
    time_scale: float | None = None


class SimulationStopped(UESAnswer):
    """The simulation after ``stop``."""

    simulation_id: str
    status: str
    final_time: Instant | None = None
    total_events: int | None = None
    events_executed: int | None = None
    events_failed: int | None = None


class SimulationStatus(UESAnswer):
    """Whether the simulation runs, its clock and its counts of events."""

    is_running: bool
    current_time: Instant
    is_paused: bool
    auto_advance: bool
    time_scale: float
    pending_events: int
    executed_events: int
    failed_events: int
    next_event_time: Instant | None = None


class SimulationReset(UESAnswer):
    """What ``reset`` took back."""

    status: str
    message: str
    cleared_events: int
    events_undone: int = 0
    undo_errors: list[str] = Field(default_factory=list)


class SimulationCleared(UESAnswer):
    """What ``clear`` removed."""

    status: str
    events_removed: int
    modalities_cleared: int
    time_reset: str | None = None
    current_time: Instant


class ReplayedEvent(UESAnswer):
    """An event that was undone or redone."""

    event_id: str
    modality: str
    action: str | None = None


class Undone(UESAnswer):
    """What ``undo`` took back."""

    undone_count: int
    undone_events: list[ReplayedEvent]
    can_undo: bool
    can_redo: bool
    message: str | None = None


class Redone(UESAnswer):
    """What ``redo`` did again."""

    redone_count: int
    redone_events: list[ReplayedEvent]
    can_undo: bool
    can_redo: bool
    message: str | None = None


class Hold(UESAnswer):
    """A hold on the clock; the times are wall-clock times."""

    hold_id: str
    reason: str | None = None
    timeout_seconds: float
    acquired_at: Instant
    expires_at: Instant
    active_hold_count: int


class HoldReleased(UESAnswer):
    """A hold that was given back."""

    released: bool
    hold_id: str
    active_hold_count: int


class HoldList(UESAnswer):
    """The holds that keep the clock still."""

    holds: list[Json]
    active_count: int


class Restored(UESAnswer):
    """The checkpoint (sha256, hex) that the simulation now equals."""

    restored: bool
    checkpoint: str


class CurrentCheckpoint(UESAnswer):
    """Where a simulation is.

    ``checkpoint`` (sha256, hex) is the one that it equals, None where it has changed since; ``mark`` the evaluator's
    note; ``fence`` the one that holds it, 0 for none; ``is_untouched`` whether nothing has changed since it was
    claimed; ``life`` changes with every restore.
    """

    checkpoint: str | None = None
    mark: str | None = None
    fence: int = 0
    is_untouched: bool = False
    life: str = ""


class Imported(UESAnswer):
    """What a scenario import loaded."""

    success: bool
    environment_loaded: bool = False
    events_loaded: int = 0
    modalities_loaded: list[str] = Field(default_factory=list)
    modalities_skipped: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    scenario_metadata: Json | None = None


class KeyRecord(UESAnswer):
    """An API key, without its secret."""

    key_id: str
    name: str
    permissions: list[str]
    created_at: Instant
    created_by: str | None = None
    last_used_at: Instant | None = None
    is_active: bool = True
    revoked_at: Instant | None = None


class KeyCreated(UESAnswer):
    """A new API key; its secret is shown here and never again."""

    key_id: str
    secret: str = Field(repr=False)
    name: str
    permissions: list[str]
    created_at: Instant
    created_by: str | None = None


class KeyList(UESAnswer):
    """All keys."""

    keys: list[KeyRecord]
    total: int
    active: int
    revoked: int


class KeyRevoked(UESAnswer):
    """A key that opens nothing any more."""

    key_id: str
    name: str
    revoked_at: Instant
    message: str = ""


class ModalityList(UESAnswer):
    """The names of the modalities."""

    modalities: list[str]
    count: int


class Validation(UESAnswer):
    """Whether the environment's state is consistent."""

    valid: bool
    errors: list[str] = Field(default_factory=list)
    checked_at: Instant


class AccessStatistics(UESAnswer):
    """Counts of the access log."""

    total_requests: int
    successful_requests: int
    failed_requests: int
    unique_keys: int
    first_request: Instant | None = None
    last_request: Instant | None = None


class FenceHeld(UESAnswer):
    """The fence that holds a simulation, or by which it was ended; 0 for none."""

    fence: int
    is_there: bool


class SimulationCreated(UESAnswer):
    """A new simulation on a host, and the secret of its admin key."""

    simulation_id: str
    base_url: str
    admin_key: str = Field(repr=False)
