"""The participant of these tests: a process of its own, with a state, that asks for leave at every step.

``python -m tests.chaos.participant PORT LISTENING_POST [colleague]``
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

import httpx

from purple_sdk import BasePurpleAgent, serve
from purple_sdk.protocol.messages import AssessmentCompleteMessage, AssessmentStartMessage, TurnCompleteMessage
from purple_sdk.settings.config import PurpleAgentConfig
from purple_sdk.ues.errors import ServerError
from tests.chaos.moments import OF_COLLEAGUE

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
    new to the assessment finds out from the simulation what it has done there. Where noise has an action fail it tries
    again blindly, so that one that was carried out is doubled, in each run alike.
    """

    partner: ClassVar[str] = BEN
    called: ClassVar[str] = ""
    """How its words begin."""

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
        read = [mail["message_id"] for mail in await self._answers() if mail["is_read"]]
        self.state = Notes(passed_on=read)
        await self._ask_leave("start")

    async def execute_turn(self) -> TurnCompleteMessage:
        await self._ask_leave(f"turn {self.turn_number} before")
        await self._write()
        await self._ask_leave(f"turn {self.turn_number} during")
        notes: Notes = self.state
        inbox = await self._inbox()
        if any(datetime.fromisoformat(str(mail["received_at"])) > self.current_time for mail in inbox):
            await self._ask_leave(f"turn {self.turn_number} news")
        for mail in [] if self._is_quiet() else self._by_partner(inbox):
            if mail["message_id"] not in notes.passed_on:
                notes.passed_on.append(mail["message_id"])
                await self._until_done(partial(self.ues.email.read, [mail["message_id"]]))
                await self._pass_on(mail, len(notes.passed_on))
        await self._ask_leave(f"turn {self.turn_number} after")
        return self.complete_turn(notes=f"{len(notes.passed_on)} reports so far")

    def _is_quiet(self) -> bool:
        return self.turn_number == QUIET

    async def _write(self) -> None:
        if not self._is_quiet():
            about = f"Lunch {self.turn_number}"
            words = "Dear Ben, does it suit you? Thanks, Ana"
            await self._act(
                partial(self.ues.email.send, from_address=ANA, to_addresses=[BEN], subject=about, body_text=words)
            )

    async def _pass_on(self, mail: dict[str, Any], number: int) -> None:
        words = f"Report {number}: {mail['subject']}: {mail['body_text']}"
        await self._act(partial(self.ues.chat.send, role="assistant", content=words))

    async def _inbox(self) -> list[dict[str, Any]]:
        return list((await self._until_done(partial(self.ues.email.query, folder="inbox")))["emails"])

    async def _answers(self) -> list[dict[str, Any]]:
        return self._by_partner(await self._inbox())

    def _by_partner(self, mails: list[dict[str, Any]]) -> list[dict[str, Any]]:
        by_partner = [mail for mail in mails if mail["from_address"] == self.partner]
        return sorted(by_partner, key=lambda mail: str(mail["received_at"]))

    async def _act(self, request: Callable[[], Awaitable[Any]]) -> None:
        """Do something, and again after a failure, done or not."""
        try:
            await request()
        except ServerError:
            await self._ask_leave(f"turn {self.turn_number} failed")
            await self._until_done(request)

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
            await http.post(os.environ[LISTENING_POST], json={"what": f"{self.called}{what}", "key": self.api_key})


class Colleague(Secretary):
    """Ben's: answers each of Ana's mails, numbered, and says so in the chat."""

    partner = ANA
    called = OF_COLLEAGUE

    def _is_quiet(self) -> bool:
        return False

    async def _write(self) -> None:
        """Asks nothing."""

    async def _pass_on(self, mail: dict[str, Any], number: int) -> None:
        words = f"Answer {number}: lunch at half past twelve suits me."
        await self._act(partial(self.ues.email.reply, mail["message_id"], body_text=words))
        await super()._pass_on(mail, number)


if __name__ == "__main__":
    os.environ[LISTENING_POST] = sys.argv[2]
    serve(
        Colleague if sys.argv[3:] else Secretary,
        PurpleAgentConfig(host="127.0.0.1", port=int(sys.argv[1]), log_level="WARNING"),
        name="colleague" if sys.argv[3:] else "secretary",
    )
