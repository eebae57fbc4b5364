"""What is said of many runs: estimates, pass rates, summaries, comparisons; ``proctor.statistics`` works them out."""

from typing import Literal

from pydantic import Field

from purple_sdk.protocol._wire import WireModel
from purple_sdk.protocol.instances import group_of

RunStatus = Literal["completed", "failed", "timeout", "canceled"]
Of = Literal["overall", "dimension", "criterion"]
GroupedBy = Literal["scenario", "difficulty", "dimension", "criterion"]
"""The groups that a comparison of two agents has a row for; criteria of one id are one group in all scenarios."""


def cost_in_words(cost: float | None, known: int | None, runs: int) -> str:
    """A sum of costs, with "known for n of m" where some runs have none; empty where the sum is None.

    Args:
        known: how many runs know their cost; None where that isn't known.
        runs: how many there are.
    """
    if cost is None:
        return ""
    return f"{cost:.4g}" + ("" if known is None or known >= runs else f" (known for {known} of {runs})")


def _more(names: list[str], most: int) -> str:
    return f" and {len(names) - most} more" if len(names) > most else ""


class Points(WireModel):
    """Points earned, of the points that were judged."""

    score: float = Field(ge=0)
    max_score: float = Field(ge=0)

    @property
    def percent(self) -> float | None:
        """The share earned, 0 to 100; None where nothing was judged."""
        return 100.0 * self.score / self.max_score if self.max_score else None


class Run(WireModel):
    """One assessment or trial.

    Attributes:
        run_id: the assessment's id.
        agent: the participant's name in the campaign.
        scenario: the scenario's or terminal task's id.
        difficulty: of a family's day; None for a fixed scenario.
        seed: the seed of its characters, and of a family's day; None where it has none.
        group_size: how many days of the family are a group (``instances.group_of``); None where days are alone.
        repeat: which of the runs of this agent, scenario, difficulty and seed it is, from 0.
        failed_by_participant: for one that did not complete, whether the participant is to blame.
        is_doubtful: whether its verdict is in doubt; the points are those of the verdict.
        overall: all points; None where it was not judged. They are in ``dimensions`` and ``criteria``, too.
        tokens, cost: of all models that it asked, in the price table's currency; None where unknown.
    """

    run_id: str
    agent: str
    scenario: str
    difficulty: int | None = None
    seed: int | None = None
    group_size: int | None = Field(default=None, ge=2)
    repeat: int = Field(default=0, ge=0)
    status: RunStatus = "completed"
    failed_by_participant: bool = False
    is_doubtful: bool = False
    overall: Points | None = None
    dimensions: dict[str, Points] = Field(default_factory=dict)
    criteria: dict[str, Points] = Field(default_factory=dict)
    tokens: int | None = Field(default=None, ge=0)
    cost: float | None = Field(default=None, ge=0)

    @property
    def unit(self) -> tuple[str, int | None, int | None]:
        """The task: runs of one scenario, difficulty and seed. Of a family, that is one of its days."""
        return self.scenario, self.difficulty, self.seed

    @property
    def group(self) -> tuple[str, int | None, int | None]:
        """What is drawn together: the unit, or of days in groups all of one group, named by its first seed."""
        if self.group_size is None or self.seed is None:
            return self.unit
        return self.scenario, self.difficulty, group_of(self.seed, self.group_size)

    @property
    def cell(self) -> tuple[str, int | None, int | None, int]:
        """What was planned: one repeat of a unit."""
        return (*self.unit, self.repeat)

    def parts(self, of: Of) -> dict[str, Points]:
        """The points of its dimensions or criteria."""
        return self.dimensions if of == "dimension" else self.criteria

    @property
    def percent(self) -> float | None:
        """The share of all judged points, 0 to 100; None unless it completed and was judged."""
        return self.overall.percent if self.status == "completed" and self.overall is not None else None

    @property
    def is_own_failure(self) -> bool:
        """Whether it ended early by its participant's fault, which counts as 0 points."""
        return self.failed_by_participant and self.status in ("failed", "timeout")

    @property
    def counted_percent(self) -> float | None:
        """``percent``, or 0 for a run that its participant failed; None for a run that doesn't count."""
        return 0.0 if self.is_own_failure else self.percent


