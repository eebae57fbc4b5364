"""The fence of an attempt: a number by which simulator and participant recognise the newest attempt.

The fence is the moment, in microseconds since 1970, at which Temporal handed out this attempt. It comes from Temporal's
clock (``current_attempt_scheduled_time``). An attempt is handed out after the previous one has failed, timed out or
been abandoned. So fences only rise over retries, steps, new runs and resets. They order attempts by their right to act,
not by the time of their actions. An old attempt is refused even if it was stopped before it claimed anything.

Local activities have no such moment: if one begins again on another worker, it counts as a first attempt. So activities
that change a simulation are never local.

If Temporal's clock goes back, new attempts are refused as outdated. They are retried until the clock has caught up.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.worker import ExecuteActivityInput

from proctor.activities.attempts import failures
from proctor.activities.attempts.around import Proceed
from purple_sdk.ues import OvertakenError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def own_fence() -> int:
    return (activity.info().current_attempt_scheduled_time - _EPOCH) // _TICK


async def fencing(_input: ExecuteActivityInput, proceed: Proceed) -> Any:
    """Guard: explain in a sentence that a newer attempt has taken over."""
    try:
        return await proceed()
    except OvertakenError as error:
        raise _overtaken_error(error) from None


def _overtaken_error(problem: OvertakenError) -> Exception:
    """Return a retryable error. Temporal ignores it if it has already abandoned the attempt."""
    own = activity.info().current_attempt_scheduled_time
    holder = ""
    if isinstance(problem.detail, dict) and isinstance(problem.detail.get("fence"), int):
        holder = f", one of {(_EPOCH + problem.detail['fence'] * _TICK).isoformat()}"
    return failures.OVERTAKEN.passing(
        f"Another attempt has taken over{holder}; this one is of {own.isoformat()}. If there is no other, Temporal's "
        "clock has gone back, and this continues once it has passed the later time."
    )
