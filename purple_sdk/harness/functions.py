"""Participants whose turns a function plays, such as a function that runs a framework's agent over MCP.

The function gets addresses and a key of a relay. The relay counts tokens, reports the actions and sends a transcript,
without the function's help. The function remembers nothing between turns, since each turn is a separate conversation.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar

from purple_sdk.agent import BasePurpleAgent
from purple_sdk.harness.budget import Budget
from purple_sdk.harness.declared import HarnessError, Wire
from purple_sdk.harness.prompts import first_prompt
from purple_sdk.harness.reporting import complete, reported_relay
from purple_sdk.harness.upstream import find_upstream
from purple_sdk.protocol.messages import TurnCompleteMessage
from purple_sdk.server import serve
from purple_sdk.settings.config import HarnessConfig, PurpleAgentConfig


@dataclass(frozen=True)
class Turn:
    """The input of a function that plays a turn.

    Attributes:
        prompt: the user's instructions, the rules, the time.
        model_url: the model's address. It is OpenAI-compatible and ends in ``/v1``; for ``gemini``, it has no path.
        mcp_url: the simulation's MCP server (streamable HTTP).
        key: the key for both, valid in this turn.
    """

    prompt: str
    model: str
    model_url: str
    mcp_url: str
    key: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers for ``mcp_url``."""
        return {"Authorization": f"Bearer {self.key}"}


Play = Callable[[Turn], Awaitable[str]]
"""A function that plays a turn, and returns the agent's last words."""


class FunctionAgent(BasePurpleAgent):
    """A participant in one assessment whose turns a function plays. Raises HarnessError if no model is named, or if its
    key or address is missing.
    """

    name: ClassVar[str] = "function-agent"
    config: HarnessConfig

    def __init__(self, config: HarnessConfig, play: Play, wire: Wire = "chat") -> None:
        super().__init__(config)
        if not config.model:
            raise HarnessError("no model is named: name one with --model, or set AGENTBEATS_PURPLE_MODEL")
        self._play = play
        self._wire = wire
        self._upstream = find_upstream(wire, config.model_base_url)
        self._budget = Budget(config)

    async def execute_turn(self) -> TurnCompleteMessage:
        """Call the function to play the turn. An exception of the function makes this try of the turn fail. Raises
        HarnessError if the budget is used up.
        """
        prompt = first_prompt(await self.get_user_instructions(), self.turn_number, self.current_time)
        async with reported_relay(self, self._budget, self._upstream) as relay:
            model_url = relay.address if self._wire in ("anthropic", "gemini") else f"{relay.address}/v1"
            turn = Turn(prompt, self.config.model, model_url, f"{relay.address}/mcp", relay.token)
            answer = await self._play(turn)
        if relay.excess is not None:
            raise HarnessError(f"{self.name} {relay.excess.problem}: {relay.excess.remedy}")
        return complete(self, relay.record, name=self.name, answer=answer, prompt=prompt)


def serve_function(play: Play, *, name: str, wire: Wire = "chat") -> None:
    """Serve a participant until SIGTERM or Ctrl-C, with the settings of ``HarnessConfig`` from flags and environment.

    Args:
        wire: the protocol of its requests to its model.
    """

    def make(config: PurpleAgentConfig) -> FunctionAgent:
        assert isinstance(config, HarnessConfig)
        return FunctionAgent(config, play, wire)

    config = HarnessConfig.from_cli_args()
    make(config)  # report missing settings now, not in an assessment
    serve(make, config, name=name, description=f"A personal assistant on {name}, over MCP.")
