"""A turn of the model-driven participant: show it what is new, and use the tools that it asks for, until it is done.

A turn also ends when its actions, its tokens or its rounds are used up (``AGENTBEATS_PURPLE_…``).
"""

from dataclasses import dataclass, field
from typing import ClassVar

from purple_sdk.agent import BasePurpleAgent
from purple_sdk.examples.assistant_agent.memory import Memory, cut
from purple_sdk.examples.assistant_agent.models import make_model
from purple_sdk.examples.assistant_agent.talk import JSON_FORMATS, PROMPTS, Conversation, ModelReply, Wish
from purple_sdk.examples.assistant_agent.tools import Toolbox
from purple_sdk.protocol.messages import TurnCompleteMessage
from purple_sdk.settings.config import PurpleAgentConfig
from purple_sdk.ues import UESError

_MOST_ROUNDS = 40
"""Answers of the model in a turn: enough for any day, and an end for one that goes round in circles."""
_LONGEST_NOTES = 2_000


@dataclass
class AssistantState:
    """What the agent remembers from turn to turn."""

    memory: Memory = field(default_factory=Memory)


@dataclass
class _Tally:
    """What a turn has taken so far."""

    tokens: int = 0
    rounds: int = 0
    actions: list[str] = field(default_factory=list)
    last_words: str = ""
    stopped_by: str | None = None


class AssistantAgent(BasePurpleAgent):
    """A personal assistant that a language model drives."""

    name: ClassVar[str] = "assistant-agent"
    description: ClassVar[str] = "A personal assistant: a language model with the simulator's actions as its tools."

    state: AssistantState

    def __init__(self, config: PurpleAgentConfig) -> None:
        super().__init__(config)
        self.state = AssistantState()
        self._model = make_model(config)
        self._calling = config.tool_calling
        self._formats = list(JSON_FORMATS)

    async def execute_turn(self) -> TurnCompleteMessage:
        """Play one turn."""
        toolbox = Toolbox(self.ues, answer_tokens=max(self.config.context_tokens // 6, 100))
        tools = list(toolbox.tools.values())
        talk = Conversation(self._model, tools, self._calling, self.config.context_tokens, self._formats)
        talk.begin(PROMPTS["who_you_are"].format(instructions=await self._wishes_of_the_user()), await self._news())
        tally = _Tally()
        await self._work(talk, toolbox, tally)
        self._calling = talk.calling  # a model that has no tool calls has none in the next turn either
        if self.config.enable_reflection and tally.stopped_by is None:
            talk.remark(PROMPTS["reflect"])
            await self._work(talk, toolbox, tally)
        title = f"Turn {self.turn_number}, {self.current_time:%A %d %B %H:%M}:"
        self.state.memory.add(title, tally.actions, tally.last_words, self.config.context_tokens // 12)
        notes = tally.last_words if tally.stopped_by is None else f"stopped: {tally.stopped_by}. {tally.last_words}"
        return self.complete_turn(notes=notes[:_LONGEST_NOTES] or None)

    async def _work(self, talk: Conversation, toolbox: Toolbox, tally: _Tally) -> None:
        """Let the model ask for tools until it asks for none, or something is used up."""
        while True:
            tally.stopped_by = self._used_up(talk, tally)
            if tally.stopped_by is not None:
                return
            reply = await talk.ask()
            tally.rounds += 1
            tally.tokens += reply.input_tokens + reply.output_tokens
            tally.last_words = reply.text or tally.last_words
            self.note_model_use(self.config.model, reply.input_tokens, reply.output_tokens)
            if not reply.wishes:
                return
            await self._grant(reply, talk, toolbox, tally)

    async def _grant(self, reply: ModelReply, talk: Conversation, toolbox: Toolbox, tally: _Tally) -> None:
        for wish in reply.wishes:
            talk.answer(wish, await self._use(wish, toolbox, tally))

    async def _use(self, wish: Wish, toolbox: Toolbox, tally: _Tally) -> str:
        if wish.problem is not None:
            return wish.problem
        tool = toolbox.tools.get(wish.tool)
        if tool is not None and tool.acts and not await self.may_act():
            return f"refused: this turn's {self.config.max_actions_per_turn} actions are used up"
        is_done, outcome = await toolbox.use(wish.tool, wish.arguments)
        if tool is not None and tool.acts and is_done:
            tally.actions.append(cut(f"{wish.tool} {wish.arguments}", 60))
        return outcome

    def _used_up(self, talk: Conversation, tally: _Tally) -> str | None:
        if tally.rounds >= _MOST_ROUNDS:
            return f"{_MOST_ROUNDS} rounds"
        if len(self.actions) >= self.config.max_actions_per_turn:
            return f"{self.config.max_actions_per_turn} actions"
        if tally.tokens + talk.size() + self.config.answer_tokens > self.config.tokens_per_turn and tally.rounds:
            return f"{self.config.tokens_per_turn} tokens"
        return None

    async def _wishes_of_the_user(self) -> str:
        return cut(await self.get_user_instructions(), self.config.context_tokens // 3)

    async def _news(self) -> str:
        """The first message of a turn: the time, the diary, and one page of new items."""
        parts = [f"It is {self.current_time:%A %d %B %Y, %H:%M %Z} ({self.current_time.isoformat()})."]
        if diary := self.state.memory.recall(self.config.context_tokens // 4):
            parts.append(f"What you did before:\n{diary}")
        try:
            page = await self.ues.environment.describe()
        except UESError:  # a simulator of UES 0.1 has no such page; the tools tell the same
            page = ""
        if page:
            parts.append(f"The user's environment now:\n{cut(page, self.config.context_tokens // 6)}")
        parts.append(f"This is turn {self.turn_number}. Do what can be done now.")
        return "\n\n".join(parts)
