"""Report the failures of a step to the assessment's caller, if the step will be retried.

The signal ``trouble`` brings a failure to the workflow, which publishes it. Signals are sent only while the step is
running, because a reset repeats later signals.

* ``troubles``, a guard, reports an attempt that will be retried, after ``TELL_AFTER`` seconds of trying
* ``Wait`` is for an activity that repeatedly looks for a service (a simulator, a store) inside an attempt
* ``telling`` is for an activity that waits for a model's answer
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from proctor.activities.attempts import failures
from proctor.activities.attempts.elapsed import since_scheduled
from proctor.activities.plan import Model, OfSeveral
from purple_sdk.protocol.json_safe import storable_text

if TYPE_CHECKING:  # commands do without Temporal's worker: its import is slow
    from temporalio.worker import ExecuteActivityInput

    from proctor.activities.attempts.around import Proceed

TROUBLE_SIGNAL = "trouble"

TELL_AFTER = 5.0
"""Seconds for which a step may be tried without a report."""

TELL_AGAIN = 25.0
"""Seconds between two reports of a wait. With the longest pause between attempts, progress is reported every minute."""

_LONGEST_ANSWER = 1_000
_SIGNAL_SECONDS = timedelta(seconds=2)
_LONGEST_PAUSE = 100
"""The longest pause as a multiple of the first one: Temporal's default if a retry policy names no longest pause."""

_MOST_WAITS = 1_000

_about: ContextVar[str | None] = ContextVar("about", default=None)
"""The criterion or character that distinguishes the running step from parallel ones."""

_reported: dict[tuple[str | None, str], float] = {}
"""The time of a wait's last report, by workflow and problem. Parallel steps of this process share it."""

_STEPS = {
    "admit": "Checking the request",
    "join_queue": "Waiting for earlier assessments of the context",
    "set_up": "Preparing the simulation",
    "greet": "Greeting the participant",
    "purple_turn": "The participant's turn",
    "apply": "Reading what the participant did",
    "respond": "A character's answer",
    "advance": "Moving the simulation's clock",
    "conclude": "Closing the simulation",
    "judge_criterion": "Judging",
    "archive": "Putting the assessment in the archive",
}


class Trouble(Model):
    """A step that has not succeeded yet and is still being tried.

    Attributes:
        step: the activity's type.
        about: the criterion or character of the step.
        kind: the failure's type.
        answer: the reason of the failure, in words.
        attempt: the number of the failed attempt, from 1.
        attempts: the most attempts; 0 for no limit.
        is_waiting: whether the attempt still waits, and has not failed.
    """

    step: str
    about: str | None = None
    kind: str
    answer: str
    attempt: int
    attempts: int = 0
    is_waiting: bool = False

    def sentence(self) -> str:
        step = _STEPS.get(self.step, self.step) + (f" ({self.about})" if self.about else "")
        if self.is_waiting:
            return f"{step} has to wait: {self.answer}"
        tries = f"{self.attempt} of {self.attempts}" if self.attempts else f"{self.attempt}"
        return f"{step} failed at try {tries} and is tried again: {self.answer}"


async def troubles(input: "ExecuteActivityInput", proceed: "Proceed") -> Any:  # noqa: A002
    """Guard: report an attempt that has failed and will be retried."""
    _about.set(_find_subject(input.args))
    try:
        return await proceed()
    except Exception as error:
        info = activity.info()
        pause = seconds_to_retry(info, error)
        if pause is not None and since_scheduled().total_seconds() + pause > TELL_AFTER:
            await _tell(error)
        raise


class Wait:
    """A wait inside an attempt. It is reported after ``TELL_AFTER`` seconds, then every ``TELL_AGAIN`` seconds."""

    def __init__(self) -> None:
        self._tell_at = time.monotonic() + TELL_AFTER

    async def report(self, problem: BaseException) -> None:
        """Report that the wait continues because of this problem, if a report is due. Call it at every look."""
        if time.monotonic() < self._tell_at or not activity.in_activity():
            return
        self._tell_at = time.monotonic() + TELL_AGAIN
        await _tell(problem, is_waiting=True)


@asynccontextmanager
async def telling(problem: BaseException) -> AsyncIterator[None]:
    """While this context is open, report every ``TELL_AGAIN`` seconds that the attempt waits because of a problem.
    Steps of a workflow that wait for the same reason share one report.
    """
    if not activity.in_activity():
        yield
        return

    async def tell() -> None:
        place = (activity.info().workflow_id, str(problem))
        while True:
            await asyncio.sleep(TELL_AGAIN)
            if time.monotonic() - _reported.get(place, -TELL_AGAIN) < TELL_AGAIN / 2:
                continue
            if len(_reported) >= _MOST_WAITS:
                _reported.clear()
            _reported[place] = time.monotonic()
            await _tell(problem, is_waiting=True)

    reporting = asyncio.create_task(tell())
    try:
        yield
    finally:
        reporting.cancel()


def seconds_to_retry(info: activity.Info, problem: BaseException) -> float | None:
    """Return the seconds until an activity's next attempt after this failure; None if this was the last attempt."""
    policy = info.retry_policy
    if policy is None or 0 < policy.maximum_attempts <= info.attempt:
        return None
    if failures.get_kind(problem) in (policy.non_retryable_error_types or ()):
        return None
    if isinstance(problem, ApplicationError) and problem.non_retryable:
        return None
    pause = policy.initial_interval * min(policy.backoff_coefficient ** (info.attempt - 1), 1e6)
    pause = min(pause, policy.maximum_interval or policy.initial_interval * _LONGEST_PAUSE)
    if isinstance(problem, ApplicationError) and problem.next_retry_delay is not None:
        pause = problem.next_retry_delay
    whole = info.schedule_to_close_timeout
    if whole is not None and since_scheduled() + pause > whole:
        return None
    return pause.total_seconds()


async def _tell(problem: BaseException, *, is_waiting: bool = False) -> None:
    """Send the signal. Temporal's errors are ignored: the workflow may have ended."""
    info = activity.info()
    if info.workflow_id is None:
        return
    kind = failures.get_kind(problem)
    answer = failures.in_words(kind, problem.message if isinstance(problem, ApplicationError) else str(problem))
    trouble = Trouble(
        step=info.activity_type,
        about=_about.get(),
        kind=kind,
        answer=storable_text(answer, _LONGEST_ANSWER),
        attempt=info.attempt,
        attempts=info.retry_policy.maximum_attempts if info.retry_policy else 0,
        is_waiting=is_waiting,
    )
    workflow = activity.client().get_workflow_handle(info.workflow_id, run_id=info.workflow_run_id)
    with suppress(RPCError):
        await workflow.signal(TROUBLE_SIGNAL, trouble, rpc_timeout=_SIGNAL_SECONDS)


def _find_subject(arguments: Any) -> str | None:
    """Return the criterion or the character that distinguishes parallel steps."""
    return next((argument.about for argument in arguments if isinstance(argument, OfSeveral)), None)
