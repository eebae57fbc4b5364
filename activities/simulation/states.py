"""The states of all modalities that an assessment reads."""

from typing import Any

from pydantic_core import from_json

from proctor.protocol.modalities import SHOWN
from proctor.storage.blobs import BlobStore
from proctor.storage.parts import is_in_parts, parts_of_checkpoint
from purple_sdk.ues import AsyncUESClient


async def snapshot(client: AsyncUESClient) -> dict[str, Any]:
    """Return every modality's state by name, as its endpoint shows it. Some servers lack some modalities."""
    there = (await client.environment.list_modalities()).modalities
    return {name: await getattr(client, name).get_state() for name in there if name in SHOWN}


def load_states(checkpoint: bytes, store: BlobStore, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Read the states in a checkpoint. This may take some seconds. A checkpoint of the embedded simulator is whole, or
    has its parts in the store. A checkpoint of another server begins with our label.

    ``known`` has pages that were read before. New pages are added to it, and states share them.

    Raises ``ValueError`` if the checkpoint's form is unknown, and the errors of ``InParts``.
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
