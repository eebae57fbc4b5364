"""Getting and cancelling tasks; every end of a workflow as a state of its task."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest, Task
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import MessageToDict
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

from proctor.settings.config import GreenAgentConfig
from proctor.workflows.inputs import AssessmentInput
from proctor.workflows.names import ASSESSMENT_WORKFLOW
from purple_sdk.protocol.results import AssessmentResults
from tests.a2a_gateway.callers import (
    at_once,
    call03,
    collect,
    data_part,
    kinds,
    message,
    message03,
    sdk_client,
    send,
    state_name,
    text03,
)
from tests.a2a_gateway.conftest import Gateway, request, running_gateway, standin_worker
from tests.a2a_gateway.standin import results_of
from tests.sentences import says
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("temporal")


async def get(url: str, task_id: str, history: int | None = None) -> Task:
    async with sdk_client(url) as client:
        return await client.get_task(GetTaskRequest(id=task_id, history_length=history))


async def start(url: str, **script: Any) -> Task:
    async with sdk_client(url, streaming=False) as client:
        return await send(client, at_once(message(data_part(request(**script)), context="a context")))


async def test_a_task_can_be_got_while_no_worker_runs(
    gateway: Gateway, client: Client, config: GreenAgentConfig, more_gateways: Callable[[], Awaitable[Gateway]]
) -> None:
    started = await start(gateway.url)
    assert state_name((await get(gateway.url, started.id)).status.state) == "submitted"
    async with standin_worker(client, config):
        await client.get_workflow_handle(started.id).result()
    restarted = await more_gateways()
    task = await get(restarted.url, started.id)
    assert state_name(task.status.state) == "completed"
    assert task.context_id == "a context"
    assert MessageToDict(task.metadata) == {
        "scenario_id": "email_triage_basic",
        "participant": "http://participant",
        "temporal_workflow": f"http://ui.example/namespaces/default/workflows/{task.id}",
    }
    assert AssessmentResults.model_validate_json(task.artifacts[0].parts[2].raw).assessment_id == task.id
    (asked,) = task.history
    assert (asked.task_id, asked.context_id) == (task.id, "a context")
    assert MessageToDict(asked.parts[0].data) == request()
    assert not (await get(restarted.url, started.id, history=0)).history


@pytest.mark.usefixtures("worker")
async def test_an_ended_task_has_its_updates_in_its_history(
    gateway: Gateway, client: Client, more_gateways: Callable[[], Awaitable[Gateway]]
) -> None:
    async with sdk_client(gateway.url) as caller:
        events = await collect(caller.send_message(message(data_part(request()))))
    told = [event.status_update.status.message for event in events if "sequence" in event.status_update.metadata]
    assert [message.metadata["sequence"] for message in told] == [*range(6)]
    (asked,) = (await get(gateway.url, events[0].task.id)).history
    replica = await more_gateways()
    assert list((await get(replica.url, asked.task_id, history=100)).history) == [asked, *told]
    assert list((await get(replica.url, asked.task_id, history=2)).history) == told[-2:]


@pytest.mark.usefixtures("worker")
async def test_who_polls_a_running_task_sees_as_much_as_who_streams(gateway: Gateway, client: Client) -> None:
    async with sdk_client(gateway.url) as caller:
        stream = caller.send_message(message(data_part(request(pauses=[1]))))
        task = (await anext(stream)).task
        told = [(await anext(stream)).status_update.status for _ in range(3)]
        running = await get(gateway.url, task.id)
        assert state_name(running.status.state) == "working"
        assert running.status.message == told[-1].message
        assert len(running.history) == 1
        everything = await get(gateway.url, task.id, history=100)
        assert list(everything.history) == [task.history[0], *(status.message for status in told)]
        assert list((await get(gateway.url, task.id, history=2)).history) == [status.message for status in told[-2:]]
        await asyncio.sleep(0.1)
        recorded_at = [status.timestamp.ToDatetime() for status in told]
        assert (await get(gateway.url, task.id)).status.timestamp.ToDatetime() == recorded_at[-1]
        assert recorded_at == sorted(recorded_at)
        described = await client.get_workflow_handle(task.id).describe()
        assert recorded_at[0] >= described.start_time.replace(tzinfo=None)
        await client.get_workflow_handle(task.id).signal("go_on")
        await collect(stream)


@pytest.mark.usefixtures("worker")
async def test_03_caller_polls_a_running_task(gateway: Gateway) -> None:
    running = await start(gateway.url, pauses=[1])

    async def last_update() -> Any:
        got = (await call03(gateway.http, "tasks/get", {"id": running.id}))["result"]
        return (got["status"].get("message") or {}).get("metadata", {}).get("sequence") == 2

    await eventually(last_update)
    got = (await call03(gateway.http, "tasks/get", {"id": running.id, "historyLength": 10}))["result"]
    assert [said["role"] for said in got["history"]] == ["user", "agent", "agent", "agent"]


@pytest.mark.usefixtures("worker")
async def test_03_caller_gets_and_cancels(gateway: Gateway) -> None:
    params = {**message03(text03("not a request")), "configuration": {"blocking": False}}
    rejected = (await call03(gateway.http, "message/send", params))["result"]

    async def is_rejected() -> bool:
        task = (await call03(gateway.http, "tasks/get", {"id": rejected["id"]}))["result"]
        return bool(task["status"]["state"] == "rejected")

    await eventually(is_rejected)
    over = await call03(gateway.http, "tasks/cancel", {"id": rejected["id"]})
    assert over["error"]["code"] == -32002
    running = await start(gateway.url, hold=True)
    cancelled = (await call03(gateway.http, "tasks/cancel", {"id": running.id}))["result"]
    assert cancelled["status"]["state"] == "canceled"
    got = (await call03(gateway.http, "tasks/get", {"id": running.id}))["result"]
    assert got["status"]["message"]["parts"][0]["text"] == says()
    assert got["history"][0]["messageId"] == running.history[0].message_id
    missing = await call03(gateway.http, "tasks/get", {"id": "nonesuch"})
    assert missing["error"]["code"] == -32001
    assert missing["error"]["message"] == says("nonesuch")


@pytest.mark.usefixtures("worker")
async def test_cancelling(gateway: Gateway) -> None:
    async with sdk_client(gateway.url) as client:
        stream = client.send_message(message(data_part(request(pauses=[1]))))
        task = (await anext(stream)).task
        await anext(stream)
        cancelled = await client.cancel_task(CancelTaskRequest(id=task.id))
        assert state_name(cancelled.status.state) == "canceled"
        assert kinds(await collect(stream))[-1] == "canceled"
        with pytest.raises(TaskNotCancelableError, check=says()):
            await client.cancel_task(CancelTaskRequest(id=task.id))
        with pytest.raises(TaskNotFoundError):
            await client.cancel_task(CancelTaskRequest(id="nonesuch"))


@pytest.mark.usefixtures("worker")
async def test_a_failed_assessment_carries_its_result(gateway: Gateway) -> None:
    async with sdk_client(gateway.url) as client:
        events = await collect(client.send_message(message(data_part(request(end="fail")))))
    assert kinds(events)[-2:] == ["artifact assessment_results", "failed"]
    task = await get(gateway.url, events[0].task.id)
    assert state_name(task.status.state) == "failed"
    assert task.status.message.parts[0].text == says("http://participant")
    results = AssessmentResults.model_validate_json(task.artifacts[0].parts[2].raw)
    assert results.failure == says("http://participant")


@pytest.mark.usefixtures("worker")
async def test_a_defect_of_the_evaluator_is_a_failed_task(gateway: Gateway) -> None:
    async with sdk_client(gateway.url) as client:
        events = await collect(client.send_message(message(data_part(request(end="break")))))
    assert kinds(events)[-1] == "failed"
    sentence = events[-1].status_update.status.message.parts[0].text
    assert sentence == says()


async def test_a_terminated_workflow_is_a_cancelled_task(gateway: Gateway, client: Client) -> None:
    started = await start(gateway.url)
    await client.get_workflow_handle(started.id).terminate(reason="making room")
    task = await get(gateway.url, started.id)
    assert state_name(task.status.state) == "canceled"
    assert task.status.message.parts[0].text == says()


async def test_other_workflows_are_no_tasks(gateway: Gateway, client: Client, config: GreenAgentConfig) -> None:
    other = await client.start_workflow("Payroll", id=f"payroll-{config.task_queue}", task_queue=config.task_queue)
    async with sdk_client(gateway.url) as caller:
        with pytest.raises(TaskNotFoundError):
            await caller.get_task(GetTaskRequest(id=other.id))
        with pytest.raises(TaskNotFoundError):
            await caller.cancel_task(CancelTaskRequest(id=other.id))
        with pytest.raises(TaskNotFoundError):
            await collect(caller.subscribe(SubscribeToTaskRequest(id=other.id)))
        with pytest.raises(TaskNotFoundError):
            await caller.get_task(GetTaskRequest(id="x" * 5000))
    await other.terminate()


async def test_a_task_without_temporal_ui_has_no_link(config: GreenAgentConfig) -> None:
    async with running_gateway(config.model_copy(update={"temporal_ui_url": None})) as gateway:
        assert MessageToDict((await start(gateway.url)).metadata) == {}


@pytest.mark.usefixtures("worker")
async def test_a_large_request_is_kept_and_found_again(gateway: Gateway) -> None:
    note = "x" * 900_000
    async with sdk_client(gateway.url, streaming=False) as client:
        task = await send(client, message(data_part(request(note=note))))
    assert MessageToDict((await get(gateway.url, task.id)).history[0].parts[0].data) == request(note=note)


@pytest.mark.usefixtures("worker")
async def test_nothing_to_subscribe_to_after_the_end(gateway: Gateway) -> None:
    async with sdk_client(gateway.url) as client:
        task = (await collect(client.send_message(message(data_part(request())))))[0].task
        with pytest.raises(UnsupportedOperationError, check=says()):
            await collect(client.subscribe(SubscribeToTaskRequest(id=task.id)))


@pytest.mark.usefixtures("worker")
async def test_a_large_result_comes_whole_and_its_loss_is_told(
    gateway: Gateway, config: GreenAgentConfig, more_gateways: Callable[[], Awaitable[Gateway]]
) -> None:
    """A gateway that has given it keeps it; another one can't."""
    async with sdk_client(gateway.url, streaming=False) as client:
        task = await send(client, message(data_part(request(bulk=300_000))))
    assert task.artifacts[0].parts[2].raw.decode() == results_of(task.id, 2, bulk=300_000).model_dump_json()
    shutil.rmtree(config.storage_url)
    lost = await get((await more_gateways()).url, task.id)
    assert state_name(lost.status.state) == "completed"
    assert not lost.artifacts
    assert says().within(lost.status.message.parts[0].text)


async def test_a_result_of_another_version_is_told(gateway: Gateway, client: Client, config: GreenAgentConfig) -> None:
    task = await start(gateway.url)
    async with Worker(client, task_queue=config.task_queue, workflows=[Foreign]):
        await client.get_workflow_handle(task.id).result()
    got = await get(gateway.url, task.id)
    assert state_name(got.status.state) == "completed"
    assert says().within(got.status.message.parts[0].text)


@workflow.defn(name=ASSESSMENT_WORKFLOW, sandboxed=False)
class Foreign:
    """An assessment whose result this gateway doesn't know."""

    @workflow.run
    async def run(self, given: AssessmentInput) -> dict[str, str]:
        return {"grade": "A"}
