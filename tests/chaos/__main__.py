"""``python -m tests.chaos``: every process killed at every moment, then random schedules; prints the table.

``python -m tests.chaos --cancel``: an assessment cancelled in every situation, in three ways; prints another table.

``python -m tests.chaos --fleet --minutes 8``: any process of a fleet is killed at any moment (two gateways, three
workers of two processes, two simulators, the store in S3), in the order of ``--seed``; prints a table.

``python -m tests.chaos --past``: nothing from the past may act. Processes are stopped and go on later, random schedules
mix kills, stops and cut networks, assessments are reset while they run; prints how many differed, and in what.

``python -m tests.chaos --abilities --seed 1 --count 200``: kills, freezes and resets in the user's answer, a deadline
inside a turn, noise after an action, two participants at work, and the night; prints a table, and how many differed.

``--clock fixed:1200 --noise 3 --assessment-seed 1``: any of these under a clock that runs, and noise.
"""

import argparse
import asyncio
import math
import random
import sys
from collections.abc import Iterator
from itertools import chain

from tests.chaos import abilities, fleet, freezes, replays, stops
from tests.chaos.cancellations import SITUATIONS, SOON, WAYS, Cancellation, Way, canceled_at, table_of
from tests.chaos.lanes import Placement, counted, play_in_lanes
from tests.chaos.mixtures import Mixture, disturbed_by
from tests.chaos.rehearsals import (
    CONDITIONS,
    EACH_PHASE,
    PHASES,
    Outcome,
    Recovery,
    Schedule,
    killed_at,
    killed_by,
    undisturbed,
)
from tests.chaos.services import PROCESSES, Services, running_services
from tests.chaos.table import table

KINDS = ("stops", "mixtures", "replays")
"""What may bring back the past."""


async def play(services: Services, phases: list[str], processes: list[str], seeds: range) -> int:
    """Play all; the number of things that went wrong."""
    reference = await undisturbed(services)
    (await undisturbed(services)).require_same(reference)
    recoveries: dict[tuple[str, str], Recovery] = {}
    problems = []
    for phase in phases:
        for process in processes:
            recovery = recoveries[phase, process] = await killed_at(services, phase, process, reference)
            print(f"{phase} × {process}: {recovery}", file=sys.stderr, flush=True)
            if recovery.problem:
                problems.append(f"{phase} × {process}: {recovery.problem}")
    if recoveries:
        print(table(recoveries))
    kills = 0
    for seed in seeds:
        schedule = Schedule.drawn(seed)
        recovery = await killed_by(services, schedule, reference)
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


async def cancel(services: Services, situations: list[str], ways: list[Way]) -> int:
    """Cancel in every situation; the number of things that went wrong."""
    cancellations: dict[tuple[str, str], Cancellation] = {}
    for way in ways:
        for name in situations:
            found = cancellations[name, way] = await canceled_at(services, name, way)
            print(f"{name} × {way}: {found}", file=sys.stderr, flush=True)
    print(table_of(cancellations))
    late = sum(found.longest > SOON for found in cancellations.values())
    wrong = sum(found.problem is not None for found in cancellations.values())
    print(f"{len(cancellations)} cancellations: {late} took over {SOON:g} s, {wrong} problems")
    return late + wrong


def stopping(phases: list[str], processes: list[str]) -> Iterator[Placement]:
    """Each process stopped at each moment, and going on at each later one."""

    def of_a_worker(at: str, until: str) -> Placement:
        async def play(services: Services, reference: Outcome) -> list[Recovery]:
            found = await freezes.stopped_at(services, at, until, reference)
            return [Recovery(found.seconds, found.turn_tries, found.problem, 0)]

        return Placement("stopped, goes on by the story", f"worker, {at}, goes on {until}", play)

    def of_any(phase: str, process: str, until: str) -> Placement:
        async def play(services: Services, reference: Outcome) -> list[Recovery]:
            return [await stops.stopped_for(services, phase, process, until, reference)]

        kind = "stopped, goes on after 1 to 15 s" if until in stops.SECONDS else "stopped, goes on by the story"
        return Placement(kind, f"{process}, {phase}, goes on {until}", play)

    if "worker" in processes:
        yield from (of_a_worker(*placement) for placement in freezes.placements())
    for phase, process, until in stops.placements():
        if phase in phases and process in processes:
            yield of_any(phase, process, until)


def mixing(seeds: range) -> Iterator[Placement]:
    """Random schedules."""

    def of(mixture: Mixture) -> Placement:
        async def play(services: Services, reference: Outcome) -> list[Recovery]:
            return await disturbed_by(services, mixture, reference)

        return Placement("random schedules of kills, stops, cuts", str(mixture), play)

    return (of(Mixture.drawn(seed)) for seed in seeds)


