"""A participant that takes its time for every turn and does nothing: ``python -m benchmarks.slow_agent --port N``.

``TAKES`` in its environment says how long, in seconds, as ``SHORTEST-LONGEST``; each turn takes another time between.
"""

import asyncio
import os
import random

from proctor_protocol.messages import TurnCompleteMessage
from proctor_settings.config import PurpleAgentConfig
from purple_sdk import BasePurpleAgent, serve

SHORTEST, LONGEST = map(float, os.environ.get("TAKES", "5-20").split("-"))


class SlowAgent(BasePurpleAgent):
    """Thinks for a while, and has nothing to do."""

    async def execute_turn(self) -> TurnCompleteMessage:
        await asyncio.sleep(random.uniform(SHORTEST, LONGEST))
        return self.complete_turn()


if __name__ == "__main__":
    serve(SlowAgent, PurpleAgentConfig.from_cli_args())
