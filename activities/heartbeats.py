"""Every activity with a heartbeat timeout beats by itself, and carries what an attempt wants the next one to know."""

import asyncio
from contextvars import ContextVar
from typing import Any

from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

BEAT_SECONDS = 0.5

_notes: ContextVar[list[str]] = ContextVar("heartbeat_notes")


def notes() -> list[str]:
    """What earlier attempts of this activity, and this one, have noted."""
    return list(_notes.get())


def note(text: str) -> None:
    """Leave a note for the next attempt, should this one's worker die."""
    kept = _notes.get()
    if text not in kept:
        kept.append(text)
        activity.heartbeat(*kept)


def forget() -> None:
    """Let the next attempt know nothing of what was noted so far."""
    _notes.get().clear()
    activity.heartbeat()


class Heartbeats(Interceptor):
    """The worker's interceptor that beats for the activities."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        """Wrap an activity's execution."""
        return _Beating(next)


class _Beating(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        _notes.set([str(detail) for detail in activity.info().heartbeat_details])
        if not activity.info().heartbeat_timeout:
            return await super().execute_activity(input)
        beating = asyncio.create_task(_beat())
        try:
            return await super().execute_activity(input)
        finally:
            beating.cancel()


async def _beat() -> None:
    while True:
        await asyncio.sleep(BEAT_SECONDS)
        activity.heartbeat(*_notes.get())
