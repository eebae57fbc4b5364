"""The deadline and the duration count the time played: a reset after a weekend goes on as if there had been none."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from a2a.client import Client as Caller
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent, WorkflowTaskFailedEventAttributes
from temporalio.client import Client

from proctor.activities.attempts import failures
from proctor.activities.attempts.resets import pauses
from proctor.client.replay import choose, reset, reset_points
from proctor.settings.config import GreenAgentConfig
from proctor.workflows import time_played
from proctor.workflows.time_played import Timed
from tests.work import NIGHTLY
from tests.workflows.asking import Over, looked_at, played
from tests.workflows.replaying import replayed
from tests.workflows.scripted import ScriptedActivities, fails

DEADLINE = 8.0
"""Seconds; more than scripted steps take on any machine."""

FRIDAY = datetime(2026, 3, 6, 17, tzinfo=UTC)


async def replay(client: Client, caller: Caller, task_id: str, turn: int) -> Over:
    """Reset an assessment to a turn, and look at it when it has ended again."""
    await reset(client, task_id, choose(await reset_points(client, task_id), turn, from_judging=False))
    await asyncio.gather(client.get_workflow_handle(task_id).result(), return_exceptions=True)
    return await looked_at(caller, task_id)


async def test_a_reset_after_the_deadline_goes_on(caller: Caller, client: Client, config: GreenAgentConfig) -> None:
    async def hang(given: Any) -> None:
        if given.turn == 2:
            await asyncio.Event().wait()

    scripted = ScriptedActivities(assessment_timeout=DEADLINE)
    async with scripted.worker(client, config.task_queue):
        scripted.replacements["purple_turn"] = fails(failures.PARTICIPANT_MISBEHAVED, "Nonsense.")
        failed = await played(caller)
        assert failed.sentence == "Nonsense."
        task_id = failed.task.id
        await asyncio.sleep(DEADLINE)  # the weekend

        scripted.replacements.clear()
        completed = await replay(client, caller, task_id, 1)
        assert (completed.state, completed.sentence.partition(" ")[0]) == ("completed", "assistant")
        assert completed.results is not None
        assert 0 < completed.results.duration_seconds < DEADLINE

        assert await replayed(client, task_id) == 1
        if not NIGHTLY:
            return
        # The time that is left is no more than it was: what hangs now still has its deadline.
        scripted.replacements["purple_turn"] = hang
        late = await replay(client, caller, task_id, 2)
        assert late.results is not None
        assert (late.results.status, late.results.turns_taken) == ("timeout", 1)
        assert DEADLINE <= late.results.duration_seconds < 2 * DEADLINE
        assert await replayed(client, task_id) == 1


BY_RESET = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
EVENTS = {
    "begun": EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
    "done": EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
    "reset": EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
    "failed": EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED,
}


@pytest.mark.parametrize(
    ("history", "minutes"),
    [
        ("", 0),
        ("begun 0, done 1, begun 5, done 6", 0),
        ("begun 0, done 1, begun 5, reset 65, begun 66, done 67", 60),
        ("begun 0, done 1, begun 5, reset 65, begun 66, done 67, begun 70, reset 100", 90),
        ("begun 0, done 1, begun 5, reset 65, begun 66, reset 166", 160),
        ("begun 0, done 1, begun 5, failed 65, begun 66, done 67", 0),
        ("begun -3, reset 60, begun 60, done 61", 0),  # before the assessment's start
        ("begun 0, done 1, begun 50, reset 20, begun 21, reset 22", 1),  # Temporal's clock went back
    ],
)
async def test_what_a_reset_leaves_out(history: str, minutes: int) -> None:
    async def events() -> AsyncIterator[HistoryEvent]:
        for event in filter(None, history.split(", ")):
            kind, at = event.split()
            time = Timestamp()
            time.FromDatetime(FRIDAY + timedelta(minutes=int(at)))
            cause = BY_RESET if kind == "reset" else WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNSPECIFIED
            failed = WorkflowTaskFailedEventAttributes(cause=cause) if kind in ("reset", "failed") else None
            yield HistoryEvent(event_type=EVENTS[kind], event_time=time, workflow_task_failed_event_attributes=failed)

    assert await pauses(events(), FRIDAY) == timedelta(minutes=minutes)


@pytest.mark.parametrize(("minutes", "paused", "played"), [(10, 60, 540), (10, 900, 0), (-60, 0, 0)])
def test_time_played_is_never_negative(
    minutes: int, paused: float, played: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it would be where Temporal's clock was put back, and then no results could be made."""
    monkeypatch.setattr(time_played, "workflow", SimpleNamespace(now=lambda: FRIDAY + timedelta(minutes=minutes)))
    assert time_played.seconds_played(Timed(started_at=FRIDAY, paused=paused)) == played
