"""Models of the statistics of many runs: estimates, pass rates, summaries, comparisons. ``proctor.statistics`` computes
them.
"""

from typing import Literal

from pydantic import Field

from purple_sdk.protocol._wire import WireModel
from purple_sdk.protocol.instances import group_of

RunStatus = Literal["completed", "failed", "timeout", "canceled"]
Of = Literal["overall", "dimension", "criterion"]
GroupedBy = Literal["scenario", "difficulty", "dimension", "criterion"]
"""The kinds of rows in a comparison of two agents. Criteria with the same id form one group across scenarios."""


def cost_in_words(cost: float | None, known: int | None, runs: int) -> str:
    """Write a sum of costs, with "known for n of m" if some runs have none; empty if the sum is None.

    Args:
        known: the number of runs with known cost; None if that number is unknown.
        runs: the number of runs.
    """
    if cost is None:
        return ""
    return f"{cost:.4g}" + ("" if known is None or known >= runs else f" (known for {known} of {runs})")


def _more(names: list[str], most: int) -> str:
    return f" and {len(names) - most} more" if len(names) > most else ""


class Points(WireModel):
    """Points earned, out of the judged points."""

    score: float = Field(ge=0)
    max_score: float = Field(ge=0)

    @property
    def percent(self) -> float | None:
        """The share earned, 0 to 100; None if nothing was judged."""
        return 100.0 * self.score / self.max_score if self.max_score else None


class Run(WireModel):
    """One assessment or trial.

    Attributes:
        run_id: the assessment's id. agent: the participant's name in the campaign. scenario: the scenario's or terminal
            task's id. difficulty: of a family's day; None for a fixed scenario. seed: the seed of the run's characters,
            and of a family's day; None if the run has no seed. group_size: the number of the family's days in a group
            (``instances.group_of``); None if days are not grouped. repeat: the number of this run among those of the
            same agent, scenario, difficulty and seed, from 0. failed_by_participant: for a run that did not complete,
            whether the participant caused it. is_doubtful: whether its verdict is in doubt; the points are the
            verdict's. overall: all points, including those in ``dimensions`` and ``criteria``; None if it was not
            judged. tokens, cost: tokens and cost of all models that the run asked, in the price table's currency; None
            if unknown.
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
        """The task: runs of one scenario, difficulty and seed. For a family, that is one of its days."""
        return self.scenario, self.difficulty, self.seed

    @property
    def group(self) -> tuple[str, int | None, int | None]:
        """The unit of resampling: the task. For days in groups, it is all days of a group, named by the group's first
        seed.
        """
        if self.group_size is None or self.seed is None:
            return self.unit
        return self.scenario, self.difficulty, group_of(self.seed, self.group_size)

    @property
    def cell(self) -> tuple[str, int | None, int | None, int]:
        """The planned cell: one repeat of a unit."""
        return (*self.unit, self.repeat)

    def parts(self, of: Of) -> dict[str, Points]:
        """Return the points of the run's dimensions or criteria."""
        return self.dimensions if of == "dimension" else self.criteria

    @property
    def percent(self) -> float | None:
        """The share of all judged points, 0 to 100; None unless it completed and was judged."""
        return self.overall.percent if self.status == "completed" and self.overall is not None else None

    @property
    def is_own_failure(self) -> bool:
        """Whether the run ended early by its participant's fault, and so counts as 0 points."""
        return self.failed_by_participant and self.status in ("failed", "timeout")

    @property
    def counted_percent(self) -> float | None:
        """``percent``, or 0 for a run that its participant failed; None for a run that doesn't count."""
        return 0.0 if self.is_own_failure else self.percent


class Estimate(WireModel):
    """An estimate of a mean.

    Attributes:
        mean: the mean of all values, by their weights (``proctor.statistics.weights``).
        standard_error: the standard error of the mean, by units; None if there is only one unit.
        low, high: the 95 % interval, within the bounds; None if ``why`` gives a reason.
        values, units: the numbers of values and units.
        method: the method of the interval (``proctor.statistics``); "bootstrap-t" and "t" in older archives.
        why: the reason for a missing interval.
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
    """Pass rates over several tasks, which have the weights of their runs.

    Attributes:
        threshold: the pass mark, in percent of a run's points.
        runs, passed: the numbers of runs, and of passed runs, over all tasks. Runs that failed by their participant's
            fault are included as not passed.
        low, high: the 95 % interval of the share that passes (pass@1), 0 to 1. Runs of one task (or seed) aren't
            independent, so they count as one unit. None if ``why`` gives a reason.
        why: the reason for a missing interval.
        at: pass@k by k, 0 to 1, for each k for which every task has at least k runs.
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
    """The share of groups in which all days were passed.

    Attributes:
        groups: groups of which each day was played and counts; each repeat counts as a separate group.
        passed: groups of which each day reached the pass mark.
        low, high: the 95 % interval of the share, 0 to 1.
    """

    groups: int
    passed: int
    low: float
    high: float


