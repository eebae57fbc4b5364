"""A fleet, of which any process is killed at any moment: two gateways behind a proxy, three workers of two processes
each, two simulators, the store in S3.
"""

import asyncio
import math
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil

from proctor.activities.simulation.keys import host_key
from proctor.local.stack import LocalStack, Ports
from proctor.service.supervisor import Service, Supervisor
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.ports import free_ports
from purple_sdk.ues import AsyncUESHost
from tests.chaos.moments import Moments, Seen, listening_post, proxy
from tests.chaos.rehearsals import Recovery, killed_at, undisturbed
from tests.chaos.services import Services, loop_of_its_own, relay, serving_models, write_scenario
from tests.chaos.table import table
from tests.object_stores import BUCKET, s3

PROCESSES = ("worker", "worker process", "simulator", "simulator for good", "gateway", "participant", "temporal")
"""What is killed: a worker with all its processes, or that one process of it, which is at work; the simulator that the
assessment is on, which comes back at once, or not until the assessment is over; the gateway that the caller is at.
"""

_WORKERS = ("worker", "worker-2", "worker-3")
_GATEWAYS = ("gateway", "gateway-2")
_SIMULATORS = ("ues", "ues-2")


class Fleet(Services):
    """A running fleet."""

    front: str
    simulators: dict[str, str]
    """Where each simulator is, without a proxy."""
    away: set[str]
    """Simulators that nobody reaches."""

    @property
    def gateway_url(self) -> str:
        return self.front

    async def kill_process(self, process: str, task_id: str, seen: Seen) -> None:
        """Kill one of ``PROCESSES``: the one that is at it."""
        if process.startswith("worker"):
            name, pid = await self._process_at(task_id, seen)
            if process == "worker":
                self.kill(name)
            else:
                _kill(pid)
        elif process.startswith("simulator"):
            name = await self.simulator_of(task_id)
            if process != "simulator":
                self.away.add(name)
            self.kill(name)
        elif process == "gateway":
            self.kill(max(_GATEWAYS, key=self._connections))
        else:
            self.kill("agent" if process == "participant" else process)

    async def simulator_of(self, task_id: str) -> str:
        """The simulator that an assessment is on; any, before and after it is on one."""
        for name, address in self.simulators.items():
            async with AsyncUESHost(address, host_key(self.config.secret.get_secret_value())) as host:
                if task_id in [simulation["simulation_id"] for simulation in (await host.list())["simulations"]]:
                    return name
        return random.choice(_SIMULATORS)

    def _connections(self, name: str) -> int:
        pid = self.pid(name)
        if pid is None:
            return -1
        return sum(connection.status == "ESTABLISHED" for connection in psutil.Process(pid).net_connections("tcp"))

    async def _process_at(self, task_id: str, seen: Seen) -> tuple[str, int]:
        """The worker whose activity it is, and the process of it."""
        parents = {pid: name for name in _WORKERS if (pid := self.pid(name))}
        children = {
            child.pid: pid
            for pid in parents
            for child in psutil.Process(pid).children()
            if _number_of(child) is not None
        }
        if seen.who != "participant":
            for pid, parent in children.items():
                with suppress(psutil.NoSuchProcess):
                    if seen.peer in {
                        connection.laddr.port
                        for connection in psutil.Process(pid).net_connections("tcp")
                        if connection.laddr
                    }:
                        return parents[parent], pid
        described = await (await self.client()).get_workflow_handle(task_id).describe()
        for activity in described.raw_description.pending_activities:
            supervisor, _, number = activity.last_worker_identity.partition("@")[0].partition(".")
            for pid in children:
                if supervisor == str(children[pid]) and number == str(_number_of(psutil.Process(pid))):
                    return parents[children[pid]], pid
        raise AssertionError(f"no worker is at {seen.what}")


