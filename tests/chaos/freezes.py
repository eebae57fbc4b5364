"""One assessment at which a worker is stopped (SIGSTOP), and goes on (SIGCONT) when others have taken its place."""

import asyncio
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from proctor.client.replay import choose, reset, reset_points
from tests.chaos.moments import Matches, Moment, Seen
from tests.chaos.participant import QUIET
from tests.chaos.rehearsals import (
    ON_ITS_WAY,
    REACHED_WITHIN,
    TURNS,
    ChaosError,
    Outcome,
    Rehearsal,
    is_model,
    is_participant,
    is_step,
)
from tests.chaos.services import Services

MISSED_SECONDS = 80.0
"""How long others may take until they are where the stopped worker is to go on."""

_LATE_REQUESTS_SECONDS = 0.5
"""How long the worker that goes on may act before those are let go whom it may disturb."""


def _is_end(seen: Seen) -> bool:
    return seen.who == "simulator" and seen.what.startswith("DELETE /simulations/") and seen.turn == TURNS


def _is_import(seen: Seen) -> bool:
    return seen.who == "simulator" and seen.what.endswith("/scenario/import/full")


STOPPED: dict[str, Callable[[], Matches]] = {
    "set-up, before its claim": lambda: is_step(0, "anew"),
    "set-up, having loaded": lambda: _is_import,
    "greeting, before its claim": lambda: is_step(0, "mark"),
    "greeting, heard": lambda: is_participant("start before"),
    "turn, before its claim": lambda: is_step(1, "mark"),
    "turn, between claim and message": lambda: is_step(1, "mark"),
    "turn, under way": lambda: is_participant("turn 2 during"),
    "settling, before": lambda: is_step(2, "actions_at"),
    "settling, after": lambda: is_step(2, "actions_at"),
    "advance, before": lambda: is_step(2, "to", lacks="actions_at"),
    "advance, after": lambda: is_step(2, "to", lacks="actions_at"),
    "quiet settling, before": lambda: is_step(QUIET, "actions_at"),
    "quiet settling, after": lambda: is_step(QUIET, "actions_at"),
    "moving on, before": lambda: is_step(QUIET, "to", lacks="actions_at"),
    "moving on, after": lambda: is_step(QUIET, "to", lacks="actions_at"),
    "closing, before": lambda: is_step(TURNS, "revoke"),
    "closing, after": lambda: is_step(TURNS, "revoke"),
    "finishing, before": lambda: _is_end,
}
"""Where the worker is when it is stopped; those of a turn are in the second, but for the quiet one's."""

GOES_ON: dict[str, Matches] = {
    "in the turn": is_participant("turn 2 after"),
    "while the turn is read": is_step(2, "actions_at"),
    "while time advances": is_step(2, "to", lacks="actions_at"),
    "in the next turn": is_participant("turn 3 during"),
    "in the judging": is_model("Now judge this criterion", turn=TURNS),
}
"""Where the others are when it goes on, in the order of the story."""

ALL = "when all is over"
"""It goes on only after the assessment's end."""

_FIRST = {"settling": 1, "advance": 2, "quiet settling": 4, "moving on": 4, "closing": 4, "finishing": 5}
"""Where in the story the others are at the earliest, by the step; 0 for all others."""


def placements() -> list[tuple[str, str]]:
    """Every pair of where the worker is stopped and, later in the story, where it goes on."""
    order = [*GOES_ON, ALL]
    return [(at, until) for at in STOPPED for until in order[_FIRST.get(at.partition(",")[0], 0) :]]


@dataclass(frozen=True)
class Thaw:
    """What became of an assessment at which a worker was stopped."""

    seconds: float
    turn_tries: dict[str, int]
    problem: str | None = None

    def __str__(self) -> str:
        again = sum(tries - 1 for tries in self.turn_tries.values())
        return f"{self.problem or 'the same'} after {self.seconds:.1f} s{f', {again} tries more' if again else ''}"


