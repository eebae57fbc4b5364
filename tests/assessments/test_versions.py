"""A new version of the worker is deployed while an assessment runs: it ends on the version that it began with."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import SetWorkerDeploymentCurrentVersionRequest
from temporalio.client import Client
from temporalio.service import RPCError

from proctor.storage.temporal import connect
from purple_sdk.ues import AsyncUESClient
from tests.assessments.observers import running
from tests.assessments.scripts import ask_ben, idle
from tests.histories.reading import runs_of
from tests.programs import module, running_beside
from tests.stack import Stack, assess, running_stack, serving
from tests.work import only_nightly


@pytest.fixture(scope="module")
def versioned(scenarios_dir: Path) -> Iterator[Stack]:
    """An evaluator whose worker is version one."""
    with running_stack(scenarios_dir, environment={"AGENTBEATS_GREEN_WORKER_BUILD_ID": "one"}) as stack:
        yield stack


@asynccontextmanager
async def another_worker(stack: Stack, build_id: str) -> AsyncIterator[None]:
    """A second worker, of another version."""
    known = stack.local.make_environment().items()
    environment = {name: value for name, value in known if value is not None}
    environment["AGENTBEATS_GREEN_WORKER_BUILD_ID"] = build_id
    with (stack.local.logs / f"worker-{build_id}.log").open("w") as log:
        async with running_beside(module("proctor", "worker"), environment, stdout=log, stderr=log):
            yield


async def make_current(client: Client, stack: Stack, build_id: str) -> None:
    """Send new assessments to a version, as soon as Temporal knows it."""
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace, deployment_name=stack.config.task_queue, build_id=build_id, identity="the test"
    )
    while True:
        try:
            await client.workflow_service.set_worker_deployment_current_version(request)
            return
        except RPCError:
            await asyncio.sleep(0.2)


async def versions_of(client: Client, task_id: str) -> set[str]:
    """The versions that an assessment was worked on by."""
    return {
        event.workflow_task_completed_event_attributes.deployment_version.build_id
        for run in await runs_of(client, task_id)
        for event in run.events
        if event.HasField("workflow_task_completed_event_attributes")
    }


@only_nightly
async def test_an_assessment_ends_on_the_version_that_it_began_with(versioned: Stack) -> None:
    client = await connect(versioned.config)
    await make_current(client, versioned, "one")
    is_deployed = asyncio.Event()

    async def script(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        await ask_ben(ues)
        await is_deployed.wait()

    async with serving(script) as url, running(versioned, url, "tiny", max_turns=3) as before:
        await before.until("turn_started")
        async with another_worker(versioned, "two"):
            await make_current(client, versioned, "two")
            async with serving(idle) as other_url:
                after = await assess(versioned, other_url, "tiny", max_turns=1)
            is_deployed.set()
            ended = await before.end()
    assert (ended.state, after.state) == ("completed", "completed")
    assert after.results is not None
    assert await versions_of(client, before.task_id) == {"one"}
    assert await versions_of(client, after.results.assessment_id) == {"two"}
