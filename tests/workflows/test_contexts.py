"""Tasks of one context run one after another; one that is alone in the context that was made for it has no queue."""

import asyncio
from typing import Any

import pytest
from a2a.client import Client as Caller
from a2a.types import Task
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from proctor.activities.admission.payloads import QueueInput
from proctor.activities.admission.queueing import join
from proctor.client.replay import choose, reset, reset_points
from proctor.workflows.context_queue import queue_id
from tests.a2a_gateway.callers import at_once, data_part, message, send
from tests.a2a_gateway.conftest import REQUEST
from tests.sentences import says
from tests.waiting import eventually
from tests.workflows.asking import played
from tests.workflows.replaying import replayed
from tests.workflows.scripted import ScriptedActivities


@pytest.fixture
def goes_on(activities: ScriptedActivities) -> asyncio.Event:
    """No participant answers before this."""
    event = asyncio.Event()

    async def wait(_given: Any) -> None:
        await event.wait()

    activities.replacements["purple_turn"] = wait
    return event


async def asked(caller: Caller, context: str = "") -> Task:
    return await send(caller, at_once(message(data_part(REQUEST), context=context)))


async def two_asked(caller: Caller, activities: ScriptedActivities) -> tuple[Task, Task]:
    """One for which a context is made, and another one of that context that waits for it."""
    first = await asked(caller)
    await eventually(lambda: "purple_turn" in activities.calls)
    second = await asked(caller, context=first.context_id)
    await eventually(lambda: "wait_until_over" in activities.calls)
    return first, second


def begun(activities: ScriptedActivities) -> list[str]:
    return [given.assessment_id for given in activities.inputs["set_up"]]


async def test_a_task_that_is_alone_has_no_queue(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    over = await played(caller)
    assert (over.state, over.task.context_id) == ("completed", over.task.id)
    assert "join_queue" not in activities.calls
    with pytest.raises(RPCError, check=says()):
        await client.get_workflow_handle(queue_id(over.task.context_id)).describe()
    assert await replayed(client, over.task.id) == 1


async def test_those_that_come_later_wait_for_it(
    caller: Caller, client: Client, activities: ScriptedActivities, goes_on: asyncio.Event
) -> None:
    """A reset of it, too, is waited for."""
    first, second = await two_asked(caller, activities)
    third = await asked(caller, context=first.context_id)
    await reset(client, first.id, choose(await reset_points(client, first.id), 1, from_judging=False))
    await eventually(lambda: activities.calls.count("purple_turn") == 2)
    assert begun(activities) == [first.id]
    goes_on.set()
    for task in (first, second, third):
        await client.get_workflow_handle(task.id).result()
        assert await replayed(client, task.id) == 1
    assert begun(activities) == [first.id, second.id, third.id]
    queue = client.get_workflow_handle(queue_id(first.context_id))
    await queue.result()
    assert await replayed(client, queue.id) == 1


async def test_one_that_was_terminated_is_waited_for_no_longer(
    caller: Caller, client: Client, activities: ScriptedActivities, goes_on: asyncio.Event
) -> None:
    first, second = await two_asked(caller, activities)
    await client.get_workflow_handle(first.id).terminate()
    goes_on.set()
    await client.get_workflow_handle(second.id).result()
    described = await client.get_workflow_handle(first.id).describe()
    assert described.status == WorkflowExecutionStatus.TERMINATED


@pytest.mark.usefixtures("goes_on")
async def test_nobody_waits_for_a_task_that_is_not_of_the_context(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    """Contexts are named by callers, who may name them like another's task, or like any workflow there is."""
    first, second = await asked(caller), await asked(caller, context="a <desk>")
    await eventually(lambda: activities.calls.count("purple_turn") == 2)
    queue = await client.get_workflow_handle(queue_id("a <desk>")).describe()
    assert await queue.static_summary() == says()
    begins_with = {}
    for context, owner in ((first.id, ""), (first.id, "bob"), (second.id, ""), ("no such task", ""), ("x" * 2000, "")):
        given = QueueInput(queue_id=f"queue of {context[:40]}, {owner}", task_id="t", context_id=context, owner=owner)
        await join(client, "nobody", given)
        waiting = client.get_workflow_handle(given.queue_id)
        event = await anext(aiter(waiting.fetch_history_events()))
        begins_with[context[:40], owner] = len(event.workflow_execution_started_event_attributes.input.payloads) == 3
        await waiting.terminate()
    assert [key for key, has_founder in begins_with.items() if has_founder] == [(first.id[:40], "")]
    for task in (first, second):
        await client.get_workflow_handle(task.id).terminate()
