"""The participant whose turns a person plays: a real agent that passes each turn to the terminal, and waits."""

import asyncio
import queue
from dataclasses import dataclass
from datetime import datetime

from purple_sdk import BasePurpleAgent
from purple_sdk.protocol.messages import EarlyCompletionMessage, TurnCompleteMessage
from purple_sdk.settings.config import PurpleAgentConfig


@dataclass(frozen=True)
class Turn:
    """A turn that waits for the person."""

    agent: BasePurpleAgent
    number: int
    attempt: int
    now: datetime
    answer: "asyncio.Future[TurnCompleteMessage | EarlyCompletionMessage]"

    def is_pending(self) -> bool:
        return not self.answer.done()

    def end(self, message: TurnCompleteMessage | EarlyCompletionMessage) -> None:
        """Give the person's answer. Any thread may call this."""

        def give() -> None:
            if not self.answer.done():
                self.answer.set_result(message)

        self.answer.get_loop().call_soon_threadsafe(give)


@dataclass(frozen=True)
class Over:
    """A sign for the terminal that the assessment has ended, or couldn't continue."""


TurnQueue = queue.SimpleQueue[Turn | Over]


def person_agent(queue: TurnQueue) -> type[BasePurpleAgent]:
    class Person(BasePurpleAgent):
        name = "a person"
        description = "Somebody at a terminal: proctor play."

        def __init__(self, config: PurpleAgentConfig) -> None:
            super().__init__(config)
            self.state = None

        async def execute_turn(self) -> TurnCompleteMessage | EarlyCompletionMessage:
            answer = asyncio.get_running_loop().create_future()
            queue.put(Turn(self, self.turn_number, self.attempt, self.current_time, answer))
            message: TurnCompleteMessage | EarlyCompletionMessage = await answer
            return message

    return Person
