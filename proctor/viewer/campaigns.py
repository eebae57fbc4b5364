"""A campaign as its page shows it: agents × scenarios, criteria, comparisons, failures, and every run.

``proctor.statistics`` computes the figures: in the worker at the campaign's end, and here while the campaign runs.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from markupsafe import Markup

from proctor.protocol.archive import EntrySummary
from proctor.protocol.archived_runs import runs_of_entries
from proctor.protocol.campaigns import CampaignResults
from proctor.protocol.runs import RunResults
from proctor.viewer import plots
from purple_sdk.protocol.statistics import Comparison, ForkSpread, Item, PlannedCell, Run, Summary
from purple_sdk.protocol.terminal import FailureMode, TerminalResults

_ITEMS_AT_ONCE = 15
_NOTICED = 5.0  # percentage points: the difference for which it is said how many more runs would show it
_PASSES_AT_MOST = 64


@dataclass(frozen=True)
class RunRow:
    run: Run
    label: str
    status: str
    score_text: str
    failure_kind: str | None = None
    failure: str | None = None
    plays: int = 1
    seconds: float = 0.0
    taken_over: bool = False


@dataclass(frozen=True)
class GridCell:
    summary: Summary
    plot: Markup | None
    rows: Sequence[RunRow] = ()


@dataclass(frozen=True)
class GridRow:
    """All agents on one scenario; None for all scenarios."""

    scenario: str | None
    cells: Sequence[GridCell | None]


@dataclass(frozen=True)
class Failures:
    kind: str
    by_participant: bool
    example: str
    rows: Sequence[RunRow]


@dataclass(frozen=True)
class CampaignView:
    agents: Sequence[str]
    grid: Sequence[GridRow]
    distributions: Sequence[tuple[str, Markup, Summary]] = ()
    passes: Markup | None = None
    passing: float = 0.0
    costs: Markup | None = None
    costs_of: str = ""
    separating: Sequence[Item] = ()
    against: Sequence[Item] = ()
    others: Sequence[Item] = ()
    nobody: Sequence[Item] = ()
    everybody: Sequence[Item] = ()
    names: Mapping[tuple[str, str], str] = field(default_factory=dict)
    comparisons: Sequence[Comparison] = ()
    failures: Sequence[Failures] = ()
    forks: Sequence[ForkSpread] = ()
    noticed: float = _NOTICED

    def name_of(self, item: Item) -> str:
        return self.names.get((item.scenario, item.criterion), item.criterion)

    def plot_of(self, item: Item) -> Markup:
        return plots.dots([item.by_agent.get(agent) for agent in self.agents])


def of_results(results: CampaignResults, runs: Sequence[Run], names: Mapping[tuple[str, str], str]) -> CampaignView:
    """A campaign that has ended.

    Args:
        runs: its runs, in the order of its cells or trials (``Archive.runs``).
        names: of criteria, by scenario and id.
    """
    if isinstance(results, RunResults):
        rows = _rows_of_assessments(results, runs)
        passing = results.config.get("passing_percent")
        threshold = float(passing) if isinstance(passing, int | float) else 60.0
        view = _view(rows, results.summaries, results.items, results.comparisons, threshold, names)
        return replace(view, forks=[each for each in results.forks if len(each.turns) > 1])
    from proctor.statistics import summaries

    cells = [
        PlannedCell(scenario=task, repeat=attempt)
        for task in dict.fromkeys(run.scenario for run in runs)
        for attempt in range(results.n_attempts)
    ]
    planned = dict.fromkeys(results.agents or dict.fromkeys(run.agent for run in runs), cells)
    rows = _rows_of_trials(results, runs)
    return _view(rows, summaries(runs, threshold=100, planned=planned), [], results.comparisons, 100, names)


def of_entries(entries: Sequence[EntrySummary]) -> CampaignView:
    """A campaign that is under way: those of its assessments or trials that have ended."""
    from proctor.statistics import compared, summaries

    rows = _rows_of_entries(entries)
    runs = [row.run for row in rows]
    agents = list(dict.fromkeys(run.agent for run in runs))
    pairs = [compared(one, other, runs) for one, other in combinations(agents, 2)]
    return _view(rows, summaries(runs), [], pairs, 60.0, {})


def _view(
    rows: Sequence[RunRow],
    summaries: Sequence[Summary],
    items: Sequence[Item],
    comparisons: Sequence[Comparison],
    threshold: float,
    names: Mapping[tuple[str, str], str],
) -> CampaignView:
    overall = {(row.agent, row.scenario): row for row in summaries if row.of == "overall"}
    agents = list(dict.fromkeys(agent for agent, _ in overall))
    scenarios = list(dict.fromkeys(scenario for _, scenario in overall if scenario is not None))
    numbers = {agent: number for number, agent in enumerate(agents)}
    of_cell: dict[tuple[str, str], list[RunRow]] = defaultdict(list)
    for row in rows:
        of_cell[row.run.agent, row.run.scenario].append(row)

    def cell(agent: str, scenario: str | None) -> GridCell | None:
        summary = overall.get((agent, scenario))
        if summary is None:
            return None
        percent = summary.percent
        plot = plots.interval(percent.mean, percent.low, percent.high, numbers[agent]) if percent else None
        return GridCell(summary, plot, of_cell.get((agent, scenario), []) if scenario else [])

    which = [None, *scenarios] if len(scenarios) > 1 else scenarios
    costs, costs_of = _costs(agents, rows)
    totals = [(agent, overall[agent, None]) for agent in agents if (agent, None) in overall]
    some = [item for item in items if item.met_by == "some"]
    separating = [item for item in some if (item.discrimination or 0) > 0]
    return CampaignView(
        agents=agents,
        grid=[GridRow(scenario, [cell(agent, scenario) for agent in agents]) for scenario in which],
        distributions=_distributions(agents, rows, totals),
        passes=_passes(totals),
        passing=threshold,
        costs=costs,
        costs_of=costs_of,
        separating=separating[:_ITEMS_AT_ONCE],
        others=[*separating[_ITEMS_AT_ONCE:], *(item for item in some if not item.discrimination)],
        against=[item for item in some if (item.discrimination or 0) < 0],
        nobody=[item for item in items if item.met_by == "nobody"],
        everybody=[item for item in items if item.met_by == "everybody"],
        names=names,
        comparisons=[each for each in comparisons if each.pairs],
        failures=_failures(rows),
    )


def _distributions(
    agents: Sequence[str], rows: Sequence[RunRow], totals: Sequence[tuple[str, Summary]]
) -> list[tuple[str, Markup, Summary]]:
    by_agent: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.run.counted_percent is not None:
            by_agent[row.run.agent].append(row.run.counted_percent)
    return [
        (agent, plots.distribution(by_agent[agent], agents.index(agent)), summary)
        for agent, summary in totals
        if by_agent[agent]
    ]


def _passes(totals: Sequence[tuple[str, Summary]]) -> Markup | None:
    series = [
        (agent, {k: share for k, share in summary.passes.hat.items() if k <= _PASSES_AT_MOST} if summary.passes else {})
        for agent, summary in totals
    ]
    if not any(len(points) > 1 for _, points in series):
        return None
    return plots.curves(series, label="pass^k: the share of tasks that k runs out of k pass, over k")


def _costs(agents: Sequence[str], rows: Sequence[RunRow]) -> tuple[Markup | None, str]:
    """Scores against cost; against tokens where no cost is known."""
    from proctor.statistics import weighed_mean

    for name in ("cost", "tokens"):
        series, middles = [], []
        for agent in agents:
            spent = [
                (row.run, float(x), y)
                for row in rows
                if row.run.agent == agent
                and (x := row.run.cost if name == "cost" else row.run.tokens) is not None
                and (y := row.run.counted_percent) is not None
            ]
            series.append((agent, [(x, y) for _, x, y in spent]))
            means = weighed_mean([(run, x) for run, x, _ in spent]), weighed_mean([(run, y) for run, _, y in spent])
            middles.append(None if means[0] is None or means[1] is None else (means[0], means[1]))
        if any(x for _, points in series for x, _ in points):
            across = f"{name} of a run"
            return plots.scatter(series, middles, label=f"Scores over the {across}", across=across), across
    return None, ""


def needed(comparison: Comparison) -> str:
    """How many units would show a difference of ``_NOTICED`` points, and the range of that number."""
    from proctor.statistics import units_needed, units_needed_range

    count, between = units_needed(comparison, _NOTICED), units_needed_range(comparison, _NOTICED)
    if count is None:
        return ""
    return f"{count:,}" + (f" ({between[0]:,} to {between[1]:,})" if between and between[0] != between[1] else "")


def _failures(rows: Sequence[RunRow]) -> list[Failures]:
    by_kind: dict[tuple[str, bool], list[RunRow]] = defaultdict(list)
    for row in rows:
        if row.failure_kind or row.status in ("failed", "timeout", "canceled"):
            by_kind[row.failure_kind or row.status, row.run.failed_by_participant].append(row)
    failures = [
        Failures(kind, by_participant, next((row.failure for row in of_it if row.failure), ""), of_it)
        for (kind, by_participant), of_it in by_kind.items()
    ]
    return sorted(failures, key=lambda each: -len(each.rows))


def _rows_of_assessments(results: RunResults, runs: Sequence[Run]) -> list[RunRow]:
    has_repeats = any(cell.repeat for cell in results.cells)
    rows = []
    for cell, run in zip(results.cells, runs, strict=True):
        rows.append(
            RunRow(
                run=run,
                label=_named(cell.difficulty, cell.seed)
                + (f", repeat {cell.repeat + 1}" if has_repeats else "")
                + (f", from turn {cell.from_turn}" if cell.from_turn else ""),
                status=cell.status,
                score_text=f"{cell.score}/{cell.max_score}" if cell.max_score else "unscored",
                failure_kind=cell.failure_kind,
                failure=cell.failure,
                plays=cell.plays,
                seconds=cell.seconds,
                taken_over=cell.taken_over,
            )
        )
    return rows


def _named(difficulty: int | None, seed: int) -> str:
    return f"seed {seed}" if difficulty is None else f"difficulty {difficulty}, seed {seed}"


def _rows_of_trials(results: TerminalResults, runs: Sequence[Run]) -> list[RunRow]:
    rows = []
    for trial, run in zip(results.results, runs, strict=True):
        reward = run.overall.score if run.overall else 0.0
        is_judged = trial.is_resolved is not None
        has_failed = trial.failure_mode not in (FailureMode.NONE, FailureMode.UNSET)
        ended, began = trial.trial_ended_at, trial.trial_started_at
        rows.append(
            RunRow(
                run=run,
                label=f"attempt {trial.attempt}",
                status="completed" if is_judged else "failed",
                score_text="resolved" if trial.is_resolved else f"{reward:.0%}" if reward else "not resolved",
                failure_kind=str(trial.failure_mode) if has_failed else None,
                failure=trial.failure,
                plays=trial.tries,
                seconds=(ended - began).total_seconds() if ended and began else 0.0,
                taken_over=trial.taken_over,
            )
        )
    return rows


def _rows_of_entries(entries: Sequence[EntrySummary]) -> list[RunRow]:
    by_id = {entry.id: entry for entry in entries}
    rows = []
    for run in runs_of_entries(entries):
        entry = by_id[run.run_id]
        label = f"attempt {run.repeat + 1}" if entry.seed is None else _named(entry.difficulty, entry.seed)
        score_text = "unscored" if run.overall is None else f"{entry.score_text}/{entry.max_score}"
        rows.append(RunRow(run, label, entry.status, score_text, failure=entry.sentence or None, seconds=entry.seconds))
    return rows
