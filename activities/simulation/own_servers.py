"""Run a separate UES server process for each assessment. A command starts it; any server that follows the contract will
do.
"""

import asyncio
import os
import shlex
import socket
from collections.abc import Iterator
from weakref import WeakValueDictionary

import httpx
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.simulation.hosts import Claim, Content, SimulationGoneError, SimulationHost, Step, Stepped
from proctor.activities.simulation.keys import admin_key, reader_key
from proctor.activities.simulation.own_simulation import LeasedSimulation, OwnSimulation, labelled
from proctor.activities.simulation.server_process import ServerProcess, refuse_lower
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.guard import Guard
from purple_sdk.processes.ports import claim, is_free

_SETTING = "AGENTBEATS_GREEN_UES_COMMAND"
_STARTS_TRIED = 2
_PORTS_TRIED = 2000
_PORT_LOOKS, _PORT_PAUSE = 20, 0.05
_LONGEST_WORDS = 200
_FENCES_KEPT = 10_000


class OwnServers(SimulationHost):
    """The servers of this worker. They always end with the worker.

    A server of another worker isn't used: a simulation from there is restored here. Fences are compared within this
    worker: an attempt in another worker has another server, which is unknown to the participants of newer attempts.
    """

    def __init__(self, config: GreenAgentConfig, command: str, http: httpx.AsyncClient) -> None:
        self._config = config
        self._words = shlex.split(command)
        self._http = http
        self._host = "0.0.0.0" if config.ues_public_url else "127.0.0.1"
        self._served: dict[str, OwnSimulation] = {}
        self._ports: dict[int, socket.socket] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._guard: Guard | None = None
        self._fences: dict[str, int] = {}

    async def create(self, simulation_id: str, seed: int, fence: int) -> LeasedSimulation:
        """See ``SimulationHost``. A separate server makes its own ids, so the seed is not used. Fails finally as
        ``ServerFailed`` if the command can't be started, ends at once, or doesn't get healthy.
        """
        async with self._lock(simulation_id):
            refuse_lower(fence, self._find_fence(simulation_id))
            self._note_fence(simulation_id, fence)
            await self._end(simulation_id)
            return (await self._start(simulation_id, self._candidates())).leased(fence)

    async def claim(self, claim: Claim, content: Content) -> LeasedSimulation:
        """See ``SimulationHost``. If there is no server, one is started, at the participant's port if it is free.

        Fails finally as ``ServerFailed`` if the checkpoint is of another kind of simulator. The failure is temporary if
        the server can't be started, since the command has worked before.
        """
        async with self._lock(claim.simulation_id):
            if not claim.looks:
                refuse_lower(claim.fence, self._find_fence(claim.simulation_id))
            try:
                own = self._served_simulation(claim.simulation_id)
                async with own.lease.take(claim.fence, looks=claim.looks):
                    if claim.keep is not None and own.mark == claim.keep:
                        await own.look()
                    else:
                        await self._have_stand(own, claim, content)
            except SimulationGoneError:
                if claim.checkpoint is None:
                    raise
                refuse_lower(claim.fence, self._find_fence(claim.simulation_id))
                own = await self._start_again(claim, await content())
                async with own.lease.take(claim.fence, looks=claim.looks):
                    await self._have_stand(own, claim, content)
            self._note_fence(claim.simulation_id, claim.fence)
            return own.leased(None if claim.looks else claim.fence)

    async def step(self, claim: Claim, step: Step, content: Content) -> tuple[Stepped, bytes]:
        simulation = await self.claim(claim, content)
        stepped = await simulation.carry_out(step)
        return stepped, await simulation.checkpoint()

    async def end(self, simulation_id: str, fence: int) -> None:
        async with self._lock(simulation_id):
            refuse_lower(fence, self._find_fence(simulation_id))
            self._note_fence(simulation_id, fence)
            await self._end(simulation_id)

    async def find_holder(self, simulation_id: str) -> int:
        return self._find_fence(simulation_id) if simulation_id in self._served else 0

    def held(self) -> list[str]:
        return list(self._served)

    async def list_standing(self) -> dict[str, int]:
        return {simulation_id: self._find_fence(simulation_id) for simulation_id in self._served}

    def list_secrets(self, simulation_id: str) -> set[str]:
        served = self._served.get(simulation_id)
        return {served.participant_secret} if served else set()

    async def aclose(self) -> None:
        await asyncio.gather(*(self._end(simulation_id) for simulation_id in self.held()))
        if self._guard:
            await asyncio.to_thread(self._guard.dismiss)
            self._guard = None

    def _served_simulation(self, simulation_id: str) -> OwnSimulation:
        served = self._served.get(simulation_id)
        if served is None or served.server.exit_code is not None:
            raise SimulationGoneError(f"no server of simulation {simulation_id} runs in this worker")
        return served

    async def _have_stand(self, own: OwnSimulation, claim: Claim, content: Content) -> None:
        if claim.checkpoint is None:
            raise SimulationGoneError("the simulation under way is not there any more")
        if not await own.is_at_checkpoint(
            claim.checkpoint.sha256
        ):  # several judges may claim the server at the same time
            refuse_lower(claim.fence, self._find_fence(claim.simulation_id))
            # A restore takes several requests, between which holders of the key may act in the abandoned state.
            if is_given_up := own.is_open_to_participant and claim.issue != own.issue:
                await own.revoke_participant_key()
            await own.restore(await content())
            if is_given_up and own.is_open_to_participant:  # a checkpoint contains its keys
                await own.revoke_participant_key()
        await own.be_claimed(claim)

    async def _start_again(self, claim: Claim, content: bytes) -> OwnSimulation:
        label, _ = labelled(content)
        await self._end(claim.simulation_id)
        await self._until_free(label.port)
        try:
            return await self._start(claim.simulation_id, self._candidates(label.port))
        except ApplicationError as error:
            raise failures.SERVER_FAILED.passing(error.message) from None

    def _find_fence(self, simulation_id: str) -> int:
        return self._fences.get(simulation_id, 0)

    def _note_fence(self, simulation_id: str, fence: int) -> None:
        self._fences[simulation_id] = max(fence, self._fences.pop(simulation_id, 0))
        while len(self._fences) > _FENCES_KEPT:
            self._fences.pop(next(iter(self._fences)))

    def _lock(self, simulation_id: str) -> asyncio.Lock:
        """Return the lock for starting, ending or restoring a simulation's server; it exists while it is in use."""
        return self._locks.setdefault(simulation_id, asyncio.Lock())

    def _candidates(self, first: int | None = None) -> Iterator[int]:
        base = self._config.ues_base_port
        for port in [*([first] if first else []), *range(base, min(base + _PORTS_TRIED, 65536))]:
            if port not in self._ports and is_free(self._host, port):
                yield port

    async def _until_free(self, port: int) -> None:
        for _ in range(_PORT_LOOKS):
            if is_free(self._host, port):
                return
            await asyncio.sleep(_PORT_PAUSE)

    async def _start(self, simulation_id: str, ports: Iterator[int]) -> OwnSimulation:
        starts = 0
        for port in ports:
            if (claimed := claim(port)) is None:
                continue
            self._ports[port] = claimed
            try:
                served = await self._start_on_port(simulation_id, port)
            except BaseException:
                self._let_go(port)
                raise
            if isinstance(served, OwnSimulation):
                self._served[simulation_id] = served
                return served
            self._let_go(port)
            # A port that is taken by now explains the server's end. If it is free, there is another reason.
            starts += is_free(self._host, port)
            if starts >= _STARTS_TRIED:
                raise failures.SERVER_FAILED.final(served)
        raise failures.SERVER_FAILED.final(
            f"The UES server of {_SETTING} found no free port from {self._config.ues_base_port} "
            "(AGENTBEATS_GREEN_UES_BASE_PORT) up."
        )

    async def _start_on_port(self, simulation_id: str, port: int) -> OwnSimulation | str:
        """Start a server on a port; return a sentence if it ended before it was healthy."""
        secret = self._config.secret.get_secret_value()
        key = admin_key(secret, simulation_id)
        words = [word.replace("{host}", self._host).replace("{port}", str(port)) for word in self._words]
        try:
            secrets = [key, reader_key(secret, simulation_id)]
            self._guard = self._guard or Guard()
            server = await ServerProcess.serve(words, _environment(key), self._guard, secrets)
        except OSError as error:
            raise failures.SERVER_FAILED.final(
                f"The UES server of {_SETTING} can't be started: {words[0]}: {error.strerror}."
            ) from None
        fence = self._find_fence(simulation_id)
        simulation = OwnSimulation(self._config, simulation_id, port, self._http, server, fence)
        seconds = self._config.ues_start_timeout
        try:
            if await server.until(simulation.is_ready, seconds):
                if lacking := await simulation.find_lacking():
                    raise failures.SERVER_FAILED.final(
                        f"The UES server of {_SETTING} lacks what assessments need: {' and '.join(lacking)}. "
                        "UES 0.1 lacks it, too: use a later version, or unset the setting for the embedded simulator."
                    )
                return simulation
        except TimeoutError:
            await server.end()
            raise failures.SERVER_FAILED.final(
                f"The UES server of {_SETTING} isn't ready after {seconds:g} s "
                f"(AGENTBEATS_GREEN_UES_START_TIMEOUT): it must answer GET /health on its port with 200, and accept "
                f"UES_ADMIN_KEY as its admin key.{await _last_output(server)}"
            ) from None
        except BaseException:
            await asyncio.shield(server.end())
            raise
        output = await _last_output(server)
        await server.end()
        return f"The UES server of {_SETTING} ended with exit code {server.exit_code} before it was healthy.{output}"

    async def _end(self, simulation_id: str) -> None:
        if served := self._served.pop(simulation_id, None):
            await served.server.end()
            self._let_go(served.port)

    def _let_go(self, port: int) -> None:
        self._ports.pop(port).close()


def _environment(key: str) -> dict[str, str]:
    """Return the worker's environment without our settings, which include the deployment's secret."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AGENTBEATS_")}
    inherited.pop("UES_HOST_KEY", None)
    return {**inherited, "PYTHONUNBUFFERED": "1", "UES_ADMIN_KEY": key}


async def _last_output(server: ServerProcess) -> str:
    words = (await server.hear_last_words())[:_LONGEST_WORDS]
    return f" It said: {words}" if words else ""
