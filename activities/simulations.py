"""Simulations go from checkpoint to checkpoint.

An activity that changes a simulation names the checkpoint that it starts from, makes sure that the simulation *is*
there (creating or restoring it if not), acts, and returns the checkpoint that it reached. So a retry, a dead
simulator, another worker and a reset all do the right thing with no special code.
"""

from contextlib import suppress

from activities.deployment import Deployment
from activities.own_servers import OwnServers
from activities.worlds import World
from purple_sdk.ues import AuthenticationError, ConflictError, NotFoundError
from storage.blobs import BlobRef


async def create(deployment: Deployment, simulation_id: str, seed: int) -> World:
    """Make an empty simulation, ending one of that name that may stand there from an earlier attempt."""
    await remove(deployment, simulation_id)
    await deployment.worlds.create(simulation_id, seed)
    return deployment.world(simulation_id)


async def stand_at(deployment: Deployment, simulation_id: str, checkpoint: BlobRef) -> World:
    """Make sure that a simulation stands at a checkpoint, and return it."""
    try:
        world = deployment.world(simulation_id)
        current = (await world.current()).checkpoint
    except (AuthenticationError, NotFoundError):
        current = None
    if current == checkpoint.sha256:
        return world
    content = await deployment.store.get(checkpoint)
    if isinstance(deployment.worlds, OwnServers):
        deployment.worlds.prefer(simulation_id, content)
    with suppress(ConflictError):  # it is there, only elsewhere
        await deployment.worlds.create(simulation_id, None)
    world = deployment.world(simulation_id)
    await world.restore(content)
    return world


async def take_checkpoint(deployment: Deployment, world: World) -> BlobRef:
    """Keep the simulation as it is now."""
    return await deployment.store.put(await world.checkpoint())


async def remove(deployment: Deployment, simulation_id: str) -> None:
    """End a simulation, and all its keys with it; one that is gone already is fine."""
    await deployment.worlds.remove(simulation_id)
