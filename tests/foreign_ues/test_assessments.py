"""Whole assessments on servers of their own: the same scores, whatever dies, and no process left on any way out."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from a2a.types import CancelTaskRequest

from proctor.storage.temporal import connect
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.a2a_gateway.callers import sdk_client
from tests.assessments.observers import Running, running
from tests.assessments.scripts import diligent
from tests.foreign_ues.conftest import judged
from tests.foreign_ues.servers import Program
from tests.sentences import says
from tests.stack import Script, Stack, assess, play, serving
from tests.waiting import wait_until
from tests.work import only_nightly


@pytest.fixture(autouse=True)
def _nothing_is_left(limited: Program) -> Iterator[None]:
    limited.be_limited()
    yield
    assert limited.are_all_gone()


Act = Callable[[], Any]


def interrupted(turn: int, of: Script = diligent, /, before: Act = lambda: None, after: Act = lambda: None) -> Script:
    """A script in which something happens once in the first try of a turn, before its actions or after them."""
    happened: list[bool] = []

    async def script(now_turn: int, ues: AsyncUESClient, now: datetime) -> Any:
        is_first = now_turn == turn and not happened
        if is_first:
            happened.append(True)
            before()
        said = await of(now_turn, ues, now)
        if is_first:
            after()
        return said

    return script


@only_nightly
async def test_with_a_server_like_ours_all_is_as_embedded(
    served: Stack, limited: Program, embedded: AssessmentResults
) -> None:
    limited.be_like_ours()
    assert judged(await play(served, "tiny", diligent)) == judged(embedded)


Death = tuple[int, str, list[str], dict[str, int]]
IN_A_TURN: Death = (1, "before", ["POST /email/send"], {"1": 2})
AT_THE_END: Death = (2, "after", ["DELETE /keys"], {})
"""Judges ask no server: the evidence has the states."""
DEATHS = {
    "in a turn, the action done": IN_A_TURN,
    "when the simulation is closed": AT_THE_END,
    "between turns, the clock moved": (1, "after", ["POST /simulator/time/advance"], {}),
    "in a turn, nothing done": (2, "before", ["POST /email/query"], {"2": 2}),
    "between turns, an answer scheduled": (1, "after", ["POST /events"], {}),
}
"""The turn, whether before or after the participant's actions the trap is laid, its requests; the tries of turns."""


async def test_the_server_dies_in_a_turn_and_at_the_end(
    served: Stack, limited: Program, embedded: AssessmentResults
) -> None:
    limited.trap.unlink(missing_ok=True)
    first, _, requests, tries = IN_A_TURN
    second, _, more_requests, _ = AT_THE_END
    script = interrupted(first, before=partial(limited.die_at, *requests))
    script = interrupted(second, script, after=partial(limited.die_at, *more_requests))
    results = await play(served, "tiny", script)
    assert limited.trap.read_text() == "", "it did not die"
    assert judged(results) == judged(embedded)
    assert results.turn_tries == tries


@only_nightly  # by default: the test above
@pytest.mark.parametrize(("turn", "when", "requests", "tries"), DEATHS.values(), ids=DEATHS)
async def test_the_server_dies(
    served: Stack,
    limited: Program,
    embedded: AssessmentResults,
    turn: int,
    when: str,
    requests: list[str],
    tries: dict[str, int],
) -> None:
    limited.trap.unlink(missing_ok=True)
    results = await play(served, "tiny", interrupted(turn, **{when: lambda: limited.die_at(*requests)}))
    assert limited.trap.read_text() == "", "it did not die"
    assert judged(results) == judged(embedded)
    assert results.turn_tries == tries


@only_nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
async def test_the_worker_dies_in_a_turn(
    served: Stack, limited: Program, embedded: AssessmentResults, number: signal.Signals
) -> None:
    left: list[bool] = []

    def end_the_worker() -> None:
        pid = served.supervisor.find_pid("worker")
        assert pid is not None
        servers = {process.pid for process in limited.processes()}
        assert servers
        os.kill(pid, number)
        asyncio.get_running_loop().run_in_executor(None, lambda: left.append(_are_gone(servers, limited)))

    results = await play(served, "tiny", interrupted(1, after=end_the_worker))
    assert left == [True], "the worker's servers outlived it"
    assert judged(results) == judged(embedded)


def _are_gone(pids: set[int], limited: Program) -> bool:
    """Whether these processes end, or will."""
    return wait_until(lambda: not pids & {process.pid for process in limited.processes()})


@asynccontextmanager
async def dawdling(served: Stack) -> AsyncIterator[Running]:
    """An assessment that is in its first turn, and stays there."""
    plays = asyncio.Event()

    async def script(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        plays.set()
        await asyncio.Event().wait()

    async with serving(script) as url, running(served, url, "tiny", max_turns=1) as assessment:
        await assessment.until("turn_started")
        await plays.wait()
        yield assessment


@only_nightly  # by default: test_terminated
async def test_failed(served: Stack, limited: Program) -> None:
    async def script(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        assert limited.processes()
        raise RuntimeError("I can't.")

    async with serving(script) as url:
        assessed = await assess(served, url, "tiny", turn_tries=1)
    assert assessed.state == "failed"
    assert await asyncio.to_thread(limited.are_all_gone)


@only_nightly  # by default: test_terminated
async def test_canceled(served: Stack, limited: Program) -> None:
    async with dawdling(served) as assessment, sdk_client(served.gateway_url) as caller:
        assert limited.processes()
        await caller.cancel_task(CancelTaskRequest(id=assessment.task_id))
        assert (await assessment.end()).state == "canceled"
        assert await asyncio.to_thread(limited.are_all_gone)


async def test_terminated(served: Stack, limited: Program) -> None:
    """Nobody gets to clean up after a termination; the worker finds out by itself."""
    async with dawdling(served) as assessment:
        assert limited.processes()
        await (await connect(served.config)).get_workflow_handle(assessment.task_id).terminate("enough")
        assert await asyncio.to_thread(limited.are_all_gone)


@pytest.mark.parametrize("script", ["echo no licence >&2; exit 3", pytest.param(None, marks=only_nightly)])
async def test_a_command_that_is_no_good(served: Stack, limited: Program, script: str | None) -> None:
    if script is None:
        limited.path.unlink()
    else:
        limited.be(script)
    async with serving(diligent) as url:
        assessed = await assess(served, url, "tiny")
    assert assessed.state == "failed"
    assert assessed.sentence == says("AGENTBEATS_GREEN_UES_COMMAND")
    assert assessed.results is not None
    assert (assessed.results.status, assessed.results.coverage) == ("failed", 0)
