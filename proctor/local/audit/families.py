"""The audit of families: many instances in parallel, and the checks across instances (10, 11, 13 to 16)."""

import shlex
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import StatisticsError, correlation, fmean, median

from proctor.local.audit.instances import RATES, Report, audit_instance
from proctor.local.audit.study import Study, study_days

GRADED_PLAYS = 20
"""The least number of graded plays of each family, difficulty and lapse rate."""

MOST_SHARED = 0.10
LEAST_SPREAD = 0.60
LEAST_DISCRIMINATION = 0.2
LEAST_FALL, COMPARED_AT = 0.02, 0.1
"""The least fall of the expected mean from one difficulty to the next, at the lapse rate ``COMPARED_AT``."""

MOST_WITHOUT, LEAST_WITH = 0.35, 0.50
"""Bounds for the duties that name a family: the largest share that may be earned without them, and the least with them
alone.
"""

MEMORISED = 100
"""The number of seeds whose days the memoriser knows by heart."""

_FLOOR = 0.02  # a mean below this need not fall further


@dataclass
class FamilyAudit:
    """The audit's results for a family.

    Attributes:
        name: the name of the family.
        reports: the reports on its instances.
        violations: (check, difficulty, seed or None, sentence).
        means: (difficulty, lapse rate) to the mean share of the points in the plays.
        expected: (difficulty, lapse rate) to the mean share over all possible plays.
        shared: difficulty to the median share of 8-grams that two seeds share.
        discrimination: (difficulty, criterion) to the criterion's point-biserial correlation with all points.
        covered: voice, notation or cheat to the number of its plays.
        studies: difficulty to the shortcuts that many days give away together.
    """

    name: str
    reports: list[Report] = field(default_factory=list)
    violations: list[tuple[int, int, int | None, str]] = field(default_factory=list)
    means: dict[tuple[int, float], float] = field(default_factory=dict)
    expected: dict[tuple[int, float], float] = field(default_factory=dict)
    shared: dict[int, float] = field(default_factory=dict)
    discrimination: dict[tuple[int, str], float] = field(default_factory=dict)
    covered: Counter[str] = field(default_factory=Counter)
    studies: dict[int, Study] = field(default_factory=dict)

    def of(self, difficulty: int) -> list[Report]:
        return [report for report in self.reports if report.difficulty == difficulty]

    def find_naming(self, difficulty: int) -> tuple[float, float] | None:
        """The largest share without the duties that name the family, and the smallest share with only these duties.

        None if all duties name the family.
        """
        shares = [report.naming for report in self.of(difficulty) if report.naming]
        return (max(share["without"] for share in shares), min(share["only"] for share in shares)) if shares else None

    def average_shares(self, bot: str, difficulty: int) -> float:
        return fmean(report.bots.get(bot, 0.0) for report in self.of(difficulty))

    @property
    def least_covered(self) -> dict[str, tuple[str, int]]:
        """The voice, the notation and the cheat with the fewest plays, each with the number of these plays."""
        kinds: dict[str, list[tuple[str, int]]] = {}
        for name, plays in self.covered.items():
            kinds.setdefault(name.partition(" ")[0], []).append((name, plays))
        return {kind: min(named, key=lambda each: each[1]) for kind, named in sorted(kinds.items())}


@dataclass(frozen=True)
class Cell:
    directory: Path
    difficulty: int
    seed: int
    others: tuple[int, ...]
    graded: int
    quick: bool


def audit_cell(cell: Cell) -> Report:
    """Audit one instance; an error of the family is a violation."""
    try:
        return audit_instance(
            cell.directory, cell.difficulty, cell.seed, cell.others, graded_plays=cell.graded, quick=cell.quick
        )
    except Exception as error:
        report = Report(cell.directory.name, cell.difficulty, cell.seed)
        place = traceback.extract_tb(error.__traceback__)[-1]
        report.say(1, f"{type(error).__name__}: {error} ({Path(place.filename).name} line {place.lineno})")
        return report


