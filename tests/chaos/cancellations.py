"""One assessment, cancelled at a moment, and how soon nothing of it is left."""

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal

import httpx
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest

from proctor.activities.simulation.keys import host_key
from proctor.client.caller import Accepted, AssessmentCall, Ended
from purple_sdk.processes.ports import free_ports
from purple_sdk.ues import AsyncUESHost, UESError
from tests.a2a_gateway.callers import sdk_client, state_name
from tests.chaos.moments import Matches, Moment
from tests.chaos.rehearsals import PHASES, TURNS, ChaosError, is_step
from tests.chaos.services import SCENARIO, Services
from tests.stack import request_json

SOON = 5.0
"""Seconds within which a cancelled assessment has ended and left nothing behind."""

_LONGEST = 40.0
_LOOK = 0.02
_STRAGGLERS = 1.0
"""Seconds after the end in which an attempt that was under way might bring something back."""

Way = Literal["A2A", "Temporal", "Ctrl-C"]
WAYS: tuple[Way, ...] = ("A2A", "Temporal", "Ctrl-C")

Trouble = Literal["", "simulator hangs", "simulator dies", "participant hangs", "worker dies", "goes on"]


@dataclass(frozen=True)
class Situation:
    """What an assessment is at when it is cancelled.

    Attributes:
        phase: where it is held, until all is over.
        trouble: what is wrong besides: a process is stopped (SIGSTOP) just before, or killed just after the cancel; or
            whoever is held goes on just after it.
        is_told: whether there is a participant that can be told.
        has_simulation: whether there is a simulation.
        state: how the task ends.
        agent: where the participant is; None for the services' own.
        waits: whether it waits for another assessment of its context.
    """

    phase: str = "turn: during"
    trouble: Trouble = ""
    is_told: bool = True
    has_simulation: bool = True
    state: str = "canceled"
    is_participant_there: bool = True
    waits: bool = False


_PHASES: dict[str, Matches] = {phase: matches for phase, matches in PHASES.items() if phase != "judging: reading"}
_MOMENTS: dict[str, Matches] = {**_PHASES, "set-up, its simulation made": is_step(0, "anew")}

SITUATIONS: dict[str, Situation] = {
    "waiting in the context's queue": Situation("turn: before", is_told=False, has_simulation=False, waits=True),
    # Told is who was greeted: an agent that is still being greeted is stopped.
    **{
        phase: Situation(
            phase,
            is_told=phase != "set-up",
            # All is judged and the result is out: it stays.
            state="completed" if phase == "finishing" else "canceled",
        )
        for phase in _PHASES
    },
    "set-up goes on for a while": Situation("set-up, its simulation made", "goes on", is_told=False),
    "participant down, between two attempts": Situation(is_told=False, is_participant_there=False),
    "participant hangs": Situation(trouble="participant hangs", is_told=False),
    "simulator dies": Situation(trouble="simulator dies"),
    "simulator hangs, in a turn": Situation(trouble="simulator hangs"),
    "simulator hangs, advancing": Situation("advancing", "simulator hangs"),
    "simulator hangs, finishing": Situation("finishing", "simulator hangs", state="completed"),
    "worker dies, in a turn": Situation(trouble="worker dies"),
    "worker dies, advancing": Situation("advancing", "worker dies"),
    "worker dies, judging": Situation("judging", "worker dies"),
}


@dataclass(frozen=True)
class Cancellation:
    """Seconds from the request to cancel.

    Attributes:
        ended: until the task was in its last state.
        heard: until the caller knew, by its stream; for Ctrl-C until the command had ended.
        gone: until the simulator has no such simulation; None where it never had one.
        refused: until the participant's key opened nothing.
        told: until the participant was told that it is over, or stopped in what it was told to do; None where it can't
            be told.
        problem: what went wrong, if anything.
    """

    ended: float = 0.0
    heard: float = 0.0
    gone: float | None = None
    refused: float | None = None
    told: float | None = None
    problem: str | None = None

    @property
    def longest(self) -> float:
        """Seconds until all was over."""
        return max(self.ended, self.gone or 0.0, self.refused or 0.0, self.told or 0.0)


