"""Explanations why an assessment waits: a task of Temporal's that no worker takes.

The workflow itself reports troubles of a running step (``proctor.activities.attempts.troubles``). If no worker runs or
can continue the workflow, the gateway asks Temporal for the waiting task and reports it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import WorkflowExecution as Execution
from temporalio.api.enums.v1 import PendingActivityState, PendingWorkflowTaskState
from temporalio.api.workflow.v1 import PendingActivityInfo, PendingWorkflowTaskInfo
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionDescription
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, StoreUnavailableError
from proctor.storage.fleet import WORKFLOWS, count_workers, find_fleet_problem, missing_worker_problem

T = TypeVar("T")

NOT_TAKEN = timedelta(seconds=10)
"""The time without a worker for a step after which the caller is informed."""

LOOK_SECONDS = 5.0
"""Seconds of silence in a stream after which Temporal is asked whether the task waits; repeated at this interval."""

_SECONDS = timedelta(seconds=2)
_EVENTS = 10
"""The number of last events in a history that are searched for the failure of a step."""

_FAILING_FROM = 3
"""The attempt at one step of the workflow from which the step counts as failing. A worker that dies costs one or two
attempts.
"""

_SEE_LOGS = "their logs say why"
_OF_STORE = {error.__name__ for error in (BlobDamagedError, BlobNotFoundError, StoreUnavailableError)}


async def explain_standstill(execution: WorkflowExecution, client: Client, config: GreenAgentConfig) -> str | None:
    """Return the sentence of ``why_it_waits``, with the cause if the gateway can see it: no worker, or a worker whose
    settings differ from the gateway's.

    Args:
        client: asked for the workers of the task queue, for at most two seconds.
        config: the gateway's settings, for comparison with the workers'.

    Returns:
        One or two sentences for the caller; None while the assessment makes progress.
    """
    why = why_it_waits(execution)
    if why is None:
        return None
    with suppress(RPCError):
        why = why.replace(_SEE_LOGS, await _failure_of_store(execution, client) or _SEE_LOGS)
        if not await count_workers(client, config.task_queue, WORKFLOWS, _SECONDS):
            return f"{why} {missing_worker_problem(config.task_queue)}"
        if cause := await find_fleet_problem(client, config):
            return f"{why} {cause}"
    return why


async def _failure_of_store(execution: WorkflowExecution, client: Client) -> str:
    """Return the store's error in a workflow's next step, as the failed worker reported it. Empty if there is no such
    error.
    """
    request = GetWorkflowExecutionHistoryReverseRequest(
        namespace=client.namespace,
        execution=Execution(workflow_id=execution.id, run_id=execution.run_id),
        maximum_page_size=_EVENTS,
    )
    answer = await client.workflow_service.get_workflow_execution_history_reverse(request, timeout=_SECONDS)
    for event in answer.history.events:
        if event.HasField("workflow_task_failed_event_attributes"):
            failure = event.workflow_task_failed_event_attributes.failure
            problem = await client.data_converter.decode_failure(failure)
            if isinstance(problem, ApplicationError) and problem.type in _OF_STORE:
                return problem.message.rstrip(".")
            return ""
    return ""


def why_it_waits(execution: WorkflowExecution) -> str | None:
    """Return a sentence for the caller; None while the assessment makes progress, as far as Temporal knows.

    Args:
        execution: the result of ``describe``; a list of workflows doesn't say what they wait for.
    """
    if not isinstance(execution, WorkflowExecutionDescription):
        return None
    now, described = datetime.now(UTC), execution.raw_description
    if described.HasField("pending_workflow_task"):
        return _why_workflow(described.pending_workflow_task, now)
    for activity in described.pending_activities:
        if _is_not_taken(activity, now):
            return _not_taken(f"the step {activity.activity_type.name} of this assessment")
    return None


async def or_silence(news: AsyncIterator[T], seconds: float) -> AsyncIterator[T | None]:
    """Yield the same news, and None after each ``seconds`` of silence."""
    coming = asyncio.ensure_future(_next(news))
    try:
        while True:
            await asyncio.wait({coming}, timeout=seconds)
            if not coming.done():
                yield None
                continue
            there_is, item = coming.result()
            if not there_is:
                return
            yield item
            coming = asyncio.ensure_future(_next(news))
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


async def _next(news: AsyncIterator[T]) -> tuple[bool, T | None]:
    async for item in news:
        return True, item
    return False, None


def _why_workflow(pending: PendingWorkflowTaskInfo, now: datetime) -> str | None:
    if pending.attempt >= _FAILING_FROM:
        return (
            f"The evaluator's workers fail at the next step of this assessment (try {pending.attempt}): {_SEE_LOGS}. "
            "It continues once they succeed."
        )
    is_waiting = pending.state == PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_SCHEDULED
    if is_waiting and _has_passed(pending.original_scheduled_time, now):
        return _not_taken("this assessment")
    return None


def _is_not_taken(activity: PendingActivityInfo, now: datetime) -> bool:
    if activity.paused or activity.state != PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED:
        return False
    due = activity.next_attempt_schedule_time if activity.HasField("next_attempt_schedule_time") else None
    return _has_passed(due or activity.scheduled_time, now)


def _has_passed(since: Timestamp, now: datetime) -> bool:
    return since.ToDatetime(tzinfo=UTC) + NOT_TAKEN < now


def _not_taken(what: str) -> str:
    seconds = f"{NOT_TAKEN.total_seconds():g}"
    return f"No worker has taken {what} for over {seconds} s: it continues as soon as one runs and is free."
