"""Run activities without Temporal, in the context that Temporal would give them."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from proctor.activities.attempts.heartbeats import Heartbeats

T = TypeVar("T")


async def do(activity: Callable[..., Awaitable[T]], *arguments: Any, attempt: int = 1) -> T:
    """Run an activity in the context that Temporal would give it."""
    environment = ActivityEnvironment()
    now = datetime.now(UTC)
    environment.info = replace(environment.info, current_attempt_scheduled_time=now, attempt=attempt)
    result: T = await environment.run(noting(activity), *arguments)
    return result


class _Running(ActivityInboundInterceptor):
    def __init__(self) -> None:
        pass

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        return await input.fn(*input.args)


def noting(activity: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """Wrap an activity, as workers do, to let it leave notes for its next attempt."""

    async def run(*arguments: Any) -> T:
        payload = ExecuteActivityInput(fn=activity, args=arguments, executor=None, headers={})
        result: T = await Heartbeats().intercept_activity(_Running()).execute_activity(payload)
        return result

    return run
