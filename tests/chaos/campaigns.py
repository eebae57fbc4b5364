"""``python -m tests.chaos.campaigns``: a campaign whose processes are killed, against the same one left alone.

2 agents × 2 scenarios × 5 seeds × 2 repeats; worker, Temporal server and simulator are killed when a quarter, a half
and three quarters of it are done. Its results have to be the same, cell by cell, and none may have been played twice.
Then it is grown by 3 seeds, and only these may be played.

``--assessments N`` plays N of one turn instead, kills nothing, and prints sizes and times.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from temporalio.client import WorkflowHistory

from proctor.caller import AssessmentCall, Ended, Progress
from proctor_protocol.campaigns import CellEndedUpdate
from proctor_protocol.runs import RunCell, RunResults
from proctor_storage.temporal import connect
from purple_sdk import create_app
from purple_sdk.examples.triage_agent import TriageAgent
from tests.assessments.packages import write_package
from tests.histories.reading import runs_of
from tests.sizes.__main__ import memory
from tests.sizes.following import Size, size_of
from tests.stack import Stack, agent_config, listening, running_stack, serving
from viewer.app import create_app as create_pages

KILLED = ("worker", "temporal", "ues")
WHEN = (0.25, 0.5, 0.75)
_LOOKED_AT = 20
Watch = Callable[[int, int], Awaitable[None]]


async def nothing(_done: int, _total: int) -> None:
    """Leaves it alone."""


async def play(stack: Stack, agents: dict[str, str], watch: Watch = nothing, **config: Any) -> RunResults:
    """Play a campaign; ``watch`` is told how many cells are done, of how many."""
    request = json.dumps({"participants": agents, "config": {"offline": True, **config}})
    async with AssessmentCall(stack.gateway_url, request) as call:
        async for event in call.events():
            if isinstance(event, Progress) and isinstance(event.update, CellEndedUpdate):
                await watch(event.update.tally.done, event.update.tally.total)
            elif isinstance(event, Ended):
                assert event.results is not None, event.sentence
                return RunResults.model_validate_json(event.results)
    raise AssertionError("the stream ended without an end")


def outcomes(results: RunResults) -> dict[tuple[str, str, int, int], tuple[Any, ...]]:
    """What has to be equal, by cell."""

    def outcome(cell: RunCell) -> tuple[Any, ...]:
        return cell.status, cell.score, cell.max_score, cell.failure

    return {(cell.agent, cell.scenario_id, cell.seed, cell.repeat): outcome(cell) for cell in results.cells}


@asynccontextmanager
async def two_agents() -> AsyncIterator[dict[str, str]]:
    """The baseline, and one that does nothing."""

    async def idle(*_: Any) -> None:
        return None

    async with (
        serving(idle) as null,
        listening(lambda url: create_app(TriageAgent, agent_config(url), name="triage")) as triage,
    ):
        yield {"triage": triage, "null": null}


async def disturbed() -> list[str]:
    """Play it twice, and grow it; what differs."""
    config: dict[str, Any] = {
        "scenarios": ["email_triage_basic", "reschedule_day"],
        "seeds": [1, 2, 3, 4, 5],
        "repeats": 2,
        "at_once": 8,
    }
    with running_stack(is_durable=True) as stack:
        async with two_agents() as agents:
            began = time.monotonic()
            alone = await play(stack, agents, **config)
            print(f"left alone: {len(alone.cells)} results in {time.monotonic() - began:.0f} s", flush=True)
            due = [(share, name) for share in WHEN for name in KILLED]
            kills: Counter[str] = Counter()

            async def watch(done: int, total: int) -> None:
                while due and done >= due[0][0] * total:
                    _, name = due.pop(0)
                    if pid := stack.supervisor.find_pid(name):
                        os.kill(pid, signal.SIGKILL)
                        kills[name] += 1

            began = time.monotonic()
            # Other settings make other cells of it: nothing is taken over.
            killed = await play(stack, agents, watch, **config, turn_timeout=299)
            print(f"killed {dict(kills)}: {len(killed.cells)} results in {time.monotonic() - began:.0f} s", flush=True)
            seeds = [*config["seeds"], 6, 7, 8]
            grown = await play(stack, agents, **{**config, "seeds": seeds}, turn_timeout=299, grows=killed.campaign_id)
    problems = []
    if outcomes(alone) != outcomes(killed):
        problems += [f"{key}: {outcomes(killed).get(key)}, not {value}" for key, value in outcomes(alone).items()]
    if (twice := [cell for cell in killed.cells if cell.plays > 1]) or len(killed.cells) != 40:
        problems.append(f"{len(killed.cells)} results, {len(twice)} were played twice")
    fresh = {cell.seed for cell in grown.cells if not cell.taken_over}
    if fresh != {6, 7, 8} or len(grown.cells) != 64:
        problems.append(f"grown: seeds {sorted(fresh)} were played, {len(grown.cells)} results")
    print(f"grown: {sum(not cell.taken_over for cell in grown.cells)} played of {len(grown.cells)}")
    return problems


async def many(count: int, at_once: int) -> list[str]:
    """Play so many of one turn; what was wrong."""

    async def idle(*_: Any) -> None:
        return None

    with tempfile.TemporaryDirectory(prefix="proctor-campaigns-") as folder:
        write_package(Path(folder), "one_turn")
        with running_stack(Path(folder), is_durable=True) as stack:
            async with serving(idle) as url:
                began = time.monotonic()

                async def watch(done: int, total: int) -> None:
                    if done % 100 == 0:
                        print(f"{done} of {total} after {time.monotonic() - began:.0f} s  {memory(stack)}", flush=True)

                results = await play(
                    stack,
                    {"idle": url},
                    watch,
                    scenarios=["one_turn"],
                    seeds=list(range(count)),
                    at_once=at_once,
                    max_turns=1,
                )
                took = time.monotonic() - began
            client = await connect(stack.config)
            print(
                f"{count} assessments in {took:.0f} s, the artifact has {len(results.model_dump_json()) / 1e6:.2f} MB"
            )
            print(f"the campaign: {largest(await runs_of(client, results.campaign_id))}")
            some = [cell.task_id for cell in results.cells[:: max(count // _LOOKED_AT, 1)]]
            print(f"{len(some)} assessments: {largest([run for each in some for run in await runs_of(client, each)])}")
            print(memory(stack))
            print(await looked_at(stack), flush=True)
    completed = sum(cell.status == "completed" for cell in results.cells)
    return [] if completed == count else [f"{completed} of {count} were completed"]


def largest(runs: list[WorkflowHistory]) -> str:
    """The largest that runs have come to."""
    sizes = [size_of(run) for run in runs]
    found = Size(*(max(getattr(size, part) for size in sizes) for part in Size.__dataclass_fields__))
    return (
        f"{len(runs)} runs  largest history: {found.events} events, {found.size / 1e6:.2f} MB  largest payload: "
        f"{found.largest_payload} bytes inline, {found.largest_reference / 1e6:.2f} MB by reference"
    )


async def looked_at(stack: Stack) -> str:
    """How long the archive takes to be listed, and the overview to be shown: the first time and once more."""
    told = []
    for words in (["list"], ["list", "--json", "--limit", "100000"]):
        began = time.monotonic()
        command = [sys.executable, "-m", "proctor", *words, "--archive", stack.local.archive_url]
        command += ["--state", str(stack.local.state)]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        said, _ = await process.communicate()
        told.append(f"proctor {' '.join(words)}: {time.monotonic() - began:.1f} s, {len(said)} bytes")
    app = create_pages(stack.local.archive_url)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as http:
        for _ in range(2):
            began = time.monotonic()
            page = await http.get("/")
            told.append(
                f"the overview: {page.status_code}, {time.monotonic() - began:.2f} s, {len(page.content)} bytes"
            )
    return "\n".join(told)


def main() -> int:
    """Read the command line and play."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.campaigns", description="Kill a campaign.")
    parser.add_argument("--assessments", type=int, help="play so many of one turn, and print sizes")
    parser.add_argument("--at-once", type=int, default=16)
    chosen = parser.parse_args()
    problems = asyncio.run(many(chosen.assessments, chosen.at_once) if chosen.assessments else disturbed())
    for problem in problems:
        print(f"WRONG: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
