"""Participants whose turns a function plays, such as one that runs a framework's agent over MCP.

The function gets addresses and a key of a relay: tokens are counted, the actions are reported, and a transcript is
sent, all without its help. It remembers nothing between turns: each is a conversation of its own.
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
    """What a function gets to play a turn.

    Attributes:
        prompt: the user's instructions, the rules, the time.
        model_url: where the model is: an OpenAI-compatible address that ends in ``/v1``; for ``gemini`` without a path.
        mcp_url: where the simulation speaks MCP (streamable HTTP).
        key: for both, valid in this turn.
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
"""Plays a turn; returns the agent's last words."""


class FunctionAgent(BasePurpleAgent):
    """One assessment that a function plays. Raises HarnessError (no model named, or key or address missing)."""

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
        """Have the function play the turn; its exception fails this try of the turn. Raises HarnessError (its budget is
        used up).
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
        wire: the protocol in which it asks its model.
    """

    def make(config: PurpleAgentConfig) -> FunctionAgent:
        assert isinstance(config, HarnessConfig)
        return FunctionAgent(config, play, wire)

    config = HarnessConfig.from_cli_args()
    make(config)  # what is missing is reported now, and not in an assessment
    serve(make, config, name=name, description=f"A personal assistant on {name}, over MCP.")
