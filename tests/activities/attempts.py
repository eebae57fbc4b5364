"""Doing something as an attempt of an activity, with a fence of its own, and no Temporal."""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from temporalio.testing import ActivityEnvironment

T = TypeVar("T")

_BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
_seconds = itertools.count(1)


def surroundings_of_attempt(**info: Any) -> ActivityEnvironment:
    """What surrounds an attempt, whose fence is higher than the one before; ``info`` is more about it."""
    surroundings = ActivityEnvironment()
    at = _BEGAN + timedelta(seconds=next(_seconds))
    surroundings.info = replace(surroundings.info, current_attempt_scheduled_time=at, **info)
    return surroundings


async def attempt(work: Callable[[], Awaitable[T]]) -> T:
    """Do something as an attempt of an activity, each with a higher fence than the one before."""
    surroundings = surroundings_of_attempt()

    async def doing() -> T:
        return await work()

    return await surroundings.run(doing)
