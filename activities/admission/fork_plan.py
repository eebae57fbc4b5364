"""What passes between a fork, the assessment that it begins with, and its activities."""

from datetime import datetime

from pydantic import Field

from activities.archive.payloads import TurnNote
from activities.plan import Model, Plan
from activities.simulation.payloads import Prepared
from proctor_protocol.results import ActionLogEntryWithTurn, ReportedAction

SO_FAR_QUERY = "so-far"
"""By which an assessment that is under way is asked what it has played."""


class Inherited(Model):
    """What was played in some turns of an assessment; ``turns`` begin with the note of its beginning, turn 0."""

    turns: list[TurnNote]
    action_log: list[ActionLogEntryWithTurn] = Field(default_factory=list)
    reported: list[ReportedAction] = Field(default_factory=list)
    turn_notes: dict[int, str] = Field(default_factory=dict)
    turn_tries: dict[str, int] = Field(default_factory=dict)

    def before(self, turn: int) -> "Inherited":
        """The part of it that a fork from a turn takes over."""
        return Inherited(
            turns=[note for note in self.turns if note.turn < turn],
            action_log=[entry for entry in self.action_log if entry.turn < turn],
            reported=[entry for entry in self.reported if entry.turn < turn],
            turn_notes={number: text for number, text in self.turn_notes.items() if number < turn},
            turn_tries={number: tries for number, tries in self.turn_tries.items() if int(number) < turn},
        )


class SoFar(Model):
    """An assessment that is under way: what was decided of it, and what it has played."""

    plan: Plan
    played: Inherited
    has_ended_early: bool


class ForkSetUp(Model):
    """A fork's simulation: the beginning of its day, its present state, and what was played until then."""

    beginning: Prepared
    now: Prepared
    inherited: Inherited


def last_to_fork(turns: list[TurnNote], *, has_ended_early: bool, end_time: datetime) -> int:
    """The last turn that a fork can begin with: the one after those that were finished, where there is time for one.

    Args:
        turns: those that were finished, and the beginning; never empty.
        has_ended_early: the participant ended the assessment in the last of them.
        end_time: the end of the scenario's day (simulated).
    """
    last = turns[-1]
    return last.turn if has_ended_early or last.reached >= end_time else last.turn + 1