class Counts(WireModel):
    """Outcomes of the runs; every run without a judgement is counted here.

    Attributes:
        judged: completed, with a score.
        failed_by_participant: ended by the participant's fault.
        failed_otherwise: ended by another failure, including a failed judging.
        unjudged: completed, with no judged point.
        doubtful: runs, of all, whose verdict is in doubt.
    """

    runs: int
    judged: int
    failed_by_participant: int
    failed_otherwise: int
    canceled: int
    unjudged: int
    doubtful: int = 0


class PlannedCell(WireModel):
    """One planned run of an agent; ``difficulty`` and ``seed`` as in ``Run``."""

    scenario: str
    difficulty: int | None = None
    seed: int | None = None
    repeat: int = 0

    @property
    def title(self) -> str:
        """Its title within its stratum: ``seed 3``, ``seed 3 repeat 2``, ``attempt 2``."""
        if self.seed is None:
            return f"attempt {self.repeat + 1}"
        return f"seed {self.seed}" + (f" repeat {self.repeat + 1}" if self.repeat else "")


class Summary(WireModel):
    """One row of a campaign's table.

    Attributes:
        agent: the agent of the runs.
        scenario: their scenario; None for all scenarios.
        of: all points, one dimension or one criterion.
        name: the dimension or criterion; "overall" for all points.
        counts: the outcomes of the runs.
        percent: 0 to 100, of the judged runs and of those that the participant failed, which count 0; None if there are
            none. Scenarios weigh the same; so do difficulties, seeds and repeats within
            (``proctor.statistics.weights``). Runs that failed otherwise or were canceled are not counted.
        planned: the number of planned cells; 0 in rows of dimensions and criteria, and of earlier versions.
        lost: planned cells without a run that counts. The mean of the other cells in the stratum replaces each lost
            cell.
        left_out: titles of the strata (scenario and difficulty) whose planned cells are all lost: the mean excludes
            them.
        percent_judged: the mean of the judged runs alone.
        percent_without_doubtful: the mean of the runs that count in ``percent`` and whose verdict is not in doubt; None
            if
            no verdict is in doubt, or all are.
        by_scenario_error: standard error of the mean clustered by scenario; None for one scenario.
        passes: the pass rates of the runs in ``percent``; for all points only.
        groups: the pass rate of groups, if days are in groups (``Run.group_size``); for all points only.
        tokens, cost: sums over the runs for which they are known; None if there is no such run.
        cost_known: the number of runs with known cost.
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
        """The sum of the costs in words; empty if no run's cost is known."""
        return cost_in_words(self.cost, self.cost_known, self.counts.runs)

    def lost_in_words(self, most: int = 4) -> str:
        """Return how many planned cells have no run; empty if none is lost. For one scenario, also name them, at most
        ``most`` strata and ``most`` cells of each.
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
    """The first agent's percent minus the second's.

    Attributes:
        first, second: the agents.
        pairs: runs of both on the same scenario, difficulty, seed and repeat.
        unpaired: runs of either agent that count and have no partner.
        first_percent, second_percent: the means of the two over the paired cells, 0 to 100, by the weights of
            ``Summary.percent``; None if there is no pair.
        difference: in percentage points, the first mean minus the second; None if there is no pair. Repeats of a seed
            are one unit. A run that its participant failed has 0 points.
        p_value: two-sided, of the hypothesis that the agents are equal; None with fewer than six units.
        spread: standard deviation of the units' differences; None with fewer than two units.
        units: units of scenario, difficulty and seed that both have played.
        units_needed: the number of units that would show a difference of this size four times in five, by these points;
            empty if the spread is unknown.
        units_needed_range: ``units_needed`` for the smallest and the largest plausible spread (90 %).
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
        runs: the number of runs in which it was judged.
        percent, by_agent: the mean share earned, 0 to 100, over all agents with equal weights, and by agent.
        discrimination: -1 to 1; None if nothing varies or fewer than three runs were judged.
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
    """Forks that started from the same turn.

    Attributes:
        turn: the first turn that was played again.
        mean, variance: mean and variance of the forks' percent (n - 1 in the denominator).
        decided: the share of the first turn's variance that this turn decided; None for the last forked turn, and if
            the
            first turn's forks don't vary. Chance can make it negative.
    """

    turn: int
    forks: int
    mean: float
    variance: float
    decided: float | None


class ForkSpread(WireModel):
    """The joint result of one agent's forks of an assessment, by their first turn.

    ``deciding`` is the turn that decided most of the variance among the first turn's forks. The last forked turn counts
    together with all turns after it. None if the forks don't vary, or all started from the same turn.
    """

    agent: str
    turns: list[TurnSpread] = Field(default_factory=list)
    deciding: int | None = None
