"""Who works at a task queue, as Temporal knows it; ``RPCError`` where it doesn't say."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType, WorkerVersioningMode
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

WORKFLOWS = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
ACTIVITIES = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY

_POLLED_WITHIN = timedelta(seconds=90)
"""A worker's request for work stays open for a minute."""


async def are_versioned(client: Client, queue: str, timeout: timedelta) -> bool:
    """Whether all workers at a task queue have a build id, so that they get work only where Temporal knows the current
    version.
    """
    pollers = await _pollers(client, queue, WORKFLOWS, timeout)
    versioned = WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED
    return bool(pollers) and all(each.deployment_options.worker_versioning_mode == versioned for each in pollers)


async def last_polls(
    client: Client, queue: str, kind: TaskQueueType.ValueType, timeout: timedelta
) -> dict[str, datetime]:
    """When each process asked for work at a task queue last, by its identity."""
    last: dict[str, datetime] = {}
    for poller in await _pollers(client, queue, kind, timeout):
        asked_at = poller.last_access_time.ToDatetime(tzinfo=UTC)
        last[poller.identity] = max(asked_at, last.get(poller.identity, asked_at))
    return last


async def polling_now(client: Client, queue: str, kind: TaskQueueType.ValueType, timeout: timedelta) -> list[str]:
    lately = datetime.now(UTC) - _POLLED_WITHIN
    return [who for who, at in (await last_polls(client, queue, kind, timeout)).items() if at > lately]


async def count_workers(client: Client, queue: str, kind: TaskQueueType.ValueType, timeout: timedelta) -> int:
    return len(await polling_now(client, queue, kind, timeout))


async def _pollers(
    client: Client, queue: str, kind: TaskQueueType.ValueType, timeout: timedelta
) -> Sequence[PollerInfo]:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind
    )
    return (await client.workflow_service.describe_task_queue(request, timeout=timeout)).pollers
