"""Guards: functions that run around an activity's attempt."""

from collections.abc import Awaitable, Callable
from typing import Any

from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

Proceed = Callable[[], Awaitable[Any]]
"""Runs the attempt; its result is the activity's."""

Guard = Callable[[ExecuteActivityInput, Proceed], Awaitable[Any]]
"""Called with the activity's input and a function that runs the attempt. Returns the activity's result."""


class Around(Interceptor):
    """A worker's interceptor that calls a guard around each attempt."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        return _Guarded(next, self._guard)


class _Guarded(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, guard: Guard) -> None:  # noqa: A002
        super().__init__(next)
        self._run = guard

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        return await self._run(input, lambda: super(_Guarded, self).execute_activity(input))
