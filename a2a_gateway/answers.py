"""Answers about tasks, with as few requests to Temporal as possible.

* Equal questions are asked once. A caller never joins a question under way, since the answer may be older than the
  caller's last action. Instead, one more question follows for all callers who came in the meantime.
* The answer about an ended run is cached.
* Questions beyond ``MOST_AT_ONCE`` are refused.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Any, TypeVar

from a2a.server.context import ServerCallContext
from a2a.types import Task, TaskState
from a2a.utils.errors import InternalError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

T = TypeVar("T")

MOST_AT_ONCE = 100
"""The most different questions at the same time. Each question keeps Temporal and the gateway busy for some 20 ms."""

RETRY_AFTER = 2
"""Seconds after which a refused caller should ask again."""

REFUSED = "a2a_gateway.refused"
"""The key of a list in the scope and in the context's state. The list is filled if the request was refused."""

_MOST_KEPT = 64_000_000
"""The most bytes of all cached answers about ended tasks, as messages. The largest results have some 5 MB."""


_FROM_HISTORY = (TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_REJECTED)
"""States whose answers come from the history alone; other states may temporarily lack their result."""


class Answers:
    """The questions under way, the questions that follow them, and the cached answers."""

    def __init__(self) -> None:
        self._asked: dict[Hashable, asyncio.Task[Any]] = {}
        self._next: dict[Hashable, asyncio.Task[Any]] = {}
        self._from_callers = 0
        self._kept: OrderedDict[Hashable, Task] = OrderedDict()
        self._bytes = 0

    async def ask(self, key: Hashable, ask: Callable[[], Awaitable[T]], context: ServerCallContext | None = None) -> T:
        """Return the answer of ``ask``, shared by all callers who have the same question before it is asked.

        Args:
            key: identifies the question; equal questions have equal keys.
            ask: asks Temporal.
            context: the call's context, which notes a refusal. It is None for our own questions, which are never
                refused.

        Raises:
            InternalError: there are too many questions.
        """
        question: asyncio.Task[T] | None = self._next.get(key)
        if question is None:
            if context is not None and self._from_callers >= MOST_AT_ONCE:
                context.state.get(REFUSED, []).append(key)
                raise InternalError(
                    f"The evaluator is busy with {MOST_AT_ONCE} questions about tasks: repeat this one after "
                    f"{RETRY_AFTER} s, or subscribe to the task."
                )
            earlier = self._asked.get(key)
            question = asyncio.create_task(self._in_turn(key, ask, earlier))
            self._from_callers += context is not None
            question.add_done_callback(partial(self._end, context is not None))
            (self._next if earlier else self._asked)[key] = question
        return await asyncio.shield(question)

    async def keep(self, key: tuple[object, ...], read: Callable[[], Awaitable[Task]]) -> Task:
        """Return a copy of the answer about an ended run, which is read once."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return _copy(self._kept[key])
        task = await self.ask(("ended", *key), read)
        is_final = task.artifacts or task.status.state in _FROM_HISTORY
        if is_final and key not in self._kept and task.ByteSize() < _MOST_KEPT / 4:
            self._kept[key] = _copy(task)
            self._bytes += task.ByteSize()
            while self._bytes > _MOST_KEPT:
                self._bytes -= self._kept.popitem(last=False)[1].ByteSize()
        return _copy(task)

    async def _in_turn(self, key: Hashable, ask: Callable[[], Awaitable[T]], earlier: asyncio.Task[Any] | None) -> T:
        if earlier is not None:
            await asyncio.wait({earlier})
            self._asked[key] = self._next.pop(key)
        try:
            return await ask()
        finally:
            if self._asked.get(key) is asyncio.current_task():
                del self._asked[key]

    def _end(self, is_from_caller: bool, question: asyncio.Task[Any]) -> None:
        self._from_callers -= is_from_caller
        if not question.cancelled():
            question.exception()  # mark it as retrieved: perhaps no caller waits any longer


class RetryLater:
    """Middleware that answers refused questions with status 503 and ``Retry-After``, also in JSON-RPC."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused: list[object] = []

        async def marked(message: Message) -> None:
            if refused and message["type"] == "http.response.start":
                headers = [*message["headers"], (b"retry-after", b"%d" % RETRY_AFTER)]
                message = {**message, "status": 503, "headers": headers}
            await send(message)

        scope[REFUSED] = refused
        await self._app(scope, receive, marked if scope["type"] == "http" else send)


def _copy(task: Task) -> Task:
    copy = Task()
    copy.CopyFrom(task)
    return copy
