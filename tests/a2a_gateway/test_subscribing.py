"""Subscribing to a task again, on this replica or another, and what a task's listeners cost its workflow."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from a2a.types import GetTaskRequest, ListTasksRequest, StreamResponse, SubscribeToTaskRequest
from temporalio.client import Client, WorkflowUpdateRPCTimeoutOrCancelledError

from proctor.a2a_gateway import subscriptions
from proctor.a2a_gateway.subscriptions import _start_poll
from proctor.a2a_gateway.temporal import TemporalConnection
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from tests.a2a_gateway.callers import (
    JSONRPC,
    REST,
    at_once,
    call03,
    collect,
    data_part,
    kinds,
    kinds03,
    message,
    message03,
    sdk_client,
    send,
    stream03,
    text03,
)
from tests.a2a_gateway.conftest import (
    Gateway,
    request,
    reset,
    running_gateway,
    standin_worker,
    start_temporal,
    stop_temporal,
)
from tests.waiting import eventually
from tests.work import NIGHTLY, some_of

FROM_THE_START = [*(f"working {n}" for n in range(6)), "artifact assessment_results", "completed"]


async def begin(stream: AsyncIterator[StreamResponse], until: str) -> tuple[str, list[str]]:
    """Read a stream up to an event; the task's id and what came."""
    task_id, told = "", []
    async for event in stream:
        task_id = task_id or event.task.id
        told += kinds([event])
        if told[-1] == until:
            return task_id, told
    raise AssertionError(f"no {until} in {told}")


async def polls_in_history(client: Client, task_id: str) -> list[str]:
    return [
        event.workflow_execution_update_accepted_event_attributes.accepted_request.meta.update_id
        async for event in client.get_workflow_handle(task_id).fetch_history_events()
        if event.HasField("workflow_execution_update_accepted_event_attributes")
    ]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("binding", some_of([REST, JSONRPC], 1))
async def test_a_caller_that_lost_its_connection_gets_every_update_from_another_replica(
    gateway: Gateway, more_gateways: Callable[[], Awaitable[Gateway]], client: Client, binding: Any
) -> None:
    async with sdk_client(gateway.url, binding) as caller:
        task_id, _ = await begin(caller.send_message(message(data_part(request(pauses=[1])))), "working 1")
    other = await more_gateways()
    async with sdk_client(other.url, binding) as caller:
        again = caller.subscribe(SubscribeToTaskRequest(id=task_id))
        assert kinds([await anext(again)]) == ["task working"]
        await client.get_workflow_handle(task_id).signal("go_on")
        assert kinds(await collect(again)) == FROM_THE_START


@pytest.mark.usefixtures("worker")
async def test_03_caller_resubscribes(gateway: Gateway, client: Client) -> None:
    params = {**message03(text03(request(hold=True))), "configuration": {"blocking": False}}
    task = (await call03(gateway.http, "message/send", params))["result"]
    again = stream03(gateway.http, "tasks/resubscribe", {"id": task["id"]})
    first = await anext(again)
    await client.get_workflow_handle(task["id"]).signal("begin")
    rest = [event async for event in again]
    assert kinds03([first, *rest]) == ["task submitted", *FROM_THE_START]
    (over,) = [event async for event in stream03(gateway.http, "tasks/resubscribe", {"id": task["id"]})]
    assert over["error"]["code"] == -32004
    (missing,) = [event async for event in stream03(gateway.http, "tasks/resubscribe", {"id": "nonesuch"})]
    assert missing["error"]["code"] == -32001


