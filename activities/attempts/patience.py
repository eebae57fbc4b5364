"""Wait inside an attempt for an absent simulator or store, since the participant isn't to blame for the absence.

Without ``keeping``, Temporal's worker would store a large result after the activity's last heartbeat, and a failure
would cost an attempt. ``keeping`` stores the result earlier.
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
"""The longest wait for an absent simulator or store, and the pause between two attempts, in seconds."""

WITHOUT_SIMULATOR: ContextVar[float] = ContextVar("patience_without_simulator", default=_PATIENCE)
"""The longest wait for an absent simulator in the current context, in seconds."""


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do repeatable work; if the simulator or the store is away, wait and repeat it.

    Activities that wait for the participant have few attempts, to give up an absent participant soon. An absent
    simulator or a full store must not use up these attempts. Raises the last error if the wait was too long.
    """
    clock = asyncio.get_running_loop().time
    began_at = clock()
    wait = Wait()
    while True:
        try:
            return await work()
        except (UESConnectionError, StoreUnavailableError) as error:
            is_simulator = isinstance(error, UESConnectionError)
            if clock() - began_at > (WITHOUT_SIMULATOR.get() if is_simulator else _PATIENCE):
                raise
            await wait.report(error)
            await asyncio.sleep(_PAUSE)


async def keeping(_input: ExecuteActivityInput, proceed: Proceed) -> Any:
    result = await proceed()
    if activity.info().heartbeat_timeout:
        converter = activity.client().data_converter
        await patiently(lambda: converter.encode([result]))
    return result
