"""Simulations go from checkpoint to checkpoint.

An activity that changes a simulation names the checkpoint that it starts from, makes sure that the simulation *is*
there (creating or restoring it if not), acts, and returns the checkpoint that it reached. So a retry, a dead
simulator, another worker and a reset all do the right thing with no special code.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import uuid4

from activities import failures
from activities.deployment import Deployment
from activities.simulations.hosts import Simulation, SimulationGoneError
from activities.troubles import Wait
from proctor_storage.blobs import BlobRef, StoreUnavailableError
from purple_sdk.ues import UESConnectionError

T = TypeVar("T")

_PATIENCE, _PAUSE = 60.0, 0.3
"""Seconds for which an absent simulator or store is waited for, and between two looks."""


async def create(deployment: Deployment, simulation_id: str, seed: int) -> Simulation:
    """Make an empty simulation, ending one of that name that may stand there from an earlier attempt."""
    await remove(deployment, simulation_id)
    return await deployment.simulation_host.create(simulation_id, seed)


def find(deployment: Deployment, simulation_id: str) -> Simulation:
    """A simulation, wherever it stands.

    Raises:
        SimulationGoneError: it is known not to be there; otherwise that comes out when it is asked something.
    """
    return deployment.simulation_host.find(simulation_id)


async def stand_at(deployment: Deployment, simulation_id: str, checkpoint: BlobRef) -> Simulation:
    """Make sure that a simulation stands at a checkpoint, and return it."""
    try:
        simulation = deployment.simulation_host.find(simulation_id)
        if (await simulation.current()).checkpoint == checkpoint.sha256:
            return simulation
    except SimulationGoneError:
        pass
    return await deployment.simulation_host.restore(simulation_id, await deployment.store.get(checkpoint))


async def stand_still(deployment: Deployment, simulation_id: str, checkpoint: BlobRef) -> tuple[Simulation, str]:
    """Make sure that a simulation stands at a checkpoint, for those who only look at it.

    Returns:
        The simulation, and its mark, by which ``require_still`` knows whether it was lost meanwhile.
    """
    simulation = await stand_at(deployment, simulation_id, checkpoint)
    mark = (await simulation.current()).mark
    if mark is None:  # it was restored since it was marked last
        mark = f"restored {uuid4()}"
        await simulation.mark(mark)
    return simulation, mark


async def require_still(simulation: Simulation, mark: str) -> None:
    """Make sure that what was seen in a simulation was there: one that was lost answers like an empty one, or not.

    Raises:
        ApplicationError: ``SimulationLost``, to be tried again: it was restored meanwhile.
        SimulationGoneError: it is gone.
    """
    if (await simulation.current()).mark != mark:
        raise failures.passing(failures.SIMULATION_LOST, "The simulator was lost meanwhile: this has to be done again.")


async def take_checkpoint(deployment: Deployment, simulation: Simulation) -> BlobRef:
    """Keep the simulation as it is now."""
    return await deployment.store.put(await simulation.checkpoint())


async def remove(deployment: Deployment, simulation_id: str) -> None:
    """End a simulation, and all its keys with it; one that is gone already is fine."""
    await deployment.simulation_host.remove(simulation_id)


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do something that may be repeated, and wait for the simulator or the store where it is away for a while.

    For activities that wait for the participant: their own attempts are few, so that an absent participant is given up
    soon, and an absent simulator or a full store is no fault of the participant's.

    Raises:
        purple_sdk.ues.UESConnectionError, proctor_storage.blobs.StoreUnavailableError: it stays away.
    """
    clock = asyncio.get_running_loop().time
    give_up_at = clock() + _PATIENCE
    wait = Wait()
    while True:
        try:
            return await work()
        except (UESConnectionError, StoreUnavailableError) as problem:
            if clock() > give_up_at:
                raise
            await wait.goes_on(problem)
            await asyncio.sleep(_PAUSE)
