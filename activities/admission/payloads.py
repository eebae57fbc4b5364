"""Inputs and results of the activities of admission."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from proctor.activities.archive.payloads import TurnNote
from proctor.activities.plan import Model, Plan
from proctor.activities.simulation.payloads import Prepared
from purple_sdk.protocol.results import ActionLogEntryWithTurn, ReportedAction


class AdmitInput(Model):
    """A request before its checks. ``owner`` is the caller; empty if callers aren't identified."""

    task_id: str
    request: dict[str, Any] | str | None
    owner: str = ""


class QueueInput(Model):
    """A request to enter the queue of a context with an assessment of ``owner``."""

    queue_id: str
    task_id: str
    context_id: str = ""
    owner: str = ""


SO_FAR_QUERY = "so-far"
"""The query for the turns that a running assessment has played."""


class Inherited(Model):
    """Turns of an assessment that one participant has played.

    Attributes:
        turns: the turns' notes, after the note of the beginning (turn 0).
        has_ended_early: whether the participant ended its assessment in the last of these turns.
        has_reported_all: whether the participant has reported its actions of the last of these turns.
    """

    turns: list[TurnNote]
    has_ended_early: bool = False
    has_reported_all: bool = False
    action_log: list[ActionLogEntryWithTurn] = Field(default_factory=list)
    reported: list[ReportedAction] = Field(default_factory=list)
    turn_notes: dict[int, str] = Field(default_factory=dict)
    turn_tries: dict[str, int] = Field(default_factory=dict)

    def before(self, turn: int) -> "Inherited":
        """Return the part that a fork from a turn inherits."""
        return Inherited(
            turns=[note for note in self.turns if note.turn < turn],
            has_ended_early=self.has_ended_early and self.turns[-1].turn < turn,
            has_reported_all=self.has_reported_all,
            action_log=[entry for entry in self.action_log if entry.turn < turn],
            reported=[entry for entry in self.reported if entry.turn < turn],
            turn_notes={number: text for number, text in self.turn_notes.items() if number < turn},
            turn_tries={number: tries for number, tries in self.turn_tries.items() if int(number) < turn},
        )


class SoFar(Model):
    """A running assessment: its plan, and the turns of each participant so far."""

    plan: Plan
    played: list[Inherited]


class ForkSetUp(Model):
    """A fork's simulation: the beginning of its day, its present state, and the turns until then."""

    beginning: Prepared
    now: Prepared
    inherited: Inherited


def last_to_fork(played: Inherited, end_time: datetime) -> int:
    """Return the last turn with which a fork can begin. If the day has time left, this is the turn after the finished
    ones.

    Args:
        played: the finished turns, and the beginning.
        end_time: the end of the scenario's day (simulated).
    """
    last = played.turns[-1]
    return last.turn if played.has_ended_early or last.reached >= end_time else last.turn + 1


def last_of_all(played: Sequence[Inherited], end_time: datetime) -> int:
    """Return the last turn with which a fork of several participants can begin. All participants have to reach this
    turn, except those that have ended their assessment early.
    """
    limits = [last_to_fork(inherited, end_time) for inherited in played if not inherited.has_ended_early]
    return min(limits) if limits else max(last_to_fork(inherited, end_time) for inherited in played)