@pytest.mark.usefixtures("worker")
async def test_many_listeners_on_two_replicas_share_the_polls(
    gateway: Gateway, more_gateways: Callable[[], Awaitable[Gateway]], client: Client
) -> None:
    """Temporal allows a workflow ten open updates: thirteen listeners that each polled would not all be served."""
    other = await more_gateways()
    async with sdk_client(gateway.url) as here, sdk_client(other.url) as there:
        stream = here.send_message(message(data_part(request(pauses=[1]))))
        task_id, told = await begin(stream, "working 2")
        more = [caller.subscribe(SubscribeToTaskRequest(id=task_id)) for caller in (here, there) for _ in range(6)]
        heard = [(await begin(listener, "working 2"))[1] for listener in more]

        async def polled() -> list[str]:
            return await polls_in_history(client, task_id)

        await eventually(polled)
        assert await polled() == ["updates-from-3"]
        await client.get_workflow_handle(task_id).signal("go_on")
        told += kinds(await collect(stream))
        for so_far, rest in zip(heard, await asyncio.gather(*map(collect, more)), strict=True):
            assert so_far + kinds(rest) == ["task working", *FROM_THE_START]
    assert told == ["task submitted", *FROM_THE_START]


@pytest.mark.usefixtures("worker")
async def test_listeners_that_come_and_go_cost_one_poll(gateway: Gateway, client: Client) -> None:
    async with sdk_client(gateway.url) as caller:
        task_id, _ = await begin(caller.send_message(message(data_part(request(pauses=[1])))), "working 2")
        for _ in range(12):
            await begin(caller.subscribe(SubscribeToTaskRequest(id=task_id)), "working 2")
        await client.get_workflow_handle(task_id).signal("go_on")
        await client.get_workflow_handle(task_id).result()
    assert (await polls_in_history(client, task_id)).count("updates-from-3") <= 1


@pytest.mark.usefixtures("worker")
async def test_a_reset_while_streaming_adds_what_the_new_run_tells_otherwise(gateway: Gateway, client: Client) -> None:
    async with sdk_client(gateway.url) as caller:
        stream = caller.send_message(message(data_part(request(pauses=[1], tell_run=True))))
        task_id, told = await begin(stream, "working 2")
        await reset(client, task_id)
        told += (await begin(stream, "working 1"))[1]
        await client.get_workflow_handle(task_id).signal("go_on")
        told += kinds(await collect(stream))
    before_the_reset = ["task submitted", "working 0", "working 1", "working 2"]
    assert told == [*before_the_reset, "working 1", *FROM_THE_START[3:]]


@pytest.mark.usefixtures("worker")
async def test_a_reset_that_tells_the_same_story_repeats_nothing(gateway: Gateway, client: Client) -> None:
    async with sdk_client(gateway.url) as caller:
        stream = caller.send_message(message(data_part(request(pauses=[1]))))
        task_id, told = await begin(stream, "working 2")
        await reset(client, task_id)
        await client.get_workflow_handle(task_id).signal("go_on")
        told += kinds(await collect(stream))
    assert told == ["task submitted", *FROM_THE_START]


@pytest.mark.usefixtures("worker")
async def test_a_listener_that_leaves_is_not_held_and_holds_nobody(
    gateway: Gateway, config: GreenAgentConfig, client: Client
) -> None:
    """A poll that was called off at the wrong moment would keep the workflow from going on for ten seconds."""
    listeners = subscriptions.Subscriptions(TemporalConnection(partial(connect, config)))
    tasks = []
    async with sdk_client(gateway.url, streaming=False) as caller:
        for _ in range(10 if NIGHTLY else 3):
            task = await send(caller, at_once(message(data_part(request(pauses=[1])))))
            tasks.append(task.id)
            for moment in (0, 0.002, 0.1):  # before the first poll, while it is sent, while it waits
                async with listeners.listen(task.id) as reader:
                    assert (await anext(reader.updates())).sequence == 0
                    await asyncio.sleep(moment)
    for task_id in tasks:
        history = await client.get_workflow_handle(task_id).fetch_history()
        assert not [event for event in history.events if event.HasField("workflow_task_timed_out_event_attributes")]


