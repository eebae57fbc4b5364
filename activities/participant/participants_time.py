"""Measure the participant's time for a step. The time begins when a worker first gets the step; our own waits aren't
charged.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio import activity

from proctor.activities.attempts import failures, heartbeats, notes
from proctor.activities.attempts.elapsed import since_scheduled, waited_for_worker
from proctor.activities.plan import Plan

_LAST_KNOCK_SECONDS = 1.0
"""The seconds that an attempt gets if it begins after the participant's time is over. The participant may have answered
while the previous attempt waited for the store or the simulator.
"""

_WORTH_NOTING = 1.0
"""The shortest wait of a step, in seconds, that is noted for later attempts."""


@asynccontextmanager
async def in_time(plan: Plan, what: str) -> AsyncIterator[None]:
    """Limit this context to the participant's remaining time. Fails as ``TurnTimeout``."""
    try:
        async with asyncio.timeout(max(seconds_left(plan), _LAST_KNOCK_SECONDS)):
            yield
    except TimeoutError:
        raise failures.TURN_TIMEOUT.final(
            f"The participant did not finish {what} within {plan.turn_timeout:g} s."
        ) from None


def seconds_left(plan: Plan) -> float:
    """Return the rest of the participant's time, in seconds."""
    return plan.turn_timeout + wait_seconds() - since_scheduled().total_seconds()


def wait_seconds() -> float:
    """Return the seconds of the step that aren't charged to the participant. In this time the step waited for a worker,
    or for the end of earlier tasks.
    """
    if noted := notes.noted(notes.WaitNote):
        return noted[-1].seconds
    return waited_for_worker().total_seconds() if activity.info().attempt == 1 else 0.0


def note_wait() -> None:
    """Note for later attempts how long the step has waited so far."""
    if (waited := wait_seconds()) > _WORTH_NOTING:
        notes.note(notes.WaitNote(seconds=waited))


def note_more_wait(seconds: float) -> None:
    """Note for later attempts that the step has waited ``seconds`` longer."""
    if seconds > _WORTH_NOTING:
        notes.note(notes.WaitNote(seconds=wait_seconds() + seconds))


def forget() -> None:
    """Let the next attempt start over. It gets none of the notes except the time that isn't charged."""
    waited = wait_seconds()
    heartbeats.forget()
    notes.note(notes.WaitNote(seconds=waited))