async def stopped_at(services: Services, at: str, until: str, reference: Outcome) -> Thaw:
    """Play one assessment, stop the worker that is at it, have it go on later, and compare."""
    is_on_its_way = ON_ITS_WAY in at
    moment = services.moments.await_(STOPPED[at](), is_on_its_way=is_on_its_way)
    rehearsal = Rehearsal(services)
    began = time.monotonic()
    stopped: str | None = None
    later = None
    try:
        await rehearsal.accepted()
        if not await asyncio.to_thread(moment.reached.wait, REACHED_WITHIN) or moment.seen is None:
            raise ChaosError(f"{at} was never reached")
        stopped = await services.worker_at(rehearsal.task_id, moment.seen)
        services.halt(stopped)
        if until == ALL:
            moment.release()
            outcome = await rehearsal.outcome()
            services.halt(stopped, signal.SIGCONT)
        else:
            later = services.moments.then(GOES_ON[until])
            # What is on its way stays there, as it would if the worker had been stopped a moment earlier.
            if not is_on_its_way:
                moment.release()
            await _replaced(services, rehearsal.task_id, stopped)
            await _reached(later, rehearsal, until)
            services.halt(stopped, signal.SIGCONT)
            moment.release()
            await asyncio.sleep(_LATE_REQUESTS_SECONDS)
            later.release()
            outcome = await rehearsal.outcome()
        outcome.require_same(reference)
        if outcome.turn_tries:
            raise ChaosError(f"it disturbed a turn, which was played again: {outcome.turn_tries}")
    except ChaosError as error:
        return Thaw(time.monotonic() - began, {}, str(error))
    finally:
        if stopped is not None:
            services.halt(stopped, signal.SIGCONT)
        moment.release()
        if later is not None:
            later.release()
        await rehearsal.give_up()
        await asyncio.wait_for(services.all_up(), 60)
    return Thaw(time.monotonic() - began, outcome.turn_tries)


async def _reached(moment: Moment, rehearsal: Rehearsal, what: str) -> None:
    """Wait for a moment; an assessment that ends before it has failed, and says so."""
    give_up_at = time.monotonic() + MISSED_SECONDS
    while not moment.reached.is_set():
        if await rehearsal.is_over_in(0.05):
            await rehearsal.outcome()
            raise ChaosError(f"it ended, and {what} was never reached")
        if time.monotonic() > give_up_at:
            raise ChaosError(f"{what} was never reached")


async def _replaced(services: Services, task_id: str, stopped: str) -> None:
    """Wait until Temporal knows of nothing any more that this worker is at."""
    handle = (await services.client()).get_workflow_handle(task_id)
    give_up_at = time.monotonic() + MISSED_SECONDS
    while time.monotonic() < give_up_at:
        pending = (await handle.describe()).raw_description.pending_activities
        if not any(activity.last_worker_identity.startswith(f"{services.pid(stopped)}@") for activity in pending):
            return
        await asyncio.sleep(0.1)
    raise ChaosError("nobody took its place")


async def reset_at(services: Services, at: str, turns: tuple[int, ...], reference: Outcome) -> Thaw:
    """Play one assessment, and replay it from these turns, one reset after the other, while it is at a moment; what the
    abandoned runs asked for comes only then.
    """
    is_on_its_way = ON_ITS_WAY in at
    moment = services.moments.await_(STOPPED[at](), is_on_its_way=is_on_its_way)
    rehearsal = Rehearsal(services)
    began = time.monotonic()
    try:
        await rehearsal.accepted()
        if not await asyncio.to_thread(moment.reached.wait, REACHED_WITHIN):
            raise ChaosError(f"{at} was never reached")
        client = await services.client()
        for turn in turns:
            points = await reset_points(client, rehearsal.task_id)
            while turn not in [point.turn for point in points]:
                await asyncio.sleep(0.05)  # the run of the reset before hasn't come to it yet
                points = await reset_points(client, rehearsal.task_id)
            await reset(client, rehearsal.task_id, choose(points, turn, from_judging=False))
        later = services.moments.then(is_participant(f"turn {turns[-1]} during"))
        await rehearsal.follow_anew()
        await _reached(later, rehearsal, f"turn {turns[-1]}, played again,")
        moment.release()
        await asyncio.sleep(_LATE_REQUESTS_SECONDS)
        later.release()
        outcome = await rehearsal.outcome()
        outcome.require_same(reference)
    except ChaosError as error:
        return Thaw(time.monotonic() - began, {}, str(error))
    finally:
        moment.release()
        await rehearsal.give_up()
    return Thaw(time.monotonic() - began, outcome.turn_tries)


RESET: dict[str, tuple[int, ...]] = {
    "turn, before its claim": (1,),
    "turn, between claim and message": (2,),
    "turn, under way": (2, 1),
    "settling, before": (2, 1),
    "settling, after": (2,),
    "advance, before": (2, 2),
    "advance, after": (1,),
    "quiet settling, after": (3, 1),
    "moving on, before": (3,),
    "moving on, after": (2,),
    "closing, before": (3,),
    "closing, after": (2,),
    "finishing, before": (3, 1),
}
"""Where the assessment is when it is reset, and to which turns, one after the other."""
