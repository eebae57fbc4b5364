"""Where an assessment may go on from is read from what its steps were given."""

import re

import pytest
from a2a.client import Client as Caller
from temporalio.client import Client

from proctor.activities.attempts import failures
from proctor.activities.characters.messages import OutgoingMessage
from proctor.activities.simulation.payloads import Addressee, TurnApplied
from proctor.client.replay import ResetPoint, choose, reset, reset_points
from proctor.common.errors import UsageError
from proctor.workflows import limits
from tests.sentences import says
from tests.work import some_of
from tests.workflows.asking import played
from tests.workflows.scripted import MORNING, NOWHERE, ScriptedActivities


async def test_turns_are_known_by_their_input_whatever_they_are_called(
    caller: Caller, client: Client, activities: ScriptedActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = limits.turn
    monkeypatch.setattr(limits, "turn", lambda summary, timeout: {**named(summary, timeout), "summary": "a turn"})
    over = await played(caller)
    points = await reset_points(client, over.task.id)
    assert [(point.name, point.turn) for point in points] == [
        ("the start", None),
        ("the greeting", None),
        ("turn 1", 1),
        ("turn 2", 2),
        ("the judging", None),
    ]


async def test_the_temporal_ui_shows_which_event_repeats_what(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    """The form of *Reset* lists numbers of events only; *User Metadata* says what each one repeats."""
    over = await played(caller)
    answer = await client.get_workflow_handle(over.task.id).query("__temporal_workflow_metadata")
    points = await reset_points(client, over.task.id)
    assert _table(answer.current_details) == {point.name: point.event_id for point in points}
    assert len(points) == 5


def _table(details: str) -> dict[str, int]:
    """Temporal's *Current Details*: what can be repeated, and the events to reset to."""
    return {name: int(event) for name, event in re.findall(r"^\| (.+) \| (\d+) \|$", details, re.MULTILINE)}


FAILING = {
    "set_up": ("the start", "the start"),
    "greet": ("the greeting", "the greeting"),
    "purple_turn": ("turn 1", "turn 1"),
    "respond": ("the replies of turn 1", "the failed step: turn 1 · ben"),
    "advance": ("the end of turn 1", r"the failed step: turn 1 · to 09\:00"),
    "conclude": ("the judging", "the judging"),
    "judge_criterion": ("the judging", "the judging"),
}
"""The step that fails, the point to continue from, and its name in Temporal's table."""


@pytest.mark.parametrize("step", some_of(FAILING, 3))
async def test_an_assessment_continues_from_any_step_that_failed(
    caller: Caller, client: Client, activities: ScriptedActivities, step: str
) -> None:
    async def fails(_given: object) -> None:
        raise failures.UNKNOWN.final("The disk is full.")

    async def asks_ben(_given: object) -> TurnApplied:
        message = OutgoingMessage(modality="email", message_id="m-1", sent_at=MORNING)
        return TurnApplied(
            checkpoint=NOWHERE, actions=[], messages=[message], addressed=[Addressee(message=0, character_id="ben")]
        )

    activities.replacements = {"apply": asks_ben, step: fails}
    over = await played(caller)
    assert over.state == "failed"
    name, shown_as = FAILING[step]
    point = choose(await reset_points(client, over.task.id), None, from_judging=False)
    assert (point.name, point.has_failed) == (name, True)
    answer = await client.get_workflow_handle(over.task.id).query("__temporal_workflow_metadata")
    assert _table(answer.current_details)[shown_as] == point.event_id
    activities.replacements = {"apply": asks_ben}
    activities.calls.clear()
    await reset(client, over.task.id, point)
    await client.get_workflow_handle(over.task.id).result()
    assert step in activities.calls
    before = [*FAILING][: [*FAILING].index(step)]
    assert ("purple_turn" in before) == (activities.calls.count("purple_turn") < 2), "turn 1 isn't played again"


async def test_a_request_that_could_not_be_admitted_is_admitted_again(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    async def refuses(_given: object) -> None:
        raise failures.REJECTED.final("There is no such scenario.")

    activities.replacements = {"admit": refuses}
    over = await played(caller)
    assert over.state == "rejected"
    activities.replacements = {}
    point = choose(await reset_points(client, over.task.id), None, from_judging=False)
    assert point.name == "the start"
    with pytest.raises(UsageError, check=says("--from-turn")):
        choose([point], 1, from_judging=False)
    await reset(client, over.task.id, point)
    await client.get_workflow_handle(over.task.id).result()
    assert activities.calls.count("purple_turn") == 2


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
            point = ResetPoint(first, begun.workflow_task_completed_event_id, "the end of turn 1")
    await reset(client, over.task.id, point)
    await client.get_workflow_handle(over.task.id).result()
    assert [(turn.turn, turn.needs_new_key) for turn in activities.inputs["purple_turn"][2:]] == [(2, True)]
