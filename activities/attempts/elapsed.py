"""The time for which a step has been tried.

The time before this attempt is measured by Temporal's clock, the time since then by the worker's monotonic clock. A
wrong clock on a worker makes no difference.
"""

import time
from contextvars import ContextVar
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from temporalio import activity

if TYPE_CHECKING:  # commands do without Temporal's worker: its import is slow
    from temporalio.worker import ExecuteActivityInput

    from proctor.activities.attempts.around import Proceed


_begun: ContextVar[float | None] = ContextVar("attempt_begun", default=None)


def since_scheduled() -> timedelta:
    """Return the time since the step was first scheduled; at least 0, even if Temporal's clock has gone back.

    On a worker without ``timing``, return the time until this attempt began.
    """
    before = waited_for_worker()
    begun = _begun.get()
    return before if begun is None else before + timedelta(seconds=time.monotonic() - begun)


def waited_for_worker() -> timedelta:
    """Return the time from the step's scheduling to the beginning of this attempt. For a first attempt, this is the
    wait for a worker.
    """
    info = activity.info()
    return max(info.started_time - info.scheduled_time, timedelta(0))


def counting_stops() -> float | None:
    """Return the seconds of a monotonic clock that also counts while the process is stopped or the machine sleeps.
    Return None if the system has no such clock.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else None


async def timing(_input: "ExecuteActivityInput", proceed: "Proceed") -> Any:
    _begun.set(time.monotonic())
    return await proceed()
