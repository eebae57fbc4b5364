"""Assessments of one A2A context wait for each other in its queue, a workflow of its own. A task that the context was
made for has the context's id and is in no queue: a later one starts the queue, which begins with it.
"""

from temporalio import activity
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHistoryEventFilterType,
)
from temporalio.service import RPCError, RPCStatusCode

from proctor.activities.admission.payloads import QueueInput
from proctor.activities.attempts.markdown import as_summary
from proctor.activities.attempts.owners import PROCTOR_CONTEXT, PROCTOR_OWNER

CONTEXT_QUEUE = "ContextQueue"
JOIN_SIGNAL = "join"


class QueueActivities:
    @activity.defn
    async def join_queue(self, payload: QueueInput) -> None:
        """Enter the queue of a context, starting it where there is none."""
        await join(activity.client(), activity.info().task_queue, payload)

    @activity.defn
    async def wait_until_over(self, task_id: str) -> None:
        """Wait for the end of an assessment or campaign that isn't in the queue, for as long as that takes."""
        client = activity.client()
        while await is_running(client, task_id):  # a reset, too, ends a run, and begins the next one
            async for _ in client.get_workflow_handle(task_id).fetch_history_events(
                wait_new_event=True, event_filter_type=WorkflowHistoryEventFilterType.CLOSE_EVENT
            ):
                break

    @activity.defn
    async def is_running(self, task_id: str) -> bool:
        """Whether an assessment still runs; one that was terminated can't say so itself."""
        return await is_running(activity.client(), task_id)


async def join(client: Client, task_queue: str, payload: QueueInput) -> None:
    """Enter the queue of a context. One that is started for this begins with the task that the context was made for,
    where that is still at work.
    """
    await client.start_workflow(
        CONTEXT_QUEUE,
        args=[[], None, payload.context_id] if await _has_founder(client, payload) else [],
        id=payload.queue_id,
        task_queue=task_queue,
        start_signal=JOIN_SIGNAL,
        start_signal_args=[payload.task_id],
        static_summary=as_summary(
            f"assessments of context {payload.queue_id.removeprefix('context-')}, one after another"
        ),
    )


async def _has_founder(client: Client, payload: QueueInput) -> bool:
    queue = await find_task(client, payload.context_id) if payload.context_id else None
    if queue is None or queue.status != WorkflowExecutionStatus.RUNNING:
        return False
    attributes = queue.typed_search_attributes
    is_founder = attributes.get(PROCTOR_CONTEXT) == payload.context_id
    return is_founder and (attributes.get(PROCTOR_OWNER) or "") == payload.owner


async def is_running(client: Client, task_id: str) -> bool:
    """Whether an assessment is neither at its end nor unknown."""
    return await status_of(client, task_id) == WorkflowExecutionStatus.RUNNING


async def status_of(client: Client, task_id: str) -> WorkflowExecutionStatus | None:
    """What has become of an assessment's latest run; None where Temporal knows none (any more)."""
    task = await find_task(client, task_id)
    return None if task is None else task.status


async def find_task(client: Client, task_id: str) -> WorkflowExecutionDescription | None:
    """The latest run of a workflow; None where Temporal knows none of that id, which callers choose as they like."""
    try:
        return await client.get_workflow_handle(task_id).describe()
    except RPCError as problem:
        if problem.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT):
            raise
        return None
