"""All families in one campaign with three baselines: ``python -m benchmarks.families`` prints a table of their means.

An agent that does nothing, one that compares words and the rule-based clerk play each family at each difficulty with
each seed, offline, as one campaign of ``proctor run``. Meanwhile worker, simulator and gateway are killed once each:
when a third, a half and two thirds of it are done. Afterwards each cell must have exactly one result, and a sample of
the cells is played again, without kills: the scores must be equal. The exit code is 1 where that isn't so.

By default everything runs on this machine, on free ports; with ``--state`` its folder is kept, so that ``proctor up
--state`` can show the pages later. With ``--gateway`` an evaluator that runs already plays it, and nothing is killed.
"""

import argparse
import asyncio
import os
import random
import re
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks import table as markdown
from benchmarks.evaluator import evaluator, say
from proctor.api import assessment_request
from proctor.caller import AssessmentCall, Ended
from proctor.following import read_results
from proctor.run_settings import seeds_in
from proctor.supervisor import Supervisor
from proctor_protocol.results import AssessmentResults
from proctor_protocol.runs import RunCell, RunResults
from proctor_statistics.estimates import Unit, estimated

KILLS = ((1 / 3, "worker"), (1 / 2, "ues"), (2 / 3, "gateway"))
"""Which service is killed when so much of the campaign is done."""

AGENTS = ("idle", "keyword", "clerk")
SCENARIOS = Path(__file__).parent.parent / "scenarios"

_FIRST_CELL_ENDED = (b"passed ", b"not passed ", b"failed ")
_AGAIN_AT_ONCE = 4

Cell = tuple[str, str, int | None, int]
Watch = Callable[[int, int], None]


def of(cell: RunCell) -> Cell:
    return cell.agent, cell.scenario_id, cell.difficulty, cell.seed


class Killer:
    """Kills each service of ``KILLS`` in its time; ``killed`` names those that it met."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._due = list(KILLS)
        self.killed: list[str] = []

    def __call__(self, done: int, total: int) -> None:
        while self._due and total and done >= self._due[0][0] * total:
            name = self._due.pop(0)[1]
            if pid := self._supervisor.find_pid(name):
                os.kill(pid, signal.SIGKILL)
                self.killed.append(name)
                say(f"killed the {name} when {done} of {total} were done")


async def run_campaign(gateway_url: str, agents: dict[str, str], options: argparse.Namespace, watch: Watch) -> bytes:
    """Play it with ``proctor run``; ``watch`` gets its progress. Returns the results as they are written."""
    command = [sys.executable, "-m", "proctor", "run", *options.families, "--offline", "--gateway", gateway_url]
    command += ["--difficulty", options.difficulties, "--seeds", options.seeds, "--at-once", str(options.at_once)]
    command += [word for name, url in agents.items() for word in ("--agent", f"{name}={url}")]
    before = _results_below(options.output)
    process = await asyncio.create_subprocess_exec(
        *command, "--output", options.output, stdout=asyncio.subprocess.PIPE, limit=2**20
    )
    assert process.stdout is not None
    done, total = 0, 0
    async for line in process.stdout:
        if found := re.search(rb", (\d+) in all", line):
            total = int(found[1])
        done += line.startswith(_FIRST_CELL_ENDED)
        watch(min(done, total), total)
    if code := await process.wait():
        raise SystemExit(f"proctor run ended with {code}")
    (written,) = _results_below(options.output) - before
    say(f"results: {written}")
    return written.read_bytes()


def _results_below(folder: str) -> set[Path]:
    return set(Path(folder).glob("*/results.json"))


def wrong_cells(results: RunResults, wanted: Iterable[Cell]) -> list[str]:
    """What is wrong with the cells: each that is wanted has exactly one result, which was judged."""
    counts, due = Counter(map(of, results.cells)), set(wanted)
    problems = [f"{cell} has {counts[cell]} results" for cell in sorted(due, key=str) if counts[cell] != 1]
    problems += [f"{cell} was not asked for" for cell in sorted(set(counts) - due, key=str)]
    problems += [f"{of(cell)}: {cell.failure or cell.status}" for cell in results.cells if cell.max_score is None]
    ids = [cell.task_id for cell in results.cells]
    return problems + [f"{len(ids) - len(set(ids))} assessments count twice"] * (len(set(ids)) < len(ids))


async def play_again(gateway_url: str, agent_url: str, cell: RunCell) -> tuple[int, int] | None:
    """The points of a cell, and of how many, when it is played alone; None where it wasn't judged."""
    request = assessment_request(
        agent_url, cell.scenario_id, cell.seed, offline=True, difficulty=cell.difficulty or None
    )
    async with AssessmentCall(gateway_url, request) as call:
        async for event in call.events():
            if isinstance(event, Ended) and event.results:
                overall = AssessmentResults.model_validate_json(event.results).scores.overall
                return overall.score, overall.max_score
    return None


