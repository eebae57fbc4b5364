"""A look at the states of all modalities that an assessment looks at."""

from typing import Any

from pydantic_core import from_json

from proctor.protocol.modalities import SHOWN
from proctor.storage.blobs import BlobStore
from proctor.storage.parts import is_in_parts, parts_of_checkpoint
from purple_sdk.ues import AsyncUESClient


async def snapshot(client: AsyncUESClient) -> dict[str, Any]:
    """Every modality's state by name, as its own endpoint shows it; some servers have fewer modalities than others."""
    there = (await client.environment.list_modalities()).modalities
    return {name: await getattr(client, name).get_state() for name in there if name in SHOWN}


def states_in(checkpoint: bytes, store: BlobStore, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """The states that a checkpoint holds: one of the embedded simulator, whole or with its parts in the store, or one
    of another server with our label before it. This may take some seconds. ``known`` are pages that were read before;
    what is read is added, and states share it.

    Raises ``ValueError`` where it is of no form that is known here, and as ``InParts``.
    """
    label, _, labelled = checkpoint.partition(b"\n")
    document = from_json(labelled or label)
    scenario = document.get("scenario") if isinstance(document, dict) else None
    inner = scenario if isinstance(scenario, dict) else document
    environment = inner.get("environment") if isinstance(inner, dict) else None
    states = environment.get("modality_states") if isinstance(environment, dict) else None
    if not isinstance(states, dict):
        states = inner.get("states") if isinstance(inner, dict) else None
    if not isinstance(states, dict):
        raise ValueError("the checkpoint holds no states that can be read")
    if is_in_parts(checkpoint):
        states = parts_of_checkpoint(store, checkpoint, known).join({"states": states}, "states")["states"]
    return {name: state for name, state in states.items() if name in SHOWN}
