"""A look at the states of all modalities that an assessment looks at."""

from typing import Any

from proctor_protocol.modalities import SHOWN
from purple_sdk.ues import AsyncUESClient


async def snapshot(client: AsyncUESClient) -> dict[str, Any]:
    """Every modality's state by name, as its own endpoint shows it; some servers have fewer modalities than others."""
    there = (await client.environment.list_modalities()).modalities
    return {name: await getattr(client, name).get_state() for name in there if name in SHOWN}
