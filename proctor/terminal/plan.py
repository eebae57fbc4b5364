"""Payloads between a terminal trial and its activities. Timeouts are in seconds."""

from datetime import datetime

from pydantic import Field, JsonValue

from proctor.activities.plan import Model
from proctor.storage.blobs import BlobRef
from purple_sdk.protocol.provenance import ModelUse
from purple_sdk.protocol.results import Doubt, ResultStatus
from purple_sdk.protocol.terminal import (
    AgentAccess,
    AgentKind,
    Blame,
    Blob,
    FailureMode,
    LeaveRunning,
    TestStatus,
    TrialResult,
    VerifierKind,
)


class TrialPlan(Model):
    """One attempt at one task, as the campaign planned it.

    Attributes:
        trial_id: the id of the trial's workflow.
        run_id: the id of the campaign.
        trial_name: the folder of the trial's results.
        files: all of the task's files, as they were at the run's admission.
        play: the number of plays of the cell, including this one.
        queue: the task queue of workers whose machine has an engine.
        participant: the agent's name in the run.
    """

    trial_id: str
    run_id: str
    trial_name: str
    task_id: str
    files: BlobRef
    attempt: int
    play: int = 1
    agent: AgentKind
    participant_url: str = ""
    access: AgentAccess = "both"
    leave_running: LeaveRunning = "everything"
    verifier: VerifierKind = "separate"
    build_seconds: float
    agent_seconds: float
    test_seconds: float
    record: bool = True
    keep_images: bool = False
    queue: str
    participant: str = ""


class PreparedTrial(Model):
    """The task's image on a host; ``host_queue`` is the task queue of the workers there."""

    host_queue: str
    image: JsonValue = None
    instruction: str
    seconds: float


class EnvironmentInput(Model):
    """Starts an environment; ``number`` counts the environments of this trial, from 1."""

    plan: TrialPlan
    prepared: PreparedTrial
    number: int


class StartedTrial(Model):
    """A running environment, with the data by which the host's engine finds it again."""

    environment: JsonValue
    container: str
    seconds: float


class StepInput(Model):
    """A step in a running environment."""

    plan: TrialPlan
    prepared: PreparedTrial
    started: StartedTrial
    number: int


class Worked(Model):
    """The outcome of the agent's work; ``failure_mode`` is ``none`` if it ended well.

    ``is_over`` says that the agent ended its own container, so there is nothing to test.
    """

    failure_mode: FailureMode
    failure: str | None = None
    said: str | None = None
    usage: list[ModelUse] = Field(default_factory=list)
    interaction: BlobRef | None = None
    is_over: bool = False
    started_at: datetime
    ended_at: datetime


class Tested(Model):
    """The outcome of the tests.

    Attributes:
        is_resolved: None if the tests gave no verdict.
        rewards: the numbers of a reward file, by name.
        left_running: the processes that the agent left.
        limits_reached: sentences on the limits of the container that the agent reached.
        verifier, verifier_reason, doubts: see ``TrialResult``.
    """

    failure_mode: FailureMode
    failure: str | None = None
    blame: Blame | None = None
    is_resolved: bool | None = None
    reward: float | None = None
    parser_results: dict[str, TestStatus] | None = None
    rewards: dict[str, float] = Field(default_factory=dict)
    left_running: list[str] = Field(default_factory=list)
    limits_reached: list[str] = Field(default_factory=list)
    verifier: VerifierKind | None = None
    verifier_reason: str | None = None
    doubts: list[Doubt] = Field(default_factory=list)
    output: BlobRef | None = None
    started_at: datetime
    ended_at: datetime


class TrialArchiveInput(Model):
    """A trial that has ended. For ``updates`` see an assessment's ``ArchiveInput``."""

    plan: TrialPlan
    owner: str = ""
    result: TrialResult
    status: ResultStatus
    updates: list[str]


class CollectInput(Model):
    """Stores the files of an environment; ``more`` are files that are in the store already, by name."""

    step: StepInput
    more: dict[str, BlobRef] = Field(default_factory=dict)


class Collected(Model):
    """All stored files of the environment."""

    files: list[Blob]
    seconds: float