async def test_a_poll_that_ends_with_the_gateway_is_cancelled_and_no_defect() -> None:
    async def start_update(*_: Any, **__: Any) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError as problem:  # as the SDK does
            raise WorkflowUpdateRPCTimeoutOrCancelledError from problem

    start = asyncio.create_task(_start_poll(SimpleNamespace(start_update=start_update), 0))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    start.cancel()
    await asyncio.wait({start})
    assert start.cancelled()


def test_the_more_streams_are_read_the_rarer_each_is(config: GreenAgentConfig) -> None:
    """Each reading is work for the workers, who have enough to do where there are a thousand."""
    listeners = subscriptions.Subscriptions(TemporalConnection(partial(connect, config)))
    readers: dict[str, Any] = {}
    listeners._readers = readers
    pauses = {}
    for count in (1, 50, 100, 1_000):
        readers.update(dict.fromkeys(map(str, range(count))))
        pauses[count] = listeners.slowed(subscriptions.POLL_COOLDOWN)
    assert pauses == {1: 0.25, 50: 0.25, 100: 0.5, 1_000: 5.0}


@pytest.mark.usefixtures("worker")
async def test_an_assessment_in_several_runs_is_one_story_and_one_task(gateway: Gateway) -> None:
    async with sdk_client(gateway.url) as caller:
        events = await collect(caller.send_message(message(data_part(request(renew=1)))))
        task = await caller.get_task(GetTaskRequest(id=events[0].task.id))
        listing = ListTasksRequest(context_id=task.context_id)

        async def listed_once() -> bool:
            return [found.id for found in (await caller.list_tasks(listing)).tasks] == [task.id]

        await eventually(listed_once)
    assert kinds(events) == ["task submitted", *FROM_THE_START]
    assert task.context_id == events[0].task.context_id
    assert len(task.history) == 1


async def test_without_a_worker_a_stream_still_ends(
    gateway: Gateway, client: Client, config: GreenAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "REMAINDER_WAIT", 1.0)
    async with sdk_client(gateway.url) as caller:
        stream = caller.send_message(message(data_part(request(pauses=[1]))))
        async with standin_worker(client, config):
            task_id, told = await begin(stream, "working 2")
        await client.get_workflow_handle(task_id).terminate()
        told += kinds(await collect(stream))
    assert told == ["task submitted", "working 0", "working 1", "working 2", "canceled"]


async def test_a_task_that_waits_for_a_worker_is_streamed_once_there_is_one(
    gateway: Gateway, client: Client, config: GreenAgentConfig
) -> None:
    async with sdk_client(gateway.url) as caller:
        stream = caller.send_message(message(data_part(request())))
        _, told = await begin(stream, "task submitted")
        rest = asyncio.create_task(collect(stream))
        await asyncio.sleep(1)
        async with standin_worker(client, config):
            told += kinds(await rest)
    assert told == ["task submitted", *FROM_THE_START]


async def test_when_temporal_takes_no_more_polls_updates_come_by_query(config: GreenAgentConfig) -> None:
    """A long assessment may use up the updates that Temporal allows a workflow (2000 by default)."""
    options = ("--dynamic-config-value", "history.maxTotalUpdates=1")
    address, process = await asyncio.to_thread(start_temporal, *options)
    own = config.model_copy(update={"temporal_address": address})
    try:
        client = await connect(own)
        async with standin_worker(client, own), running_gateway(own) as gateway, sdk_client(gateway.url) as caller:
            stream = caller.send_message(message(data_part(request(hold=True, pauses=[1, 2]))))
            task_id, _ = await begin(stream, "task submitted")
            await eventually(lambda: _used_up(client, task_id))
            told = []
            for signal, until in (("begin", "working 2"), ("go_on", "working 4")):
                await client.get_workflow_handle(task_id).signal(signal)
                told += (await begin(stream, until))[1]
            await client.get_workflow_handle(task_id).signal("go_on")
            told += kinds(await collect(stream))
    finally:
        stop_temporal(process)
    assert told == FROM_THE_START


async def _used_up(client: Client, task_id: str) -> bool:
    return len(await polls_in_history(client, task_id)) == 1