async def canceled_at(services: Services, name: str, way: Way = "A2A") -> Cancellation:
    """Play one assessment up to a situation, cancel it, and watch."""
    situation = SITUATIONS[name]
    moment = services.moments.await_(_MOMENTS[situation.phase])
    heard_before = len(services.moments.said)
    try:
        async with contextlib.AsyncExitStack() as stack:
            if situation.waits:
                await stack.enter_async_context(_asked_for(services, situation))
                await _reached(moment, name)
            caller = _at_a_shell if way == "Ctrl-C" else _asked_for
            caller_of = await stack.enter_async_context(caller(services, situation))
            if situation.is_participant_there and not situation.waits:
                await _reached(moment, name)
            else:
                await asyncio.sleep(1.5)
            return await _canceled(services, situation, way, caller_of, moment, heard_before)
    except (ChaosError, TimeoutError) as error:
        return Cancellation(problem=str(error) or "not over in time")
    finally:
        moment.release()
        _let_all_go_on(services)
        await asyncio.wait_for(services.all_up(), 60)


@dataclass
class _Caller:
    """Whoever asked for an assessment and follows it: the task's id, how it is told to stop, when it saw the end."""

    task_id: str
    interrupt: Callable[[], None]
    ended: Awaitable[float]


async def _canceled(
    services: Services, situation: Situation, way: Way, caller: _Caller, moment: Moment, heard_before: int
) -> Cancellation:
    worker = ""
    if situation.trouble == "worker dies":
        assert moment.seen is not None
        worker = await services.worker_at(caller.task_id, moment.seen)
    if situation.trouble.endswith(" hangs"):
        services.halt(situation.trouble.removesuffix(" hangs"))
    asked_at = time.monotonic()
    asking = asyncio.create_task(_ask(services, way, caller))
    watching = [
        asyncio.create_task(_until(work, services, caller.task_id))
        for work in (_is_task_ended, _is_simulation_gone, _is_key_refused)
    ]
    try:
        if situation.trouble in ("simulator dies", "worker dies"):
            await asyncio.sleep(0.05)
            services.kill(worker or "ues")
        elif situation.trouble == "goes on":
            await asyncio.sleep(0.3)
            moment.release()
        heard = await asyncio.wait_for(asyncio.ensure_future(caller.ended), _LONGEST)
        await asyncio.wait_for(asking, _LONGEST)
        _let_all_go_on(services)
        ended, gone, refused = await asyncio.wait_for(asyncio.gather(*watching), _LONGEST)
        told = await _told(services, heard_before) if situation.is_told else None
        moment.release()
        await asyncio.sleep(_STRAGGLERS)
        problem = await _what_is_left(services, situation, caller.task_id)
    finally:
        for task in (asking, *watching):
            task.cancel()
        await asyncio.gather(asking, *watching, return_exceptions=True)

    def since(at: float | None, is_expected: bool = True) -> float | None:
        return max(at - asked_at, 0.0) if at is not None and is_expected else None

    return Cancellation(
        ended=ended - asked_at,
        heard=heard - asked_at,
        gone=since(gone, situation.has_simulation),
        refused=since(refused, situation.has_simulation),
        told=since(told),
        problem=problem,
    )


async def _ask(services: Services, way: Way, caller: _Caller) -> None:
    if way == "A2A":
        async with sdk_client(services.gateway_url) as client:
            await client.cancel_task(CancelTaskRequest(id=caller.task_id))
    elif way == "Temporal":
        await (await services.client()).get_workflow_handle(caller.task_id).cancel()
    else:
        caller.interrupt()


async def _told(services: Services, heard_before: int) -> float:
    """When the participant was told, or stopped in its greeting, after which there is nobody to be told."""
    give_up_at = time.monotonic() + SOON
    while time.monotonic() < give_up_at:
        for at, what in services.moments.said[heard_before:]:
            if what.startswith("told ") or (what.startswith("start") and what.endswith(" canceled")):
                return at
        await asyncio.sleep(_LOOK)
    raise ChaosError("the participant was not told")


async def _what_is_left(services: Services, situation: Situation, task_id: str) -> str | None:
    async with sdk_client(services.gateway_url) as client:
        task = await client.get_task(GetTaskRequest(id=task_id))
    if (state := state_name(task.status.state)) != situation.state:
        return f"the task is {state}"
    if situation.state == "completed" and not task.artifacts:
        return "the task is completed and has no result"
    if not await _is_simulation_gone(services, task_id):
        return "the simulation came back"
    if situation.waits:
        return None
    async with sdk_client(services.agent_url) as client:
        tasks = (await client.list_tasks(ListTasksRequest(context_id=task_id))).tasks
    if unended := [state for task in tasks if (state := state_name(task.status.state)) in ("submitted", "working")]:
        return f"the participant has tasks that are {unended}"
    said = [part.text for task in tasks for part in task.status.message.parts]
    if situation.phase.startswith("turn: ") and situation.is_participant_there and "stopped on request" not in said:
        return f"the participant's turn was not cancelled: {said}"
    return None


