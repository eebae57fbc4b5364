"""The updates so far of a running assessment, turn by turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from proctor.protocol.updates import (
    ActionObservedUpdate,
    AssessmentStartedUpdate,
    CriterionEvaluatedUpdate,
    ErrorOccurredUpdate,
    EvaluationStartedUpdate,
    ResponsesGeneratedUpdate,
    ScenarioLoadedUpdate,
    SimulationAdvancedUpdate,
    TaskUpdate,
    TurnCompletedUpdate,
    TurnStartedUpdate,
    parse_update,
)
from purple_sdk.protocol._wire import UnknownMessageTypeError

_SHOWN_TURNS = 200
"""The number of turns that a running assessment's page shows (the last ones), since it reloads all the time."""


@dataclass
class TurnProgress:
    """One turn, of one of several participants by its ``role``; ``notes`` are sentences on what else happened."""

    number: int
    role: str = ""
    began_at: datetime | None = None
    actions: list[ActionObservedUpdate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    is_finished: bool = False


_Turns = dict[tuple[int, str], TurnProgress]
"""Turns by number and role."""


@dataclass
class Progress:
    """All of it; ``expected_turns`` is a guess."""

    scenario_name: str = ""
    expected_turns: int | None = None
    began_at: datetime | None = None
    before: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    turns: list[TurnProgress] = field(default_factory=list)
    left_out: int = 0
    criteria_count: int | None = None
    criteria: list[CriterionEvaluatedUpdate] = field(default_factory=list)
    phase: str = "waiting to begin"


def progress_of(updates: Sequence[Mapping[str, Any]]) -> Progress:
    progress = Progress()
    turns: _Turns = {}
    for data in updates:
        try:
            update = parse_update(dict(data))
        except (UnknownMessageTypeError, ValidationError):
            continue
        _take(progress, turns, update)
    numbers = sorted(turns)
    progress.left_out = max(0, len(numbers) - _SHOWN_TURNS)
    progress.turns = [turns[number] for number in numbers[-_SHOWN_TURNS:]]
    return progress


def _take(progress: Progress, turns: _Turns, update: TaskUpdate) -> None:
    role = update.role or ""
    match update:
        case AssessmentStartedUpdate():
            progress.began_at, progress.phase = update.start_time, "being prepared"
        case ScenarioLoadedUpdate():
            progress.scenario_name, progress.expected_turns = update.scenario_name, update.expected_turns
            progress.before.append(update.sentence())
        case TurnStartedUpdate():  # once more where the turn is played again: what came of it before is void
            turns[update.turn_number, role] = TurnProgress(update.turn_number, role, update.current_time)
            for later in [each for each in turns if each[0] > update.turn_number and each[1] == role]:
                del turns[later]
            progress.phase = f"in turn {update.turn_number}"
        case ActionObservedUpdate():
            _turn(turns, update.turn_number, role).actions.append(update)
        case TurnCompletedUpdate():
            turn = _turn(turns, update.turn_number, role)
            turn.is_finished = True
            if update.early_completion_requested:
                turn.notes.append("The participant says that it is finished.")
        case ResponsesGeneratedUpdate():
            if update.responses_count:
                _turn(turns, update.turn_number, role).notes.append(update.sentence().partition(": ")[2])
        case EvaluationStartedUpdate():
            if not role or progress.criteria_count is None:
                progress.criteria_count, progress.criteria, progress.phase = 0, [], "being judged"
            progress.criteria_count += update.criteria_count
        case CriterionEvaluatedUpdate():
            progress.criteria.append(update)
        case ErrorOccurredUpdate():
            where = _turn(turns, update.turn_number, role).troubles if update.turn_number else progress.troubles
            where.append(update.error_message)
        case SimulationAdvancedUpdate():
            pass


def _turn(turns: _Turns, number: int, role: str) -> TurnProgress:
    return turns.setdefault((number, role), TurnProgress(number, role))
