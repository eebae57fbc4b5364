"""What the bill is made of: spans of activities, and the file that keeps it."""

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from benchmarks.bill.playing import measure_waits
from benchmarks.bill.record import Bill


def history(*activities: tuple[str, float, float]) -> WorkflowHistory:
    """Activities of a kind, from a second to a second."""
    events = []
    for number, (kind, begun, ended) in enumerate(activities):
        scheduled, started, completed = (HistoryEvent(event_id=3 * number + at) for at in (1, 2, 3))
        scheduled.event_type = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
        scheduled.activity_task_scheduled_event_attributes.activity_type.name = kind
        started.activity_task_started_event_attributes.scheduled_event_id = scheduled.event_id
        started.event_time.FromNanoseconds(round(begun * 1e9))
        completed.activity_task_completed_event_attributes.scheduled_event_id = scheduled.event_id
        completed.event_time.FromNanoseconds(round(ended * 1e9))
        events += [scheduled, started, completed]
    return WorkflowHistory("one", events)


def test_activities_side_by_side_wait_once_by_the_clock_and_each_for_itself() -> None:
    played = history(("judge", 10, 14), ("judge", 12, 15), ("judge", 20, 21), ("turn", 0, 60))
    assert measure_waits([played], "judge") == pytest.approx((6.0, 8.0))
    assert measure_waits([played]) == pytest.approx((60.0, 68.0))
    assert measure_waits([played], "respond") == (0.0, 0)


def test_what_was_not_measured_is_named() -> None:
    with pytest.raises(LookupError, match="another_day"):
        Bill.load().play("another_day", "baseline", with_models=True)