class Estimate(WireModel):
    """What the values say of their mean.

    Attributes:
        mean: of all values, by their weights (``proctor.statistics.weights``).
        standard_error: of the mean, by units; None where a single unit leaves nothing to compare.
        low, high: the 95 % interval, within the bounds; None where ``why`` says so.
        values, units: how many there are.
        method: how the interval was found (``proctor.statistics``); "bootstrap-t" and "t" in older archives.
        why: why there is no interval.
    """

    mean: float
    standard_error: float | None
    low: float | None
    high: float | None
    values: int
    units: int
    method: Literal["endpoints", "sign-flip", "bootstrap-t", "t", "none"]
    why: str | None = None


class PassRates(WireModel):
    """Passing, over several tasks, which have the weights of their runs.

    Attributes:
        threshold: the pass mark: what a run has to reach, in percent of its points.
        runs, passed: over all tasks. Runs that their participant failed are among them, and did not pass.
        low, high: the 95 % interval of the share that passes, which is pass@1, 0 to 1. Runs of one task (or seed)
            count for as much as they say together; None where ``why`` says so.
        why: why there is no interval.
        at: pass@k by k, 0 to 1, for each k of which every task has as many runs.
        hat: pass^k by k.
    """

    threshold: float
    runs: int
    passed: int
    low: float | None
    high: float | None
    why: str | None = None
    at: dict[int, float]
    hat: dict[int, float]


class GroupRate(WireModel):
    """How often all days of a group were passed.

    Attributes:
        groups: those of which each day was played and counts; each repeat is one of its own.
        passed: those of which each day reached the pass mark.
        low, high: the 95 % interval of the share, 0 to 1.
    """

    groups: int
    passed: int
    low: float
    high: float


class Counts(WireModel):
    """What became of the runs; all that are not judged stand here, none silently outside.

    Attributes:
        judged: completed, with a score.
        failed_by_participant: ended by the participant's fault.
        failed_otherwise: ended by another one's failure, a failed judging included.
        unjudged: completed, and no point of it was judged.
        doubtful: those of all whose verdict is in doubt.
    """

    runs: int
    judged: int
    failed_by_participant: int
    failed_otherwise: int
    canceled: int
    unjudged: int
    doubtful: int = 0


class PlannedCell(WireModel):
    """What one agent was to play once; ``difficulty`` and ``seed`` as of a ``Run``."""

    scenario: str
    difficulty: int | None = None
    seed: int | None = None
    repeat: int = 0

    @property
    def title(self) -> str:
        """What it is called within its stratum: ``seed 3``, ``seed 3 repeat 2``, ``attempt 2``."""
        if self.seed is None:
            return f"attempt {self.repeat + 1}"
        return f"seed {self.seed}" + (f" repeat {self.repeat + 1}" if self.repeat else "")


