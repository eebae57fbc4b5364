"""A participant that answers every turn at once and does nothing: ``python -m benchmarks.instant_agent --port N``."""

from proctor_protocol.messages import TurnCompleteMessage
from proctor_settings.config import PurpleAgentConfig
from purple_sdk import BasePurpleAgent, serve


class InstantAgent(BasePurpleAgent):
    async def execute_turn(self) -> TurnCompleteMessage:
        return self.complete_turn()


if __name__ == "__main__":
    serve(InstantAgent, PurpleAgentConfig.from_cli_args())
