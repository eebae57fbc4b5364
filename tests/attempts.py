"""An activity as our workers run it, in temporalio's ``ActivityEnvironment``: with notes from attempt to attempt."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.heartbeats import Heartbeats

T = TypeVar("T")


class _Running(ActivityInboundInterceptor):
    def __init__(self) -> None:
        pass

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        return await input.fn(*input.args)


def noting(activity: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """The same activity, which may leave notes for its next attempt."""

    async def run(*given: Any) -> T:
        asked = ExecuteActivityInput(fn=activity, args=given, executor=None, headers={})
        found: T = await Heartbeats().intercept_activity(_Running()).execute_activity(asked)
        return found

    return run
