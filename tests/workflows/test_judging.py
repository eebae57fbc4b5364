"""Criteria for which no model is asked are first judged in one go, and one by one whatever that leaves."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from a2a.client import Client as Caller
from a2a.types import CancelTaskRequest
from temporalio.client import Client
from temporalio.exceptions import TimeoutError as ActivityTimeoutError
from temporalio.exceptions import TimeoutType

from activities import failures
from activities.plan import JudgedSeveral, JudgeSeveralInput
from proctor.replay import choose, reset, reset_points
from proctor_protocol.config import GreenAgentConfig
from proctor_storage.blobs import BlobStore
from tests.a2a_gateway.callers import at_once, data_part, message, send, state_name
from tests.a2a_gateway.conftest import REQUEST
from tests.waiting import eventually
from tests.workflows.asking import Over, looked_at, played
from tests.workflows.replaying import replayed
from tests.workflows.scripted import Deed, ScriptedActivities, fails, plan, verdict

NAMES = ["c1", "c2", "c3", "c4"]


@pytest_asyncio.fixture
async def scripted(client: Client, config: GreenAgentConfig) -> AsyncIterator[ScriptedActivities]:
    """Four criteria, offline."""
    [criterion] = plan("", "").criteria
    criteria = [criterion.model_copy(update={"criterion_id": name}) for name in NAMES]
    activities = ScriptedActivities(BlobStore(config.storage_url), criteria=criteria)
    async with activities.worker(client, config.task_queue):
        yield activities


def judged(scripted: ScriptedActivities) -> list[str]:
    """The activities that judged, every attempt."""
    return [call for call in scripted.calls if call.startswith("judge")]


def told(over: Over) -> list[str]:
    """The criteria whose verdicts were told, one by one."""
    return [each["criterion_id"] for each in over.updates if each["message_type"] == "update_criterion_evaluated"]


async def test_all_are_judged_in_one_go_and_told_one_by_one(
    caller: Caller, client: Client, scripted: ScriptedActivities
) -> None:
    over = await played(caller)
    assert (over.state, judged(scripted), told(over)) == ("completed", ["judge_criteria"], NAMES)
    assert over.results is not None
    assert [each.score for each in over.results.criteria_results] == [4] * len(NAMES)
    assert await replayed(client, over.task.id) == 1


async def _leaves_two(given: JudgeSeveralInput) -> JudgedSeveral:
    return JudgedSeveral(verdicts=[verdict("c2"), verdict("c4")])


async def _dies(given: Any) -> None:
    raise ActivityTimeoutError("silence", type=TimeoutType.HEARTBEAT, last_heartbeat_details=[])


@pytest.mark.parametrize(
    ("go", "left"),
    [
        (_leaves_two, ["c1", "c3"]),
        (_dies, NAMES),
        (fails(failures.SIMULATION_LOST, "The simulator was lost.", times=1), NAMES),
        (fails(failures.EVALUATOR_FAILED, "A defect."), NAMES),
    ],
    ids=["two without verdict", "its worker dies", "the simulator is lost", "it fails for good"],
)
async def test_what_one_go_leaves_is_judged_one_by_one(
    go: Deed, left: list[str], caller: Caller, client: Client, scripted: ScriptedActivities
) -> None:
    scripted.deeds["judge_criteria"] = go
    over = await played(caller)
    assert (over.state, over.problems) == ("completed", [])
    assert judged(scripted) == ["judge_criteria", *["judge_criterion"] * len(left)]
    assert sorted(given.criterion_id for given in scripted.inputs["judge_criterion"]) == left
    assert sorted(told(over)) == NAMES  # once each
    assert over.results is not None
    assert [each.criterion_id for each in over.results.criteria_results] == NAMES
    assert await replayed(client, over.task.id) == 1


async def test_called_off_in_mid_judging(caller: Caller, client: Client, scripted: ScriptedActivities) -> None:
    async def hang(_given: Any) -> None:
        await asyncio.Event().wait()

    scripted.deeds["judge_criteria"] = hang
    task = await send(caller, at_once(message(data_part(REQUEST))))
    await eventually(lambda: judged(scripted))
    cancelled = await caller.cancel_task(CancelTaskRequest(id=task.id))
    assert (state_name(cancelled.status.state), judged(scripted)) == ("canceled", ["judge_criteria"])
    assert await replayed(client, task.id) == 1


async def test_judging_anew_begins_with_the_one_go(
    caller: Caller, client: Client, scripted: ScriptedActivities
) -> None:
    """No turn is played again, and each is told that the run is a reset, which may want today's evaluators."""
    scripted.deeds["judge_criteria"] = _leaves_two
    scripted.deeds["judge_criterion"] = fails(failures.EVALUATOR_FAILED, "The evaluator has a bug.")
    over = await played(caller)
    assert (over.state, told(over)) == ("failed", ["c2", "c4"])
    assert over.sentence.startswith("The evaluator has a bug. The evaluator has a bug. The turns are kept")
    scripted.deeds.clear()
    scripted.calls.clear()
    point = choose(await reset_points(client, over.task.id), None, from_judging=False)
    assert (point.name, point.has_failed) == ("the judging", True)
    await reset(client, over.task.id, point)
    await client.get_workflow_handle(over.task.id).result()
    assert (await looked_at(caller, over.task.id)).state == "completed"
    assert judged(scripted) == ["judge_criteria"]
    assert "purple_turn" not in scripted.calls
    assert [given.is_reset for given in scripted.inputs["judge_criteria"]] == [False, True]


async def test_where_a_model_may_be_asked_each_criterion_is_judged_by_itself(
    caller: Caller, scripted: ScriptedActivities
) -> None:
    """An evaluator may ask one, too: what it has paid for is never asked again for its neighbours' sake."""
    scripted.changes["offline"] = False
    over = await played(caller)
    assert (over.state, judged(scripted)) == ("completed", ["judge_criterion"] * len(NAMES))
