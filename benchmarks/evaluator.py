"""The measured evaluator: every service and every participant is a separate process on this machine."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import psutil
from temporalio.client import Client, WorkflowExecution, WorkflowHistory

from proctor.client.api import assessment_request
from proctor.client.caller import AssessmentCall, Ended
from proctor.common.settings import LOOPBACK
from proctor.local.stack import LocalStack, Ports, answers
from proctor.service.supervisor import Service, Supervisor
from proctor.settings.config import GreenAgentConfig
from proctor.storage.temporal import connect
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.results import AssessmentResults
from tests.openai_endpoint import OpenAIEndpoint
from tests.stack import SCENARIOS

SLOW_SECONDS = 60.0
"""How long the slow participant takes for a turn."""

SCENARIO = "email_triage_basic"

BASELINES = {"email_triage_basic": "triage", "reschedule_day": "reschedule"}
"""The rule-based agent of each shipped scenario."""

_OWN = ("instant", "slow")
"""Our own participants, which do nothing (``benchmarks.idle_agent``)."""

PROCESSES = {"worker": "worker", "temporal": "Temporal", "ues": "simulator", "gateway": "gateway"}
"""The evaluator's processes and their names in tables; participants are separate."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def cpu_seconds(pid: int) -> float:
    """Return the seconds of processor time that a process and its children, including ended ones, have used."""
    used = 0.0
    process = psutil.Process(pid)
    for member in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            times = member.cpu_times()
            used += times.user + times.system + times.children_user + times.children_system
    return used


def resident(pid: int) -> int:
    """The memory of a process and its children, in bytes, with shared memory counted once (PSS); 0 if it has ended."""
    size = 0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            with suppress(OSError, psutil.NoSuchProcess, StopIteration):
                lines = Path(f"/proc/{member.pid}/smaps_rollup").read_text().splitlines()
                size += next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return size


@dataclass(frozen=True)
class Evaluator:
    """A running evaluator.

    Attributes:
        client: the client of the evaluator's Temporal.
        metrics_url: the address of Temporal's metrics.
        agents: the participants' addresses by their names.
        endpoint: the model that characters and judges ask.
    """

    local: LocalStack
    supervisor: Supervisor
    client: Client
    metrics_url: str
    agents: dict[str, str]
    endpoint: OpenAIEndpoint

    async def assess(self, scenario: str, agent: str, turns: int, seed: int, *, offline: bool = True) -> float:
        """Play one assessment to its end.

        Returns:
            Seconds from the request to the last event of its stream.

        Raises:
            SystemExit: it did not complete, or had another number of turns.
        """
        request = assessment_request(self.agents[agent], scenario, seed, offline, turns)
        began = time.perf_counter()
        async with AssessmentCall(self.local.gateway_url, request) as call:
            async for event in call.events():
                if isinstance(event, Ended):
                    took = time.perf_counter() - began
                    played = AssessmentResults.model_validate_json(event.results).turns_taken if event.results else 0
                    if event.state != "completed" or played > turns:
                        raise SystemExit(
                            f"{scenario} with {agent} {event.state} after {played} turns: {event.sentence}"
                        )
                    return took
        raise SystemExit("the stream ended without an end")

    def cpu(self) -> dict[str, float]:
        return {name: cpu_seconds(pid) for name, pid in self.pids().items()}

    async def watch_memory(self, peaks: dict[str, int]) -> None:
        """Note the most memory of each process with its children, in bytes, until this is cancelled."""
        while True:
            for name, pid in self.pids().items():
                peaks[name] = max(peaks.get(name, 0), await asyncio.to_thread(resident, pid))
            await asyncio.sleep(0.5)

    def pids(self) -> dict[str, int]:
        names = [*PROCESSES, *self.agents]
        return {PROCESSES.get(n, n): pid for n in names if (pid := self.supervisor.find_pid(n)) is not None}

    async def ended_workflows(self, but: set[str], least: int = 0) -> list[WorkflowExecution]:
        """Wait until no workflow is running, and return the runs of all workflows except some.

        Args:
            but: the ids of the runs to leave out.
            least: the number of runs to wait for, since the list lags.
        """
        while True:
            ended = [run async for run in self.client.list_workflows() if run.run_id not in but]
            if len(ended) >= least and all(run.close_time for run in ended):
                return ended
            await asyncio.sleep(0.1)

    async def history(self, run: WorkflowExecution) -> WorkflowHistory:
        return await self.client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history()


