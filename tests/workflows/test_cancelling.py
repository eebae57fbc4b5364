"""An assessment that is called off, in every phase: what is under way hears of it, and nothing is left."""

import asyncio
from typing import Any

import pytest
from a2a.client import Client as Caller
from a2a.types import CancelTaskRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import CancelledError

from proctor.workflows.names import MEMO_RESULTS, PROCTOR_STATUS
from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.callers import at_once, data_part, message, send, state_name
from tests.a2a_gateway.conftest import REQUEST
from tests.waiting import eventually
from tests.work import only_nightly
from tests.workflows.asking import played
from tests.workflows.replaying import replayed
from tests.workflows.scripted import ScriptedActivities

BEFORE = ("admit", "join_queue")
REMOTE = ("set_up", "greet", "purple_turn", "judge_criterion")
LOCAL = ("apply", "advance", "conclude")
SHORT = ("join_queue", "apply", "judge_criterion")
"""Of each kind, and of each part of the story; ``make nightly`` calls off every step."""


class Hangs:
    """A step that never ends by itself; ``began`` and ``ended`` count its attempts."""

    def __init__(self) -> None:
        self.began = self.ended = 0

    async def __call__(self, _given: Any) -> None:
        self.began += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1


async def asked(caller: Caller, context: str = "") -> str:
    return (await send(caller, at_once(message(data_part(REQUEST), context=context)))).id


@pytest.mark.parametrize(
    "step",
    [name if name in SHORT else pytest.param(name, marks=only_nightly) for name in (*BEFORE, *REMOTE, *LOCAL)],
)
async def test_called_off_in_every_step(
    step: str, caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    hanging = activities.replacements[step] = Hangs()
    task_id = await asked(caller, context=f"called off in {step}")
    await eventually(lambda: hanging.began)
    task = await caller.cancel_task(CancelTaskRequest(id=task_id))
    assert state_name(task.status.state) == "canceled"
    await eventually(lambda: hanging.ended == hanging.began == 1)
    described = await client.get_workflow_handle(task_id).describe()
    assert described.status == WorkflowExecutionStatus.CANCELED
    assert described.typed_search_attributes.get(PROCTOR_STATUS) == "canceled"
    memo = await described.memo()
    assert (memo["status"], MEMO_RESULTS in memo) == ("canceled", step != "admit")
    parted = [call for call in activities.calls if call in ("farewell", "take_down")]
    assert sorted(parted) == ([] if step in BEFORE else ["farewell", "take_down"])
    assert {given.reason for given in activities.inputs["farewell"]} <= {"error"}
    assert await replayed(client, task_id) == 1


async def test_called_off_while_it_waits_for_another(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    """Whoever waits behind it may begin all the same."""
    goes_on = asyncio.Event()

    async def wait(_given: Any) -> None:
        await goes_on.wait()

    activities.replacements["purple_turn"] = wait
    first, second, third = [await asked(caller, context="one desk") for _ in range(3)]
    await eventually(lambda: "purple_turn" in activities.calls)
    await caller.cancel_task(CancelTaskRequest(id=second))
    goes_on.set()
    for task_id in (first, third):
        await client.get_workflow_handle(task_id).result()
    assert {given.plan.assessment_id for given in activities.inputs["purple_turn"]} == {first, third}
    assert activities.calls.count("set_up") == 2
    for task_id in (first, second, third):
        assert await replayed(client, task_id) == 1


async def test_called_off_when_all_is_said_comes_too_late(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    goes_on = asyncio.Event()

    async def wait(_given: Any) -> None:
        await goes_on.wait()

    activities.replacements["farewell"] = wait
    task_id = await asked(caller)
    await eventually(lambda: "farewell" in activities.calls)
    handle = client.get_workflow_handle(task_id, result_type=AssessmentResults)
    await handle.cancel()
    goes_on.set()
    assert (await handle.result()).status == "completed"
    assert await replayed(client, task_id) == 1


async def test_called_off_twice_is_called_off_once(
    caller: Caller, client: Client, activities: ScriptedActivities
) -> None:
    hanging = activities.replacements["purple_turn"] = Hangs()
    task_id = await asked(caller)
    await eventually(lambda: hanging.began)
    handle = client.get_workflow_handle(task_id)
    await asyncio.gather(handle.cancel(), handle.cancel())
    with pytest.raises(WorkflowFailureError) as ended:
        await handle.result()
    assert isinstance(ended.value.cause, CancelledError)
    assert [activities.calls.count(step) for step in ("farewell", "take_down")] == [1, 1]
    activities.replacements.clear()
    assert (await played(caller)).state == "completed"
