"""Starting assessments: when the answer comes, what becomes of a repeated message, what is refused."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from a2a.types import GetTaskRequest, Part, SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig
from a2a.utils.errors import (
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from temporalio.client import Client

from proctor_protocol.config import GreenAgentConfig
from tests.a2a_gateway.callers import (
    JSONRPC,
    REST,
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
from tests.a2a_gateway.conftest import Gateway, eventually, request, standin_worker
from workflows.inputs import AssessmentInput


async def input_of(client: Client, task_id: str) -> AssessmentInput:
    """What the task's workflow was started with."""
    async for event in client.get_workflow_handle(task_id).fetch_history_events():
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        given: AssessmentInput = (await client.data_converter.decode(payloads, [AssessmentInput]))[0]
        return given
    raise AssertionError("a history without events")


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("binding", [JSONRPC, REST])
@pytest.mark.parametrize("script", [{}, {"renew": 1}])
async def test_blocking_send_answers_when_the_assessment_has_ended(
    gateway: Gateway, binding: Any, script: dict[str, Any]
) -> None:
    async with sdk_client(gateway.url, binding, streaming=False) as client:
        task = await send(client, message(data_part(request(**script))))
    assert state_name(task.status.state) == "completed"
    assert [artifact.name for artifact in task.artifacts] == ["assessment_results"]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("binding", [JSONRPC, REST])
async def test_return_immediately_answers_at_once(gateway: Gateway, client: Client, binding: Any) -> None:
    async with sdk_client(gateway.url, binding, streaming=False) as caller:
        task = await send(caller, at_once(message(data_part(request(hold=True)), context="c-1")))
        assert state_name(task.status.state) == "submitted"
        assert task.context_id == "c-1"
        assert task.metadata["temporal_workflow"] == f"http://ui.example/namespaces/default/workflows/{task.id}"
        await client.get_workflow_handle(task.id).signal("begin")
        await client.get_workflow_handle(task.id).result()


@pytest.mark.usefixtures("worker")
async def test_03_send_blocks_unless_told_not_to(gateway: Gateway) -> None:
    blocking = await call03(gateway.http, "message/send", message03(text03(request())))
    assert blocking["result"]["status"]["state"] == "completed"
    params = {**message03(text03(request())), "configuration": {"blocking": False}}
    waiting = await call03(gateway.http, "message/send", params)
    assert waiting["result"]["status"]["state"] == "submitted"


@pytest.mark.usefixtures("worker")
async def test_the_workflow_gets_the_data_part_with_integers_as_integers(gateway: Gateway, client: Client) -> None:
    asked = request(max_turns=3, turn_timeout=2.5, list=[1, {"deep": 2}])
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, message(Part(text="Please assess this agent."), data_part(asked), context="c-2"))
    given = await input_of(client, task.id)
    assert given.task_id == task.id
    assert given.context_id == "c-2"
    assert given.request == asked
    assert json.dumps(given.request, sort_keys=True) == json.dumps(asked, sort_keys=True)
    assert given.message["contextId"] == "c-2"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([Part(text='{"participants": '), Part(text="{}}")], '{"participants": \n{}}'),
        ([data_part([1, 2])], "[1, 2]"),
        ([Part(raw=b"x", filename="x")], None),
        ([], None),
    ],
)
async def test_the_workflow_gets_whatever_else_was_sent_unchecked(
    gateway: Gateway, client: Client, parts: list[Part], expected: Any
) -> None:
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, at_once(message(*parts)))
    assert (await input_of(client, task.id)).request == expected


@pytest.mark.usefixtures("worker")
async def test_a_bad_request_is_a_rejected_task_with_a_sentence(gateway: Gateway) -> None:
    async with sdk_client(gateway.url) as client:
        events = await collect(client.send_message(message(Part(text="hello"))))
    assert kinds(events) == ["task submitted", "rejected"]
    assert "The message's text is not JSON" in events[-1].status_update.status.message.parts[0].text


@pytest.mark.usefixtures("worker")
async def test_a_repeated_message_joins_its_running_task(gateway: Gateway, client: Client) -> None:
    again = message(data_part(request(pauses=[1])), context="c-3")
    async with sdk_client(gateway.url) as caller:
        first = caller.send_message(again)
        task = (await anext(first)).task
        await anext(first)
        second = asyncio.create_task(collect(caller.send_message(again)))
        await asyncio.sleep(0.3)
        await client.get_workflow_handle(task.id).signal("go_on")
        rest = await collect(first)
        joined = await second
    assert joined[0].task.id == task.id
    assert kinds(joined) == [
        "task submitted",
        *(f"working {n}" for n in range(6)),
        "artifact assessment_results",
        "completed",
    ]
    assert kinds(rest) == kinds(joined)[2:]


