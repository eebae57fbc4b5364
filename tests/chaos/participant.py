"""The participant of these tests: a process of its own, with a state, that asks for leave at every step.

``python -m tests.chaos.participant PORT LISTENING_POST``
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import httpx

from proctor_protocol.messages import AssessmentCompleteMessage, AssessmentStartMessage, TurnCompleteMessage
from proctor_settings.config import PurpleAgentConfig
from purple_sdk import BasePurpleAgent, serve
from purple_sdk.ues.errors import ServerError

ANA, BEN = "ana@home.example", "ben@work.example"
QUIET = 3
"""The turn in which it writes to nobody, not to the user either, so that time moves on at once."""

LISTENING_POST = "CHAOS_LISTENING_POST"


@dataclass
class Notes:
    """What it remembers: the mails that it has passed on."""

    passed_on: list[str] = field(default_factory=list)


class Secretary(BasePurpleAgent):
    """Asks Ben something each turn but ``QUIET``, and passes each of his answers on, numbered.

    Whatever is done twice shows in the simulation, as a second mail or a report with a wrong number. A process that is
    new to the assessment finds out from the simulation what it has done there.
    """

    def initialize(self, ues_url: str, api_key: str, current_time: datetime, instructions: str = "") -> None:
        super().initialize(ues_url, api_key, current_time, instructions)
        self.api_key = api_key

    async def get_in_by(self, ues_url: str, api_key: str) -> None:
        await super().get_in_by(ues_url, api_key)
        self.api_key = api_key

    async def on_assessment_start(self, message: AssessmentStartMessage) -> None:
        await self._ask_leave("start before")
        reports = (await self.ues.chat.query(role="assistant"))["messages"]
        if not reports:
            await self.ues.chat.send(role="assistant", content="Good morning.")
        read = [mail["message_id"] for mail in _by_ben(await self._inbox()) if mail["is_read"]]
        self.state = Notes(passed_on=read)
        await self._ask_leave("start")

    async def execute_turn(self) -> TurnCompleteMessage:
        await self._ask_leave(f"turn {self.turn_number} before")
        if self.turn_number != QUIET:
            about = f"Lunch {self.turn_number}"
            words = "Dear Ben, does it suit you? Thanks, Ana"
            await self._once(self.ues.email.send(from_address=ANA, to_addresses=[BEN], subject=about, body_text=words))
        await self._ask_leave(f"turn {self.turn_number} during")
        notes: Notes = self.state
        inbox = await self._inbox()
        if any(datetime.fromisoformat(str(mail["received_at"])) > self.current_time for mail in inbox):
            await self._ask_leave(f"turn {self.turn_number} news")
        for mail in [] if self.turn_number == QUIET else _by_ben(inbox):
            if mail["message_id"] not in notes.passed_on:
                notes.passed_on.append(mail["message_id"])
                await self._until_done(partial(self.ues.email.read, [mail["message_id"]]))
                words = f"Report {len(notes.passed_on)}: {mail['subject']}: {mail['body_text']}"
                await self._once(self.ues.chat.send(role="assistant", content=words))
        await self._ask_leave(f"turn {self.turn_number} after")
        return self.complete_turn(notes=f"{len(notes.passed_on)} reports so far")

    async def _inbox(self) -> list[dict[str, object]]:
        return list((await self._until_done(partial(self.ues.email.query, folder="inbox")))["emails"])

    async def _once(self, request: Awaitable[Any]) -> None:
        """Do something once, also where noise has it fail, or says so."""
        with suppress(ServerError):
            await request
            return
        await self._ask_leave(f"turn {self.turn_number} failed")

    async def _until_done(self, request: Callable[[], Awaitable[Any]]) -> Any:
        """Ask again for as long as noise has it fail."""
        while True:
            with suppress(ServerError):
                return await request()

    async def on_assessment_complete(self, message: AssessmentCompleteMessage) -> None:
        await self._say(f"told {message.reason}")

    async def _ask_leave(self, what: str) -> None:
        try:
            await self._say(what)
        except asyncio.CancelledError:
            await self._say(f"{what} canceled")
            raise

    async def _say(self, what: str) -> None:
        async with httpx.AsyncClient(timeout=None, trust_env=False) as http:
            await http.post(os.environ[LISTENING_POST], json={"what": what, "key": self.api_key})


def _by_ben(mails: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted((m for m in mails if m["from_address"] == BEN), key=lambda mail: str(mail["received_at"]))


if __name__ == "__main__":
    os.environ[LISTENING_POST] = sys.argv[2]
    serve(Secretary, PurpleAgentConfig(host="127.0.0.1", port=int(sys.argv[1]), log_level="WARNING"), name="secretary")
