"""An agent process's memory of its assessments: one conversation per A2A context.

Nothing is done twice. A message id that was seen before gets the same turn again, running or ended. A new id for a turn
that was played before starts a new try. The running turn is stopped, the agent's state is restored from the turn's
first start, and the turn is played again.

Outdated senders are refused. Messages carry a fence that only rises, so a fence below an earlier one is refused.

An evaluator may send a start message during an assessment, with another address or key and the number of the next turn.
An agent that knows the assessment uses these from then on, stops its running turn, and keeps everything else.
"""

import asyncio
import copy
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from purple_sdk.agent import AgentFactory, BasePurpleAgent
from purple_sdk.protocol.messages import (
    AssessmentCompleteMessage,
    AssessmentStartMessage,
    FromParticipant,
    TurnStartMessage,
)
from purple_sdk.settings.config import PurpleAgentConfig

_log = logging.getLogger(__name__)

MOST_TURNS_KEPT = 64
MOST_STATES_KEPT = 128
MOST_FENCES_KEPT = 10_000
LONGEST_STOP = 10.0
"""Seconds that a stopped turn may take to end."""


class NoAssessmentError(Exception):
    """A turn was asked for in a context without an assessment."""


class FromThePastError(Exception):
    """A message came from an evaluator's attempt that was paused, and has been given up since."""


class TurnStuckError(Exception):
    """A turn that was stopped doesn't end."""


@dataclass(eq=False)
class Turn:
    """One try of one turn."""

    number: int
    attempt: int
    task: asyncio.Task[FromParticipant]
    stopped_because: str | None = None

    def __str__(self) -> str:
        return f"turn {self.number}, try {self.attempt}"

    async def stop(self, reason: str) -> None:
        """Stop the turn, if it still runs. Raises TurnStuckError if it doesn't end within ``LONGEST_STOP``."""
        if self.task.done():
            return
        self.stopped_because = reason
        self.task.cancel()
        await asyncio.wait({self.task}, timeout=LONGEST_STOP)
        if not self.task.done():
            raise TurnStuckError(f"{self} was stopped and still runs after {LONGEST_STOP:g} s")


class Conversation:
    """One assessment: its agent, its turns, and the agent's state at the start of each turn."""

    def __init__(self, agent: BasePurpleAgent, start_id: str, start: AssessmentStartMessage) -> None:
        self.agent = agent
        self._start_id = start_id
        self._start = start
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._states: OrderedDict[int, Any] = OrderedDict()
        self.last_used = time.monotonic()

    def was_started_by(self, message_id: str, message: AssessmentStartMessage) -> bool:
        """Return whether a start message is about this assessment, rather than a new one. It is if it repeats an
        earlier message, names the next turn, or has the same simulation at a later time.

        During an assessment, evaluators send start messages to agents that may have been restarted. This agent wasn't.
        """
        known = self._start
        is_same_simulation = (message.ues_url, message.api_key) == (known.ues_url, known.api_key)
        return (
            message_id == self._start_id
            or message.resumes_turn is not None
            or (is_same_simulation and message.current_time > known.current_time)
        )

    async def get_in_by(self, message_id: str, message: AssessmentStartMessage) -> None:
        """Store a new address and key, and stop a turn that runs with the old ones. Raises TurnStuckError if a
        cancelled turn keeps running.
        """
        self.last_used = time.monotonic()
        if message_id == self._start_id or message.resumes_turn is None:
            return
        if (message.ues_url, message.api_key) != (self._start.ues_url, self._start.api_key):
            await self.stop("the evaluator started over")
            await self.agent.get_in_by(message.ues_url, message.api_key)
        self._start_id, self._start = message_id, message

    @property
    def running(self) -> Turn | None:
        """The running turn, if any; there is never more than one."""
        return next((turn for turn in reversed(self._turns.values()) if not turn.task.done()), None)

    async def take_turn(self, message_id: str, message: TurnStartMessage) -> Turn:
        """Return the turn of a message: a known turn, or a new turn that is started now. Raises TurnStuckError if an
        earlier turn was cancelled and keeps running.
        """
        self.last_used = time.monotonic()
        if message_id not in self._turns:
            await self.stop("a newer turn or try took its place")
            self._set_state(message.turn_number)
            self.agent.begin_turn(message)
            task = asyncio.create_task(self.agent.play_turn(), name=f"turn {message.turn_number}")
            self._turns[message_id] = Turn(message.turn_number, message.attempt, task)
            while len(self._turns) > MOST_TURNS_KEPT:
                self._turns.popitem(last=False)
        return self._turns[message_id]

    async def stop(self, reason: str) -> None:
        """Stop the running turn, if there is one. Raises TurnStuckError if it doesn't end within ``LONGEST_STOP``."""
        if self.running is not None:
            await self.running.stop(reason)

    async def close(self) -> None:
        """Stop the running turn and close the agent's connections."""
        try:
            await self.stop("the assessment ended")
        except TurnStuckError as error:
            _log.warning("%s; closing its connections", error)
        await self.agent.aclose()

    def _set_state(self, number: int) -> None:
        if number in self._states:
            for later in [known for known in self._states if known > number]:
                del self._states[later]
            self.agent.state = copy.deepcopy(self._states[number])
            return
        if any(known > number for known in self._states):
            _log.warning(
                "turn %d is played again, and its state is no longer kept: continuing with the present one", number
            )
        self._states[number] = copy.deepcopy(self.agent.state)
        while len(self._states) > MOST_STATES_KEPT:
            self._states.popitem(last=False)


