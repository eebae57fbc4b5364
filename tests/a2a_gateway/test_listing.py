"""``ListTasks``: filters, pages, and strings that try to be more than strings."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from a2a.client import Client as Caller
from a2a.types import ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a.utils.errors import InvalidParamsError
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.client import Client

from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from tests.a2a_gateway.callers import JSONRPC, REST, at_once, data_part, message, sdk_client, send, state_name
from tests.a2a_gateway.conftest import Gateway, make_config, request, reset, running_gateway, standin_worker
from tests.sentences import says
from tests.waiting import eventually
from tests.work import some_of

HOSTILE = [
    "it's",
    "back\\slash",
    "trailing\\",
    "\\' OR WorkflowType != '",
    "x' OR ProctorContext != 'x",
    "x'' OR ''='",
    'double"quote',
    "percent%_",
    "ünïcode ✓ 漢",
]


async def listed(caller: Caller, expected: int, **wanted: Any) -> ListTasksResponse:
    """The list, once the visibility store has caught up with so many tasks."""
    answer = ListTasksResponse()

    async def caught_up() -> bool:
        answer.CopyFrom(await caller.list_tasks(ListTasksRequest(**wanted)))
        return answer.total_size == expected

    await eventually(caught_up)
    return answer


@dataclass(frozen=True)
class Desk:
    """A gateway, and a context with a task in each state that an assessment can be in; nobody changes it."""

    gateway: Gateway
    context: str


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(temporal: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    config = make_config(temporal, tmp_path_factory.mktemp("desk"))
    client, name = await connect(config), f"context of {config.task_queue}"
    async with (
        standin_worker(client, config),
        running_gateway(config) as gateway,
        sdk_client(gateway.url, streaming=False) as caller,
    ):
        for script in ({}, {"end": "fail"}, {"end": "break"}):
            await send(caller, message(data_part(request(**script)), context=name))
        await send(caller, message(data_part({}), context=name))
        working = await send(caller, at_once(message(data_part(request(pauses=[1])), context=name)))
        await send(caller, at_once(message(data_part(request(hold=True)), context=name)))
        terminated = await send(caller, at_once(message(data_part(request(hold=True)), context=name)))
        await client.get_workflow_handle(terminated.id).terminate()
        await listed(caller, 7, context_id=name)
        await listed(caller, 1, context_id=name, status=TaskState.TASK_STATE_WORKING)
        assert working.context_id == name
        yield Desk(gateway, name)


def states(answer: ListTasksResponse) -> list[str]:
    return [state_name(task.status.state) for task in answer.tasks]


@pytest.mark.asyncio(loop_scope="module")
async def test_by_state(desk: Desk) -> None:
    expected = {
        TaskState.TASK_STATE_SUBMITTED: ["submitted"],
        TaskState.TASK_STATE_WORKING: ["working"],
        TaskState.TASK_STATE_COMPLETED: ["completed"],
        TaskState.TASK_STATE_FAILED: ["failed", "failed"],
        TaskState.TASK_STATE_REJECTED: ["rejected"],
        TaskState.TASK_STATE_CANCELED: ["canceled"],
        TaskState.TASK_STATE_INPUT_REQUIRED: [],
    }
    async with sdk_client(desk.gateway.url) as caller:
        for state, found in expected.items():
            answer = await listed(caller, len(found), context_id=desk.context, status=state)
            assert states(answer) == found


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("binding", some_of([REST, JSONRPC], 1))
async def test_pages_have_every_task_once_latest_first(desk: Desk, binding: Any) -> None:
    async with sdk_client(desk.gateway.url, binding) as caller:
        whole = await listed(caller, 7, context_id=desk.context)
        assert not whole.next_page_token
        paged: list[Task] = []
        token = ""
        while token or not paged:
            page = await caller.list_tasks(ListTasksRequest(context_id=desk.context, page_size=3, page_token=token))
            assert (page.total_size, page.page_size) == (7, 3)
            paged += page.tasks
            token = page.next_page_token
    assert [task.id for task in paged] == [task.id for task in whole.tasks]
    times = [task.status.timestamp.ToNanoseconds() for task in whole.tasks if task.status.state > 2]
    assert set(states(whole)[:2]) == {"submitted", "working"}
    assert times == sorted(times, reverse=True)


@pytest.mark.asyncio(loop_scope="module")
async def test_artifacts_and_history_on_request(desk: Desk) -> None:
    wanted: dict[str, Any] = {"context_id": desk.context, "status": TaskState.TASK_STATE_COMPLETED}
    async with sdk_client(desk.gateway.url) as caller:
        (plain,) = (await listed(caller, 1, **wanted)).tasks
        (full,) = (await listed(caller, 1, include_artifacts=True, **wanted)).tasks
        (short,) = (await listed(caller, 1, history_length=0, **wanted)).tasks
    assert not plain.artifacts
    assert [artifact.name for artifact in full.artifacts] == ["assessment_results"]
    assert len(plain.history) == 1
    assert not short.history


@pytest.mark.asyncio(loop_scope="module")
async def test_by_time_of_change(desk: Desk) -> None:
    async with sdk_client(desk.gateway.url) as caller:
        whole = await listed(caller, 7, context_id=desk.context)
        terminated = whole.tasks[2].status.timestamp
        since = await listed(caller, 3, context_id=desk.context, status_timestamp_after=terminated)
        future = Timestamp(seconds=terminated.seconds + 3600)
        later = await listed(caller, 0, context_id=desk.context, status_timestamp_after=future)
    assert [task.id for task in since.tasks] == [task.id for task in whole.tasks[:3]]
    assert not later.tasks


@pytest.mark.parametrize("hostile", some_of(HOSTILE, 3))
async def test_a_hostile_context_finds_its_own_task_only(
    gateway: Gateway, config: GreenAgentConfig, hostile: str
) -> None:
    mine = f"{config.task_queue} {hostile}"
    async with sdk_client(gateway.url, streaming=False) as caller:
        other = await send(caller, at_once(message(data_part(request()), context=config.task_queue)))
        task = await send(caller, at_once(message(data_part(request()), context=mine)))
        await listed(caller, 1, context_id=other.context_id)
        found = await listed(caller, 1, context_id=mine)
        nothing = await listed(caller, 0, context_id=f"{config.task_queue} not there {hostile}")
    assert [task.id for task in found.tasks] == [task.id]
    assert found.tasks[0].context_id == mine
    assert not nothing.tasks


@pytest.mark.parametrize("token", ["not base64!", "bm9uZQ==", "✓"])
async def test_a_foreign_page_token_is_refused(gateway: Gateway, token: str) -> None:
    async with sdk_client(gateway.url) as caller:
        with pytest.raises(InvalidParamsError, check=says("pageToken")):
            await caller.list_tasks(ListTasksRequest(page_token=token))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_page_token_goes_with_its_filters(desk: Desk) -> None:
    async with sdk_client(desk.gateway.url) as caller:
        page = await caller.list_tasks(ListTasksRequest(context_id=desk.context, page_size=1))
        with pytest.raises(InvalidParamsError, check=says()):
            await caller.list_tasks(ListTasksRequest(context_id="other", page_token=page.next_page_token))
        changed = page.next_page_token[:16] + base64.urlsafe_b64encode(b"junk").decode()
        with pytest.raises(InvalidParamsError, check=says("pageToken")):
            await caller.list_tasks(ListTasksRequest(context_id=desk.context, page_size=1, page_token=changed))


@pytest.mark.parametrize("size", [0, -1, 101])
async def test_page_sizes_out_of_bounds_are_refused(gateway: Gateway, size: int) -> None:
    async with sdk_client(gateway.url) as caller:
        with pytest.raises(InvalidParamsError, check=says()):
            await caller.list_tasks(ListTasksRequest(page_size=size))


@pytest.mark.usefixtures("worker")
async def test_a_reset_task_is_listed_once_as_what_it_is_now(gateway: Gateway, client: Client) -> None:
    async with sdk_client(gateway.url, streaming=False) as caller:
        task = await send(caller, message(data_part(request())))
        await listed(caller, 1, context_id=task.context_id)
        await reset(client, task.id)
        await client.get_workflow_handle(task.id).result()
        answer = await listed(caller, 2, context_id=task.context_id)
        while states(answer) == ["working"]:  # Temporal's list lags behind
            answer = await listed(caller, 2, context_id=task.context_id)
    assert [found.id for found in answer.tasks] == [task.id]
    assert states(answer) == ["completed"]
