"""The eleven task updates that report an assessment's progress (seed 000, section 2.3).

Each update is the data part of an A2A ``TaskStatusUpdateEvent``. Its ``sentence()`` is the event's text part.
"""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, JsonValue

from purple_sdk.protocol._wire import ByMessageType, Instant, OfRole, WireModel
from purple_sdk.protocol.durations import Duration
from purple_sdk.protocol.forks import ForkedFrom
from purple_sdk.protocol.messages import CompletionReason
from purple_sdk.protocol.results import Dimension, score_range

RECORDED_AT = "proctor-recorded-at"
"""The metadata key of an update's publication time (ISO 8601), in its Temporal payload."""


class TaskUpdateType(StrEnum):
    """The ``message_type`` of each update."""

    ASSESSMENT_STARTED = "update_assessment_started"
    SCENARIO_LOADED = "update_scenario_loaded"
    TURN_STARTED = "update_turn_started"
    TURN_COMPLETED = "update_turn_completed"
    RESPONSES_GENERATED = "update_responses_generated"
    SIMULATION_ADVANCED = "update_simulation_advanced"
    EVALUATION_STARTED = "update_evaluation_started"
    CRITERION_EVALUATED = "update_criterion_evaluated"
    ASSESSMENT_COMPLETED = "update_assessment_completed"
    ERROR_OCCURRED = "update_error_occurred"
    ACTION_OBSERVED = "update_action_observed"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class _TaskUpdate(WireModel):
    """The base of all updates; ``role`` is the participant concerned, if there are several."""

    role: OfRole = None


class AssessmentStartedUpdate(_TaskUpdate):
    """The assessment has begun; a fork begins with the turns of another assessment."""

    message_type: Literal[TaskUpdateType.ASSESSMENT_STARTED] = TaskUpdateType.ASSESSMENT_STARTED
    assessment_id: str
    scenario_id: str
    participant_url: str
    start_time: Instant
    forked_from: ForkedFrom | None = None

    def sentence(self) -> str:
        """One readable sentence."""
        text = f"Assessment of {self.participant_url} on {self.scenario_id} started."
        if self.forked_from is not None:
            text += f" It is a fork from {self.forked_from.in_words()}: {self.forked_from.inherited_in_words()}."
        return text


class ScenarioLoadedUpdate(_TaskUpdate):
    """The scenario is in its simulation; ``expected_turns`` is the number of turns at the default time step."""

    message_type: Literal[TaskUpdateType.SCENARIO_LOADED] = TaskUpdateType.SCENARIO_LOADED
    scenario_id: str
    scenario_name: str
    start_time: Instant
    end_time: Instant
    character_count: int
    criteria_count: int
    expected_turns: int
    warnings: list[str] = Field(default_factory=list)

    def sentence(self) -> str:
        """One readable sentence."""
        text = (
            f"Scenario “{self.scenario_name}” loaded: {_count(self.character_count, 'character')}, "
            f"{self.criteria_count} criteria, about {_count(self.expected_turns, 'turn')}."
        )
        return " ".join([text, *(f"Warning: {w}." for w in self.warnings)])


class TurnStartedUpdate(_TaskUpdate):
    """``turn_start`` was sent to the participant."""

    message_type: Literal[TaskUpdateType.TURN_STARTED] = TaskUpdateType.TURN_STARTED
    turn_number: int
    current_time: Instant
    events_processed: int

    def sentence(self) -> str:
        """One readable sentence."""
        news = f" after {_count(self.events_processed, 'event')}" if self.events_processed else ""
        return f"Turn {self.turn_number} started at {self.current_time:%Y-%m-%d %H:%M}{news}."


class ActionObservedUpdate(_TaskUpdate):
    """One action of the participant, as recorded in the simulation's event log."""

    message_type: Literal[TaskUpdateType.ACTION_OBSERVED] = TaskUpdateType.ACTION_OBSERVED
    turn_number: int
    timestamp: Instant
    action: str
    parameters: dict[str, JsonValue]
    success: bool
    error_message: str | None = None
    notes: str | None = None

    def sentence(self) -> str:
        """One readable sentence."""
        outcome = "" if self.success else f" failed: {self.error_message or 'no reason given'}"
        return f"Turn {self.turn_number}: {self.action}{outcome}."


class TurnCompletedUpdate(_TaskUpdate):
    """The participant has finished its turn. ``time_advanced`` is how far time shall move from the turn's start, across
    a night too. ``SimulationAdvancedUpdate`` says how far it has moved.

    If a fork inherited the turn, ``inherited_from`` is the id of the assessment in which it was played.
    """

    message_type: Literal[TaskUpdateType.TURN_COMPLETED] = TaskUpdateType.TURN_COMPLETED
    turn_number: int
    actions_taken: int
    time_advanced: Duration
    early_completion_requested: bool = False
    inherited_from: str | None = None

    def sentence(self) -> str:
        """One readable sentence."""
        if self.inherited_from:
            return f"Turn {self.turn_number} is inherited, with {_count(self.actions_taken, 'action')}."
        early = "; the participant says it is finished" if self.early_completion_requested else ""
        return f"Turn {self.turn_number} completed with {_count(self.actions_taken, 'action')}{early}."


