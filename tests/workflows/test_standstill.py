"""An assessment that no worker goes on with: its caller is told, by those who stream and those who poll alike."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from a2a.client import Client as Caller
from a2a.types import GetTaskRequest, StreamResponse
from temporalio.client import Client

from proctor.a2a_gateway import standstill, task_events
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobDamagedError
from proctor.storage.fleet import no_worker_at
from proctor.workflows.assessment import Assessment
from tests.a2a_gateway.callers import at_once, data_part, message, sdk_client, send, state_name
from tests.a2a_gateway.conftest import REQUEST, Gateway
from tests.sentences import says
from tests.waiting import eventually
from tests.workflows.scripted import ScriptedActivities, plan


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told after half a second; with the real ten, tests would take a minute."""
    monkeypatch.setattr(standstill, "NOT_TAKEN", timedelta(seconds=0.5))
    monkeypatch.setattr(task_events, "LOOK_SECONDS", 0.2)


@pytest_asyncio.fixture
async def streaming(gateway: Gateway) -> AsyncIterator[Caller]:
    async with sdk_client(gateway.url) as connected:
        yield connected


def told(event: StreamResponse) -> tuple[str, str]:
    """The state and the sentence of a status update."""
    status = event.status_update.status
    return state_name(status.state), " ".join(part.text for part in status.message.parts if part.HasField("text"))


async def status_message(caller: Caller, task_id: str) -> str:
    task = await caller.get_task(GetTaskRequest(id=task_id))
    return " ".join(part.text for part in task.status.message.parts if part.HasField("text"))


async def test_a_task_that_no_worker_takes(
    streaming: Caller, caller: Caller, client: Client, config: GreenAgentConfig
) -> None:
    stream = streaming.send_message(message(data_part(REQUEST)))
    first = await anext(stream)
    assert state_name(first.task.status.state) == "submitted"
    state, sentence = told(await anext(stream))
    assert state == "submitted"
    assert sentence == says("0.5 s", where=no_worker_at(config.task_queue))
    assert await status_message(caller, first.task.id) == sentence
    async with ScriptedActivities().worker(client, config.task_queue):
        rest = [event async for event in stream]
    assert sentence not in [told(event)[1] for event in rest]
    assert told(rest[-1])[0] == "completed"


async def test_a_step_that_no_worker_takes(caller: Caller, client: Client, config: GreenAgentConfig) -> None:
    """A fleet may have no worker for models while it has others."""
    [criterion] = plan("", "").criteria
    scripted = ScriptedActivities(
        models_task_queue="nobody", offline=False, criteria=[criterion.model_copy(update={"by_model": True})]
    )
    async with scripted.worker(client, config.task_queue):
        task = await send(caller, at_once(message(data_part(REQUEST))))

        async def is_told() -> bool:
            return "judge_criterion" in await status_message(caller, task.id)

        await eventually(is_told)
        assert await status_message(caller, task.id) == says("0.5 s", queue=config.task_queue)
        await client.get_workflow_handle(task.id).terminate()


LOST = "blob abc below /store is damaged (it is cut short): put it back"


@pytest.mark.parametrize(
    ("problem", "cause"),
    [(RuntimeError("a worker of another version"), ""), (BlobDamagedError(f"{LOST}."), LOST)],
    ids=["another version", "a payload is damaged"],
)
async def test_a_step_of_the_workflow_at_which_workers_fail(
    caller: Caller,
    client: Client,
    activities: ScriptedActivities,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception,
    cause: str,
) -> None:
    def is_broken(*_: Any) -> None:
        raise problem

    monkeypatch.setattr(Assessment, "__init__", is_broken)
    task = await send(caller, at_once(message(data_part(REQUEST))))

    async def is_told() -> bool:
        return "(try " in await status_message(caller, task.id)

    await eventually(is_told)
    assert await status_message(caller, task.id) == says(cause, tries=re.compile(r"(?<=\(try )\d+"))
    await client.get_workflow_handle(task.id).terminate()
