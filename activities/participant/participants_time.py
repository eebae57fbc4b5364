"""The participant's time for a step: it begins when a worker first gets at the step, and no wait of ours is charged."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio import activity

from proctor.activities.attempts import failures, heartbeats, notes
from proctor.activities.attempts.elapsed import since_scheduled, waited_for_worker
from proctor.activities.plan import Plan

_LAST_KNOCK_SECONDS = 1.0
"""How long an attempt that comes when the time is over looks for the participant, and for an answer that was there
before: it may have been the store or the simulator that the attempt before had to wait for.
"""

_WORTH_NOTING = 1.0
"""How many seconds a step has to wait until later attempts are informed."""


@asynccontextmanager
async def in_time(plan: Plan, what: str) -> AsyncIterator[None]:
    """Wait for the participant, but no longer than a turn may take since this step was first scheduled."""
    try:
        async with asyncio.timeout(max(seconds_left(plan), _LAST_KNOCK_SECONDS)):
            yield
    except TimeoutError:
        raise failures.TURN_TIMEOUT.final(
            f"The participant did not finish {what} within {plan.turn_timeout:g} s."
        ) from None


def seconds_left(plan: Plan) -> float:
    """The rest of the participant's time."""
    return plan.turn_timeout + wait_seconds() - since_scheduled().total_seconds()


def wait_seconds() -> float:
    """The seconds of the step that weren't the participant's: the step waited for its first attempt, since workers were
    busy or away, or for the end of earlier tasks.
    """
    if noted := notes.noted(notes.WaitNote):
        return noted[-1].seconds
    return waited_for_worker().total_seconds() if activity.info().attempt == 1 else 0.0


def note_wait() -> None:
    """Note for later attempts how long the step has waited so far."""
    if (waited := wait_seconds()) > _WORTH_NOTING:
        notes.note(notes.WaitNote(seconds=waited))


def note_more_wait(seconds: float) -> None:
    """Note for later attempts that the step has waited these seconds more."""
    if seconds > _WORTH_NOTING:
        notes.note(notes.WaitNote(seconds=wait_seconds() + seconds))


def forget() -> None:
    """Let the next attempt begin again: of all notes it gets only the time that isn't the participant's."""
    waited = wait_seconds()
    heartbeats.forget()
    notes.note(notes.WaitNote(seconds=waited))
