"""The real workflows, the real gateway and Temporal's dev server; only the activities are scripted."""

import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from a2a.client import Client as Caller
from temporalio.client import Client

from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from proctor.storage.temporal import connect
from tests.a2a_gateway.callers import sdk_client
from tests.a2a_gateway.conftest import Gateway, running_gateway, start_temporal
from tests.programs import end
from tests.workflows.scripted import ScriptedActivities
from tests.workflows.scripted_runs import ScriptedRun


@pytest.fixture(scope="session")
def temporal() -> Iterator[str]:
    address, process = start_temporal()
    yield address
    end(process, signal.SIGKILL)  # after a hundred workflows an orderly end takes it two seconds of work


def settings(temporal: str, folder: Path) -> GreenAgentConfig:
    """Of an evaluator that keeps its things in a folder, and has a task queue of its own."""
    return GreenAgentConfig(
        host="127.0.0.1",
        port=0,
        temporal_address=temporal,
        storage_url=str(folder / "storage"),
        task_queue=f"workflows-{folder.name}",
        connect_timeout=60,
    )


@pytest.fixture
def config(temporal: str, tmp_path: Path) -> GreenAgentConfig:
    return settings(temporal, tmp_path)


@pytest_asyncio.fixture
async def client(config: GreenAgentConfig) -> Client:
    return await connect(config)


@pytest_asyncio.fixture
async def gateway(config: GreenAgentConfig) -> AsyncIterator[Gateway]:
    async with running_gateway(config) as running:
        yield running


@pytest_asyncio.fixture
async def caller(gateway: Gateway) -> AsyncIterator[Caller]:
    async with sdk_client(gateway.url, streaming=False) as connected:
        yield connected


@pytest_asyncio.fixture
async def activities(client: Client, config: GreenAgentConfig) -> AsyncIterator[ScriptedActivities]:
    """A running worker's activities."""
    scripted = ScriptedActivities(BlobStore(config.storage_url))
    async with scripted.worker(client, config.task_queue):
        yield scripted


@pytest_asyncio.fixture
async def scripted(client: Client, config: GreenAgentConfig) -> AsyncIterator[ScriptedRun]:
    """A running worker's activities, for campaigns."""
    run = ScriptedRun(config)
    async with run.worker(client, config.task_queue):
        yield run
