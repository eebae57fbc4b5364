"""While Temporal is away the gateway says so and goes on; when it is back, so is everything."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from a2a.client import Client as Caller
from a2a.types import GetTaskRequest, ListTasksRequest, StreamResponse
from a2a.utils.errors import A2AError, InternalError
from temporalio.client import Client
from temporalio.service import RetryConfig

from proctor.a2a_gateway import subscriptions
from proctor.a2a_gateway.temporal import TemporalConnection
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from proctor.storage.temporal import TemporalUnreachableError, connect, data_converter
from purple_sdk.processes.ports import free_ports
from tests.a2a_gateway.callers import (
    call03,
    collect,
    data_part,
    kinds,
    message,
    message03,
    sdk_client,
    send,
    state_name,
    stream03,
    text03,
)
from tests.a2a_gateway.conftest import (
    Gateway,
    request,
    running_gateway,
    standin_worker,
    start_temporal,
    stop_temporal,
)
from tests.sentences import says
from tests.waiting import PATIENCE, eventually


async def health(gateway: Gateway) -> tuple[str, str]:
    answer = await gateway.http.get("/health")
    body = answer.json()
    assert answer.status_code == (200 if body["status"] == "ok" else 503)
    return body["status"], body["temporal"]


async def test_a_gateway_without_temporal_says_so(config: GreenAgentConfig) -> None:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    alone = config.model_copy(update={"temporal_address": address, "connect_timeout": 1})
    sentence = says(address=address)
    async with running_gateway(alone) as gateway, sdk_client(gateway.url, streaming=False) as caller:
        status, problem = await health(gateway)
        assert status == "degraded"
        assert address in problem
        with pytest.raises(InternalError, check=sentence):
            await send(caller, message(data_part(request())))
        with pytest.raises(InternalError, check=sentence):
            await caller.list_tasks(ListTasksRequest())
        legacy = await call03(gateway.http, "tasks/get", {"id": "t"})
        assert legacy["error"]["code"] == -32603
        assert legacy["error"]["message"] == sentence
        (streamed,) = [event async for event in stream03(gateway.http, "message/stream", message03(text03(request())))]
        assert streamed["error"]["message"] == sentence
        plain = await gateway.http.get("/tasks/t", headers={"A2A-Version": "1.0"})
        assert plain.status_code == 500
        assert plain.json()["error"]["message"] == sentence


async def test_a_gateway_without_a_worker_says_so(client: Client, config: GreenAgentConfig, gateway: Gateway) -> None:
    found = {
        "status": "degraded",
        "temporal": "ok",
        "worker": says("AGENTBEATS_GREEN_TASK_QUEUE", queue=config.task_queue),
    }
    for path, told in (("/health", found), ("/ready", found | {"store": "ok"})):
        await eventually(partial(_answers, gateway, path, told))
    async with standin_worker(client, config):
        await eventually(lambda: _healthy(gateway))


async def test_many_requests_share_one_attempt_to_connect(
    config: GreenAgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address that swallows packets: each attempt lasts until its time is up, here until ten requests wait."""
    attempts, waiting = 0, 0
    ask = TemporalConnection.connect

    async def counted(connection: TemporalConnection) -> Client:
        nonlocal waiting
        waiting += 1
        return await ask(connection)

    async def swallowed() -> Client:
        nonlocal attempts
        attempts += 1
        await eventually(lambda: waiting == 10 * attempts)
        raise TemporalUnreachableError("unreachable: 192.0.2.1:7233")

    monkeypatch.setattr(TemporalConnection, "connect", counted)
    async with running_gateway(config, swallowed) as gateway:
        for attempt in (1, 2):
            answers = await asyncio.gather(
                *(call03(gateway.http, "tasks/get", {"id": f"t{number}"}) for number in range(10))
            )
            (refusal,) = {answer["error"]["message"] for answer in answers}
            assert refusal == says("192.0.2.1:7233")
            assert attempts == attempt


@asynccontextmanager
async def stream_over_an_outage(
    config: GreenAgentConfig, tmp_path: Path
) -> AsyncIterator[tuple[Gateway, Caller, AsyncIterator[StreamResponse], Callable[[], Awaitable[None]]]]:
    """A stream whose Temporal was killed; what is given last brings Temporal back with all that it knew.

    The gateway's client gives up a call at once, as the usual one does after ten seconds.
    """
    port = free_ports(1)[0]
    keep = ("--db-filename", str(tmp_path / "temporal.db"))
    _, process = await asyncio.to_thread(start_temporal, *keep, port=port)
    own = config.model_copy(update={"temporal_address": f"127.0.0.1:{port}"})

    async def impatient() -> Client:
        return await Client.connect(
            own.temporal_address,
            data_converter=data_converter(BlobStore(own.storage_url)),
            retry_config=RetryConfig(max_retries=1),
        )

    async def bring_back() -> None:
        nonlocal process
        _, process = await asyncio.to_thread(start_temporal, *keep, port=port)
        task_id = first[0].task.id
        await client.get_workflow_handle(task_id).signal("go_on")

    try:
        client = await connect(own)
        async with (
            standin_worker(client, own),
            running_gateway(own, impatient) as gateway,
            sdk_client(gateway.url) as caller,
        ):
            await eventually(lambda: _healthy(gateway))
            stream = caller.send_message(message(data_part(request(pauses=[1]))))
            first = [await anext(stream) for _ in range(4)]
            assert kinds(first) == ["task submitted", "working 0", "working 1", "working 2"]
            process.kill()
            process.wait()
            assert (await health(gateway))[0] == "degraded"
            with pytest.raises(InternalError, check=says()):
                await caller.get_task(GetTaskRequest(id=first[0].task.id))
            yield gateway, caller, stream, bring_back
    finally:
        stop_temporal(process)


async def test_a_stream_outlives_a_restart_of_temporal(
    config: GreenAgentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "OUTAGE_PATIENCE", PATIENCE)
    async with stream_over_an_outage(config, tmp_path) as (gateway, caller, stream, bring_back):
        await asyncio.sleep(2)
        await bring_back()
        rest = await collect(stream)
        assert kinds(rest) == ["working 3", "working 4", "working 5", "artifact assessment_results", "completed"]
        task = await caller.get_task(GetTaskRequest(id=rest[0].status_update.task_id))
        assert state_name(task.status.state) == "completed"
        await eventually(lambda: _healthy(gateway))


async def test_a_stream_ends_with_a_sentence_when_temporal_stays_away(
    config: GreenAgentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "OUTAGE_PATIENCE", 2.0)
    async with stream_over_an_outage(config, tmp_path) as (gateway, _, stream, _):
        with pytest.raises(A2AError, check=says()):
            await collect(stream)
        assert (await health(gateway))[0] == "degraded"


async def _answers(gateway: Gateway, path: str, told: dict[str, object]) -> bool:
    answer = await gateway.http.get(path)
    assert answer.status_code == 503
    return bool(answer.json() == told)


async def _healthy(gateway: Gateway) -> bool:
    return await health(gateway) == ("ok", "ok")
