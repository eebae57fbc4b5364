"""A worker that is busy is not taken for dead: its activities' signs of life don't wait for its event loop."""

import asyncio
import time
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities import heartbeats
from activities.heartbeats import Heartbeats
from proctor_protocol.config import GreenAgentConfig
from proctor_storage.temporal import connect
from tests.a2a_gateway.conftest import start_temporal, stop_temporal

_HEARTBEAT = timedelta(seconds=1)


@pytest.fixture(scope="module")
def temporal() -> Iterator[str]:
    address, process = start_temporal()
    yield address
    stop_temporal(process)


@activity.defn
async def hold_up_the_loop() -> int:
    """Takes four times as long as a sign of life may, and lets nobody else at the loop."""
    time.sleep(4 * _HEARTBEAT.total_seconds())  # noqa: ASYNC251
    return activity.info().attempt


@activity.defn
async def note_and_die() -> list[str]:
    """Its first attempt leaves a note, beats on for a while and dies; the second one finds it."""
    if activity.info().attempt == 1:
        heartbeats.note("was here")
        await asyncio.sleep(3 * _HEARTBEAT.total_seconds())
        raise ApplicationError("died")
    return heartbeats.notes()


@workflow.defn(sandboxed=False)
class Doing:
    """Runs one activity."""

    @workflow.run
    async def run(self, name: str) -> object:
        """Its result."""
        return await workflow.execute_activity(
            name,
            heartbeat_timeout=_HEARTBEAT,
            start_to_close_timeout=timedelta(seconds=60),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=5),
        )


async def _done(address: str, name: str) -> object:
    client: Client = await connect(GreenAgentConfig(temporal_address=address))
    beats, queue = Heartbeats(), f"beating-{uuid4()}"
    worker = Worker(
        client,
        task_queue=queue,
        workflows=[Doing],
        activities=[hold_up_the_loop, note_and_die],
        interceptors=[beats],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    beats.beat_through(worker)
    async with worker:
        return await client.execute_workflow("Doing", name, id=queue, task_queue=queue)


async def test_a_busy_loop_is_not_taken_for_a_dead_worker(temporal: str) -> None:
    assert await _done(temporal, "hold_up_the_loop") == 1


async def test_the_beats_of_the_thread_carry_what_was_noted(temporal: str) -> None:
    assert await _done(temporal, "note_and_die") == ["was here"]
