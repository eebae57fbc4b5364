"""Whatever fails for good, in whichever step: the assessment ends with a sentence, and leaves nothing behind."""

import asyncio
from typing import Any

import pytest
from a2a.client import Client as Caller
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, TaskState
from temporalio.client import Client, WorkflowExecutionStatus

from proctor.activities.attempts import failures
from proctor.settings.config import GreenAgentConfig
from proctor.workflows.context_queue import queue_id
from proctor.workflows.names import PROCTOR_STATUS
from proctor.workflows.turns import Turns
from tests.a2a_gateway.callers import TERMINAL, at_once, data_part, message, send, state_name
from tests.a2a_gateway.conftest import REQUEST
from tests.sentences import says
from tests.waiting import eventually
from tests.work import NIGHTLY, only_nightly
from tests.workflows.asking import played
from tests.workflows.scripted import ScriptedActivities, fails

LOCAL = ("join_queue", "apply", "advance", "conclude")
REMOTE = ("set_up", "greet", "purple_turn", "judge_criterion")
SHORT = ("join_queue", "conclude")
"""Before the beginning and at the end; ``test_story.py`` has turns fail. ``make nightly`` has every step fail."""
SENTENCE = "The store is full: make room."


async def status_of(client: Client, task_id: str) -> str | None:
    described = await client.get_workflow_handle(task_id).describe()
    return described.typed_search_attributes.get(PROCTOR_STATUS)


@pytest.mark.parametrize(
    "step",
    [name if name in SHORT else pytest.param(name, marks=only_nightly) for name in (*LOCAL, *REMOTE)],
)
async def test_a_step_that_fails_for_good(
    step: str, caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    activities.replacements[step] = fails(failures.SCENARIO_BROKEN, SENTENCE)
    over = await played(caller, context=step)
    assert (over.state, over.sentence) == ("failed", SENTENCE)
    assert over.results is not None
    assert (over.results.status, over.results.failure) == ("failed", SENTENCE)
    assert {criterion.unscored_reason for criterion in over.results.criteria_results} == {SENTENCE}
    assert [(update["error_type"], update["error_message"]) for update in over.problems] == [
        ("ScenarioBroken", SENTENCE)
    ]
    assert await status_of(client, over.task.id) == "failed"
    # An assessment that never began has nobody to part from.
    partings = [] if step == "join_queue" else ["farewell", "take_down"]
    assert sorted(call for call in activities.calls if call in ("farewell", "take_down")) == partings
    if NIGHTLY or step == "join_queue":
        await assert_next_may_begin(caller, client, activities, context=step)


async def test_a_rejected_request_is_recorded_as_rejected(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    activities.replacements["admit"] = fails(failures.REJECTED, "Bad request: name a scenario.")
    over = await played(caller, context="rejecting")
    assert over.state == "rejected"
    assert over.sentence == says()
    assert over.results is None
    assert await status_of(client, over.task.id) == "rejected"
    assert set(activities.calls) <= {"admit", "join_queue"}
    await assert_next_may_begin(caller, client, activities, context="rejecting")


async def assert_next_may_begin(caller: Caller, client: Client, activities: ScriptedActivities, context: str) -> None:
    """The context's queue has let the failed one go: another one plays, and then there is no queue any more."""
    activities.replacements.clear()
    after = await played(caller, context=context)
    assert after.state == "completed"

    async def queue_is_over() -> bool:
        described = await client.get_workflow_handle(queue_id(context)).describe()
        return described.status == WorkflowExecutionStatus.COMPLETED

    await eventually(queue_is_over)


async def test_a_defect_of_the_workflow_is_a_sentence(
    caller: Caller, client: Client, activities: ScriptedActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    def note_turn(*_: Any) -> None:
        raise KeyError("modality")

    monkeypatch.setattr(Turns, "_note", note_turn)
    over = await played(caller)
    assert over.state == "failed"
    assert over.sentence == says("KeyError: 'modality'")
    assert over.results is not None
    assert over.results.failure == over.sentence
    assert {"farewell", "take_down"} <= set(activities.calls)
    assert await status_of(client, over.task.id) == "failed"


async def test_an_exception_of_an_activity_s_own_is_named(caller: Caller, activities: ScriptedActivities) -> None:
    activities.replacements["set_up"] = fails("KeyError", "'modality'")
    activities.replacements["take_down"] = fails("KeyError", "'simulation'")  # what fails on the way out hides nothing
    over = await played(caller)
    assert over.sentence == "set_up failed: KeyError: 'modality'"


async def test_a_deadline_in_a_local_activity_is_a_timeout(
    caller: Caller, client: Client, config: GreenAgentConfig
) -> None:
    scripted = ScriptedActivities(assessment_timeout=0.5)
    scripted.replacements["apply"] = lambda _given: asyncio.sleep(60)
    async with scripted.worker(client, config.task_queue):
        over = await played(caller)
        assert over.results is not None
        assert over.results.status == "timeout"
        assert over.sentence == says()


@only_nightly  # by default: tests/a2a_gateway/test_listing.py
async def test_the_list_by_state_agrees_with_every_task_s_own_state(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    """One task of each end, each failing in the step that hides its end best."""
    own: dict[str, TaskState] = {}

    async def play(step: str | None, kind: str = failures.SCENARIO_BROKEN) -> None:
        activities.replacements = {step: fails(kind, SENTENCE)} if step else {}
        over = await played(caller)
        own[over.task.id] = over.task.status.state

    await play(None)
    await play("admit", failures.REJECTED)
    for step in LOCAL if NIGHTLY else ("apply",):
        await play(step)

    activities.calls.clear()
    activities.replacements = {"purple_turn": lambda _given: asyncio.sleep(600)}
    working = await send(caller, at_once(message(data_part(REQUEST), context="desk")))
    waiting = await send(caller, at_once(message(data_part(REQUEST), context="desk")))
    leaving = await send(caller, at_once(message(data_part(REQUEST))))
    await eventually(lambda: activities.calls.count("purple_turn") == 2)
    canceled = await caller.cancel_task(CancelTaskRequest(id=leaving.id))
    own[canceled.id] = canceled.status.state
    for task in (working, waiting):
        own[task.id] = (await caller.get_task(GetTaskRequest(id=task.id))).status.state
    assert state_name(own[working.id]) == "working"
    assert state_name(own[waiting.id]) == "submitted"
    assert {state_name(state) for state in own.values()} == {
        "completed",
        "rejected",
        "failed",
        "working",
        "submitted",
        "canceled",
    }

    async def agrees() -> bool:
        for state in set(own.values()):
            found = (await caller.list_tasks(ListTasksRequest(status=state, page_size=100))).tasks
            assert {task.status.state for task in found} <= {state}
            if {task.id for task in found} & set(own) != {task for task in own if own[task] == state}:
                return False
        return True

    await eventually(agrees)
    for task in (waiting, working):
        assert (await caller.cancel_task(CancelTaskRequest(id=task.id))).status.state in TERMINAL