async def differences(
    gateway_url: str, agents: dict[str, str], cells: Sequence[RunCell], sample: int
) -> tuple[int, list[str]]:
    """Play a sample of the cells again; how many they were, and whose points differ."""
    chosen = random.Random(1).sample(list(cells), min(sample, len(cells)))
    free = asyncio.Semaphore(_AGAIN_AT_ONCE)

    async def compare(cell: RunCell) -> str | None:
        async with free:
            again = await play_again(gateway_url, agents[cell.agent], cell)
        before = (cell.score, cell.max_score)
        return None if again == before else f"{of(cell)}: {before} in the campaign, {again} when played again"

    return len(chosen), [each for each in await asyncio.gather(*map(compare, chosen)) if each]


def table(cells: Sequence[RunCell]) -> str:
    """Markdown: for each baseline and family the mean of each difficulty in percent, with its 95 % interval."""
    judged = [cell for cell in cells if cell.max_score]
    difficulties = sorted({cell.difficulty or 0 for cell in judged})
    families = sorted({cell.scenario_id for cell in judged})
    rows = []
    for agent in dict.fromkeys(cell.agent for cell in judged):
        for chosen in (*((family,) for family in families), families):
            of_row = [cell for cell in judged if cell.agent == agent and cell.scenario_id in chosen]
            of_columns = [[cell for cell in of_row if (cell.difficulty or 0) == each] for each in difficulties]
            name = chosen[0] if isinstance(chosen, tuple) else "all"
            rows.append([agent, name, *map(_mean, [*of_columns, of_row])])
    return markdown(["baseline", "family", *map(str, difficulties), "all"], rows)


def _mean(cells: Sequence[RunCell]) -> str:
    """Families are drawn where there are several; else days, difficulty by difficulty."""
    if not cells:
        return ""
    by_family: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        by_family[cell.scenario_id].append(_percent(cell))
    units = [Unit(tuple(each)) for each in by_family.values()]
    if len(units) == 1:
        units = [Unit((_percent(cell),), cell.difficulty) for cell in cells]
    found = estimated(units, bounds=(0, 100))
    interval = "" if found.low is None or found.high is None else f" ({found.low:.0f} to {found.high:.0f})"
    return f"{found.mean:.1f}{interval}"


def _percent(cell: RunCell) -> float:
    return 100 * (cell.score or 0) / (cell.max_score or 1)


async def measure(gateway_url: str, agents: dict[str, str], options: argparse.Namespace, killer: Killer | None) -> int:
    began = time.monotonic()
    results = read_results(
        RunResults,
        await run_campaign(gateway_url, agents, options, killer or (lambda _done, _total: None)),
        "a campaign",
    )
    say(f"{len(results.cells)} results in {time.monotonic() - began:.0f} s")
    wanted = [
        (agent, family, difficulty, seed)
        for agent in agents
        for family in options.families
        for difficulty in seeds_in(options.difficulties)
        for seed in seeds_in(options.seeds)
    ]
    problems = wrong_cells(results, wanted)
    if killer and len(killer.killed) < len(KILLS):
        problems.append(f"not all kills met a process: {killer.killed}")
    again, differing = await differences(gateway_url, agents, results.cells, options.sample)
    print(table(results.cells))
    killed = ", ".join(killer.killed) if killer else "none"
    tries = sum(cell.plays > 1 for cell in results.cells)
    print(f"\n{len(results.cells)} results of {len(wanted)} cells, {tries} after several tries; killed: {killed}")
    print(f"{again} played again, {again - len(differing)} with equal points")
    print(f"page: {gateway_url}/view/{results.campaign_id}", flush=True)
    if options.state:
        print(f"later: proctor view {results.campaign_id} --state {options.state}", flush=True)
    for problem in [*problems, *differing]:
        say(f"WRONG: {problem}")
    return 1 if problems or differing else 0


async def run(options: argparse.Namespace) -> int:
    if options.gateway:
        if not options.agents:
            raise SystemExit("--gateway needs --agent NAME=URL, once for each agent")
        agents = dict(each.split("=", 1) for each in options.agents)
        return await measure(options.gateway.rstrip("/"), agents, options, None)
    async with evaluator(worker_processes=None, agents=AGENTS, state=options.state) as running:
        killer = None if options.no_kills else Killer(running.supervisor)
        return await measure(running.local.gateway_url, running.agents, options, killer)


def main() -> None:
    families = sorted(path.parent.name for path in SCENARIOS.glob("families/*/family.py"))
    parser = argparse.ArgumentParser(description="Play all families with three baselines, with kills.")
    parser.add_argument("--families", nargs="+", default=families, metavar="FAMILY")
    parser.add_argument("--difficulties", default="1-4", metavar="1-4")
    parser.add_argument("--seeds", default="1-5", metavar="1-5")
    parser.add_argument("--at-once", type=int, default=8, metavar="N")
    parser.add_argument("--sample", type=int, default=20, metavar="N", help="how many cells are played again")
    parser.add_argument("--output", default="runs", metavar="FOLDER", help="gets a folder with the results")
    parser.add_argument("--state", type=os.path.abspath, metavar="FOLDER", help="the deployment's files; kept")
    parser.add_argument("--no-kills", action="store_true")
    parser.add_argument("--gateway", metavar="URL", help="an evaluator that runs already")
    parser.add_argument("--agent", dest="agents", action="append", metavar="NAME=URL", help="with --gateway: an agent")
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
