"""A participant's time begins when a worker gets at its turn: what workers have too much to do for is not its fault."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.activities.attempts.notes import MarkNote, Note, TaskNote, WaitNote
from proctor.activities.participant import activities as participants

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PLAN: Any = SimpleNamespace(turn_timeout=300.0)


class Asking(ActivityInboundInterceptor):
    """An attempt that wants to know what is left of the participant's time."""

    def __init__(self) -> None:
        pass

    async def execute_activity(self, input: Any) -> float:  # noqa: A002
        return participants._seconds_left(PLAN)


MARKED = MarkNote(mark="it")


async def left_to(attempt: int, waited: float, *notes: Note) -> float:
    """Seconds that an attempt finds left which began so long after the step was scheduled."""
    surroundings = ActivityEnvironment()
    surroundings.info = replace(
        surroundings.info,
        attempt=attempt,
        scheduled_time=NOON,
        started_time=NOON + timedelta(seconds=waited),
        heartbeat_details=[note.model_dump(mode="json") for note in notes],
    )
    given: Any = ExecuteActivityInput(fn=left_to, args=(), executor=None, headers={})
    found: float = await surroundings.run(Heartbeats().intercept_activity(Asking()).execute_activity, given)
    return found


async def test_what_a_turn_waits_for_a_worker_is_none_of_the_participants_time() -> None:
    assert await left_to(1, waited=0) == 300
    assert await left_to(1, waited=200) == 300
    assert await left_to(2, 250, MARKED, WaitNote(seconds=200), TaskNote(task_id="a-task")) == 250
    assert await left_to(2, 250, MARKED) == 50, "the first one was begun at once"
