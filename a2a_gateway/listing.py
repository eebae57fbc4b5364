"""``ListTasks`` as queries to Temporal's visibility store, which may lag behind by some milliseconds."""

import asyncio
import base64
import binascii
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime

from a2a.types import ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size
from temporalio.client import Client, WorkflowExecution

from proctor.a2a_gateway.contexts import context_keyword
from proctor.a2a_gateway.tasks import is_closed, read_task
from proctor.a2a_gateway.temporal import RPC_TIMEOUT
from proctor.protocol.callers import Caller
from proctor.settings.config import GreenAgentConfig
from proctor.workflows.names import PROCTOR_CONTEXT, PROCTOR_OWNER, PROCTOR_STATUS, TASK_WORKFLOWS, Status
from purple_sdk.processes.together import do_all

_MARK = 12
"""Bytes of the mark in front of a page's token."""

_AT_ONCE = 16
"""Simultaneous calls to Temporal for one page."""

_TYPES = ", ".join(f"'{name}'" for name in TASK_WORKFLOWS)
_REJECTED = f"{PROCTOR_STATUS.name} = '{Status.REJECTED}'"
_WAITING = f"{PROCTOR_STATUS.name} = '{Status.SUBMITTED}'"

_CONDITIONS: dict[TaskState, str] = {
    TaskState.TASK_STATE_SUBMITTED: f"ExecutionStatus = 'Running' AND {_WAITING}",
    TaskState.TASK_STATE_WORKING: f"ExecutionStatus = 'Running' AND NOT {_WAITING}",
    TaskState.TASK_STATE_COMPLETED: "ExecutionStatus = 'Completed'",
    TaskState.TASK_STATE_CANCELED: "ExecutionStatus IN ('Canceled', 'Terminated')",
    TaskState.TASK_STATE_REJECTED: f"ExecutionStatus = 'Failed' AND {_REJECTED}",
    TaskState.TASK_STATE_FAILED: f"(ExecutionStatus = 'TimedOut' OR (ExecutionStatus = 'Failed' AND NOT {_REJECTED}))",
}
"""The visibility store's condition for each state of a task; assessments never have A2A's other states."""


def list_query(params: ListTasksRequest, now: datetime, caller: Caller) -> str | None:
    """Return the visibility query for a request.

    A running task may change at any time. ``status_timestamp_after`` therefore keeps all running tasks, unless it is in
    the future, and the tasks that ended at that time or later.

    Args:
        caller: only this caller's tasks match, unless it is an admin.

    Returns:
        Temporal's query, or None if no task can match.
    """
    conditions = [f"WorkflowType IN ({_TYPES})", "ExecutionStatus != 'ContinuedAsNew'"]
    if not caller.is_admin:
        conditions.append(f"{PROCTOR_OWNER.name} = '{caller.name}'")
    if params.context_id:
        conditions.append(f"{PROCTOR_CONTEXT.name} = '{context_keyword(params.context_id)}'")
    if params.status != TaskState.TASK_STATE_UNSPECIFIED:
        if params.status not in _CONDITIONS:
            return None
        conditions.append(_CONDITIONS[params.status])
    if params.HasField("status_timestamp_after"):
        after = params.status_timestamp_after.ToDatetime(tzinfo=UTC)
        if after > now:
            return None
        conditions.append(f"(ExecutionStatus = 'Running' OR CloseTime >= '{after.isoformat()}')")
    return " AND ".join(conditions)


async def list_tasks(
    client: Client, params: ListTasksRequest, config: GreenAgentConfig, caller: Caller
) -> ListTasksResponse:
    """Return one page of a caller's tasks: the running ones, latest first, then the others, last ended first.

    ``total_size`` counts a task that was reset in the Temporal UI once for each run; the page has only the latest run.
    Raises:
        InvalidParamsError: page size, page token or history length is out of bounds.
        RPCError: Temporal doesn't answer.
    """
    validate_history_length(params)
    if params.HasField("page_size"):
        validate_page_size(params.page_size)
    size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
    query = list_query(params, datetime.now(UTC), caller)
    if query is None:
        return ListTasksResponse(page_size=size)
    key = config.secret.get_secret_value().encode()
    token = _read_token(params.page_token, query, key)
    pages = client.list_workflows(query, page_size=size, next_page_token=token, rpc_timeout=RPC_TIMEOUT)
    await pages.fetch_next_page()
    count = await client.count_workflows(query, rpc_timeout=RPC_TIMEOUT)
    tasks = await _read_all(client, pages.current_page or [], params, config)
    return ListTasksResponse(
        tasks=tasks,
        total_size=count.count,
        page_size=size,
        next_page_token=_write_token(pages.next_page_token, query, key),
    )


async def _read_all(
    client: Client, page: Sequence[WorkflowExecution], params: ListTasksRequest, config: GreenAgentConfig
) -> list[Task]:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def read(execution: WorkflowExecution) -> Task | None:
        async with slots:
            if is_closed(execution):
                latest = await client.get_workflow_handle(execution.id).describe(rpc_timeout=RPC_TIMEOUT)
                if latest.run_id != execution.run_id:
                    return None  # this run was reset: the task's state is that of its latest run
            task = await read_task(client, execution, config, with_artifacts=params.include_artifacts)
            return apply_history_length(task, params)

    return [task for task in await do_all(*map(read, page)) if task is not None]


def _write_token(token: bytes | None, query: str, key: bytes) -> str:
    return base64.urlsafe_b64encode(_mark(query, token, key) + token).decode() if token else ""


def _read_token(text: str, query: str, key: bytes) -> bytes | None:
    """Extract Temporal's token from ours. Temporal itself can't distinguish its tokens from those of other lists."""
    if not text:
        return None
    try:
        marked = base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        marked = b""
    mark, token = marked[:_MARK], marked[_MARK:]
    if not hmac.compare_digest(mark, _mark(query, token, key)):
        raise InvalidParamsError(
            "pageToken is not one that this agent gave for these filters: take nextPageToken of the page before, and "
            "leave the filters as they were."
        )
    return token


def _mark(query: str, token: bytes, key: bytes) -> bytes:
    return hmac.digest(key, b"page " + query.encode() + b"\0" + token, "sha256")[:_MARK]