def replaying(phases: list[str]) -> Iterator[Placement]:
    """Resets to each turn while each step runs."""

    def of(phase: str, turn: int | None, way: replays.Way) -> Placement:
        async def play(services: Services, reference: Outcome) -> list[Recovery]:
            return [await replays.replayed_at(services, phase, turn, way, reference)]

        return Placement(f"reset, {way}", f"{phase} × {replays.named(turn)} × {way}", play)

    def of_several(at: str, turns: tuple[int, ...]) -> Placement:
        async def play(services: Services, reference: Outcome) -> list[Recovery]:
            found = await freezes.reset_at(services, at, turns, reference)
            return [Recovery(found.seconds, found.turn_tries, found.problem, 0)]

        return Placement("reset, by requests on their way", f"{at} × {' and then '.join(map(str, turns))}", play)

    yield from (of(*placement) for placement in replays.placements() if placement[0] in phases)
    yield from (of_several(*placement) for placement in freezes.RESET.items())


def from_the_past(chosen: argparse.Namespace) -> int:
    """Play what may bring back the past; the number of things that went wrong."""
    kinds = {
        "stops": stopping(chosen.phases, chosen.processes),
        "mixtures": mixing(range(chosen.seed, chosen.seed + chosen.schedules)),
        "replays": replaying(chosen.phases),
    }
    placements = list(chain.from_iterable(kinds[kind] for kind in chosen.kinds))
    random.Random(chosen.seed).shuffle(placements)  # some of each, however soon it is broken off
    played = play_in_lanes(placements[chosen.skip :], chosen.lanes, chosen.minutes)
    print(counted(played))
    return sum(len(outcome.problems) for outcome in played)


def of_abilities(chosen: argparse.Namespace) -> int:
    """Disturb the later abilities; the number of placements that went wrong."""
    placements = abilities.drawn(chosen.seed, chosen.count, chosen.cases, chosen.only)
    played = play_in_lanes(placements[chosen.skip :], chosen.lanes, chosen.minutes)
    print(counted(played))
    different = sum(bool(outcome.problems) for outcome in played)
    print(f"{len(played)} placements: {different} different")
    return different


def main() -> int:
    """Read the command line and play."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--phases", nargs="*", default=list(PHASES), metavar="PHASE", help=", ".join(EACH_PHASE))
    parser.add_argument("--processes", nargs="*", default=list(PROCESSES), choices=PROCESSES)
    parser.add_argument("--schedules", type=int, default=200, help="how many random schedules")
    parser.add_argument("--seed", type=int, default=0, help="of the first schedule; the next ones count on")
    parser.add_argument("--cancel", action="store_true", help="cancel assessments instead of killing processes")
    parser.add_argument("--situations", nargs="*", default=list(SITUATIONS), metavar="SITUATION", help="to cancel in")
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS, help="in which to cancel")
    parser.add_argument("--fleet", action="store_true", help="kill any of a fleet, with its store in S3")
    parser.add_argument("--past", action="store_true", help="stop, mix and reset instead of killing")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS, help="what of the past")
    parser.add_argument(
        "--abilities", action="store_true", help="disturb user, clock, noise, two at work and the night"
    )
    parser.add_argument(
        "--cases", nargs="*", default=list(abilities.NAMES), choices=abilities.NAMES, help="which of them"
    )
    parser.add_argument("--count", type=int, default=200, help="how many placements of the abilities")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only placements of the abilities with this in the name"
    )
    parser.add_argument("--skip", type=int, default=0, help="how many placements to leave out, in the seed's order")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="after which none begins: past, abilities or fleet"
    )
    parser.add_argument("--lanes", type=int, default=2, help="how many evaluators at once: past or abilities")
    parser.add_argument("--clock", help="of every assessment")
    parser.add_argument("--noise", type=int, help="of every assessment")
    parser.add_argument("--assessment-seed", type=int, help="of every assessment, and of its noise")
    chosen = parser.parse_args()
    conditions = {"clock": chosen.clock, "noise": chosen.noise, "seed": chosen.assessment_seed}
    CONDITIONS.update({name: value for name, value in conditions.items() if value is not None})
    if chosen.fleet:
        return int(fleet.play(chosen.phases, chosen.seed, chosen.minutes) > 0)
    if chosen.abilities:
        return int(of_abilities(chosen) > 0)
    if chosen.past:
        return int(from_the_past(chosen) > 0)
    with running_services() as services:
        if chosen.cancel:
            return int(asyncio.run(cancel(services, chosen.situations, chosen.ways)) > 0)
        seeds = range(chosen.seed, chosen.seed + chosen.schedules)
        return int(asyncio.run(play(services, chosen.phases, chosen.processes, seeds)) > 0)


if __name__ == "__main__":
    sys.exit(main())