async def _until(is_so: Callable[[Services, str], Awaitable[bool]], services: Services, task_id: str) -> float:
    """When something came to be so."""
    while True:
        with suppress(UESError, httpx.HTTPError):  # the simulator may be away, or stopped
            if await is_so(services, task_id):
                return time.monotonic()
        await asyncio.sleep(_LOOK)


async def _is_task_ended(services: Services, task_id: str) -> bool:
    async with sdk_client(services.gateway_url) as client:
        task = await client.get_task(GetTaskRequest(id=task_id))
    return state_name(task.status.state) not in ("submitted", "working")


async def _is_simulation_gone(services: Services, task_id: str) -> bool:
    async with AsyncUESHost(services.ues_url, host_key(services.config.secret.get_secret_value()), timeout=0.5) as host:
        return task_id not in {simulation["simulation_id"] for simulation in (await host.list())["simulations"]}


async def _is_key_refused(services: Services, task_id: str) -> bool:
    address = f"{services.ues_url}/simulations/{task_id}/simulator/time"
    async with httpx.AsyncClient(timeout=0.5, trust_env=False) as http:
        answers = [await http.get(address, headers={"X-API-Key": key}) for key in services.moments.keys]
    return all(answer.status_code in (401, 403, 404) for answer in answers)


async def _reached(moment: Moment, name: str) -> None:
    if not await asyncio.to_thread(moment.reached.wait, 30):
        raise ChaosError(f"{name} was never reached")
    await asyncio.sleep(0.2)


def _let_all_go_on(services: Services) -> None:
    for process in ("simulator", "participant"):
        services.halt(process, signal.SIGCONT)


@asynccontextmanager
async def _asked_for(services: Services, situation: Situation) -> AsyncIterator[_Caller]:
    """Ask the gateway, and follow."""
    agent_url = services.agent_url if situation.is_participant_there else f"http://127.0.0.1:{free_ports(1)[0]}"
    request = request_json(agent_url, SCENARIO, offline=False, max_turns=TURNS)
    accepted: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def follow() -> float:
        async with _CallInContext(services.gateway_url, request) as call:
            async for event in call.events():
                if isinstance(event, Accepted):
                    accepted.set_result(event.task_id)
                elif isinstance(event, Ended):
                    return time.monotonic()
        raise ChaosError("the stream ended without an end")

    following = asyncio.create_task(follow())
    try:
        yield _Caller(await asyncio.wait_for(accepted, 20), lambda: None, following)
    finally:
        if not following.done():  # it was held for another one's sake
            await (await services.client()).get_workflow_handle(accepted.result()).cancel()
            await asyncio.wait({following}, timeout=20)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


class _CallInContext(AssessmentCall):
    """A call whose assessment waits for earlier ones of these tests."""

    def __init__(self, gateway_url: str, request: str) -> None:
        super().__init__(gateway_url, request)
        self._message.context_id = "one desk"


@asynccontextmanager
async def _at_a_shell(services: Services, situation: Situation) -> AsyncIterator[_Caller]:
    """Run ``proctor assess``."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "proctor", "assess", SCENARIO, "--max-turns", str(TURNS)),
        *("--agent", services.agent_url, "--gateway", services.gateway_url),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"},
    )
    assert process.stdout is not None
    output = ""
    try:
        async with asyncio.timeout(20):
            while not (found := re.search(r"/workflows/([0-9a-f-]{36}[\w-]*)", output)):
                if not (line := await process.stdout.readline()):
                    raise ChaosError(f"proctor assess ended: {output}")
                output += line.decode()

        async def ended() -> float:
            await process.communicate()
            return time.monotonic()

        yield _Caller(found[1], lambda: process.send_signal(signal.SIGINT), asyncio.create_task(ended()))
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def table_of(cancellations: Mapping[tuple[str, str], Cancellation]) -> str:
    """The table as text: situations down, seconds across."""
    rows = [
        ["cancelled, in s", "by", "task ended", "caller knows", "simulation gone", "key refused", "participant told"]
    ]
    for (name, way), found in cancellations.items():
        seconds = [found.ended, found.heard, found.gone, found.refused, found.told]
        rows.append(
            [name, way, *("–" if duration is None else f"{duration:.1f}" for duration in seconds), found.problem or ""]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=False)).rstrip() for row in rows
    )
