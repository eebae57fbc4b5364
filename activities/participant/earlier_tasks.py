"""Tasks that the participant may still be at when a step begins: those of tries, attempts and runs that were given up.

Each is canceled, and waited for until the participant reports its end. An agent that continued it could act in the new
turn with the new key.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice

from temporalio import activity

from proctor.activities.participant.client import ParticipantClient
from proctor.activities.participant.payloads import AskedInRun

CANCEL_SECONDS = 1.0
"""How long the participant is waited for when it is asked which tasks it has, or to cancel one."""

_MOST = 100
"""Tasks that a participant is asked to stop at a time: it tells how many it has, and each takes a connection."""


def was_asked_in_earlier_run(payload: AskedInRun) -> bool:
    """Whether a reset has this step done again as it was asked for before the reset, which came in its midst."""
    return payload.run not in ("", activity.info().workflow_run_id)


async def cancel_all(participant: ParticipantClient, known: Iterable[str]) -> None:
    """Ask the participant to stop: the tasks that it is known to have, and those that it lists. Waits for none."""
    with suppress(TimeoutError):
        async with asyncio.timeout(CANCEL_SECONDS):
            unfinished = dict.fromkeys([*known, *await participant.list_unfinished()])
            await asyncio.gather(*map(participant.cancel, islice(unfinished, _MOST)))


async def end_all(participant: ParticipantClient, known: Iterable[str], *, lists: bool, seconds: float) -> float:
    """Have earlier tasks canceled, and wait until they have ended; returns the seconds that this took.

    Args:
        participant: whose they are.
        known: their ids, as far as the evaluator has noted them.
        lists: ask the participant for others, too: none of its tasks is wanted any more.
        seconds: the longest time to wait. The old key is dead by then in any case.
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
