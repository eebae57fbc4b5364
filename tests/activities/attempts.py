"""Doing something as an attempt of an activity, with a fence of its own, and no Temporal."""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from temporalio.testing import ActivityEnvironment

T = TypeVar("T")

_BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
_seconds = itertools.count(1)


async def attempt(work: Callable[[], Awaitable[T]]) -> T:
    """Do something as an attempt of an activity, each with a higher fence than the one before."""
    surroundings = ActivityEnvironment()
    at = _BEGAN + timedelta(seconds=next(_seconds))
    surroundings.info = replace(surroundings.info, current_attempt_scheduled_time=at)

    async def doing() -> T:
        return await work()

    return await surroundings.run(doing)
