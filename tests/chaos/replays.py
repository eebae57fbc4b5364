"""One assessment that is reset to one of its turns, or to its judging, while something of it is under way."""

import asyncio
import subprocess
import time
from contextlib import suppress
from itertools import product
from typing import Literal

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle

from proctor.client.replay import ResetPoint, choose, reset, reset_points
from proctor.common.errors import UsageError
from proctor.local.stack import find_temporal
from tests.chaos.moments import Matches
from tests.chaos.rehearsals import (
    INSIDE_A_TURN,
    PHASES,
    REACHED_WITHIN,
    ChaosError,
    Outcome,
    Recovery,
    Rehearsal,
    await_phase,
    is_participant,
)
from tests.chaos.services import Services

Way = Literal["proctor replay", "temporal workflow reset", "twice in a row", "cancelled before", "terminated before"]
WAYS: tuple[Way, ...] = (
    "proctor replay",
    "temporal workflow reset",
    "twice in a row",
    "cancelled before",
    "terminated before",
)

_REACHED_SECONDS = 60.0
_LATE_SECONDS = 0.5

_IN_TURN_2 = [
    phase
    for phase in (*PHASES, *INSIDE_A_TURN)
    if phase.startswith("turn: ") or phase in ("settling", "responding", "answering as the user", "advancing")
]
_LATER = [
    "quiet turn: settling",
    "quiet turn: moving on",
    "closing the simulation",
    "judging: reading",
    "judging",
    "finishing",
]
_JUDGING = None


def placements() -> list[tuple[str, int | None, Way]]:
    """Every step that runs, where it is set back to (None: the judging), and how."""
    in_turn = [(phase, turn) for turn in (2, 1) for phase in _IN_TURN_2]
    later = [(phase, turn) for turn in (3, 2, 1) for phase in _LATER]
    judging = [(phase, _JUDGING) for phase in ("judging", "finishing")]
    return [(phase, turn, way) for (phase, turn), way in product([*in_turn, *later, *judging], WAYS)]


def named(turn: int | None) -> str:
    """Where to."""
    return "the judging" if turn is None else f"turn {turn}"


async def replayed_at(services: Services, phase: str, turn: int | None, way: Way, reference: Outcome) -> Recovery:
    """Play one assessment up to a moment, set it back, and compare; what was abandoned goes on in the new run."""
    moment = await_phase(services, phase)
    rehearsal = Rehearsal(services)
    began = time.monotonic()
    later = None
    try:
        await rehearsal.accepted()
        if not await asyncio.to_thread(moment.reached.wait, REACHED_WITHIN):
            raise ChaosError(f"{phase} was never reached")
        client = await services.client()
        handle = client.get_workflow_handle(rehearsal.task_id)
        if way == "cancelled before":
            await handle.cancel()
            await _ended(handle)
        elif way == "terminated before":
            await handle.terminate("a test")
        if turn is not None:
            later = services.moments.then(_is_played_again(turn))
        for _ in range(2 if way == "twice in a row" else 1):
            point = await _point(client, rehearsal.task_id, turn)
            if way == "temporal workflow reset":
                await asyncio.to_thread(_reset_at_a_shell, services, rehearsal.task_id, point)
            else:
                await reset(client, rehearsal.task_id, point)
        await rehearsal.follow_anew()
        if later is not None and not await asyncio.to_thread(later.reached.wait, _REACHED_SECONDS):
            raise ChaosError(f"{named(turn)} was not played again")
        moment.release()
        if later is not None:
            await asyncio.sleep(_LATE_SECONDS)
            later.release()
        outcome = await rehearsal.outcome()
        outcome.require_same(reference)
    except (ChaosError, TimeoutError) as problem:
        return Recovery(time.monotonic() - began, {}, str(problem) or "no such point to reset to", 0)
    finally:
        moment.release()
        if later is not None:
            later.release()
        await rehearsal.give_up()
    return Recovery(time.monotonic() - began, outcome.turn_tries, kills=0)


def _is_played_again(turn: int) -> Matches:
    return is_participant(f"turn {turn} during")


async def _point(client: Client, task_id: str, turn: int | None) -> ResetPoint:
    """Where to; the run of a reset just before may not have come to it yet."""
    async with asyncio.timeout(_REACHED_SECONDS):
        while True:
            with suppress(UsageError):
                return choose(await reset_points(client, task_id), turn, from_judging=turn is None)
            await asyncio.sleep(0.05)


async def _ended(handle: WorkflowHandle[object, object]) -> None:
    async with asyncio.timeout(_REACHED_SECONDS):
        while (await handle.describe()).status == WorkflowExecutionStatus.RUNNING:
            await asyncio.sleep(0.05)


def _reset_at_a_shell(services: Services, task_id: str, point: ResetPoint) -> None:
    command = [find_temporal(), "workflow", "reset", "--address", services.local.temporal_address]
    command += ["--workflow-id", task_id, "--run-id", point.run_id, "--event-id", str(point.event_id)]
    done = subprocess.run([*command, "--reason", "a test"], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise ChaosError(f"temporal workflow reset: {done.stderr.strip() or done.stdout.strip()}")
