"""The base class of participants (seed 000, section 4.2)."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import urlsplit

from purple_sdk.actions import ActionRecorder
from purple_sdk.protocol.messages import (
    ActionLogEntry,
    AssessmentCompleteMessage,
    AssessmentStartMessage,
    EarlyCompletionMessage,
    ModelUsage,
    TurnCompleteMessage,
    TurnStartMessage,
)
from purple_sdk.protocol.readings import chat_text
from purple_sdk.settings.config import PurpleAgentConfig
from purple_sdk.ues import AsyncUESClient
from purple_sdk.ues_wrapper import PurpleUESClient


class BasePurpleAgent(ABC):
    """One participant in one assessment: every A2A context gets its own instance.

    Attributes:
        state: all memory that the agent keeps from turn to turn: a dataclass, a pydantic model, a dict, any object that
            ``copy.deepcopy`` copies. It is copied when a turn starts, and restored when that turn is played again.
            Other attributes are not restored.
        ues: the client of the assessment's simulation, route by route. Its actions are reported automatically.
        ues_client: the most frequent actions of an assistant: unread mail, replies, today's appointments, ... .
        current_time: the simulated time at the turn's start.
        attempt: the number of this try of the turn, from 1.
        instructions: the evaluator's instructions at the start.
        context_id: the A2A context of the assessment; it stays the same after a restart of this process.
    """

    name: ClassVar[str] = "purple-agent"
    description: ClassVar[str] = "A personal assistant that acts in a simulated user's environment."

    state: Any = None
    context_id: str = ""
    ues_url: str
    api_key: str
    ues: AsyncUESClient
    ues_client: PurpleUESClient
    current_time: datetime

    def __init__(self, config: PurpleAgentConfig) -> None:
        self.config = config
        self.turn_number = 0
        self.attempt = 1
        self.instructions = ""
        self._model_usage: dict[str, ModelUsage] = {}

    def initialize(self, ues_url: str, api_key: str, current_time: datetime, instructions: str = "") -> None:
        """Connect to the simulation. It is called once, before ``on_assessment_start``. Raises ValueError if
        ``ues_url`` isn't an HTTP address.
        """
        self._recorder = ActionRecorder(current_time)
        self._connect(ues_url, api_key)
        self.current_time = current_time
        self.instructions = instructions

    async def get_in_by(self, ues_url: str, api_key: str) -> None:
        """Connect to the simulation by another address or key during an assessment. Raises ValueError if ``ues_url``
        isn't an HTTP address.
        """
        before = self.ues
        self._connect(ues_url, api_key)
        await before.aclose()

    def _connect(self, ues_url: str, api_key: str) -> None:
        if self.config.ues_url:
            ues_url = self.config.ues_url.rstrip("/") + urlsplit(ues_url).path
        self.ues_url, self.api_key = ues_url.rstrip("/"), api_key
        self.ues = AsyncUESClient(ues_url, api_key, observer=self._recorder)
        self.ues_client = PurpleUESClient(self.ues)

    def begin_turn(self, turn: TurnStartMessage) -> None:
        """Note the turn that comes next. It is called before ``execute_turn``."""
        self.turn_number, self.attempt, self.current_time = turn.turn_number, turn.attempt, turn.current_time
        self._recorder.begin_turn(turn.current_time)
        self._model_usage.clear()

    async def on_assessment_start(self, message: AssessmentStartMessage) -> None:  # noqa: B027 - optional
        """Prepare; the simulation is already reachable."""

    @abstractmethod
    async def execute_turn(self) -> TurnCompleteMessage | EarlyCompletionMessage:
        """Play one turn. Return ``complete_turn()``, or an ``EarlyCompletionMessage`` if all is done.

        The method is cancelled when the evaluator gives up the turn. An exception makes this try of the turn fail.
        """

    async def should_complete_early(self) -> tuple[bool, str | None]:
        """Return whether nothing is left to do, and the reason. It is called after each turn, and returns False unless
        a subclass overrides it.
        """
        return False, None

    async def play_turn(self) -> TurnCompleteMessage | EarlyCompletionMessage:
        """Play the turn, and decide whether it was the last one. The server calls it.

        An early completion carries the turn's actions. Raises TypeError if ``execute_turn`` returned an object of
        another type.
        """
        answer = await self.execute_turn()
        if isinstance(answer, TurnCompleteMessage):
            is_over, reason = await self.should_complete_early()
            if not is_over:
                return answer
            early = EarlyCompletionMessage(reason=reason or answer.notes, actions=answer.actions)
            kept = {} if answer.trajectory is None else {"trajectory": answer.trajectory}
            return early.model_copy(update={**kept, **self._usage_fields()})
        if not isinstance(answer, EarlyCompletionMessage):
            raise TypeError(
                f"execute_turn returned {type(answer).__name__}: return complete_turn() or an EarlyCompletionMessage"
            )
        if answer.actions is None:
            return answer.model_copy(update={"actions": self.actions})
        return answer

    async def on_assessment_complete(self, message: AssessmentCompleteMessage) -> None:  # noqa: B027 - optional
        """Clean up; the key may already be invalid."""

    @property
    def actions(self) -> list[ActionLogEntry]:
        """Return the actions of this turn so far, in order."""
        return list(self._recorder.entries)

    def report_action(self, entry: ActionLogEntry) -> None:
        """Add an action that didn't go through ``ues`` to the turn's report."""
        self._recorder.entries.append(entry)

    def complete_turn(
        self, notes: str | None = None, time_step: str | None = None, trajectory: dict[str, Any] | None = None
    ) -> TurnCompleteMessage:
        """Return the answer to a turn, with the recorded actions.

        Args:
            notes: text for readers of the result.
            time_step: how far the clock shall move, in ISO 8601; by default the scenario's time step.
            trajectory: the turn's transcript in the Agent Trajectory Interchange Format. The evaluator shortens a
                transcript of more than 1 MB.

        Raises:
            pydantic.ValidationError: ``time_step`` is not a duration.
        """
        values = {"time_step": time_step, "trajectory": trajectory}
        chosen: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        return TurnCompleteMessage(actions=self.actions, notes=notes, **chosen, **self._usage_fields())

    def complete_early(self, reason: str | None = None) -> EarlyCompletionMessage:
        """Return the answer that nothing is left to do, so this turn was the last one. It has the recorded actions."""
        return EarlyCompletionMessage(reason=reason, actions=self.actions, **self._usage_fields())

    def note_model_use(self, model: str, input_tokens: int, output_tokens: int, calls: int = 1) -> None:
        """Count a use of a model for the turn's answer.

        Args:
            model: its name, such as ``openai/gpt-5``.
            input_tokens: tokens of the prompts, added to the turn's sum.
            calls: the number of requests.
        """
        known = self._model_usage.get(model, ModelUsage(model=model))
        self._model_usage[model] = ModelUsage(
            model=model,
            calls=known.calls + calls,
            input_tokens=known.input_tokens + input_tokens,
            output_tokens=known.output_tokens + output_tokens,
        )

    def _usage_fields(self) -> dict[str, list[ModelUsage]]:
        return {"model_usage": self.model_usage} if self._model_usage else {}

    @property
    def model_usage(self) -> list[ModelUsage]:
        """Return the use of models in this turn so far, as noted."""
        return list(self._model_usage.values())

    async def may_act(self) -> bool:
        """Wait ``config.action_delay`` seconds. Return whether ``config.max_actions_per_turn`` still allows an
        action.
        """
        if self.config.action_delay:
            await asyncio.sleep(self.config.action_delay)
        return len(self._recorder.entries) < self.config.max_actions_per_turn

    async def get_user_instructions(self) -> str:
        """Return the user's chat messages so far, oldest first; the evaluator's instructions if there are none."""
        answer = await self.ues.chat.query(role="user", sort_by="timestamp", sort_order="asc")
        texts = [chat_text(message["content"]) for message in answer["messages"]]
        return "\n\n".join(texts) or self.instructions

    async def aclose(self) -> None:
        """Close the connections. It is called once, after everything else."""
        await self.ues.aclose()


AgentFactory = Callable[[PurpleAgentConfig], BasePurpleAgent]
"""A function that makes the agent of one assessment, such as an agent class."""
