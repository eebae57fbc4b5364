"""The fence of an attempt: a number by which simulator and participant tell the newest attempt from those of the past.

It is the moment, in microseconds since 1970, at which Temporal handed this attempt out, by Temporal's own clock
(``current_attempt_scheduled_time``). Over retries, steps, new runs and resets it only rises: an attempt is handed out
after the one before it has failed, timed out or was given up. So it orders attempts by their right to act and not by
when they come to act: one that was stopped before it claimed anything is refused too. Local activities have no such
moment, since an attempt of theirs that begins again on another worker counts as the first; so what changes a simulation
is never local.

Should Temporal's clock go back, new attempts are refused like old ones, and tried again until it has caught up.
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
    """Guard: explain in a sentence that the attempt was overtaken."""
    try:
        return await proceed()
    except OvertakenError as problem:
        raise _overtaken_error(problem) from None


def _overtaken_error(problem: OvertakenError) -> Exception:
    """Tried again, where anybody still listens: Temporal takes nothing from an attempt that it has given up."""
    own = activity.info().current_attempt_scheduled_time
    holder = ""
    if isinstance(problem.detail, dict) and isinstance(problem.detail.get("fence"), int):
        holder = f", one of {(_EPOCH + problem.detail['fence'] * _TICK).isoformat()}"
    return failures.OVERTAKEN.passing(
        f"Another attempt has taken over{holder}; this one is of {own.isoformat()}. If there is no other, Temporal's "
        "clock has gone back, and this continues once it has passed the later time."
    )
