"""Simulations on several servers of the embedded simulator.

A new simulation goes to the server with the fewest simulations, and the workflow remembers this server. If a lost
server (``proctor.activities.simulation.moving``) comes back, its simulation has the lower fence, and the worker's
cleanup ends that simulation.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import httpx

from proctor.activities.simulation.addresses import known_addresses, named_addresses
from proctor.activities.simulation.hosts import SimulationHost
from proctor.activities.simulation.shared_host import SharedHost
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobStore
from purple_sdk.processes.together import do_all
from purple_sdk.ues import OvertakenError, UESConnectionError, UESError, UESTimeoutError

T = TypeVar("T")

_LOOK_SECONDS = 2.0
"""Seconds in which a server must list its simulations; a slower one is not chosen."""

_REMEMBERED = 5.0
"""Seconds for which a choice of a server counts as a simulation, since the simulation may not exist yet."""


class SharedHosts(SharedHost):
    """The simulations of several servers of the embedded simulator. The first server has the simulations without an
    address.
    """

    def __init__(self, config: GreenAgentConfig, http: httpx.AsyncClient, store: BlobStore) -> None:
        super().__init__(config, http, store, named_addresses(config)[0])
        self._chosen: list[tuple[float, str]] = []

    def at(self, address: str | None) -> SharedHost:
        """Return one server's simulations. Without an address, return the first server's: assessments that began when
        there was only one server have no address.
        """
        return SharedHost(self._config, self._http, self._store, address or named_addresses(self._config)[0])

    async def choose(self, but: str | None = None) -> str | None:
        addresses = [address for address in await known_addresses(self._config) if address != but]
        loads = await do_all(*map(self._measure_load, addresses))
        answering = [(load, random.random(), at) for load, at in zip(loads, addresses, strict=True) if load is not None]
        if not answering:
            return None
        *_, chosen = min(answering)
        self._chosen.append((time.monotonic(), chosen))
        return chosen

    async def answers(self, address: str | None) -> bool:
        return await self._measure_load(address) is not None

    async def parts(self) -> dict[str, SimulationHost]:
        return {address: self.at(address) for address in await known_addresses(self._config)}

    async def end(self, simulation_id: str, fence: int) -> None:
        """End the simulation on any server. A server that is away is left to the cleanup, unless all servers are
        away.
        """
        await self._ask_all(lambda host: host.end(simulation_id, fence))

    async def find_holder(self, simulation_id: str) -> int:
        fences = await self._ask_all(lambda host: host.find_holder(simulation_id))
        return max((fence for _, fence in fences), default=0)

    async def list_standing(self) -> dict[str, int]:
        """List the simulations of all servers. If a simulation is on two servers, the one with the lower fence is
        outdated and is ended.
        """
        lists = await self._ask_all(lambda host: host.list_standing())
        standing: dict[str, int] = {}
        for _, held in lists:
            for simulation_id, fence in held.items():
                standing[simulation_id] = max(fence, standing.get(simulation_id, 0))
        for host, held in lists:
            for simulation_id, fence in held.items():
                if fence < standing[simulation_id]:
                    with suppress(UESConnectionError, UESTimeoutError, OvertakenError):
                        await host.end(simulation_id, fence)
        return standing

    async def _ask_all(self, question: Callable[[SharedHost], Awaitable[T]]) -> list[tuple[SharedHost, T]]:
        """Return each server with its answer. Errors are raised, unless only some servers are away or aren't ours."""
        hosts = [self.at(address) for address in await known_addresses(self._config)]
        outcomes = await asyncio.gather(*map(question, hosts), return_exceptions=True)
        problems = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        for problem in problems:
            is_one_servers = isinstance(problem, UESError) and not isinstance(problem, OvertakenError)
            if not is_one_servers or len(problems) == len(outcomes):
                raise problem
        answered = zip(hosts, outcomes, strict=True)
        return [(host, outcome) for host, outcome in answered if not isinstance(outcome, BaseException)]

    async def _measure_load(self, address: str | None) -> int | None:
        """Return how many simulations a server has or will soon have. None if the server doesn't answer, or refuses
        us.
        """
        now = time.monotonic()
        self._chosen = [(at, chosen) for at, chosen in self._chosen if now - at < _REMEMBERED]
        coming = sum(chosen == address for _, chosen in self._chosen)
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                return len(await self.at(address).list_standing()) + coming
        except (UESError, TimeoutError):
            return None
