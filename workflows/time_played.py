"""Measure how long an assessment was played, without the pause before a reset, and apply the deadline to that time."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from proctor.activities.attempts.resets import PausesInput, ResetActivities
from proctor.workflows import limits
from proctor.workflows.steps import Steps

Result = TypeVar("Result")


class Timed(BaseModel):
    """The beginning of an assessment, and the seconds since then in which the assessment was not played
    (``paused``).
    """

    started_at: datetime
    paused: float = 0.0


def seconds_played(timed: Timed | None) -> float:
    """Return the seconds played until now; 0 before the start, or after Temporal's clock went back."""
    if timed is None:
        return 0.0
    return max((workflow.now() - timed.started_at).total_seconds() - timed.paused, 0.0)


class TimePlayed:
    """The pauses of one workflow; made in the workflow's ``__init__``. ``paused_before`` is the pause that an earlier
    run has measured.
    """

    def __init__(self, steps: Steps, paused_before: float = 0.0) -> None:
        self._steps = steps
        self._paused_before = paused_before
        self.resets = 0
        """The number of resets before the current point of this run. A reset of a reset run counts as two."""
        workflow.register_random_seed_callback(self._be_reset)

    @property
    def is_reset(self) -> bool:
        """Whether this run began with a reset and no longer repeats the old run."""
        return self.resets > 0

    def _be_reset(self, _seed: int) -> None:
        """Count a reset. Temporal calls this method at the point where the new run stops repeating the old one."""
        self.resets += 1

    async def measure_pauses(self, timed: Timed | None) -> None:
        """Measure how much of a reset run's time was not played. Call this before the time played is reported."""
        if timed is None or not self.is_reset:
            return
        try:
            pauses = await self._steps.do_here(
                ResetActivities.measure_pauses, PausesInput(since=timed.started_at), **limits.quick("time not played")
            )
        except FailureError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.warning("it is not known for how long the assessment was not played: %s", error)
            return
        timed.paused = self._paused_before + pauses

    async def run_within(self, seconds: float, timed: Timed, work: Callable[[], Awaitable[Result]]) -> Result:
        """Do work, and raise ``TimeoutError`` if it hasn't ended after a number of played seconds."""
        loop = asyncio.get_running_loop()
        is_up: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(max(seconds - seconds_played(timed), 0.0), is_up.set_result, None)
        limit = asyncio.timeout(None)
        try:
            async with limit:
                watching = asyncio.create_task(self._watch(limit, is_up, seconds, timed))
                try:
                    return await work()
                finally:
                    timer.cancel()
                    watching.cancel()
        except FailureError as error:
            # At the deadline the running activity is canceled, and its failure comes before the timeout's.
            if is_cancelled_exception(error) and limit.expired():
                raise TimeoutError from None
            raise

    async def _watch(self, limit: asyncio.Timeout, is_up: asyncio.Future[None], seconds: float, timed: Timed) -> None:
        """Let a limit expire at the deadline. In a reset run the deadline is later, as pauses don't count."""
        await is_up
        while self.is_reset:
            await self.measure_pauses(timed)
            seconds_left = seconds - seconds_played(timed)
            if seconds_left <= 0:
                break
            await asyncio.sleep(seconds_left)
        limit.reschedule(asyncio.get_running_loop().time())
