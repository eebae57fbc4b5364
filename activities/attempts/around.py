"""Guards: functions that run around an activity's attempt."""

from collections.abc import Awaitable, Callable
from typing import Any

from temporalio.worker import (
    ActivityInboundInterceptor,
    ActivityOutboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
)

Proceed = Callable[[], Awaitable[Any]]
"""A function that runs the attempt and returns the activity's result."""

Guard = Callable[[ExecuteActivityInput, Proceed], Awaitable[Any]]
"""A function that gets the activity's input and ``Proceed``, and returns the activity's result."""

Outbound = Callable[[ActivityOutboundInterceptor], ActivityOutboundInterceptor]
"""A function that wraps the outbound interceptor; the attempt's heartbeats pass through it."""


class Around(Interceptor):
    def __init__(self, guard: Guard, outbound: Outbound | None = None) -> None:
        self._guard, self._outbound = guard, outbound

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        return _Guarded(next, self._guard, self._outbound)


class _Guarded(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, guard: Guard, outbound: Outbound | None) -> None:  # noqa: A002
        super().__init__(next)
        self._run, self._outbound = guard, outbound

    def init(self, outbound: ActivityOutboundInterceptor) -> None:
        super().init(self._outbound(outbound) if self._outbound else outbound)

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        return await self._run(input, lambda: super(_Guarded, self).execute_activity(input))