class Summary(WireModel):
    """One row.

    Attributes:
        agent: whose runs.
        scenario: of which scenario; None for all of them.
        of: all points, one dimension or one criterion.
        name: the dimension or criterion; "overall" for all points.
        counts: what became of the runs.
        percent: 0 to 100, of the judged runs and of those that the participant failed, which count 0; None without
            any. Scenarios weigh the same, in them difficulties, seeds and repeats (``proctor.statistics.weights``).
            Runs that failed otherwise or were canceled are not counted.
        planned: how many cells were planned; 0 in rows of dimensions and criteria, and of earlier versions.
        lost: those of them without a run that counts. The mean of the cells beside them stands for each.
        left_out: titles of the strata (scenario and difficulty) of which every planned cell is lost: the mean is
            without them.
        percent_judged: the mean of the judged runs alone.
        percent_without_doubtful: the mean of the runs that count in ``percent`` and whose verdict is not in doubt; None
            where no verdict is in doubt, or all are.
        by_scenario_error: standard error of the mean clustered by scenario; None for one scenario.
        passes: for all points only, of the same runs as ``percent``.
        groups: for all points only, where days are in groups (``Run.group_size``).
        tokens, cost: sums over the runs that know them; None where none does.
        cost_known: how many runs know their cost.
    """

    agent: str
    scenario: str | None
    of: Of
    name: str
    counts: Counts
    percent: Estimate | None
    percent_judged: float | None = None
    percent_without_doubtful: float | None = None
    by_scenario_error: float | None
    passes: PassRates | None
    groups: GroupRate | None = None
    planned: int = 0
    lost: list[PlannedCell] = Field(default_factory=list)
    left_out: list[str] = Field(default_factory=list)
    tokens: int | None
    cost: float | None
    cost_known: int | None = None

    @property
    def cost_text(self) -> str:
        """The sum of the costs in words; empty where no run knows its cost."""
        return cost_in_words(self.cost, self.cost_known, self.counts.runs)

    def lost_in_words(self, most: int = 4) -> str:
        """How many planned cells have no run, and of one scenario which, at most ``most`` strata and cells of each by
        name; empty where none is lost.
        """
        if not self.lost:
            return ""
        text = f"mean over {self.planned - len(self.lost)} of {self.planned} planned cells"
        if self.scenario is not None:
            strata: dict[int | None, list[str]] = {}
            for cell in self.lost:
                strata.setdefault(cell.difficulty, []).append(cell.title)
            named = [
                ("" if difficulty is None else f"difficulty {difficulty}: ")
                + ", ".join(titles[:most])
                + _more(titles, most)
                for difficulty, titles in strata.items()
            ]
            text += f"; without a run: {'; '.join(named[:most])}{_more(named, most)}"
        left_out = ", ".join(self.left_out[:most]) + _more(self.left_out, most)
        return text + (f"; the mean leaves out {left_out}" if self.left_out else "")


class Comparison(WireModel):
    """The first agent's percent less the second one's.

    Attributes:
        first, second: the agents.
        pairs: runs of both on the same scenario, difficulty, seed and repeat.
        unpaired: runs of either that count and that the other has no partner for.
        first_percent, second_percent: the means of the two over the paired cells, 0 to 100, by the weights of
            ``Summary.percent``; None where there is no pair.
        difference: in percentage points, the first mean less the second; None where there is no pair. Repeats of a
            seed are one unit. A run that its participant failed has 0 points.
        p_value: two-sided, of the hypothesis that the agents are equal; None with fewer than six units.
        spread: standard deviation of the units' differences; None with fewer than two units.
        units: of scenario, difficulty and seed, that both have played.
        units_needed: how many of them would show a difference of this size four times in five, by these points;
            empty where the spread is unknown.
        units_needed_range: the same by the least and the largest that the spread may be (90 %).
    """

    first: str
    second: str
    pairs: int
    unpaired: int
    first_percent: float | None = None
    second_percent: float | None = None
    difference: Estimate | None
    p_value: float | None
    spread: float | None
    units: int = 0
    units_needed: dict[int, int] = Field(default_factory=dict)
    units_needed_range: dict[int, tuple[int, int]] = Field(default_factory=dict)


class Item(WireModel):
    """One criterion over many runs.

    Attributes:
        runs: in which it was judged.
        percent, by_agent: the mean share earned, 0 to 100, by agent; and of all, each agent weighing the same.
        discrimination: -1 to 1; None where nothing varies or fewer than three runs were judged.
        met_by: ``everybody`` (no run lost a point), ``nobody`` (no run earned one), or ``some``.
    """

    scenario: str
    criterion: str
    runs: int
    percent: float
    by_agent: dict[str, float]
    discrimination: float | None
    met_by: Literal["everybody", "nobody", "some"]


class TurnSpread(WireModel):
    """Forks that began with one turn.

    Attributes:
        turn: the first that was played again.
        mean, variance: of the forks' percent (n - 1 in the denominator).
        decided: the share of the first turn's variance that this turn decided; None for the last turn that was forked
            and where the first turn's forks don't vary. Chance can make it negative.
    """

    turn: int
    forks: int
    mean: float
    variance: float
    decided: float | None


class ForkSpread(WireModel):
    """What one agent's forks of an assessment say together, by the turn that they began with.

    ``deciding`` is the turn that decided most of what the first turn's forks still varied by; of the last turn that was
    forked, that and all after it count. None where they don't vary, or were all from one turn.
    """

    agent: str
    turns: list[TurnSpread] = Field(default_factory=list)
    deciding: int | None = None
