"""An admitted assessment, and the base class of the payloads that pass between workflows and activities."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from proctor.protocol.nights import Night, end_of_turn
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol._wire import WHEN_USED
from purple_sdk.protocol.clocks import STANDING
from purple_sdk.protocol.durations import parse_iso8601_duration
from purple_sdk.protocol.forks import ForkedFrom
from purple_sdk.protocol.instances import Instance
from purple_sdk.protocol.results import Dimension

TRIAL_WORKFLOW = "TerminalTrial"


class Model(BaseModel):
    """A frozen payload; fields may be added later, with defaults."""

    model_config = ConfigDict(frozen=True, defer_build=WHEN_USED)


class CriterionBrief(Model):
    """A criterion as the workflow knows it; ``items`` is the number of items in its rubric."""

    criterion_id: str
    name: str
    dimension: Dimension
    max_score: int
    by_model: bool
    items: int = 1


class ForkPlan(Model):
    """The origin of a fork. ``inherited`` is the blob of the turns before the fork
    (``proctor.activities.admission.payloads.Inherited``). With several participants, each role's plan has such a blob,
    and the joint plan has none.
    """

    origin: ForkedFrom
    inherited: BlobRef | None = None


class Plan(Model):
    """An admitted assessment: everything that was decided before it starts. Timeouts are in seconds.

    Attributes:
        scenario: the blob of the scenario's configuration.
        initial_state: the blob of the UES scenario at the start; its clock is at ``start_time``.
        package: the blob of all files of the scenario at admission, its evaluators included.
        instance: the family and day of the scenario; None for a fixed scenario. A fork may have another ``seed``.
        clock, noise: the conditions of the assessment (``purple_sdk.protocol.clocks``).
        is_state_in_package: whether the initial state has no separate blob. If so, it is read from ``package``, and
            ``initial_state`` has its hash and size.
        roles: a plan for each of several participants, with the role as ``participant`` and the role's ``criteria``.
            The joint plan has all criteria and the names of all participants; its other values are the first role's.
            Empty for one participant.
        simulator: the address of the simulation's server. None before a server is chosen, or if the settings name only
            one.
    """

    assessment_id: str
    simulation_id: str
    scenario: BlobRef
    initial_state: BlobRef
    package: BlobRef
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
    nights: list[Night] = Field(default_factory=list)
    expected_turns: int
    scenario_turns: int | None = None
    character_count: int
    criteria: list[CriterionBrief]
    warnings: list[str] = Field(default_factory=list)
    scenario_version: str | None = None
    reader: int | None = None
    canary: str | None = None
    proctor_version: str | None = None
    fork: ForkPlan | None = None
    is_state_in_package: bool = False
    instance: Instance | None = None
    clock: str = STANDING
    noise: int = 0
    simulator: str | None = None
    roles: "list[Plan]" = Field(default_factory=list)

    def end_of_turn(self, turn_start: datetime, time_step: str | None) -> datetime:
        """Return the simulated time at which a turn ends. ``time_step`` is the participant's choice; None means the
        default.
        """
        step = parse_iso8601_duration(time_step or self.default_time_step)
        return end_of_turn(turn_start, step, self.nights, self.end_time)

    def for_step(self) -> "Plan":
        """Return the plan without criteria, for a step that needs none. A judging step gets its criterion by name."""
        return self.model_copy(update={"criteria": []})


class OfAssessment(Model):
    """The input of an activity that is a step of an assessment, on the simulator that ``plan`` names."""

    plan: Plan


class OfTurn(Model):
    """The input of an activity that is part of a turn; ``turn`` counts from 1."""

    turn: int


class OfSeveral(Model):
    """The input of an activity that runs beside others of its type."""

    @property
    def about(self) -> str:
        """The criterion or the character that distinguishes this activity from the parallel ones."""
        raise NotImplementedError
