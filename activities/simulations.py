"""Simulations go from checkpoint to checkpoint.

An activity that changes a simulation names the checkpoint that it starts from, makes sure that the simulation *is*
there (creating or restoring it if not), acts, and returns the checkpoint that it reached. So a retry, a dead
simulator, another worker and a reset all do the right thing with no special code.
"""

from activities.deployment import Deployment
from activities.keys import admin_key
from purple_sdk.ues import AsyncUESClient, AuthenticationError, ConflictError, NotFoundError
from storage.blobs import BlobRef


async def create(deployment: Deployment, simulation_id: str, seed: int) -> AsyncUESClient:
    """Make an empty simulation, ending one of that name that may stand there from an earlier attempt."""
    await remove(deployment, simulation_id)
    await deployment.host.create(
        simulation_id=simulation_id, admin_key=admin_key(deployment.secret, simulation_id), seed=seed
    )
    return deployment.admin(simulation_id)


async def stand_at(deployment: Deployment, simulation_id: str, checkpoint: BlobRef) -> AsyncUESClient:
    """Make sure that a simulation stands at a checkpoint, and return its admin client."""
    admin = deployment.admin(simulation_id)
    try:
        current = (await admin.simulation.current()).checkpoint
    except (AuthenticationError, NotFoundError):
        current = None
        try:
            await deployment.host.create(
                simulation_id=simulation_id, admin_key=admin_key(deployment.secret, simulation_id)
            )
        except ConflictError:
            pass  # another activity was faster
    if current != checkpoint.sha256:
        await admin.simulation.restore(await deployment.store.get(checkpoint))
    return admin


async def is_at(deployment: Deployment, simulation_id: str, checkpoint: BlobRef) -> bool:
    """Whether nothing has changed in a simulation since a checkpoint."""
    try:
        return (await deployment.admin(simulation_id).simulation.current()).checkpoint == checkpoint.sha256
    except (AuthenticationError, NotFoundError):
        return False


async def take_checkpoint(deployment: Deployment, admin: AsyncUESClient) -> BlobRef:
    """Keep the simulation as it is now."""
    return await deployment.store.put(await admin.simulation.checkpoint())


async def remove(deployment: Deployment, simulation_id: str) -> None:
    """End a simulation, and all its keys with it; one that is gone already is fine."""
    try:
        await deployment.host.delete(simulation_id)
    except NotFoundError:
        pass
