"""Offline each criterion is judged by a local activity, with an ordinary activity behind it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from a2a.client import Client as Caller
from a2a.types import CancelTaskRequest
from temporalio.client import Client

from proctor.activities.attempts import failures
from proctor.activities.judging.payloads import JudgeInput
from proctor.client.replay import choose, reset, reset_points
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from proctor.workflows import limits
from tests.a2a_gateway.callers import at_once, data_part, message, send, state_name
from tests.a2a_gateway.conftest import REQUEST
from tests.sentences import says
from tests.waiting import eventually
from tests.work import only_nightly
from tests.workflows.asking import Over, looked_at, played
from tests.workflows.replaying import replayed
from tests.workflows.scripted import LOCAL_JUDGEMENT, Replacement, ScriptedActivities, fails, plan

NAMES = ["c1", "c2", "c3", "c4"]


@pytest_asyncio.fixture
async def scripted(client: Client, config: GreenAgentConfig) -> AsyncIterator[ScriptedActivities]:
    """Four criteria, offline."""
    [criterion] = plan("", "").criteria
    criteria = [criterion.model_copy(update={"criterion_id": name}) for name in NAMES]
    activities = ScriptedActivities(BlobStore(config.storage_url), criteria=criteria, offline=True)
    async with activities.worker(client, config.task_queue):
        yield activities


def judged(scripted: ScriptedActivities) -> list[str]:
    """The activities that judged, every attempt."""
    return [call for call in scripted.calls if call.startswith("judge")]


def told(over: Over) -> list[str]:
    """The criteria whose verdicts were told, one by one."""
    return [update["criterion_id"] for update in over.updates if update["message_type"] == "update_criterion_evaluated"]


async def test_each_is_judged_by_a_local_activity_and_told(
    caller: Caller, client: Client, scripted: ScriptedActivities
) -> None:
    over = await played(caller)
    assert (over.state, judged(scripted), sorted(told(over))) == ("completed", [LOCAL_JUDGEMENT] * len(NAMES), NAMES)
    assert sorted(given.criterion_id for given in scripted.inputs[LOCAL_JUDGEMENT]) == NAMES
    assert over.results is not None
    assert [result.score for result in over.results.criteria_results] == [4] * len(NAMES)
    assert await replayed(client, over.task.id) == 1


async def test_models_judge_one_criterion_and_then_all_others(
    caller: Caller, client: Client, config: GreenAgentConfig
) -> None:
    """The evidence that the first one sends is in the model's cache for the others."""
    others: list[int] = []

    async def judges(given: JudgeInput) -> None:
        if given.criterion_id == NAMES[0]:
            await asyncio.sleep(0.2)
            others.append(len(activities.inputs["judge_criterion"]) - 1)

    [criterion] = plan("", "").criteria
    criteria = [criterion.model_copy(update={"criterion_id": name, "by_model": True}) for name in NAMES]
    activities = ScriptedActivities(BlobStore(config.storage_url), criteria=criteria, offline=False)
    activities.replacements["judge_criterion"] = judges
    async with activities.worker(client, config.task_queue):
        over = await played(caller)
    assert over.results is not None
    assert [result.criterion_id for result in over.results.criteria_results] == NAMES
    assert [result.score for result in over.results.criteria_results] == [4] * len(NAMES)
    assert others == [0]
    assert sorted(given.criterion_id for given in activities.inputs["judge_criterion"]) == NAMES
    assert await replayed(client, over.task.id) == 1


async def test_a_model_that_is_away_is_waited_for_once(
    caller: Caller, client: Client, config: GreenAgentConfig
) -> None:
    """The other criteria of models aren't judged; the failure names the criterion that was."""
    [criterion] = plan("", "").criteria
    criteria = [criterion.model_copy(update={"criterion_id": name, "by_model": True}) for name in NAMES]
    activities = ScriptedActivities(BlobStore(config.storage_url), criteria=criteria, offline=False)
    activities.replacements["judge_criterion"] = fails("ModelUnavailableError", "model m is not available")
    async with activities.worker(client, config.task_queue):
        over = await played(caller)
    assert over.state == "failed"
    assert over.sentence == says()
    assert [given.criterion_id for given in activities.inputs["judge_criterion"]] == ["c1"]
    assert await replayed(client, over.task.id) == 1


