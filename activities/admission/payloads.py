"""What the activities of admission take."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from proctor.activities.archive.payloads import TurnNote
from proctor.activities.plan import Model, Plan
from proctor.activities.simulation.payloads import Prepared
from purple_sdk.protocol.results import ActionLogEntryWithTurn, ReportedAction


class AdmitInput(Model):
    """A request before its checks; ``owner`` is the caller, empty where callers aren't identified."""

    task_id: str
    request: dict[str, Any] | str | None
    owner: str = ""


class QueueInput(Model):
    """Enter the queue of a context, as one of ``owner``'s."""

    queue_id: str
    task_id: str
    context_id: str = ""
    owner: str = ""


SO_FAR_QUERY = "so-far"
"""By which an assessment that is under way is asked what it has played."""


class Inherited(Model):
    """What one participant played in some turns of an assessment.

    Attributes:
        turns: they begin with the note of the beginning, turn 0.
        has_ended_early: the participant ended its assessment in the last of them.
        has_reported_all: it has reported its actions of the last of them, too.
    """

    turns: list[TurnNote]
    has_ended_early: bool = False
    has_reported_all: bool = False
    action_log: list[ActionLogEntryWithTurn] = Field(default_factory=list)
    reported: list[ReportedAction] = Field(default_factory=list)
    turn_notes: dict[int, str] = Field(default_factory=dict)
    turn_tries: dict[str, int] = Field(default_factory=dict)

    def before(self, turn: int) -> "Inherited":
        """The part of it that a fork from a turn takes over."""
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
    """An assessment that is under way: what was decided of it, and what each of its participants has played."""

    plan: Plan
    played: list[Inherited]


class ForkSetUp(Model):
    """A fork's simulation: the beginning of its day, its present state, and what was played until then."""

    beginning: Prepared
    now: Prepared
    inherited: Inherited


def last_to_fork(played: Inherited, end_time: datetime) -> int:
    """The last turn that a fork can begin with: the one after those that were finished, where there is time for one.

    Args:
        played: the turns that were finished, and the beginning.
        end_time: the end of the scenario's day (simulated).
    """
    last = played.turns[-1]
    return last.turn if played.has_ended_early or last.reached >= end_time else last.turn + 1


def last_of_all(played: Sequence[Inherited], end_time: datetime) -> int:
    """The same for participants who play side by side: a fork begins with a turn that no one may have skipped.

    One that has ended its assessment early takes no part in later turns, and limits nothing.
    """
    limits = [last_to_fork(each, end_time) for each in played if not each.has_ended_early]
    return min(limits) if limits else max(last_to_fork(each, end_time) for each in played)
