"""A participant that does nothing, at once or slowly: ``python -m benchmarks.idle_agent --port N``.

The environment variable ``TAKES`` is the duration of a turn in seconds, as ``SHORTEST-LONGEST``; each turn takes a
different time in this range.
"""

import asyncio
import os
import random

from purple_sdk import BasePurpleAgent, serve
from purple_sdk.protocol.messages import TurnCompleteMessage
from purple_sdk.settings.config import PurpleAgentConfig

SHORTEST, LONGEST = map(float, os.environ.get("TAKES", "0-0").split("-"))


class IdleAgent(BasePurpleAgent):
    async def execute_turn(self) -> TurnCompleteMessage:
        await asyncio.sleep(random.uniform(SHORTEST, LONGEST))
        return self.complete_turn()


if __name__ == "__main__":
    serve(IdleAgent, PurpleAgentConfig.from_cli_args())
