"""An agent that says in every turn in which assessment it believes itself: ``python -m tests.assessments.registrar``.

In the first turn it waits until as many assessments as ``AT_ONCE`` says are in their first turn in this very process.
"""

import asyncio
import json
import os
import uuid
from typing import ClassVar

from purple_sdk import BasePurpleAgent, serve
from purple_sdk.protocol.messages import TurnCompleteMessage
from purple_sdk.settings.config import PurpleAgentConfig

AT_ONCE = int(os.environ.get("AT_ONCE", "1"))


class Registrar(BasePurpleAgent):
    name = "registrar"
    begun: ClassVar[set[str]] = set()
    all_are_here: ClassVar[asyncio.Event] = asyncio.Event()

    def __init__(self, config: PurpleAgentConfig) -> None:
        super().__init__(config)
        self.state = {"name": uuid.uuid4().hex, "turns": []}

    async def execute_turn(self) -> TurnCompleteMessage:
        Registrar.begun.add(self.state["name"])
        if len(Registrar.begun) >= AT_ONCE:
            Registrar.all_are_here.set()
        await Registrar.all_are_here.wait()
        self.state["turns"].append(self.turn_number)
        said = (await self.ues.chat.query(role="assistant"))["messages"]
        names = sorted({json.loads(message["content"])["name"] for message in said})
        await self.ues.chat.send(role="assistant", content=json.dumps({**self.state, "before": names}))
        return self.complete_turn()


if __name__ == "__main__":
    serve(Registrar, PurpleAgentConfig.from_cli_args())
