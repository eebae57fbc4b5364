"""Many placements on several evaluators at once, as most of their time is waiting; and what is told of them."""

import asyncio
import math
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.chaos.rehearsals import Outcome, Recovery, undisturbed
from tests.chaos.services import USUAL, Case, Services, running_services


@dataclass(frozen=True)
class Placement:
    """Something that is done to an assessment, or to several at once.

    Attributes:
        kind: what it is counted under.
        name: what is done, and when.
        play: does it, and compares.
        case: what it is done to.
    """

    kind: str
    name: str
    play: Callable[[Services, Outcome], Awaitable[list[Recovery]]]
    case: Case = USUAL

    def __str__(self) -> str:
        return f"{self.kind} | {self.name}"


@dataclass(frozen=True)
class Played:
    """A placement and what became of its assessments."""

    placement: Placement
    recoveries: list[Recovery]

    @property
    def problems(self) -> list[str]:
        """What differed."""
        return [recovery.problem for recovery in self.recoveries if recovery.problem]


def play_in_lanes(placements: Sequence[Placement], lanes: int, minutes: float = math.inf) -> list[Played]:
    """Play all, or begin no more after some minutes; each lane has an evaluator of its own. Says each as it comes."""
    waiting = iter(placements)
    for_abilities = any(placement.case is not USUAL for placement in placements)
    until = time.monotonic() + 60 * minutes
    lock = threading.Lock()
    played: list[Played] = []

    def take() -> Placement | None:
        with lock:
            return next(waiting, None) if time.monotonic() < until else None

    async def drive(services: Services) -> None:
        references: dict[Case, Outcome] = {}
        while placement := await asyncio.to_thread(take):
            case = services.case = placement.case
            try:
                if case not in references:
                    reference = await undisturbed(services)
                    (await undisturbed(services)).require_same(reference)
                    references[case] = reference
                    print(f"{case.name}, in peace twice: mails {dict(reference.emails)}", file=sys.stderr, flush=True)
                recoveries = await placement.play(services, references[case])
            except Exception as error:  # whatever it is, it is told and the others are played
                traceback.print_exc()
                recoveries = [Recovery(0.0, {}, f"{type(error).__name__}: {error}", 0)]
            played.append(Played(placement, recoveries))
            told = "; ".join(map(str, recoveries))
            print(
                f"{len(played)}/{len(placements)}. {placement}: {told}",
                file=sys.stderr,
                flush=True,
            )

    def run(_: int) -> None:
        with running_services(for_abilities=for_abilities) as services:
            asyncio.run(drive(services))

    with ThreadPoolExecutor(lanes) as pool:
        list(pool.map(run, range(lanes)))
    return played


def counted(played: Sequence[Played]) -> str:
    """The table: placements, assessments and differing ones of each kind, and below it what differed."""
    kinds = list(dict.fromkeys(outcome.placement.kind for outcome in played))
    rows = [["", "placements", "assessments", "lost", "doubled", "differing"]]
    for kind in kinds:
        of_kind = [outcome for outcome in played if outcome.placement.kind == kind]
        problems = [problem for outcome in of_kind for problem in outcome.problems]
        rows.append(
            [
                kind,
                str(len(of_kind)),
                str(sum(len(outcome.recoveries) for outcome in of_kind)),
                str(sum("lost" in problem for problem in problems)),
                str(sum("doubled" in problem for problem in problems)),
                str(len(problems)),
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    differing = [f"{outcome.placement.name}: {problem}" for outcome in played for problem in outcome.problems]
    return "\n".join([*lines, *differing])
