"""The participant that a person is: a real agent, which lays each turn before the terminal and waits for its answer."""

import asyncio
import queue
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from proctor_protocol.messages import EarlyCompletionMessage, TurnCompleteMessage
from proctor_settings.config import PurpleAgentConfig
from purple_sdk import BasePurpleAgent

T = TypeVar("T")

_LAST_SECONDS = 1.0  # how long what still runs may take to end


class Background:
    """An event loop on a thread of its own, for all but the terminal."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have something done there, and wait for it; where that is interrupted, it is cancelled there, too."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


@contextmanager
def background() -> Iterator[Background]:
    """Such a loop, until the block is left."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield Background(loop)
    finally:
        asyncio.run_coroutine_threadsafe(_end_the_others(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end_the_others() -> None:
    """Cancel what still runs in this loop, such as sse_starlette's watcher, which outlives every server."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=_LAST_SECONDS)


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
        """Give the answer; on any thread."""

        def give() -> None:
            if not self.answer.done():
                self.answer.set_result(message)

        self.answer.get_loop().call_soon_threadsafe(give)


@dataclass(frozen=True)
class Over:
    """The assessment has ended, or couldn't continue; those who wait for its result learn how."""


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