@pytest.mark.usefixtures("worker")
async def test_a_message_repeated_after_the_end_gets_the_same_story(gateway: Gateway) -> None:
    again = message(data_part(request()))
    async with sdk_client(gateway.url) as caller:
        first = await collect(caller.send_message(again))
        second = await collect(caller.send_message(again))
    assert second[0].task.id == first[0].task.id
    assert second[0].task.context_id == first[0].task.context_id
    assert kinds(second) == kinds(first)
    ids = [[event.status_update.status.message.message_id for event in events[1:]] for events in (first, second)]
    assert ids[0] == ids[1]


@pytest.mark.usefixtures("worker")
async def test_only_the_same_message_joins(gateway: Gateway) -> None:
    message_id = str(uuid.uuid4())
    variants = [
        message(data_part(request(hold=True)), message_id=message_id),
        message(data_part(request(hold=True)), message_id=message_id, context="c-4"),
        message(data_part(request(hold=True, seed=2)), message_id=message_id),
        message(data_part(request(hold=True)), message_id="1"),
        message(data_part(request(hold=True)), message_id="1"),
    ]
    async with sdk_client(gateway.url, streaming=False) as caller:
        tasks = [await send(caller, at_once(variant)) for variant in variants]
        same = await send(caller, at_once(variants[0]))
    assert len({task.id for task in tasks}) == len(variants)
    assert same.id == tasks[0].id


async def test_a_second_message_to_a_task_is_refused(
    gateway: Gateway, client: Client, config: GreenAgentConfig
) -> None:
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, at_once(message(data_part(request()))))
        follow_up = message(Part(text="and?"), task=task.id)
        with pytest.raises(UnsupportedOperationError, match=r"is under way .* send a new message without taskId"):
            await send(caller, follow_up)
        async with standin_worker(client, config):
            await client.get_workflow_handle(task.id).result()
        with pytest.raises(UnsupportedOperationError, match="has ended: send a new message without taskId"):
            await send(caller, follow_up)
        with pytest.raises(TaskNotFoundError, match="There is no task 'nonesuch'"):
            await send(caller, message(Part(text="and?"), task="nonesuch"))


@pytest.mark.parametrize("context", ["x" * 256, "漢" * 40, "tab\there", "nul\0here"])
async def test_a_context_id_that_cannot_be_kept_is_refused(gateway: Gateway, context: str) -> None:
    async with sdk_client(gateway.url, streaming=False) as caller:
        with pytest.raises(InvalidParamsError, match=r"contextId \(\d+ characters\) can't be kept: use at most 255"):
            await send(caller, message(Part(text="{}"), context=context))


async def test_a_message_without_id_is_refused(gateway: Gateway) -> None:
    answer = await gateway.http.post(
        "/message:send", json={"message": {"role": "ROLE_USER", "parts": []}}, headers={"A2A-Version": "1.0"}
    )
    assert answer.status_code == 400
    assert "message.messageId is missing" in answer.json()["error"]["message"]


async def test_push_notifications_are_refused(gateway: Gateway) -> None:
    wanted = SendMessageRequest(
        message=message(data_part(request())).message,
        configuration=SendMessageConfiguration(
            task_push_notification_config=TaskPushNotificationConfig(url="http://me")
        ),
    )
    config = TaskPushNotificationConfig(task_id="t", url="http://me")
    async with sdk_client(gateway.url, streaming=False) as caller:
        with pytest.raises(PushNotificationNotSupportedError, match="sends no push notifications"):
            await send(caller, wanted)
        with pytest.raises(PushNotificationNotSupportedError):
            await caller.create_task_push_notification_config(config)


@pytest.mark.usefixtures("worker")
async def test_tasks_of_one_context_wait_in_state_submitted_while_others_work(gateway: Gateway, client: Client) -> None:
    """The order within a context is the workflows' business; the gateway tells waiting from working."""
    async with sdk_client(gateway.url, streaming=False) as caller:
        first = await send(caller, at_once(message(data_part(request(pauses=[1])), context="queue")))
        second = await send(caller, at_once(message(data_part(request(hold=True)), context="queue")))

        async def states() -> list[str]:
            tasks = [await caller.get_task(GetTaskRequest(id=task.id)) for task in (first, second)]
            return [state_name(task.status.state) for task in tasks]

        async def first_works() -> bool:
            return await states() == ["working", "submitted"]

        await eventually(first_works)
        await client.get_workflow_handle(first.id).signal("go_on")
        await client.get_workflow_handle(first.id).result()
        assert await states() == ["completed", "submitted"]
        await client.get_workflow_handle(second.id).signal("begin")
        await client.get_workflow_handle(second.id).result()
        assert await states() == ["completed", "completed"]


@pytest.mark.usefixtures("worker")
async def test_any_replica_takes_the_repeated_message(
    gateway: Gateway, more_gateways: Callable[[], Awaitable[Gateway]]
) -> None:
    again = message(data_part(request()))
    other = await more_gateways()
    async with sdk_client(gateway.url) as here, sdk_client(other.url) as there:
        first, second = await asyncio.gather(collect(here.send_message(again)), collect(there.send_message(again)))
    assert first[0].task.id == second[0].task.id
    assert kinds(first) == kinds(second)
    assert kinds(first)[-1] == "completed"