class ResponsesGeneratedUpdate(_TaskUpdate):
    """Characters have decided on their answers in this turn."""

    message_type: Literal[TaskUpdateType.RESPONSES_GENERATED] = TaskUpdateType.RESPONSES_GENERATED
    turn_number: int
    responses_count: int
    characters_involved: list[str] = Field(default_factory=list)

    def sentence(self) -> str:
        """One readable sentence."""
        who = f" ({', '.join(self.characters_involved)})" if self.characters_involved else ""
        return f"Turn {self.turn_number}: {_count(self.responses_count, 'answer')} from characters{who}."


class SimulationAdvancedUpdate(_TaskUpdate):
    """The clock has moved, and the events in between have happened."""

    message_type: Literal[TaskUpdateType.SIMULATION_ADVANCED] = TaskUpdateType.SIMULATION_ADVANCED
    turn_number: int
    previous_time: Instant
    new_time: Instant
    duration: Duration
    events_processed: int

    def sentence(self) -> str:
        """One readable sentence."""
        return (
            f"Time advanced from {self.previous_time:%H:%M:%S} to {self.new_time:%Y-%m-%d %H:%M:%S}; "
            f"{_count(self.events_processed, 'event')} happened."
        )


class EvaluationStartedUpdate(_TaskUpdate):
    """The turns are over; the judging begins."""

    message_type: Literal[TaskUpdateType.EVALUATION_STARTED] = TaskUpdateType.EVALUATION_STARTED
    criteria_count: int
    dimensions: list[str] = Field(default_factory=list)

    def sentence(self) -> str:
        """One readable sentence."""
        return f"Judging {self.criteria_count} criteria in {_count(len(self.dimensions), 'dimension')}."


class CriterionEvaluatedUpdate(_TaskUpdate):
    """One criterion was judged, or could not be. ``items_judged`` counts the judged items of all rubrics, out of
    ``items_count``; a criterion without a rubric is one item.
    """

    message_type: Literal[TaskUpdateType.CRITERION_EVALUATED] = TaskUpdateType.CRITERION_EVALUATED
    criterion_id: str
    criterion_name: str
    dimension: Dimension
    score: int
    max_score: int
    evaluation_method: str
    unscored_reason: str | None = None
    doubtful_points: int = 0
    items_judged: int = 0
    items_count: int = 0

    def sentence(self) -> str:
        """One readable sentence."""
        progress = f" {self.items_judged} of {self.items_count} items are judged." if self.items_count else ""
        if self.max_score == 0 and self.unscored_reason:
            return f"{self.criterion_name}: unscored ({self.unscored_reason}).{progress}"
        score = score_range(self.score, self.doubtful_points)
        return f"{self.criterion_name}: {score}/{self.max_score} by {self.evaluation_method}.{progress}"


class AssessmentCompletedUpdate(_TaskUpdate):
    """The assessment has ended; the artifact follows."""

    message_type: Literal[TaskUpdateType.ASSESSMENT_COMPLETED] = TaskUpdateType.ASSESSMENT_COMPLETED
    reason: CompletionReason
    total_turns: int
    total_actions: int
    duration_seconds: float
    overall_score: int
    max_score: int
    doubtful_points: int = 0

    def sentence(self) -> str:
        """One readable sentence."""
        score = score_range(self.overall_score, self.doubtful_points)
        return (
            f"Assessment ended ({self.reason.replace('_', ' ')}): {score}/{self.max_score} points in "
            f"{_count(self.total_turns, 'turn')} with {_count(self.total_actions, 'action')}."
        )


class ErrorOccurredUpdate(_TaskUpdate):
    """Something went wrong; ``recoverable`` says whether the assessment continues.

    For a step that is tried again, ``step`` names it and ``attempt`` is the number of the failed attempt. ``attempts``
    is the largest number of attempts (0 for no limit).
    """

    message_type: Literal[TaskUpdateType.ERROR_OCCURRED] = TaskUpdateType.ERROR_OCCURRED
    error_type: str
    error_message: str
    turn_number: int | None = None
    recoverable: bool = False
    step: str | None = None
    attempt: int | None = None
    attempts: int | None = None

    def sentence(self) -> str:
        """One readable sentence."""
        where = f" in turn {self.turn_number}" if self.turn_number else ""
        return f"Error{where}: {self.error_message}"


TaskUpdate = (
    AssessmentStartedUpdate
    | ScenarioLoadedUpdate
    | TurnStartedUpdate
    | TurnCompletedUpdate
    | ResponsesGeneratedUpdate
    | SimulationAdvancedUpdate
    | EvaluationStartedUpdate
    | CriterionEvaluatedUpdate
    | AssessmentCompletedUpdate
    | ErrorOccurredUpdate
    | ActionObservedUpdate
)

_UPDATES = ByMessageType[TaskUpdate](TaskUpdate)

MILESTONES = frozenset(
    {
        TaskUpdateType.ASSESSMENT_STARTED,
        TaskUpdateType.SCENARIO_LOADED,
        TaskUpdateType.TURN_COMPLETED,
        TaskUpdateType.EVALUATION_STARTED,
        TaskUpdateType.ASSESSMENT_COMPLETED,
        TaskUpdateType.ERROR_OCCURRED,
    }
)
"""The updates that a request with ``verbose_updates: false`` receives."""


def parse_update(data: dict[str, Any]) -> TaskUpdate:
    """Read an update from its data part.

    Raises:
        UnknownMessageTypeError: ``message_type`` is missing or isn't one of the eleven.
        pydantic.ValidationError: the fields don't fit that type; every location begins with the type.
    """
    return _UPDATES.read(data)
