"""Read resets from an assessment's history. A reset makes a workflow task fail at the time of the reset. No turn was
played between the beginning of that workflow task and its failure.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from temporalio import activity
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent

from proctor.activities.plan import Model

_STEP_BEGUN = EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED
_STEP_FAILED = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED


class PausesInput(Model):
    since: datetime


class ResetActivities:
    @activity.defn
    async def measure_pauses(self, payload: PausesInput) -> float:
        """Return the seconds since ``payload.since`` during which this activity's run was paused by resets."""
        info = activity.info()
        workflow = activity.client().get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
        return (await pauses(workflow.fetch_history_events(), payload.since)).total_seconds()


async def pauses(history: AsyncIterator[HistoryEvent], since: datetime) -> timedelta:
    """Return how long resets have paused a run, counting workflow tasks that began at ``since`` or later."""
    paused, begun = timedelta(0), since
    async for event in history:
        at = event.event_time.ToDatetime(tzinfo=UTC)
        if event.event_type == _STEP_BEGUN:
            begun = at
        elif event.event_type == _STEP_FAILED and begun >= since and _is_by_reset(event):
            paused += max(at - begun, timedelta(0))  # Temporal's clock may have gone back
    return paused


WITH_CURRENT_EVALUATORS = "with current evaluators"
"""The end of a reset's reason that asks for today's evaluators in place of those stored at admission."""


async def asks_for_current_evaluators(history: AsyncIterator[HistoryEvent]) -> bool:
    """Return whether the reset that began this run, the last in the history, asks for today's evaluators."""
    is_asked = False
    async for event in history:
        if event.event_type == _STEP_FAILED and _is_by_reset(event):
            reason = event.workflow_task_failed_event_attributes.failure.message
            is_asked = reason.endswith(WITH_CURRENT_EVALUATORS)
    return is_asked


def _is_by_reset(failed: HistoryEvent) -> bool:
    cause = failed.workflow_task_failed_event_attributes.cause
    return cause == WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
