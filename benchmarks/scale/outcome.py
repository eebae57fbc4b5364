"""What the simulation said, as it is kept in ``benchmarks/scale.json`` beside the bill that it is of."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Self

from benchmarks.bill.record import FILE as BILL_FILE
from benchmarks.bill.record import Bill, Record, Together
from benchmarks.scale.load import EVALUATOR, load_of
from benchmarks.scale.night import Fleet, Outcome, arrivals, play
from benchmarks.scale.settings import FILE as SETTINGS_FILE
from benchmarks.scale.settings import Settings
from benchmarks.scale.walls import TEMPORAL, Sized, liveliness_of

FILE = Path(__file__).parent.parent / "scale.json"
SEED = 7

_OF_OTHERS = ("actions", "requests", "tokens", "calls")
_ASSESSMENTS = 1_200
"""So many, or more, are played to the end of a part of a night that is looked at."""


class Part(Record):
    """A part of a night, in which all runs evenly.

    Attributes:
        what: a sentence. assessments: of the whole night. used: shares of resources. held_up: seconds that half of the
        assessments, and all but a twentieth of them, took longer than alone. at_once: under way on average.
    """

    what: str
    assessments: int
    used: dict[str, float]
    held_up: tuple[float, float]
    at_once: float


class Check(Record):
    """A load that was played for real, and simulated: seconds until all had ended. ``load``: of the machine before."""

    what: str
    measured: float
    simulated: float
    load: float | None = None

    @property
    def deviation(self) -> float:
        """Of the simulation from what was measured, as a share of it."""
        return self.simulated / self.measured - 1


class Simulated(Record):
    """All that was simulated; ``of`` names the bill and the settings by their contents."""

    of: str
    parts: list[Part]
    checks: list[Check]

    @classmethod
    def load(cls, file: Path = FILE) -> Self:
        """Read what is kept."""
        return cls.model_validate_json(file.read_bytes())

    def save(self, file: Path = FILE) -> None:
        """Keep it."""
        file.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")


def contents(bill: Path = BILL_FILE, settings: Path = SETTINGS_FILE) -> str:
    """A name of the contents of a bill and of settings."""
    return hashlib.sha256(bill.read_bytes() + settings.read_bytes()).hexdigest()[:16]


def check(bill: Bill, settings: Settings, played: Together) -> Check:
    """Simulate what was played for real: all processes on one machine, all assessments at once."""
    measured = bill.play(played.scenario, played.participant, with_models=False)
    night = settings.night.model_copy(update={"turn_seconds": played.turn_seconds})
    lively = liveliness_of(bill, settings, played.worker_processes, played.assessments)
    load = load_of(bill, measured, night, lively)
    theirs = {"participant": measured.cpu.get("participant", 0.0) / measured.turns}
    load = replace(load, turns=played.turns, per_turn={**load.per_turn, **theirs})
    processes = {**dict.fromkeys(EVALUATOR, 1), "participant": 1}
    processes |= {"worker": played.worker_processes, TEMPORAL: played.cores}
    rates = {"waits_begun": played.worker_processes * settings.fleet.waits_begun_per_second}
    fleet = Fleet(processes, rates=rates, cores=played.cores)
    outcome = play([load], fleet, [0.0] * played.assessments, SEED)
    return Check(
        what=played.what,
        measured=round(played.seconds, 1),
        simulated=round(outcome.last_end, 1),
        load=played.load,
    )


def simulate(what: str, sized: Sized, settings: Settings, assessments: float, *, limited: bool) -> Part:
    """Play a part of a night of so many assessments, once all runs evenly.

    Args:
        limited: whether what others allow holds.
    """
    a_second = assessments / settings.night.seconds
    loads = sized.loads_at(a_second)
    longest = max(load.shortest for load in loads)
    begin = 1.5 * longest
    end = begin + max(_ASSESSMENTS / a_second, longest)
    rates = {name: rate for name, rate in sized.fleet.rates.items() if limited or name not in _OF_OTHERS}
    fleet = replace(sized.fleet, rates=rates)
    outcome = play(loads, fleet, arrivals(a_second * end, end, SEED), SEED, begin, end)
    return part_of(what, assessments, outcome)


def part_of(what: str, assessments: float, outcome: Outcome) -> Part:
    """What is kept of a part of a night."""
    return Part(
        what=what,
        assessments=round(assessments),
        used={name: round(share, 4) for name, share in outcome.used.items()},
        held_up=(round(outcome.quantile(0.5), 1), round(outcome.quantile(0.95), 1)),
        at_once=round(outcome.at_once, 1),
    )


def simulate_all(bill: Bill, settings: Settings, sized: Sized) -> Simulated:
    """The night itself, around its first wall, and every load that was played for real."""
    wanted = settings.night.assessments
    first = sized.walls(settings.night.seconds)[0]
    most = first.most(settings.night.seconds)
    return Simulated(
        of=contents(),
        parts=[
            simulate("as sized, where others' limits were raised", sized, settings, wanted, limited=False),
            simulate(f"at 90 % of the first wall ({first.name})", sized, settings, 0.9 * most, limited=True),
            simulate("at 110 % of it", sized, settings, 1.1 * most, limited=True),
        ],
        checks=[check(bill, settings, played) for played in bill.together],
    )