def make_cells(
    directories: Sequence[Path], difficulties: Sequence[int], seeds: Sequence[int], *, quick: bool = False
) -> list[Cell]:
    """The instances to audit. The memoriser knows ``MEMORISED`` seeds: the audited ones, and those after them."""
    known = tuple(dict.fromkeys([*seeds, *range(max(seeds) + 1, max(seeds) + MEMORISED)]))[:MEMORISED]
    graded = -(-GRADED_PLAYS // len(seeds)) if not quick else 1
    return [
        Cell(directory, difficulty, seed, known[:3] if quick else known, graded, quick)
        for directory in directories
        for difficulty in difficulties
        for seed in seeds
    ]


def run_cells(cells: Sequence[Cell], processes: int) -> Iterator[Report]:
    """Audit the instances, and yield each report when it is ready.

    A family's instances of one difficulty share a process, which remembers other days. A free process takes the next
    difficulty.
    """
    if processes == 1:
        yield from map(audit_cell, cells)
        return
    groups: dict[tuple[Path, int], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: -cell.difficulty):  # the long ones first, to end together
        groups.setdefault((cell.directory, cell.difficulty), []).append(cell)
    queue = iter(groups.values())
    with ExitStack() as stack:
        pools = [stack.enter_context(ProcessPoolExecutor(1)) for _ in range(processes)]
        waiting = {pool.submit(audit_cell, cell): pool for pool in pools for cell in next(queue, [])}
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                pool = waiting.pop(future)
                yield future.result()
                if pool not in waiting.values():
                    waiting |= {pool.submit(audit_cell, cell): pool for cell in next(queue, [])}


def run_studies(cells: Sequence[Cell], processes: int) -> Iterator[Study]:
    """The studies of all families and difficulties among cells."""
    days = zip(*dict.fromkeys((cell.directory, cell.difficulty) for cell in cells), strict=True)
    if processes == 1:
        yield from map(study_days, *days)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(study_days, *days)


def summed_up(reports: Sequence[Report], studies: Sequence[Study] = (), *, quick: bool = False) -> list[FamilyAudit]:
    """The audits of the families, sorted by name. ``quick`` leaves out the checks that need many instances."""
    audits: dict[str, FamilyAudit] = {}
    for report in sorted(reports, key=lambda report: (report.family, report.difficulty, report.seed)):
        audit = audits.setdefault(report.family, FamilyAudit(report.family))
        audit.reports.append(report)
        audit.covered.update(report.covered)
        audit.violations += [(check, report.difficulty, report.seed, sentence) for check, sentence in report.violations]
    for study in studies:
        audit = audits[study.family]
        audit.studies[study.difficulty] = study
        audit.violations += [(check, study.difficulty, None, sentence) for check, sentence in study.violations]
    for audit in audits.values():
        for difficulty in sorted({report.difficulty for report in audit.reports}):
            _sum_up(audit, difficulty, quick)
        if not quick:
            _compare_difficulties(audit)
    return list(audits.values())


def _sum_up(audit: FamilyAudit, difficulty: int, quick: bool) -> None:
    reports = [report for report in audit.of(difficulty) if report.graded]
    if not reports:
        return
    if shares := [len(a.grams & b.grams) / max(1, min(len(a.grams), len(b.grams))) for a, b in pairwise(reports)]:
        audit.shared[difficulty] = median(shares)
        if audit.shared[difficulty] > MOST_SHARED:
            audit.violations.append(
                (10, difficulty, None, f"two seeds share {audit.shared[difficulty]:.1%} of 8-grams")
            )
    _judge_naming(audit, difficulty)
    plays = {rate: [play for report in reports for play in report.graded[rate]] for rate in RATES}
    for rate in RATES:
        audit.means[difficulty, rate] = fmean(play["total"] for play in plays[rate])
        audit.expected[difficulty, rate] = fmean(report.expected[rate] for report in reports)
    if quick:
        return
    for low, high in pairwise(RATES):
        better, worse = audit.means[difficulty, low], audit.means[difficulty, high]
        if worse >= better and better > _FLOOR:
            audit.violations.append((11, difficulty, None, f"lapse rate {high} earns {worse:.1%}, {low} {better:.1%}"))
    spread = audit.means[difficulty, RATES[0]] - audit.means[difficulty, RATES[-1]]
    if spread < LEAST_SPREAD:
        audit.violations.append((11, difficulty, None, f"the graded players spread over {spread:.0%} only"))
    together = [play for rate in RATES for play in plays[rate]]
    for criterion in dict.fromkeys(key for play in together for key in play if key != "total"):
        has = [play for play in together if criterion in play]
        try:
            value = correlation([play[criterion] for play in has], [play["total"] for play in has])
        except StatisticsError:
            value = 0.0
        audit.discrimination[difficulty, criterion] = value
        if value < LEAST_DISCRIMINATION:
            audit.violations.append((11, difficulty, None, f"criterion {criterion} discriminates by {value:.2f} only"))


def _judge_naming(audit: FamilyAudit, difficulty: int) -> None:
    """Check that the duties that name the family weigh enough (check 13)."""
    without, only = audit.find_naming(difficulty) or (0.0, 1.0)
    if without > MOST_WITHOUT:
        sentence = f"without the duties that name the family {without:.0%} can be had, above {MOST_WITHOUT:.0%}"
        audit.violations.append((13, difficulty, None, sentence))
    if only < LEAST_WITH:
        sentence = f"with only the duties that name the family {only:.0%} can be had, below {LEAST_WITH:.0%}"
        audit.violations.append((13, difficulty, None, sentence))


def _compare_difficulties(audit: FamilyAudit) -> None:
    difficulties = sorted({difficulty for difficulty, _ in audit.expected})
    for rate in RATES[1:]:
        for easy, hard in pairwise(difficulties):
            first, second = audit.expected[easy, rate], audit.expected[hard, rate]
            least = LEAST_FALL if rate == COMPARED_AT else 0.0
            if first > _FLOOR and (second >= first or second > first - least):
                sentence = f"at lapse rate {rate} difficulty {hard} earns {second:.1%}, difficulty {easy} {first:.1%}"
                audit.violations.append((11, hard, None, sentence))


def write_command(family: str, difficulty: int, seed: int | None, scenarios_dir: str | None = None) -> str:
    """The command that shows a violation again; ``scenarios_dir`` is the value of the flag, if given."""
    seeds = "" if seed is None else f" --seeds {seed}"
    folder = "" if scenarios_dir is None else f" --scenarios-dir {shlex.quote(scenarios_dir)}"
    return f"proctor scenarios audit {family} --difficulty {difficulty}{seeds}{folder}"
