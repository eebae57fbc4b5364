"""The simulations of a deployment, as activities use them.

An activity names its starting checkpoint and claims the simulation with its attempt's fence. The simulation is made or
restored if needed, and the activity returns the checkpoint that it reached. So retries, dead simulators, other workers
and resets need no special code.
"""

from dataclasses import replace

import httpx

from proctor.activities.attempts import failures
from proctor.activities.attempts.elapsed import counting_stops
from proctor.activities.attempts.fencing import own_fence
from proctor.activities.attempts.patience import patiently
from proctor.activities.plan import Plan
from proctor.activities.simulation import hosts
from proctor.activities.simulation.addresses import are_several
from proctor.activities.simulation.own_servers import OwnServers
from proctor.activities.simulation.shared_host import SharedHost
from proctor.activities.simulation.shared_hosts import SharedHosts
from proctor.activities.simulation.shown import Shown
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import BlobRef, BlobStore
from purple_sdk.ues import UESConnectionError


def connect_simulations(config: GreenAgentConfig, http: httpx.AsyncClient, store: BlobStore) -> "Simulations":
    if config.ues_command:
        return Simulations(OwnServers(config, config.ues_command, http), store)
    if are_several(config):
        return Simulations(SharedHosts(config, http, store), store, several_at=config.ues_url)
    return Simulations(SharedHost(config, http, store), store)


class Simulations:
    """All simulations, on any server. Every change uses the fence of the running attempt.

    Raises:
        OvertakenError: a newer attempt holds the simulation.
        SimulationGoneError: the work in progress no longer exists.
    """

    def __init__(self, host: hosts.SimulationHost, store: BlobStore, several_at: str | None = None) -> None:
        self.host = host
        self.are_on_several_servers = several_at is not None
        self._store = store
        self._several_at = several_at

    async def choose_server(self) -> str | None:
        """Return the server for a new simulation (``Plan.simulator``); None if there is only one. Raises
        ``UESConnectionError`` if there are several servers and none answers.
        """
        if self._several_at is None:
            return None
        if (chosen := await self.host.choose()) is None:
            raise UESConnectionError(f"no simulator answers, of those at {self._several_at}")
        return chosen

    def of(self, plan: Plan) -> "Simulations":
        """Return the simulations on the server of an assessment's simulation."""
        return self.at(plan.simulator)

    def at(self, simulator: str | None) -> "Simulations":
        return Simulations(self.host.at(simulator), self._store)

    async def create(self, simulation_id: str, seed: int) -> hosts.Simulation:
        """Make an empty simulation. It replaces a simulation that an earlier attempt made."""
        return await self.host.create(simulation_id, seed, own_fence())

    async def begin(
        self,
        simulation_id: str,
        checkpoint: BlobRef,
        *,
        mark: str,
        issue: int,
        conditions: hosts.Conditions | None = None,
    ) -> hosts.Simulation:
        """Put a simulation into a checkpoint's state, mark it, and give the participant its only key."""
        claim = hosts.Claim(simulation_id, own_fence(), checkpoint, mark=mark, issue=issue, conditions=conditions)
        sent_at = counting_stops()
        simulation = await self.host.claim(claim, lambda: self._store.get(checkpoint))
        simulation.claimed_at, simulation.conditions = sent_at, conditions
        return simulation

    async def adopt(self, simulation_id: str, checkpoint: BlobRef) -> hosts.Simulation:
        """Make a simulation in the state of another one, with new keys."""
        claim = hosts.Claim(simulation_id, own_fence(), checkpoint)
        simulation = await self.host.claim(claim, lambda: self._store.get(checkpoint))
        await simulation.change_keys()
        return simulation

    async def take_over(self, simulation_id: str, *, mark: str) -> hosts.Simulation:
        """Continue the work in progress, which has this mark."""
        return await self.host.claim(hosts.Claim(simulation_id, own_fence(), keep=mark), _no_content)

    async def set_conditions(self, simulation_id: str, mark: str, conditions: hosts.Conditions | None) -> None:
        """Set the conditions of the participant's requests from now on, unless some are set already. None removes them
        while the participant is greeted again. The simulation must have this mark of the work in progress.
        """
        claim = hosts.Claim(simulation_id, own_fence(), keep=mark, conditions=conditions, sets_course=True)
        await self.host.claim(claim, _no_content)

    async def step(self, simulation_id: str, checkpoint: BlobRef, step: hosts.Step) -> tuple[hosts.Stepped, BlobRef]:
        """Carry out a step from a checkpoint; return its result, and the stored new checkpoint."""
        claim = hosts.Claim(simulation_id, own_fence(), checkpoint)
        stepped, reached = await self.host.step(claim, step, lambda: self._store.get(checkpoint))
        return stepped, await self._store.put(reached)

    async def step_in_hand(self, simulation_id: str, mark: str, step: hosts.Step) -> tuple[hosts.Stepped, BlobRef]:
        """Carry out a step in the work in progress, which has this mark and keeps it.

        An attempt after an interrupted one takes the work over, and repeats the step. The participant can no longer
        change anything. If the simulator or the store is away, this method waits.
        """
        claim, last = hosts.Claim(simulation_id, own_fence(), keep=mark), replace(step, ends_turn=True)
        stepped, reached = await patiently(lambda: self.host.step(claim, last, _no_content))
        return stepped, await patiently(lambda: self._store.put(reached))

    async def open_for_reading(self, simulation_id: str, checkpoint: BlobRef, fence: int) -> hosts.Simulation:
        """Put a simulation into a checkpoint's state for reading. A fence below the simulation's is refused only if the
        simulation has to be restored.
        """
        claim = hosts.Claim(simulation_id, fence, checkpoint, looks=True)
        return await self.host.claim(claim, lambda: self._store.get(checkpoint))

    async def show(self, simulation: hosts.Simulation, simulation_id: str, checkpoint: BlobRef) -> Shown:
        claim = hosts.Claim(simulation_id, own_fence(), checkpoint)
        stepped = await self.host.show(simulation, claim, lambda: self._store.get(checkpoint))
        return Shown.of(self._store, stepped)

    async def keep(self, simulation: hosts.Simulation, *, everything: bool = False) -> BlobRef:
        """Store a checkpoint of a simulation's present state; ``everything`` is for the first one of an assessment."""
        return await self._store.put(await simulation.checkpoint(everything=everything))

    async def end(self, simulation_id: str) -> None:
        await self.host.end(simulation_id, own_fence())

    async def is_held_by_newer(self, simulation_id: str) -> bool:
        return await self.host.find_holder(simulation_id) > own_fence()


async def require_still(simulation: hosts.Simulation) -> None:
    """Make sure that data read from a simulation is valid: a lost simulation may answer like an empty one.

    Fails as ``SimulationLost``, which is retried, if the simulation was restored since.
    """
    if (await simulation.look()).life != simulation.life:
        raise failures.SIMULATION_LOST.passing("The simulator was lost meanwhile: this has to be done again.")


async def _no_content() -> bytes:
    raise hosts.SimulationGoneError("the work in hand has no checkpoint")
