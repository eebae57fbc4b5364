"""Billable actions are counted from histories as Temporal Cloud's rules say."""

import gzip
from collections import Counter

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from benchmarks.bill.actions import billable_actions
from benchmarks.bill.playing import requests_and_actions
from tests.histories.record import FOLDER


def recorded(name: str) -> Counter[str]:
    text = gzip.decompress((FOLDER / "0.2" / f"{name}.json.gz").read_bytes()).decode()
    return billable_actions(WorkflowHistory.from_json(name, text).events)


def event(kind: str, number: int = 1) -> HistoryEvent:
    return HistoryEvent(event_id=number, event_type=EventType.Value(f"EVENT_TYPE_{kind}"))


def test_an_assessment_is_billed_for_what_it_has_others_do() -> None:
    """Its start, ten activities, the timer of its deadline, two polls of its updates, three changes of search
    attributes, and two steps that had local activities.
    """
    assert recorded("completed") == {
        "start": 1,
        "activity": 10,
        "timer": 1,
        "update": 2,
        "search_attributes": 3,
        "markers": 2,
    }


def test_a_run_that_goes_on_is_started_anew() -> None:
    runs = [recorded(f"continued-{number}") for number in (1, 2, 3)]
    assert [run["start"] for run in runs] == [1, 1, 1]


def test_a_signal_that_starts_its_workflow_is_one_action() -> None:
    """The context's queue had two assessments join and leave; the first one's joining started it."""
    assert recorded("queue") == {"start": 1, "signal": 3, "timer": 1}


@pytest.mark.parametrize(("attempts", "retries"), [(1, {}), (4, {"activity_retry": 3})])
def test_attempts_beyond_the_first_are_actions(attempts: int, retries: dict[str, int]) -> None:
    started = event("ACTIVITY_TASK_STARTED")
    started.activity_task_started_event_attributes.attempt = attempts
    assert billable_actions([started]) == retries


def test_markers_of_one_step_are_one_action() -> None:
    markers = [event("MARKER_RECORDED", number) for number in (5, 6, 9)]
    for marker, step in zip(markers, (4, 4, 8), strict=True):
        marker.marker_recorded_event_attributes.workflow_task_completed_event_id = step
    assert billable_actions(markers) == {"markers": 2}


def test_what_the_sdk_writes_for_versions_costs_nothing() -> None:
    found = []
    for names in ({"TemporalChangeVersion"}, {"TemporalChangeVersion", "ProctorScore"}):
        upsert = event("UPSERT_WORKFLOW_SEARCH_ATTRIBUTES")
        fields = upsert.upsert_workflow_search_attributes_event_attributes.search_attributes.indexed_fields
        for name in names:
            fields[name].CopyFrom(Payload())
        found.append(billable_actions([upsert])["search_attributes"])
    assert found == [0, 1]


def test_ends_and_memos_cost_nothing() -> None:
    kinds = ("WORKFLOW_TASK_SCHEDULED", "WORKFLOW_PROPERTIES_MODIFIED", "WORKFLOW_EXECUTION_COMPLETED", "TIMER_FIRED")
    assert billable_actions(event(kind) for kind in kinds) == {}


def test_what_a_server_counts_is_read_for_its_front_end_and_one_namespace() -> None:
    metrics = """\
# HELP action action counter
# TYPE action counter
action{action_type="grpc_StartWorkflowExecution",namespace="default",operation="a",service_name="frontend"} 3
action{action_type="grpc_StartWorkflowExecution",namespace="default",operation="b",service_name="frontend"} 1
action{action_type="grpc_StartWorkflowExecution",namespace="temporal_system",operation="a",service_name="frontend"} 9
# TYPE service_requests counter
service_requests{namespace="default",operation="PollWorkflowTaskQueue",service_name="frontend"} 7
service_requests{namespace="default",operation="PollWorkflowTaskQueue",service_name="matching"} 70
"""
    requests, actions = requests_and_actions(metrics)
    assert requests == {"PollWorkflowTaskQueue": 7}
    assert actions == {"grpc_StartWorkflowExecution": 4}
