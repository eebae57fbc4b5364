"""One assessment at which any process is stopped (SIGSTOP) at any moment, and goes on (SIGCONT) later."""

import asyncio
import signal
import time

from tests.chaos.freezes import GOES_ON, MISSED_SECONDS
from tests.chaos.rehearsals import (
    EACH_PHASE,
    REACHED_WITHIN,
    ChaosError,
    Outcome,
    Recovery,
    Rehearsal,
    await_phase,
)
from tests.chaos.services import PROCESSES, Services

SECONDS = {"1 s": 1.0, "5 s": 5.0, "15 s": 15.0}
"""How long a process stands still that the others wait for: within a heartbeat's time, until another attempt is at the
same step, and until that was given up as well.
"""

_LATE_SECONDS = 0.5


def placements() -> list[tuple[str, str, str]]:
    """Every moment, process, and when that goes on: of the gateway, without which the story goes on, by the story."""
    order = list(EACH_PHASE)
    at_story = {
        "in the turn": "turn: after",
        "while the turn is read": "settling",
        "while time advances": "advancing",
        # The judges of several criteria read side by side, and the model may have been asked by then.
        "in the judging": "judging: reading",
    }
    timed = [(phase, process, seconds) for seconds in SECONDS for phase in EACH_PHASE for process in PROCESSES]
    told = [
        (phase, "gateway", until)
        for until, later in at_story.items()
        for phase in EACH_PHASE
        if order.index(phase) < order.index(later)
    ]
    next_turn = [(phase, "gateway", "in the next turn") for phase in order[: order.index("quiet turn: settling")]]
    return [*told, *next_turn, *timed]


async def stopped_for(services: Services, phase: str, process: str, until: str, reference: Outcome) -> Recovery:
    """Play one assessment, stop a process at a moment, have it go on later, and compare."""
    moment = await_phase(services, phase)
    rehearsal = Rehearsal(services)
    began = time.monotonic()
    later = service = None
    try:
        await rehearsal.accepted()
        if not await asyncio.to_thread(moment.reached.wait, REACHED_WITHIN) or moment.seen is None:
            raise ChaosError(f"{phase} was never reached")
        is_worker = process == "worker"
        service = (
            await services.worker_at(rehearsal.task_id, moment.seen) if is_worker else services.service_of(process)
        )
        services.halt(service)
        if until in GOES_ON:
            later = services.moments.then(GOES_ON[until])
            moment.release()
            if not await asyncio.to_thread(later.reached.wait, MISSED_SECONDS):
                raise ChaosError(f"{until} was never reached")
        else:
            moment.release()
            await asyncio.sleep(SECONDS[until])
        services.halt(service, signal.SIGCONT)
        if later is not None:
            await asyncio.sleep(_LATE_SECONDS)
            later.release()
        outcome = await rehearsal.outcome()
        outcome.require_same(reference)
    except ChaosError as error:
        return Recovery(time.monotonic() - began, {}, str(error), 0)
    finally:
        if service is not None:
            services.halt(service, signal.SIGCONT)
        moment.release()
        if later is not None:
            later.release()
        await rehearsal.give_up()
        await asyncio.wait_for(services.all_up(), 60)
    return Recovery(time.monotonic() - began, outcome.turn_tries, kills=0)
