"""A real Temporal dev server for all tests of the gateway; for each, a worker with the stand-in and gateways."""

import asyncio
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import uvicorn
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.common import SearchAttributeIndexedValueType as Kind
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from proctor.a2a_gateway.server import create_app
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from proctor.workflows.names import SEARCH_ATTRIBUTES
from purple_sdk.processes.http_clients import tls
from purple_sdk.processes.ports import free_ports
from tests.a2a_gateway.standin import StandIn, play
from tests.programs import Process, end, start
from tests.stack import FORGETS_SOON
from tests.waiting import PATIENCE, eventually

KIND_NAMES = {Kind.KEYWORD: "Keyword", Kind.DOUBLE: "Double"}
QUICK = (
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
    "history.transferProcessorMaxPollRPS=2000",
    "history.timerProcessorMaxPollRPS=2000",
    'history.timerProcessorMaxTimeShift="10ms"',
    *(f"{setting}={value}" for setting, value in FORGETS_SOON.items()),
)
"""Settings without which a dev server hands out at most twenty remote activities and timers a second, and deletes late.
"""
REQUEST: dict[str, Any] = {
    "participants": {"personal_assistant": "http://participant"},
    "config": {"scenario_id": "email_triage_basic", "seed": 12345},
}


def request(**script: Any) -> dict[str, Any]:
    """A good request whose config also says what the stand-in does."""
    return {**REQUEST, "config": {**REQUEST["config"], **script}}


def start_temporal(*options: str, port: int | None = None) -> tuple[str, Process]:
    """Start a dev server, that keeps nothing unless told to; its address, once it answers, and its process."""
    binary = shutil.which("temporal") or str(Path(sys.prefix) / "bin" / "temporal")
    port = port or free_ports(1)[0]
    attributes = [f"{key.name}={KIND_NAMES[key.indexed_value_type]}" for key in SEARCH_ATTRIBUTES]
    command = [binary, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port)]
    command += [part for attribute in attributes for part in ("--search-attribute", attribute)]
    command += [part for setting in QUICK for part in ("--dynamic-config-value", setting)]
    process = start([*command, "--log-level", "error", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"127.0.0.1:{port}"
    deadline = time.monotonic() + PATIENCE
    try:
        while not asyncio.run(_answers(address)):
            assert process.poll() is None, "the Temporal dev server ended at once"
            assert time.monotonic() < deadline, f"the Temporal dev server did not come up in {PATIENCE:g} s"
            time.sleep(0.2)
    except BaseException:
        end(process, signal.SIGKILL)
        raise
    return address, process


def stop_temporal(process: Process) -> None:
    end(process)


async def _answers(address: str) -> bool:
    try:
        await Client.connect(address)
    except RuntimeError:
        return False
    return True


@pytest.fixture(scope="session")
def temporal() -> Iterator[str]:
    address, process = start_temporal()
    yield address
    end(process, signal.SIGKILL)  # after hundreds of workflows an orderly end takes it a second of work


def make_config(temporal: str, folder: Path) -> GreenAgentConfig:
    """Settings of a gateway with a folder, and a task queue that is named after it."""
    return GreenAgentConfig(
        host="127.0.0.1",
        port=0,
        temporal_address=temporal,
        temporal_ui_url="http://ui.example",
        storage_url=str(folder / "storage"),
        task_queue=f"assessments-{folder.name}",
        connect_timeout=60,
    )


@pytest.fixture
def config(temporal: str, tmp_path: Path) -> GreenAgentConfig:
    return make_config(temporal, tmp_path)


@pytest_asyncio.fixture
async def client(config: GreenAgentConfig) -> Client:
    return await connect(config)


def standin_worker(client: Client, config: GreenAgentConfig, *others: type) -> Worker:
    return Worker(
        client,
        debug_mode=True,  # a busy machine is no deadlock
        task_queue=config.task_queue,
        build_id="tests",  # the SDK would read the code of every module for one
        workflows=[StandIn, *others],
        activities=[play],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )


@pytest_asyncio.fixture
async def worker(client: Client, config: GreenAgentConfig) -> AsyncIterator[Worker]:
    async with standin_worker(client, config) as running:
        yield running


async def reset(client: Client, task_id: str) -> None:
    """What the Temporal UI's *Reset* does: a new run from the first step on."""
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace="default",
            workflow_execution=WorkflowExecution(workflow_id=task_id),
            workflow_task_finish_event_id=4,
            reason="once more",
            request_id="reset",
        )
    )


@dataclass(frozen=True)
class Gateway:
    """A running gateway: its address and an HTTP client for it."""

    url: str
    http: httpx.AsyncClient


@asynccontextmanager
async def running_gateway(
    config: GreenAgentConfig, factory: Callable[[], Awaitable[Client]] | None = None
) -> AsyncIterator[Gateway]:
    """A gateway in this process, over real HTTP."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = create_app(config.model_copy(update={"port": port}), factory or partial(connect, config))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup(sockets=[listener])
    await server.on_tick(0)
    url = f"http://127.0.0.1:{port}/"
    try:
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, verify=tls()) as http:
            yield Gateway(url, http)
    finally:
        await shut_down(server)
        listener.close()


async def shut_down(server: uvicorn.Server) -> None:
    """End a server as uvicorn does, but without its pauses, which are most of what many tests take."""
    for listening in server.servers:
        listening.close()
    state = server.server_state
    for connection in list(state.connections):
        connection.shutdown()
    with suppress(TimeoutError):
        await eventually(lambda: not state.connections and not state.tasks, 1)
    for task in state.tasks:
        task.cancel()


@pytest_asyncio.fixture
async def gateway(config: GreenAgentConfig) -> AsyncIterator[Gateway]:
    async with running_gateway(config) as running:
        yield running


@pytest_asyncio.fixture
async def more_gateways(config: GreenAgentConfig) -> AsyncIterator[Callable[[], Awaitable[Gateway]]]:
    """Starts further replicas."""
    async with AsyncExitStack() as stack:

        async def start() -> Gateway:
            return await stack.enter_async_context(running_gateway(config))

        yield start
