"""Assessments of one A2A context wait for each other in its queue, which is a separate workflow.

A task that began its context has the context's id, and never enters the queue. The second task starts the queue, which
then waits for the first task.
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
        """Enter the queue of a context; start it if there is none."""
        await join(activity.client(), activity.info().task_queue, payload)

    @activity.defn
    async def wait_until_over(self, task_id: str) -> None:
        """Wait for the end of an assessment or campaign outside the queue, regardless of the time it takes."""
        client = activity.client()
        while await is_running(client, task_id):  # a reset also ends a run and begins the next one
            async for _ in client.get_workflow_handle(task_id).fetch_history_events(
                wait_new_event=True, event_filter_type=WorkflowHistoryEventFilterType.CLOSE_EVENT
            ):
                break

    @activity.defn
    async def is_running(self, task_id: str) -> bool:
        """Return whether an assessment still runs; a terminated one can't report its own end."""
        return await is_running(activity.client(), task_id)


async def join(client: Client, task_queue: str, payload: QueueInput) -> None:
    """Enter the queue of a context. A new queue first waits for the task that began the context, if that task is still
    running.
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
    """Return whether an assessment exists and has not ended."""
    return await find_status(client, task_id) == WorkflowExecutionStatus.RUNNING


async def find_status(client: Client, task_id: str) -> WorkflowExecutionStatus | None:
    """Return the status of an assessment's latest run; None if Temporal doesn't know it or has forgotten it."""
    task = await find_task(client, task_id)
    return None if task is None else task.status


async def find_task(client: Client, task_id: str) -> WorkflowExecutionDescription | None:
    """Return the latest run of a workflow; None if Temporal doesn't know the id. Callers may choose any id."""
    try:
        return await client.get_workflow_handle(task_id).describe()
    except RPCError as error:
        if error.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT):
            raise
        return None
