"""``python -m tests.chaos``: every process killed at every moment, then random schedules; prints the table.

``python -m tests.chaos --cancel``: an assessment cancelled in every situation, in three ways; prints another table.

``python -m tests.chaos --freeze``: a worker stopped at every moment, which goes on at every later one; resets at every
moment. Prints what came of each.
"""

import argparse
import asyncio
import sys

from tests.chaos.cancellations import SITUATIONS, SOON, WAYS, Cancellation, Way, canceled_at, table_of
from tests.chaos.freezes import RESET, placements, reset_at, stopped_at
from tests.chaos.rehearsals import PHASES, Recovery, Schedule, killed_at, killed_by, undisturbed
from tests.chaos.stage import PROCESSES, Stage, running_stage
from tests.chaos.table import table


async def play(stage: Stage, phases: list[str], processes: list[str], seeds: range) -> int:
    """Play all; the number of things that went wrong."""
    reference = await undisturbed(stage)
    (await undisturbed(stage)).require_same(reference)
    recoveries: dict[tuple[str, str], Recovery] = {}
    problems = []
    for phase in phases:
        for process in processes:
            recovery = recoveries[phase, process] = await killed_at(stage, phase, process, reference)
            print(f"{phase} × {process}: {recovery}", file=sys.stderr, flush=True)
            if recovery.problem:
                problems.append(f"{phase} × {process}: {recovery.problem}")
    if recoveries:
        print(table(recoveries))
    kills = 0
    for seed in seeds:
        schedule = Schedule.drawn(seed)
        recovery = await killed_by(stage, schedule, reference)
        kills += recovery.kills
        print(f"{schedule}: {recovery}", file=sys.stderr, flush=True)
        if recovery.problem:
            problems.append(f"{schedule}: {recovery.problem}")
    if seeds:
        lost = sum("lost" in problem for problem in problems)
        doubled = sum("doubled" in problem for problem in problems)
        print(
            f"{len(seeds)} random schedules, {kills} kills before the end: {lost} lost, {doubled} doubled, "
            f"{len(problems)} problems"
        )
    print("\n".join(problems))
    return len(problems)


async def cancel(stage: Stage, situations: list[str], ways: list[Way]) -> int:
    """Cancel in every situation; the number of things that went wrong."""
    cancellations: dict[tuple[str, str], Cancellation] = {}
    for way in ways:
        for name in situations:
            found = cancellations[name, way] = await canceled_at(stage, name, way)
            print(f"{name} × {way}: {found}", file=sys.stderr, flush=True)
    print(table_of(cancellations))
    late = sum(found.longest > SOON for found in cancellations.values())
    wrong = sum(found.problem is not None for found in cancellations.values())
    print(f"{len(cancellations)} cancellations: {late} took over {SOON:g} s, {wrong} problems")
    return late + wrong


async def freeze(stage: Stage) -> int:
    """Stop workers and let them go on, and reset while steps are under way; the number of things that went wrong."""
    reference = await undisturbed(stage)
    wrong = 0
    for at, until in placements():
        thaw = await stopped_at(stage, at, until, reference)
        wrong += thaw.problem is not None
        print(f"stopped {at} | goes on {until}: {thaw}", flush=True)
    for at, turns in RESET.items():
        thaw = await reset_at(stage, at, turns, reference)
        wrong += thaw.problem is not None
        print(f"reset {at} to {' and then '.join(map(str, turns))}: {thaw}", flush=True)
    print(f"{len(placements())} placements, {len(RESET)} resets: {wrong} problems")
    return wrong


def main() -> int:
    """Read the command line and play."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--phases", nargs="*", default=list(PHASES), metavar="PHASE", help=", ".join(PHASES))
    parser.add_argument("--processes", nargs="*", default=list(PROCESSES), choices=PROCESSES)
    parser.add_argument("--schedules", type=int, default=200, help="how many random schedules")
    parser.add_argument("--seed", type=int, default=0, help="of the first schedule; the next ones count on")
    parser.add_argument("--cancel", action="store_true", help="cancel assessments instead of killing processes")
    parser.add_argument("--freeze", action="store_true", help="stop workers that go on later, instead of killing")
    parser.add_argument("--situations", nargs="*", default=list(SITUATIONS), metavar="SITUATION", help="to cancel in")
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS, help="in which to cancel")
    chosen = parser.parse_args()
    with running_stage() as stage:
        if chosen.freeze:
            return int(asyncio.run(freeze(stage)) > 0)
        if chosen.cancel:
            return int(asyncio.run(cancel(stage, chosen.situations, chosen.ways)) > 0)
        seeds = range(chosen.seed, chosen.seed + chosen.schedules)
        return int(asyncio.run(play(stage, chosen.phases, chosen.processes, seeds)) > 0)


if __name__ == "__main__":
    sys.exit(main())
