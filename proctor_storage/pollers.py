"""Who works at a task queue, as Temporal knows it."""

from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

WORKFLOWS = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW
ACTIVITIES = TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY

_POLLED_WITHIN = timedelta(seconds=90)
"""A worker's request for work stays open for a minute."""


async def last_polls(
    client: Client, queue: str, kind: TaskQueueType.ValueType, timeout: timedelta
) -> dict[str, datetime]:
    """When each process asked for work at a task queue last, by its identity.

    Raises:
        temporalio.service.RPCError: Temporal doesn't say.
    """
    asked = DescribeTaskQueueRequest(namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=kind)
    answer = await client.workflow_service.describe_task_queue(asked, timeout=timeout)
    last: dict[str, datetime] = {}
    for poller in answer.pollers:
        asked_at = poller.last_access_time.ToDatetime(tzinfo=UTC)
        last[poller.identity] = max(asked_at, last.get(poller.identity, asked_at))
    return last


async def count_workers(client: Client, queue: str, kind: TaskQueueType.ValueType, timeout: timedelta) -> int:
    """How many processes work at a task queue. Raises what ``last_polls`` does."""
    lately = datetime.now(UTC) - _POLLED_WITHIN
    return sum(asked_at > lately for asked_at in (await last_polls(client, queue, kind, timeout)).values())
