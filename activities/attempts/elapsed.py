"""For how long a step has been tried: until this attempt began by Temporal's clock, and from then on by one that is
never set. So a worker whose clock is wrong gives no one more time or less.
"""

import time
from contextvars import ContextVar
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from temporalio import activity

if TYPE_CHECKING:  # commands do without Temporal's worker, which takes long to import
    from temporalio.worker import ExecuteActivityInput

    from proctor.activities.attempts.around import Proceed


_begun: ContextVar[float | None] = ContextVar("attempt_begun", default=None)


def since_scheduled() -> timedelta:
    """The time since the step was first scheduled; never negative, should Temporal's clock have gone back.

    On a worker without ``timing`` it is the time until this attempt began.
    """
    before = waited_for_worker()
    begun = _begun.get()
    return before if begun is None else before + timedelta(seconds=time.monotonic() - begun)


def waited_for_worker() -> timedelta:
    """How long this attempt had to wait until a worker began it, since the step was scheduled: of a first attempt, how
    long the step has waited.
    """
    info = activity.info()
    return max(info.started_time - info.scheduled_time, timedelta(0))


def counting_stops() -> float | None:
    """Seconds by a clock that is never set and runs while this process is stopped and while the machine sleeps; None
    where there is no such clock.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else None


async def timing(_input: "ExecuteActivityInput", proceed: "Proceed") -> Any:
    _begun.set(time.monotonic())
    return await proceed()
