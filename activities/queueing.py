"""Assessments of one A2A context wait for each other: they enter the context's queue, a workflow of its own."""

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from activities.deployment import Deployment
from activities.plan import QueueInput

CONTEXT_QUEUE = "ContextQueue"
JOIN_SIGNAL = "join"


class QueueActivities:
    """What an assessment and its queue have to ask Temporal itself."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    @activity.defn
    async def join_queue(self, given: QueueInput) -> None:
        """Enter the queue of a context, starting it where there is none."""
        await activity.client().start_workflow(
            CONTEXT_QUEUE,
            id=given.queue_id,
            task_queue=activity.info().task_queue,
            start_signal=JOIN_SIGNAL,
            start_signal_args=[given.task_id],
            static_summary=f"assessments of context {given.queue_id.removeprefix('context-')}, one after another",
        )

    @activity.defn
    async def is_running(self, task_id: str) -> bool:
        """Whether an assessment still runs; one that was terminated can't say so itself."""
        return await is_running(activity.client(), task_id)


async def is_running(client: Client, task_id: str) -> bool:
    """Whether an assessment is neither at its end nor unknown."""
    return await status_of(client, task_id) == WorkflowExecutionStatus.RUNNING


async def status_of(client: Client, task_id: str) -> WorkflowExecutionStatus | None:
    """What has become of an assessment's latest run; None where Temporal knows none (any more)."""
    try:
        return (await client.get_workflow_handle(task_id).describe()).status
    except RPCError as problem:
        if problem.status == RPCStatusCode.NOT_FOUND:
            return None
        raise
