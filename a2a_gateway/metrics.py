"""The metrics of the gateway, including counts that it reads from Temporal."""

from contextlib import suppress
from datetime import timedelta

from prometheus_client import Counter, Gauge, Histogram
from temporalio.api.workflowservice.v1 import CountWorkflowExecutionsRequest
from temporalio.client import Client
from temporalio.converter import DataConverter

from proctor.observing.metrics import SECONDS
from proctor.workflows.names import ASSESSMENT_WORKFLOW

REQUESTS = Counter("proctor_gateway_requests", "Requests to the gateway, by the status of the answer.", ["status"])
REQUEST_SECONDS = Histogram(
    "proctor_gateway_request_seconds",
    "How long the gateway takes for a request; streams of events don't count.",
    buckets=SECONDS,
)
STREAMS = Gauge("proctor_gateway_streams", "Streams of updates that callers listen to.")
ASSESSMENTS = Gauge(
    "proctor_assessments",
    "Assessments that Temporal has, by state; those that are over for as long as it keeps them.",
    ["state"],
)
TEMPORAL_UP = Gauge("proctor_temporal_up", "Whether Temporal answers the gateway: 1 or 0.")
WORKERS = Gauge("proctor_workers_polling", "Processes that ask Temporal for work at the task queue, as it knows them.")

STATES = ("running", "completed", "failed", "canceled", "terminated", "timedout", "continuedasnew")
"""Temporal's names for the states of an execution, without underscores."""

_SECONDS = 2.0


async def count_assessments(client: Client) -> dict[str, int]:
    """Count assessments by state, one of ``STATES``. Raises RPCError if Temporal doesn't answer."""
    asked = CountWorkflowExecutionsRequest(
        namespace=client.namespace, query=f"WorkflowType = '{ASSESSMENT_WORKFLOW}' GROUP BY ExecutionStatus"
    )
    answer = await client.workflow_service.count_workflow_executions(asked, timeout=timedelta(seconds=_SECONDS))
    counts: dict[str, int] = {}
    for group in answer.groups:
        with suppress(IndexError, ValueError):
            (state,) = await DataConverter.default.decode(list(group.group_values), [str])
            counts[str(state).lower().replace("_", "")] = group.count
    return counts
