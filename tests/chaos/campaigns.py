"""``python -m tests.chaos.campaigns``: a campaign whose processes are killed, against the same one left alone.

2 agents × 2 scenarios × 5 seeds × 2 repeats; worker, Temporal server and simulator are killed when a quarter, a half
and three quarters of it are done. Its results have to be the same, cell by cell, and none may have been played twice.
Then it is grown by 3 seeds, and only these may be played. All of that twice: asked for by ``proctor run``, and over A2A
by a client that knows nothing of proctor.

``--assessments N`` plays N of one turn instead, kills nothing, and prints sizes and times.
"""

import argparse
import asyncio
import json
import os
import re
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
from a2a.types import GetTaskRequest
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict
from temporalio.client import WorkflowHistory

from proctor.client.caller import AssessmentCall, Ended, Progress
from proctor.client.run_settings import as_toml
from proctor.protocol.campaigns import CellEndedUpdate
from proctor.protocol.runs import RunCell, RunRequest, RunResults
from proctor.storage.temporal import connect
from proctor.viewer.app import create_app as create_pages
from purple_sdk import create_app
from purple_sdk.examples.triage_agent import TriageAgent
from tests.a2a_gateway.callers import TERMINAL, at_once, data_part, message, sdk_client, send
from tests.assessments.packages import write_package
from tests.histories.reading import runs_of
from tests.sizes.__main__ import memory
from tests.sizes.following import Size, size_of
from tests.stack import Stack, agent_config, listening, running_stack, serving

KILLED = ("worker", "temporal", "ues")
WHEN = (0.25, 0.5, 0.75)
_LOOKED_AT = 20
Watch = Callable[[int, int], Awaitable[None]]
Way = Callable[..., Awaitable[RunResults]]


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


async def by_command(stack: Stack, agents: dict[str, str], watch: Watch, **config: Any) -> RunResults:
    """The same by ``proctor run``, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="proctor-campaigns-") as folder:
        file = Path(folder, "wanted.toml")
        file.write_text(as_toml(RunRequest.model_validate({"participants": agents, "config": config})))
        command = [sys.executable, "-m", "proctor", "run", str(file), "--offline", "--gateway", stack.gateway_url]
        command += ["--output", str(Path(folder, "runs"))]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        done, total = 0, 0
        async for line in process.stdout:
            if found := re.search(rb"(\d+) in all(?:, (\d+) of them taken over)?", line):
                done, total = int(found[2] or 0), int(found[1])
            done += line.startswith((b"passed ", b"not passed ", b"failed "))
            if done <= total:  # the table at the end has a line for each failure, too
                await watch(done, total)
        assert await process.wait() == 0
        (results,) = Path(folder, "runs").glob("*/results.json")
        return RunResults.model_validate_json(results.read_bytes())


async def by_a2a(stack: Stack, agents: dict[str, str], watch: Watch, **config: Any) -> RunResults:
    """The same by the A2A SDK's own client, which sends a request and asks how it goes."""
    request = at_once(message(data_part({"participants": agents, "config": {"offline": True, **config}})))
    async with sdk_client(stack.gateway_url, streaming=False) as caller:
        task = await send(caller, request)
        while task.status.state not in TERMINAL:
            for part in task.status.message.parts:
                if part.HasField("data") and (tally := MessageToDict(part.data).get("tally")):
                    await watch(int(tally["done"]), int(tally["total"]))
            await asyncio.sleep(0.2)
            try:
                task = await caller.get_task(GetTaskRequest(id=task.id))
            except (A2AError, httpx.HTTPError):  # something is dead just now
                continue
    (exact,) = [part.raw for artifact in task.artifacts for part in artifact.parts if part.HasField("raw")]
    return RunResults.model_validate_json(exact)


WAYS: dict[str, Way] = {"command": by_command, "a2a": by_a2a}


async def disturbed(ways: list[str], max_turns: int | None) -> list[str]:
    """Play it undisturbed, and again with kills in each way, and grow that; what differs."""
    config: dict[str, Any] = {
        "scenarios": ["email_triage_basic", "reschedule_day"],
        "seeds": [1, 2, 3, 4, 5],
        "repeats": 2,
        "at_once": 8,
    }
    if max_turns:
        config["max_turns"] = max_turns
    problems = []
    with running_stack(is_durable=True) as stack:
        async with two_agents() as agents:
            began = time.monotonic()
            alone = await play(stack, agents, **config)
            print(f"left alone: {len(alone.cells)} results in {time.monotonic() - began:.0f} s", flush=True)
            for way in ways:
                problems += [f"{way}: {problem}" for problem in await disturbed_by(stack, agents, way, config, alone)]
    return problems


async def disturbed_by(
    stack: Stack, agents: dict[str, str], way: str, config: dict[str, Any], alone: RunResults
) -> list[str]:
    """Play it with kills, asked for in one way, and grow it; how it differs from the one left alone."""
    due = [(share, name) for share in WHEN for name in KILLED]
    kills: Counter[str] = Counter()

    async def watch(done: int, total: int) -> None:
        while due and total and done >= due[0][0] * total:
            _, name = due.pop(0)
            if pid := stack.supervisor.find_pid(name):
                os.kill(pid, signal.SIGKILL)
                kills[name] += 1

    began = time.monotonic()
    killed = await WAYS[way](stack, agents, watch, **config)
    print(f"{way}, killed {dict(kills)}: {len(killed.cells)} results in {time.monotonic() - began:.0f} s", flush=True)
    more = {**config, "seeds": [*config["seeds"], 6, 7, 8], "grows": killed.campaign_id}
    grown = await WAYS[way](stack, agents, nothing, **more)
    fresh = [cell for cell in grown.cells if not cell.taken_over]
    print(f"{way}, grown: {len(fresh)} played of {len(grown.cells)}", flush=True)
    problems = []
    if outcomes(alone) != outcomes(killed):
        problems += [
            f"{key}: {outcomes(killed).get(key)}, not {value}"
            for key, value in outcomes(alone).items()
            if outcomes(killed).get(key) != value
        ]
    if (twice := [cell for cell in killed.cells if cell.plays > 1]) or len(killed.cells) != 40:
        problems.append(f"{len(killed.cells)} results, {len(twice)} were played twice")
    if min((kills[name] for name in KILLED), default=0) < len(WHEN):
        problems.append(f"not all kills met a process: {dict(kills)}")
    if (seeds := {cell.seed for cell in fresh}) != {6, 7, 8} or len(grown.cells) != 64 or len(fresh) != 24:
        problems.append(f"grown: {len(fresh)} of seeds {sorted(seeds)} were played, {len(grown.cells)} results")
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
            print(f"{len(some)} assessments: {largest([run for task in some for run in await runs_of(client, task)])}")
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
    parser.add_argument("--by", nargs="*", default=list(WAYS), choices=WAYS, help="how the campaign is asked for")
    parser.add_argument("--max-turns", type=int, help="end each assessment after so many turns")
    chosen = parser.parse_args()
    problems = asyncio.run(
        many(chosen.assessments, chosen.at_once) if chosen.assessments else disturbed(chosen.by, chosen.max_turns)
    )
    for problem in problems:
        print(f"WRONG: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
