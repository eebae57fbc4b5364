"""The modalities whose states an assessment looks at, and a look at all of them."""

from typing import Any

from purple_sdk.ues import AsyncUESClient

SHOWN = ("email", "sms", "calendar", "chat", "contacts", "location", "weather")


async def snapshot(client: AsyncUESClient) -> dict[str, Any]:
    """Every modality's state by name, as its own endpoint shows it; some servers have fewer modalities than others."""
    there = (await client.environment.list_modalities()).modalities
    return {name: await getattr(client, name).get_state() for name in there if name in SHOWN}
