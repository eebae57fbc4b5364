"""A worker that is busy is not taken for dead: its activities' signs of life don't wait for its event loop."""

import asyncio
import threading
import time
from collections import Counter
from datetime import timedelta
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from proctor.activities.attempts import heartbeats
from proctor.activities.attempts.heartbeats import Heartbeats
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from tests.sentences import says
from tests.stack import Stack
from tests.waiting import eventually

_HEARTBEAT = timedelta(seconds=3)


@pytest.fixture(scope="module")
def temporal(stack: Stack) -> str:
    """The address of Temporal."""
    return stack.local.temporal_address


@activity.defn
async def hold_up_the_loop() -> int:
    """Takes twice as long as a sign of life may, and lets nobody else at the loop."""
    time.sleep(2 * _HEARTBEAT.total_seconds())  # noqa: ASYNC251
    return activity.info().attempt


@activity.defn
async def note_and_die() -> list[str]:
    """Its first attempt leaves a note, beats on for a while and dies; the second one finds it."""
    if activity.info().attempt == 1:
        heartbeats.note("was here")
        await asyncio.sleep(1.5 * _HEARTBEAT.total_seconds())
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


class _Core:
    """What takes the beats, in the place of Temporal's core, and counts them."""

    def __init__(self) -> None:
        self.beats: Counter[bytes] = Counter()

    def record_activity_heartbeat(self, beat: Any) -> None:
        self.beats[beat.task_token] += 1


@pytest.mark.parametrize(
    ("attempts", "timeout", "each"),
    [(1, 2.0, 75), (10, 10.0, 16), (10, 60.0, 6), (1_000, 60.0, 5), (1_000, 10.0, 15), (1_000, 2.0, 75)],
)
def test_the_more_attempts_there_are_and_the_longer_they_take_the_rarer_each_beats_but_often_enough(
    attempts: int, timeout: float, each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(heartbeats, "time", SimpleNamespace(monotonic=lambda: now[0]))
    core, beats = _Core(), Heartbeats()
    for number in range(attempts):
        beats.add(heartbeats._Heartbeat(str(number).encode(), timeout))
    for _ in range(500):  # 50 s
        now[0] += 0.1
        assert beats._send(SimpleNamespace(_bridge_worker=core))  # type: ignore[arg-type]
    assert set(core.beats) == {str(number).encode() for number in range(attempts)}
    assert set(core.beats.values()) <= set(range(round(0.75 * each), round(1.1 * each) + 1))


async def test_a_busy_loop_is_not_taken_for_a_dead_worker(temporal: str) -> None:
    assert await _done(temporal, "hold_up_the_loop") == 1


async def test_the_beats_of_the_thread_carry_what_was_noted(temporal: str) -> None:
    assert await _done(temporal, "note_and_die") == ["was here"]


async def test_the_thread_ends_with_its_worker(temporal: str) -> None:
    client, beats = await connect(GreenAgentConfig(temporal_address=temporal)), Heartbeats()
    before = set(threading.enumerate())
    worker = Worker(client, task_queue=f"beating-{uuid4()}", activities=[note_and_die], interceptors=[beats])
    beats.beat_through(worker)
    (thread,) = {each for each in threading.enumerate() if each.name == "proctor-heartbeats"} - before
    async with worker:
        assert thread.is_alive()
    await eventually(lambda: not thread.is_alive())


@pytest.mark.parametrize("worker", [SimpleNamespace(), SimpleNamespace(_bridge_worker=SimpleNamespace())])
def test_a_temporalio_without_the_call_to_beat_with_is_refused_at_the_start(worker: Any) -> None:
    """It is private: where it is renamed, nothing would beat, and a busy worker would be taken for dead."""
    with pytest.raises(RuntimeError, check=says("Worker._bridge_worker.record", version=version("temporalio"))):
        Heartbeats().beat_through(worker)
