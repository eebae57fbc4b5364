"""The evaluator that is measured: every service and every participant a process of its own, on this machine."""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from temporalio.client import Client, WorkflowExecution, WorkflowHistory

from benchmarks.bill.reading import resident
from benchmarks.turns import agent_service, cpu_seconds, say, workers_of
from proctor.caller import AssessmentCall, Ended
from proctor.local import LocalStack, Ports
from proctor.settings import LOOPBACK
from proctor.supervisor import Service, Supervisor
from proctor_processes.ports import free_ports
from proctor_protocol.results import AssessmentResults
from proctor_settings.config import GreenAgentConfig
from proctor_storage.temporal import connect
from tests.openai_endpoint import OpenAIEndpoint
from tests.stack import SCENARIOS

SLOW_SECONDS = 60.0
"""How long the slow participant takes for a turn."""

BASELINES = {"email_triage_basic": "triage", "reschedule_day": "reschedule"}
"""The rule-based agent of each shipped scenario."""

PROCESSES = {"worker": "worker", "temporal": "Temporal", "ues": "simulator", "gateway": "gateway"}
"""The evaluator's processes, and what tables call them; participants are beside them."""


@dataclass(frozen=True)
class Evaluator:
    """What is running.

    Attributes:
        client: of its Temporal. metrics_url: where its Temporal tells what it counts. agents: the participants'
        addresses by their names; ``endpoint`` is the model that characters and judges ask.
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
            SystemExit: it did not complete, or had other turns.
        """
        request = {
            "participants": {"personal_assistant": self.agents[agent]},
            "config": {"scenario_id": scenario, "seed": seed, "offline": offline, "max_turns": turns},
        }
        began = time.perf_counter()
        async with AssessmentCall(self.local.gateway_url, json.dumps(request)) as call:
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
        """Seconds of processor time of every process so far."""
        return {name: cpu_seconds(pid) for name, pid in self._pids().items()}

    def worker_processes(self) -> int:
        """How many processes its worker has work."""
        return len(workers_of(self._pids()["worker"])[1:]) or 1

    async def watch_memory(self, peaks: dict[str, int]) -> None:
        """Note the most memory that every process had with its children, in bytes, until this is cancelled."""
        while True:
            for name, pid in self._pids().items():
                peaks[name] = max(peaks.get(name, 0), await asyncio.to_thread(resident, pid))
            await asyncio.sleep(0.5)

    def _pids(self) -> dict[str, int]:
        names = [*PROCESSES, *self.agents]
        return {PROCESSES.get(n, n): pid for n in names if (pid := self.supervisor.find_pid(n)) is not None}

    async def ended_workflows(self, but: set[str], least: int = 0) -> list[WorkflowExecution]:
        """Every workflow's runs but some (by run id), once none is running any more.

        Args:
            but: the run ids. least: the number to wait for, since the list lags.
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
    environment: dict[str, str] | None = None, worker_processes: int | None = 1
) -> AsyncIterator[Evaluator]:
    """Start one in a temporary folder; nothing of it is left afterwards.

    Args:
        environment: settings of its services, beside this process's own environment.
        worker_processes: of its worker; None is as many as cores.
    """
    gateway, ues, temporal, ui, metrics, *ports = free_ports(9)
    names = ("instant", "slow", *BASELINES.values())
    with (
        tempfile.TemporaryDirectory(prefix="proctor-bill-", ignore_cleanup_errors=True) as folder,
        OpenAIEndpoint() as endpoint,
        patch.dict(os.environ, {**_models(endpoint.base_url), **(environment or {})}),
    ):
        local = LocalStack(
            config=GreenAgentConfig(host=LOOPBACK, scenarios_dir=str(SCENARIOS), worker_processes=worker_processes),
            ports=Ports(gateway, ues, temporal, ui),
            state=Path(folder),
            is_durable=True,
        )
        services = [
            replace(service, command=[*service.command, "--metrics-port", str(metrics)])
            if service.name == "temporal"
            else service
            for service in local.list_services()
        ]
        agents = [_agent(name, port) for name, port in zip(names, ports, strict=True)]
        supervisor = Supervisor([*services, *agents], local.logs, say=say)
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
                agents={name: f"http://{LOOPBACK}:{port}" for name, port in zip(names, ports, strict=True)},
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
        # An endpoint on this machine would get one request at a time, which is not what is measured here.
        "AGENTBEATS_GREEN_MODEL_REQUESTS_AT_ONCE": "64",
    }


def _agent(name: str, port: int) -> Service:
    """A participant: one of the benchmarks', or one that comes with proctor."""
    service = agent_service(f"{name}_agent", port, {"TAKES": f"{SLOW_SECONDS}-{SLOW_SECONDS}"})
    if name not in BASELINES.values():
        return replace(service, name=name)
    command = [sys.executable, "-m", "proctor", "agent", name, "--host", LOOPBACK, "--port", str(port)]
    return replace(service, name=name, command=command)
