"""Checks of Temporal: its connection, namespace, workers and clock."""

import asyncio
from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, PollWorkflowTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from proctor.service.doctor.findings import Finding, of_problem
from proctor.settings.config import GreenAgentConfig
from proctor.storage.fleet import ACTIVITIES, WORKFLOWS, count_workers, find_fleet_problem, last_polls
from proctor.storage.namespaces import find_missing_attributes
from proctor.storage.temporal import TemporalUnreachableError, connect, refusal_by_temporal
from proctor.workflows.names import SEARCH_ATTRIBUTES
from purple_sdk.processes.together import do_all
from purple_sdk.protocol.problems import Problem

_SECONDS = timedelta(seconds=5)
_SHORT_RETENTION = timedelta(days=3)
_OWN_QUEUE = "proctor-doctor"
"""A task queue without workers. The doctor polls it, and reads the time of the poll by Temporal's clock."""

SKEW = 2.0
"""Seconds that clocks may differ. Fences depend only on Temporal's clock, but results and logs mix times of all clocks.
"""


async def look_at_temporal(config: GreenAgentConfig) -> list[Finding]:
    """Check Temporal: connection, namespace, workers and clock. Without a connection, report only that problem."""
    where = f"{config.temporal_address}, namespace {config.temporal_namespace}"
    try:
        client = await connect(config)
    except TemporalUnreachableError as error:
        return [of_problem("temporal", Problem.of(error))]
    try:
        described = await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=client.namespace), timeout=_SECONDS
        )
    except RPCError as error:
        return [of_problem("temporal", refusal_by_temporal(config, error))]
    retention = described.config.workflow_execution_retention_ttl.ToTimedelta()
    return [
        Finding("temporal", "ok", f"It answers at {where}."),
        _of_retention(retention),
        *await do_all(
            _of_search_attributes(client),
            _of_workers(client, config),
            _of_clock(client),
            _of_models_queue(client, config),
        ),
    ]


def _of_retention(retention: timedelta) -> Finding:
    days = retention / timedelta(days=1)
    if retention < _SHORT_RETENTION:
        return Finding(
            "retention",
            "warning",
            f"Closed assessments can be reset, forked and replayed for {days:g} days, and no longer.",
            "Set AGENTBEATS_GREEN_TEMPORAL_RETENTION (P30D, say) for workers, or the namespace's own retention.",
        )
    return Finding("retention", "ok", f"Closed assessments stay for {days:g} days.")


async def _of_search_attributes(client: Client) -> Finding:
    try:
        missing = await find_missing_attributes(client, SEARCH_ATTRIBUTES, _SECONDS)
    except RPCError as error:
        if error.status in (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED):
            return Finding("search attributes", "skipped", "This Temporal doesn't say which there are; workers will.")
        return Finding("search attributes", "problem", f"Temporal doesn't say which there are ({error.message}).")
    if missing:
        names = ", ".join(key.name for key in missing)
        return Finding(
            "search attributes",
            "problem",
            f"The namespace lacks {names}.",
            "Start a worker: it makes them, or says by which commands an administrator does.",
        )
    return Finding("search attributes", "ok", f"All {len(SEARCH_ATTRIBUTES)} are there.")


async def _of_workers(client: Client, config: GreenAgentConfig) -> Finding:
    finding = await _of_queue(client, config.task_queue, WORKFLOWS, ("workers", ".", "Start one: `proctor worker`."))
    if finding.state == "ok" and (cause := await find_fleet_problem(client, config, _SECONDS)):
        return of_problem("workers", cause)
    return finding


async def _of_models_queue(client: Client, config: GreenAgentConfig) -> Finding:
    return await _of_queue(
        client,
        config.models_task_queue,
        ACTIVITIES,
        (
            "workers for models",
            ": characters and judges would wait.",
            "Start a worker with the same AGENTBEATS_GREEN_MODELS_TASK_QUEUE.",
        ),
    )


async def _of_queue(client: Client, queue: str, kind: TaskQueueType.ValueType, words: tuple[str, str, str]) -> Finding:
    """Check that a worker polls a queue; ``words`` are the part, the effect of a missing worker, and the remedy."""
    name, follows, remedy = words
    workers = await count_workers(client, queue, kind, _SECONDS)
    if not workers:
        return Finding(name, "problem", f"No worker polls the task queue {queue!r}{follows}", remedy)
    return Finding(name, "ok", f"{workers} at the task queue {queue!r}.")


async def _of_clock(client: Client) -> Finding:
    """Check Temporal's clock by the time that it records for a poll."""
    asking = asyncio.create_task(
        client.workflow_service.poll_workflow_task_queue(
            PollWorkflowTaskQueueRequest(
                namespace=client.namespace, task_queue=TaskQueue(name=_OWN_QUEUE), identity=client.identity
            ),
            timeout=_SECONDS,
        )
    )
    try:
        asked_at, seen = datetime.now(UTC), None
        while seen is None and datetime.now(UTC) - asked_at < _SECONDS:
            seen = (await last_polls(client, _OWN_QUEUE, WORKFLOWS, _SECONDS)).get(client.identity)
            await asyncio.sleep(0.05)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    if seen is None:
        return Finding("clock of Temporal", "skipped", "It doesn't say when it was asked.")
    return of_clock("Temporal", (seen - asked_at).total_seconds())


def of_clock(whose: str, ahead: float) -> Finding:
    """The finding on a clock that is ``ahead`` of this machine's clock by some seconds."""
    part = f"clock of {whose}"
    if abs(ahead) > SKEW:
        how = "ahead of" if ahead > 0 else "behind"
        return Finding(
            part,
            "warning",
            f"It is {abs(ahead):.1f} s {how} this machine's.",
            "Have NTP set both clocks (`timedatectl set-ntp true`).",
        )
    return Finding(part, "ok", f"It goes like this machine's, to {SKEW:g} s.")
