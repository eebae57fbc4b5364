"""Services beside the stack's own: a worker and a gateway with other settings, and two simulators that both know of."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from proctor.activities.simulation.keys import host_key
from purple_sdk.ues import AsyncUESClient, AsyncUESHost
from tests.programs import Process, module, read_address, read_line, running_beside
from tests.stack import Stack


@asynccontextmanager
async def services(
    stack: Stack, queue: str, environment: Mapping[str, str], over: Mapping[str, dict[str, str]]
) -> AsyncIterator[str]:
    """A worker and a gateway on task queues of their own; gives the gateway's address."""
    queues = {f"AGENTBEATS_GREEN_{name}": f"{name}-{queue}" for name in ("TASK_QUEUE", "MODELS_TASK_QUEUE")}
    known = {name: value for name, value in stack.local.make_environment().items() if value is not None}
    lean = {"AGENTBEATS_GREEN_CONTAINERS": "off", "AGENTBEATS_GREEN_WORKER_PROCESSES": "1"}
    shared = {**known, **queues, **lean, **environment}
    async with (
        running_beside(module("proctor", "worker"), {**shared, **over.get("worker", {})}) as worker,
        running_beside(module("proctor", "gateway", "--port", "0"), {**shared, **over.get("gateway", {})}) as gateway,
    ):
        assert "polling" in await asyncio.to_thread(read_line, worker)
        yield await asyncio.to_thread(read_address, gateway)


class Hosts:
    """Two simulators, and a gateway and a worker that know of both."""

    def __init__(self, secret: str, processes: dict[str, Process]) -> None:
        self._secret = secret
        self.processes = processes
        self.gateway = ""

    def of(self, ues: AsyncUESClient) -> str:
        """The simulator that a client speaks to."""
        return next(address for address in self.processes if ues.base_url.startswith(f"{address}/"))

    def signal(self, address: str, number: signal.Signals) -> None:
        os.kill(self.processes[address].pid, number)

    async def standing(self, address: str) -> list[str]:
        """What stands on a simulator."""
        async with AsyncUESHost(address, host_key(self._secret)) as host:
            return [simulation["simulation_id"] for simulation in (await host.list())["simulations"]]


@asynccontextmanager
async def two_hosts(
    stack: Stack, environment: Mapping[str, str] | None = None, over: Mapping[str, dict[str, str]] | None = None
) -> AsyncIterator[Hosts]:
    """Start two simulators, and a worker and a gateway with these settings (``services``) that know of both."""
    secret = stack.config.secret.get_secret_value()
    command = module("proctor", "ues", "--host", "127.0.0.1", "--port", "0")
    async with AsyncExitStack() as cleanup:
        started = [
            await cleanup.enter_async_context(running_beside(command, {"AGENTBEATS_GREEN_SECRET": secret}))
            for _ in range(2)
        ]
        hosts = Hosts(secret, {await asyncio.to_thread(read_address, host): host for host in started})
        known = {**(environment or {}), "AGENTBEATS_GREEN_UES_URL": " ".join(hosts.processes)}
        hosts.gateway = await cleanup.enter_async_context(services(stack, "hosts", known, over or {}))
        yield hosts
        for process in started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
