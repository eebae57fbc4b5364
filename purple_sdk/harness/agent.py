"""``HarnessAgent``: a participant whose turns a CLI agent plays. The CLI agent is started once for each turn.

The home folder holds the CLI agent's whole memory. It is copied before each turn, in case the turn is played again.
"""

import time
import uuid
from typing import ClassVar

from purple_sdk.agent import BasePurpleAgent
from purple_sdk.harness.budget import Budget
from purple_sdk.harness.declared import Harness, HarnessError
from purple_sdk.harness.folders import Folders
from purple_sdk.harness.prompts import first_prompt, later_prompt
from purple_sdk.harness.reporting import complete, reported_relay
from purple_sdk.harness.starting import Starter, to_the_end
from purple_sdk.protocol.messages import (
    AssessmentCompleteMessage,
    AssessmentStartMessage,
    TurnCompleteMessage,
)
from purple_sdk.settings.config import HarnessConfig

_LEAST_SECONDS = 1.0
"""Minimum seconds for the CLI agent, even if preparing its folders took all of the turn's time."""


class HarnessAgent(BasePurpleAgent):
    """One CLI agent in one assessment.

    Args:
        version: the program's version, for transcripts; by default the version of ``install``.

    Raises:
        HarnessError: the program isn't there, the model's key or address is missing, or the CLI agent has no MCP.
    """

    name: ClassVar[str] = "harness-agent"
    description: ClassVar[str] = "A personal assistant: a CLI agent with the simulator's actions as MCP tools."

    config: HarnessConfig

    def __init__(self, config: HarnessConfig, harness: Harness, version: str = "") -> None:
        super().__init__(config)
        if not harness.has_mcp:
            raise HarnessError(
                f"{harness.name} has no MCP, so it only plays terminal tasks: "
                f"`proctor terminal-bench run --harness {harness.name}`"
            )
        self._version = version or harness.version
        self.harness = harness
        self._starter = Starter(config, harness)
        self._budget = Budget(config)
        self._folders: Folders | None = None

    async def on_assessment_start(self, message: AssessmentStartMessage) -> None:
        """Take the assessment's folder; clear it if the assessment begins, or begins again."""
        if message.mcp_url is None:
            raise HarnessError("the simulation speaks no MCP: CLI agents need the embedded simulator")
        self._folders = Folders(self.config.homes.expanduser(), self.context_id or str(uuid.uuid4()))
        await to_the_end(self._folders.end_orphan)
        if message.resumes_turn is None:
            await to_the_end(self._folders.clear)

    async def execute_turn(self) -> TurnCompleteMessage:
        """Start the CLI agent, and wait for the end of its turn. Raises HarnessError if it didn't complete the turn;
        the sentence has the reason.
        """
        assert self._folders is not None
        began = time.monotonic()
        folders, turn = self._folders, self.turn_number
        await to_the_end(lambda: folders.restore(turn))
        self._budget.load_spending(folders.base / "used.json")
        if (excess := self._budget.check()) is not None:
            raise HarnessError(f"{self.harness.name} {excess.problem}: {excess.remedy}")
        prompt = await self._prompt(folders.session)
        async with reported_relay(self, self._budget, self._starter.upstream) as relay:
            seconds = self.config.turn_seconds - (time.monotonic() - began)
            outcome = await self._starter.play(prompt, folders, relay, max(_LEAST_SECONDS, seconds))
        await to_the_end(lambda: folders.complete(turn, outcome.session))
        return complete(
            self,
            relay.record,
            name=self.harness.name,
            answer=outcome.answer,
            prompt=prompt,
            version=self._version,
            session=outcome.session,
        )

    async def on_assessment_complete(self, message: AssessmentCompleteMessage) -> None:
        """Remove the folder."""
        if self._folders is not None and not self.config.keep_homes:
            await to_the_end(self._folders.remove)

    async def _prompt(self, session: str | None) -> str:
        if session is not None:
            return later_prompt(self.turn_number, self.current_time)
        return first_prompt(await self.get_user_instructions(), self.turn_number, self.current_time)
