"""Where an assessment may go on from is read from what its steps were given."""

import re

import pytest
from a2a.client import Client as Caller
from temporalio.client import Client

from proctor.replay import ResetPoint, reset, reset_points
from tests.workflows.asking import played
from tests.workflows.scripted import ScriptedActivities
from workflows import limits


async def test_turns_are_known_by_their_input_whatever_they_are_called(
    caller: Caller, client: Client, activities: ScriptedActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = limits.turn
    monkeypatch.setattr(limits, "turn", lambda summary, timeout: {**named(summary, timeout), "summary": "a turn"})
    over = await played(caller)
    assert [point.turn for point in await reset_points(client, over.task.id)] == [1, 2, None]


async def test_the_temporal_ui_shows_which_event_repeats_what(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    """The form of *Reset* lists numbers of events only; *User Metadata* says what each one repeats."""
    over = await played(caller)
    answer = await client.get_workflow_handle(over.task.id).query("__temporal_workflow_metadata")
    shown = dict(re.findall(r"^\| ([\w ]+\d|the judging) \| (\d+) \|$", answer.current_details, re.MULTILINE))
    points = await reset_points(client, over.task.id)
    assert len(points) == 3
    assert shown == {f"turn {point.turn}" if point.turn else "the judging": str(point.event_id) for point in points}


async def test_a_reset_whose_run_continues_as_new_at_once_still_gives_a_new_key(
    caller: Caller, client: Client, activities: ScriptedActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run in which the next turn is played is no reset itself."""
    monkeypatch.setattr(limits, "HISTORY_EVENTS", 1)
    over = await played(caller)
    assert [turn.needs_new_key for turn in activities.inputs["purple_turn"]] == [False, False]
    runs = [run async for run in client.list_workflows(f"WorkflowId = '{over.task.id}'")]
    first = min(runs, key=lambda run: run.start_time).run_id
    async for event in client.get_workflow_handle(over.task.id, run_id=first).fetch_history_events():
        begun = event.activity_task_scheduled_event_attributes
        if begun.activity_type.name == "advance":
            point = ResetPoint(first, begun.workflow_task_completed_event_id, 1)
    await reset(client, over.task.id, point)
    await client.get_workflow_handle(over.task.id).result()
    assert [(turn.turn, turn.needs_new_key) for turn in activities.inputs["purple_turn"][2:]] == [(2, True)]