def _number_of(process: psutil.Process) -> int | None:
    """Which of its worker's processes one is; None where it is none."""
    with suppress(psutil.Error):
        command = " ".join(process.cmdline())
        if "proctor.service.worker_process" in command:
            return int(command.partition('"number":')[2].split(",")[0])
    return None


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@contextmanager
def running_fleet() -> Iterator[Fleet]:
    """Start everything on free ports in a temporary folder; nothing of it is left afterwards."""
    moments = Moments()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fleet-", ignore_cleanup_errors=True)))
        write_scenario(folder)
        front, gateway, second_gateway, ues, second_ues, temporal, ui, agent, *others = free_ports(12)
        post, model_port, ues_proxy, second_ues_proxy = others
        front_url = f"http://127.0.0.1:{front}"
        config = GreenAgentConfig(
            host="127.0.0.1", scenarios_dir=str(folder / "scenarios"), worker_processes=2, card_url=f"{front_url}/"
        )
        local = LocalStack(config, Ports(gateway, ues, temporal, ui, agent), folder, is_durable=True)
        second = replace(local, ports=Ports(second_gateway, second_ues, temporal, ui, agent))
        store = stack.enter_context(s3())
        away: set[str] = set()
        simulators = {"ues": local.ues_url, "ues-2": second.ues_url}
        proxies = [
            stack.enter_context(
                proxy(moments, "simulator", url, port, lambda name=name: name in away)  # type: ignore[misc]
            )
            for (name, url), port in zip(simulators.items(), (ues_proxy, second_ues_proxy), strict=True)
        ]
        shared = {
            **store.environment,
            "AGENTBEATS_GREEN_STORAGE_URL": f"s3://{BUCKET}/storage",
            "AGENTBEATS_GREEN_ARCHIVE_URL": f"s3://{BUCKET}/archive",
            "AGENTBEATS_GREEN_UES_URL": " ".join(proxies),
            "AGENTBEATS_GREEN_UES_PUBLIC_URL": " ".join(simulators.values()),
        }
        for_workers = {**shared, **stack.enter_context(serving_models(moments, model_port))}
        asks_leave_at = stack.enter_context(listening_post(moments, post))
        each_service = list(_services(local, second, shared, for_workers, asks_leave_at))
        each_service.append(relay("front", f"127.0.0.1:{front}", f"127.0.0.1:{gateway}", f"127.0.0.1:{second_gateway}"))
        loop = stack.enter_context(loop_of_its_own())
        supervisor = Supervisor(each_service, local.logs, say=lambda _: None, longest_pause=0.2)
        fleet = Fleet(local, supervisor, loop)
        fleet.moments, fleet.each_service = moments, each_service
        fleet.front, fleet.simulators, fleet.away = front_url, simulators, away
        fleet.run(supervisor.__aenter__())
        try:
            fleet.run(supervisor.start())
            yield fleet
        finally:
            fleet.run(supervisor.stop())


def _services(
    local: LocalStack, second: LocalStack, shared: dict[str, str], for_workers: dict[str, str], asks_leave_at: str
) -> Iterator[Service]:
    of_second = {service.name: service for service in second.list_services()}
    for service in local.list_services():
        if service.name == "agent":
            command = [sys.executable, "-m", "tests.chaos.participant", str(local.ports.agent), asks_leave_at]
            yield replace(service, command=command)
        elif service.name == "worker":
            for name in _WORKERS:
                yield replace(service, name=name, environment={**service.environment, **for_workers})
        elif service.name == "gateway":
            for name, gateway in zip(_GATEWAYS, (service, of_second["gateway"]), strict=True):
                yield replace(gateway, name=name, environment={**gateway.environment, **shared})
        else:
            yield service
            if service.name == "ues":
                yield replace(of_second["ues"], name="ues-2")


def placements(phases: list[str], seed: int) -> list[tuple[str, str]]:
    """Every moment and process, in the order of a seed; each process comes once before any comes twice."""
    draw = random.Random(seed)
    by_process = {process: draw.sample(phases, len(phases)) for process in PROCESSES}
    return [(by_process[process][number], process) for number in range(len(phases)) for process in PROCESSES]


def play(phases: list[str], seed: int, minutes: float = math.inf) -> int:
    """Play until the time is over; the number of things that went wrong."""
    recoveries: dict[tuple[str, str], Recovery] = {}
    with running_fleet() as fleet:
        asyncio.run(_play(fleet, placements(phases, seed), time.monotonic() + 60 * minutes, recoveries))
    print(table(recoveries))
    problems = [f"{phase} × {process}: {r.problem}" for (phase, process), r in recoveries.items() if r.problem]
    lost, doubled = (sum(word in problem for problem in problems) for word in ("lost", "doubled"))
    print(f"{len(recoveries)} kills: {lost} lost, {doubled} doubled, {len(problems)} problems")
    print("\n".join(problems))
    return len(problems)


async def _play(
    fleet: Fleet, due: list[tuple[str, str]], until: float, recoveries: dict[tuple[str, str], Recovery]
) -> None:
    reference = await undisturbed(fleet)
    (await undisturbed(fleet)).require_same(reference)
    for phase, process in due:
        if time.monotonic() > until:
            return
        try:
            recovery = await killed_at(fleet, phase, process, reference)
        except AssertionError as error:
            recovery = Recovery(0.0, {}, str(error), 0)
        finally:
            fleet.away.clear()
        recoveries[phase, process] = recovery
        print(f"{phase} × {process}: {recovery}", file=sys.stderr, flush=True)