class Conversations:
    """The conversations of a process, by A2A context.

    ``idle_limit`` is in seconds: a conversation without turns and messages for that long is dropped.
    """

    def __init__(self, factory: AgentFactory, config: PurpleAgentConfig, idle_limit: float = 6 * 3600.0) -> None:
        self._factory = factory
        self._config = config
        self._idle_limit = idle_limit
        self._known: dict[str, Conversation] = {}
        self._fences: OrderedDict[str, int] = OrderedDict()
        # One message of a context at a time; an unused lock is removed by garbage collection.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def take_fence(self, context_id: str, fence: int) -> None:
        """Store a message's fence (0 for none). From now on, refuse messages with lower fences in this context. Raises
        FromThePastError if a newer attempt has sent messages since.
        """
        if not fence:
            return
        heard = self._fences.pop(context_id, 0)
        self._fences[context_id] = max(fence, heard)
        while len(self._fences) > MOST_FENCES_KEPT:
            self._fences.popitem(last=False)
        if fence < heard:
            raise FromThePastError(
                f"a newer attempt of the evaluator has spoken: the fence {fence} is lower than {heard}"
            )

    async def start(self, context_id: str, message_id: str, message: AssessmentStartMessage) -> None:
        """Begin an assessment. A message about the running assessment doesn't start a new one.

        Raises any error of the agent's ``initialize`` or ``on_assessment_start``. The context has no agent then.
        """
        await self._drop_idle()
        async with self._lock(context_id):
            known = self._known.get(context_id)
            if known is not None and known.was_started_by(message_id, message):
                await known.get_in_by(message_id, message)
                return
            await self._drop(context_id)
            agent = self._factory(self._config)
            agent.context_id = context_id
            agent.initialize(message.ues_url, message.api_key, message.current_time, message.assessment_instructions)
            try:
                await agent.on_assessment_start(message)
            except BaseException:
                await agent.aclose()
                raise
            self._known[context_id] = Conversation(agent, message_id, message)

    async def take_turn(self, context_id: str, message_id: str, message: TurnStartMessage) -> Turn:
        """Return the turn of a message.

        Raises:
            NoAssessmentError: no assessment runs in this context.
            TurnStuckError: an earlier turn was cancelled and keeps running.
        """
        await self._drop_idle()
        async with self._lock(context_id):
            conversation = self._known.get(context_id)
            if conversation is None:
                raise NoAssessmentError(
                    f"no assessment runs in context {context_id}: send assessment_start first "
                    "(this agent may have been restarted since)"
                )
            return await conversation.take_turn(message_id, message)

    async def complete(self, context_id: str, message: AssessmentCompleteMessage) -> None:
        """End an assessment and drop its agent. An unknown assessment counts as ended.

        Raises any error of the agent's ``on_assessment_complete``. The agent is dropped nevertheless.
        """
        async with self._lock(context_id):
            conversation = self._known.get(context_id)
            if conversation is None:
                return
            try:
                await conversation.stop("the assessment ended")
                await conversation.agent.on_assessment_complete(message)
            finally:
                await self._drop(context_id)

    async def aclose(self) -> None:
        """Drop all conversations."""
        for context_id in list(self._known):
            await self._drop(context_id)

    def _lock(self, context_id: str) -> asyncio.Lock:
        return self._locks.setdefault(context_id, asyncio.Lock())

    async def _drop(self, context_id: str) -> None:
        conversation = self._known.pop(context_id, None)
        if conversation is not None:
            await conversation.close()

    async def _drop_idle(self) -> None:
        long_ago = time.monotonic() - self._idle_limit
        for context_id, conversation in list(self._known.items()):
            if conversation.last_used < long_ago and conversation.running is None:
                _log.info("dropping context %s: idle for over %g s", context_id, self._idle_limit)
                await self._drop(context_id)
