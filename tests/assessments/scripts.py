"""What scripted participants do in the tiny scenario."""

from datetime import datetime
from typing import Any

from purple_sdk.protocol.messages import EarlyCompletionMessage
from purple_sdk.ues import AsyncUESClient

BEN = "ben@work.example"


async def idle(turn: int, ues: AsyncUESClient, now: datetime) -> None:
    """Does nothing."""


async def diligent(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
    """Asks Ben in the first turn, passes his answer on in the second, and is finished then."""
    if turn == 1:
        await ask_ben(ues)
        return None
    for mail in (await ues.email.query())["emails"]:
        if mail["from_address"] == BEN:
            await ues.chat.send(role="assistant", content=f"Ben says: {mail['body_text']}")
    return EarlyCompletionMessage(reason="Ben has answered.")


async def ask_ben(ues: AsyncUESClient, body: str = "Dear Ben, does lunch on Thursday suit you? Thanks, Ana") -> None:
    """The one mail that the tiny scenario asks for."""
    await ues.email.send(from_address="ana@home.example", to_addresses=[BEN], subject="Lunch?", body_text=body)
