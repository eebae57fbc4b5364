"""Billable actions of Temporal Cloud, counted from a workflow's history.

The rules are those of https://docs.temporal.io/cloud/actions (read in November 2026 as of commit 24afc58 of
temporalio/documentation). Actions that leave no trace in a history (heartbeats, queries, refused updates) are not
counted here. ``benchmarks.bill.playing`` reads a local server's counts by the same rules, for a comparison.
"""

from collections import Counter
from collections.abc import Iterable

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent

VERSIONING_ATTRIBUTES = {"TemporalChangeVersion"}
"""Search attributes that the SDK writes for ``workflow.patched``; they cost nothing."""

MOST_LOCAL_RETRIES = 100
"""The most retries of local activities in one workflow task that are counted."""

_ONE_EACH = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED: "start",
    EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED: "start_child",
    EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED: "activity",
    EventType.EVENT_TYPE_TIMER_STARTED: "timer",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED: "signal",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED: "update",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED: "options",
    EventType.EVENT_TYPE_NEXUS_OPERATION_SCHEDULED: "nexus",
    EventType.EVENT_TYPE_NEXUS_OPERATION_CANCEL_REQUESTED: "nexus",
}
"""Events that are one action each, with any content. A child's start is two actions: one by the event in the parent's
history, and one by the first event in the child's. A signal is counted in the receiver's history, as Temporal does.
"""


def billable_actions(events: Iterable[HistoryEvent]) -> Counter[str]:
    """Count the billed actions of one run's history, by kind.

    Local activities and other markers are one action for each workflow task that recorded any. A change of the memo and
    a workflow's end don't count. Signal-with-start is one action, because it is one request.
    """
    counted: Counter[str] = Counter()
    marked: set[int] = set()
    previous = EventType.EVENT_TYPE_UNSPECIFIED
    for event in events:
        kind = event.event_type
        if kind in _ONE_EACH:
            is_with_start = (
                kind == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
                and previous == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED
            )
            counted[_ONE_EACH[kind]] += not is_with_start
        elif kind == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
            counted["activity_retry"] += max(event.activity_task_started_event_attributes.attempt - 1, 0)
        elif kind == EventType.EVENT_TYPE_MARKER_RECORDED:
            marked.add(event.marker_recorded_event_attributes.workflow_task_completed_event_id)
        elif kind == EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
            fields = event.upsert_workflow_search_attributes_event_attributes.search_attributes.indexed_fields
            counted["search_attributes"] += bool(set(fields) - VERSIONING_ATTRIBUTES)
        elif kind == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            metering = event.workflow_task_completed_event_attributes.metering_metadata
            counted["local_retry"] += min(metering.nonfirst_local_activity_execution_attempts, MOST_LOCAL_RETRIES)
        elif kind == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            cause = event.workflow_task_failed_event_attributes.cause
            counted["reset"] += cause == WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
        previous = kind
    counted["markers"] = len(marked)
    return +counted