@asynccontextmanager
async def evaluator(
    environment: dict[str, str] | None = None,
    worker_processes: int | None = 1,
    agents: Sequence[str] = ("instant", "slow", *BASELINES.values()),
    *,
    takes: str = f"{SLOW_SECONDS}-{SLOW_SECONDS}",
    scenarios: str = str(SCENARIOS),
    is_durable: bool = True,
) -> AsyncIterator[Evaluator]:
    """Start an evaluator; it leaves nothing behind.

    Args:
        environment: settings of its services, besides this process's own environment.
        worker_processes: the number of the worker's processes; None for one per core.
        takes: seconds that the slow participant takes for a turn, FROM-TO.
        is_durable: whether Temporal keeps its histories on the disk.
    """
    gateway, ues, temporal, ui, metrics, *ports = free_ports(5 + len(agents))
    with (
        tempfile.TemporaryDirectory(prefix="proctor-benchmark-", ignore_cleanup_errors=True) as folder,
        OpenAIEndpoint() as endpoint,
        patch.dict(os.environ, {**_models(endpoint.base_url), **(environment or {})}),
    ):
        local = LocalStack(
            config=GreenAgentConfig(host=LOOPBACK, scenarios_dir=scenarios, worker_processes=worker_processes),
            ports=Ports(gateway, ues, temporal, ui),
            state=Path(folder),
            is_durable=is_durable,
        )
        services = [
            replace(service, command=[*service.command, "--metrics-port", str(metrics)])
            if service.name == "temporal"
            else service
            for service in local.list_services()
        ]
        participants = [_agent(name, port, takes) for name, port in zip(agents, ports, strict=True)]
        supervisor = Supervisor([*services, *participants], local.logs, say=say)
        async with supervisor:
            await supervisor.start()
            config = local.config.model_copy(
                update={"temporal_address": local.temporal_address, "storage_url": str(local.state / "storage")}
            )
            yield Evaluator(
                local=local,
                supervisor=supervisor,
                client=await connect(config),
                metrics_url=f"http://{LOOPBACK}:{metrics}/metrics",
                agents={name: f"http://{LOOPBACK}:{port}" for name, port in zip(agents, ports, strict=True)},
                endpoint=endpoint,
            )


def _models(base_url: str) -> dict[str, str]:
    """Settings by which characters and judges ask a model at an address."""
    of = {
        f"AGENTBEATS_GREEN_{kind}_{setting}": value
        for kind in ("EVALUATION", "RESPONSE_GENERATOR")
        for setting, value in (("MODEL", "openai/scripted"), ("BASE_URL", base_url))
    }
    return {
        **of,
        "OPENAI_API_KEY": "none-is-needed",
        # An endpoint on this machine would get one request at a time; that limit is not measured here.
        "AGENTBEATS_GREEN_MODEL_REQUESTS_AT_ONCE": "64",
    }


def _agent(name: str, port: int, takes: str) -> Service:
    """A participant: a benchmark's, or one that comes with proctor."""
    module = ["benchmarks.idle_agent"] if name in _OWN else ["proctor", "agent", name]
    command = [sys.executable, "-m", *module, "--host", LOOPBACK, "--port", str(port)]
    ready = answers(f"http://{LOOPBACK}:{port}/.well-known/agent-card.json")
    return Service(name, command, ready, {"TAKES": takes if name == "slow" else "0-0"})