async def _hangs(_given: Any) -> None:
    await asyncio.Event().wait()


def _for_two(replacement: Replacement) -> Replacement:
    """Has only the judgements of c1 and c3 do this."""

    async def do(given: JudgeInput) -> None:
        if given.criterion_id in ("c1", "c3"):
            await replacement(given)

    return do


@pytest.mark.parametrize(
    "action",
    [
        fails(failures.SIMULATION_LOST, "The simulator was lost.", times=1),
        pytest.param(fails(failures.EVALUATOR_FAILED, "A defect."), marks=only_nightly),
        _hangs,
    ],
    ids=["it may pass", "it fails for good", "it hangs"],
)
async def test_a_criterion_without_a_verdict_is_judged_by_an_ordinary_activity(
    action: Replacement,
    caller: Caller,
    client: Client,
    scripted: ScriptedActivities,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if action is _hangs:
        monkeypatch.setattr(limits, "LOCAL_JUDGEMENT", timedelta(seconds=0.3))
    scripted.replacements[LOCAL_JUDGEMENT] = _for_two(action)
    over = await played(caller)
    assert (over.state, over.problems) == ("completed", [])
    ordinary = [given.criterion_id for given in scripted.inputs["judge_criterion"]]
    assert judged(scripted) == [*[LOCAL_JUDGEMENT] * len(NAMES), *["judge_criterion"] * len(ordinary)]
    if action is _hangs:  # in so short a time, a busy machine may not get to the others either
        assert {"c1", "c3"} <= set(ordinary)
    else:
        assert sorted(ordinary) == ["c1", "c3"]
    assert sorted(told(over)) == NAMES  # once each
    assert over.results is not None
    assert [result.criterion_id for result in over.results.criteria_results] == NAMES
    assert await replayed(client, over.task.id) == 1


async def test_called_off_in_mid_judging(caller: Caller, client: Client, scripted: ScriptedActivities) -> None:
    scripted.replacements[LOCAL_JUDGEMENT] = _hangs
    task = await send(caller, at_once(message(data_part(REQUEST))))
    await eventually(lambda: judged(scripted))
    cancelled = await caller.cancel_task(CancelTaskRequest(id=task.id))
    assert (state_name(cancelled.status.state), judged(scripted)) == ("canceled", [LOCAL_JUDGEMENT])
    assert await replayed(client, task.id) == 1


async def test_judging_again_begins_with_closing_the_simulation(
    caller: Caller, client: Client, scripted: ScriptedActivities
) -> None:
    """No turn is played again. Each judgement knows that the run is a reset, which may want today's evaluators."""
    bad = fails(failures.EVALUATOR_FAILED, "The evaluator has a bug.")
    scripted.replacements = {LOCAL_JUDGEMENT: _for_two(bad), "judge_criterion": bad}
    over = await played(caller)
    assert (over.state, sorted(told(over))) == ("failed", ["c2", "c4"])
    assert says().within(over.sentence)
    scripted.replacements.clear()
    scripted.calls.clear()
    point = choose(await reset_points(client, over.task.id), None, from_judging=False)
    assert (point.name, point.has_failed) == ("the judging", True)
    await reset(client, over.task.id, point)
    await client.get_workflow_handle(over.task.id).result()
    assert (await looked_at(caller, over.task.id)).state == "completed"
    assert [call for call in scripted.calls if call in ("conclude", "purple_turn")] == ["conclude"]
    assert judged(scripted) == [LOCAL_JUDGEMENT] * len(NAMES)
    assert [given.is_reset for given in scripted.inputs[LOCAL_JUDGEMENT]] == [False] * 4 + [True] * 4


async def test_where_a_model_may_be_asked_each_criterion_is_judged_by_an_ordinary_activity(
    caller: Caller, scripted: ScriptedActivities
) -> None:
    """A worker that dies in a local activity has it done again, and an evaluator may have asked a model."""
    scripted.changes["offline"] = False
    over = await played(caller)
    assert (over.state, judged(scripted)) == ("completed", ["judge_criterion"] * len(NAMES))
