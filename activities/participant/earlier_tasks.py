"""End tasks of abandoned tries, attempts and runs, on which the participant may still work when a step begins.

Each task is canceled, then awaited until the participant reports its end. An agent that continued an old task could act
in the new turn with the new key.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice

from temporalio import activity

from proctor.activities.participant.client import ParticipantClient
from proctor.activities.participant.payloads import AskedInRun

CANCEL_SECONDS = 1.0
"""The longest wait, in seconds, for a participant that is asked to list its tasks or to cancel a task."""

_MOST = 100
"""The most tasks that are stopped at a time. The participant chooses how many it lists, and each takes a connection."""


def was_asked_in_earlier_run(payload: AskedInRun) -> bool:
    """Return whether this step was in progress at a reset, and the reset repeats it."""
    return payload.run not in ("", activity.info().workflow_run_id)


async def cancel_all(participant: ParticipantClient, known: Iterable[str]) -> None:
    """Ask the participant to cancel its known tasks and all tasks that it lists. Don't wait for their end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CANCEL_SECONDS):
            unfinished = dict.fromkeys([*known, *await participant.list_unfinished()])
            await asyncio.gather(*map(participant.cancel, islice(unfinished, _MOST)))


async def end_all(participant: ParticipantClient, known: Iterable[str], *, lists: bool, seconds: float) -> float:
    """Cancel earlier tasks, and wait until they have ended. Returns the seconds that this took.

    Args:
        participant: the tasks' participant.
        known: the task ids that the evaluator has noted.
        lists: whether to end all other tasks that the participant lists, too. Then, none of its tasks may belong to
            this step.
        seconds: the longest time to wait. The old key is invalid in any case.
    """
    clock = asyncio.get_running_loop().time
    began, tasks = clock(), dict.fromkeys(known)
    if lists:
        with suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):
                tasks |= dict.fromkeys(await participant.list_unfinished())
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(participant.end(task, CANCEL_SECONDS) for task in islice(tasks, _MOST)))
    except TimeoutError:
        activity.logger.warning("the participant was still at an earlier task after %g s", seconds)
    return clock() - began
