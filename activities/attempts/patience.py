"""Waiting, inside an attempt, for the simulator and the store, whose absence is not the participant's fault.

Temporal's worker would store a large result after the activity's last heartbeat, and a failure would cost one of its
few attempts. So ``keeping`` stores it before.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from temporalio import activity
from temporalio.worker import ExecuteActivityInput

from proctor.activities.attempts.around import Proceed
from proctor.activities.attempts.troubles import Wait
from proctor.storage.blobs import StoreUnavailableError
from purple_sdk.ues import UESConnectionError

T = TypeVar("T")

_PATIENCE, _PAUSE = 60.0, 0.3
"""Seconds for which an absent simulator or store is waited for, and between two looks."""

WITHOUT_SIMULATOR: ContextVar[float] = ContextVar("patience_without_simulator", default=_PATIENCE)
"""Seconds for which an absent simulator is waited for here."""


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do something that may be repeated, and wait for the simulator or the store where it is away for a while.

    For activities that wait for the participant: their own attempts are few, so that an absent participant is given up
    soon, and an absent simulator or a full store isn't the participant's fault. Raises the last error where it stays
    away.
    """
    clock = asyncio.get_running_loop().time
    began_at = clock()
    wait = Wait()
    while True:
        try:
            return await work()
        except (UESConnectionError, StoreUnavailableError) as problem:
            is_simulator = isinstance(problem, UESConnectionError)
            if clock() - began_at > (WITHOUT_SIMULATOR.get() if is_simulator else _PATIENCE):
                raise
            await wait.goes_on(problem)
            await asyncio.sleep(_PAUSE)


async def keeping(_input: ExecuteActivityInput, proceed: Proceed) -> Any:
    result = await proceed()
    if activity.info().heartbeat_timeout:
        converter = activity.client().data_converter
        await patiently(lambda: converter.encode([result]))
    return result
