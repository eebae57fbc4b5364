"""The time that counts: the time played, without the pause before a reset; and the deadline that is measured by it."""

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
    """Something that began at an instant; ``paused`` are seconds since then that were not played."""

    started_at: datetime
    paused: float = 0.0


def seconds_played(timed: Timed | None) -> float:
    """The seconds played until now; 0 before the start, or after Temporal's clock went back."""
    if timed is None:
        return 0.0
    return max((workflow.now() - timed.started_at).total_seconds() - timed.paused, 0.0)


class TimePlayed:
    """The pauses of one workflow; made in its ``__init__``. ``paused_before`` is what an earlier run knew of them."""

    def __init__(self, steps: Steps, paused_before: float = 0.0) -> None:
        self._steps = steps
        self._paused_before = paused_before
        self.resets = 0
        """Those that this run has come past; a reset of a reset run counts two."""
        workflow.register_random_seed_callback(self._be_reset)

    @property
    def is_reset(self) -> bool:
        """Whether this run is a reset, and has come to its new part."""
        return self.resets > 0

    def _be_reset(self, _seed: int) -> None:
        """Give the run of a reset a new seed from the point where it stops repeating the old run."""
        self.resets += 1

    async def measure_pauses(self, timed: Timed | None) -> None:
        """Before the time played is reported: the run of a reset measures how much of its time was not played."""
        if timed is None or not self.is_reset:
            return
        try:
            pauses = await self._steps.do_here(
                ResetActivities.measure_pauses, PausesInput(since=timed.started_at), **limits.quick("time not played")
            )
        except FailureError as problem:
            if is_cancelled_exception(problem):
                raise
            workflow.logger.warning("it is not known for how long the assessment was not played: %s", problem)
            return
        timed.paused = self._paused_before + pauses

    async def keep_to(self, seconds: float, timed: Timed, work: Callable[[], Awaitable[Result]]) -> Result:
        """Do work that must end before a number of seconds were played; ``TimeoutError`` where they have passed."""
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
        except FailureError as problem:
            # At the deadline the activity at work is canceled, and fails by that before the timeout can say why.
            if is_cancelled_exception(problem) and limit.expired():
                raise TimeoutError from None
            raise

    async def _watch(self, limit: asyncio.Timeout, is_up: asyncio.Future[None], seconds: float, timed: Timed) -> None:
        """Let a limit expire at the deadline; in a run that is a reset that is later, as pauses don't count."""
        await is_up
        while self.is_reset:
            await self.measure_pauses(timed)
            seconds_left = seconds - seconds_played(timed)
            if seconds_left <= 0:
                break
            await asyncio.sleep(seconds_left)
        limit.reschedule(asyncio.get_running_loop().time())
