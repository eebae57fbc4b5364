"""Make the tables of a campaign: by agent, scenario, dimension and criterion.

Runs that their participant failed count as 0 points in means, intervals and pass rates. Runs that failed otherwise are
counted separately.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from types import MappingProxyType

from proctor.statistics.comparisons import are_copies, same_runs
from proctor.statistics.estimates import Unit, estimated, share_interval, standard_error
from proctor.statistics.passes import pass_rates
from proctor.statistics.weights import Percent, parts_by_scenario, select_percent, weighed_mean, weights
from purple_sdk.protocol.instances import instance_title
from purple_sdk.protocol.statistics import Counts, GroupRate, Of, PlannedCell, Run, Summary

PASSING = 60.0
"""The default pass mark, in percent of the judged points (``config.passing_percent`` changes it)."""
FEWEST_SCENARIOS_TO_DRAW = 10
"""The fewest scenarios that are treated as a sample of scenarios; fewer are taken as fixed."""

_Parts = Mapping[str, Collection[tuple[Of, str]]]

NOTHING_MORE: Mapping[str, Sequence[PlannedCell]] = MappingProxyType({})


def summaries(
    runs: Sequence[Run], *, threshold: float = PASSING, planned: Mapping[str, Sequence[PlannedCell]] = NOTHING_MORE
) -> list[Summary]:
    """Return each agent's rows: all scenarios together and each alone, overall, by dimension and by criterion.

    Each criterion is listed under its scenario only, because two scenarios never share a criterion.

    Args:
        planned: the cells that each agent should play; the cells of its runs always count as planned.
    """
    rows = []
    parts = parts_by_scenario(runs)
    for agent in dict.fromkeys([*(run.agent for run in runs), *planned]):
        own = [run for run in runs if run.agent == agent]
        plan = list(planned.get(agent, ()))
        rows.append(_summary(agent, None, own, parts, threshold, plan))
        rows += [_part(agent, None, own, parts, "dimension", name) for name in _names(own, "dimension")]
        for scenario in dict.fromkeys([*(run.scenario for run in own), *(cell.scenario for cell in plan)]):
            of_it = [run for run in own if run.scenario == scenario]
            planned_in_it = [cell for cell in plan if cell.scenario == scenario]
            rows.append(_summary(agent, scenario, of_it, parts, threshold, planned_in_it))
            for of in ("dimension", "criterion"):
                rows += [_part(agent, scenario, of_it, parts, of, name) for name in _names(of_it, of)]
    return rows


def _names(runs: Sequence[Run], of: Of) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in run.parts(of)))


def _summary(
    agent: str,
    scenario: str | None,
    runs: Sequence[Run],
    parts: _Parts,
    threshold: float,
    plan: Sequence[PlannedCell],
) -> Summary:
    row = _part(agent, scenario, runs, parts, "overall", "overall")
    counted = [run for run in runs if run.counted_percent is not None]
    passed: dict[tuple[object, ...], list[bool]] = defaultdict(list)
    by_seed: dict[tuple[object, ...], list[bool]] = defaultdict(list)
    weight_of: dict[tuple[object, ...], float] = defaultdict(float)
    copied = _copied(runs)
    for run, weight in zip(counted, weights([run.cell for run in counted]), strict=True):
        has_passed = (run.counted_percent or 0.0) >= threshold and not run.is_own_failure
        task = (run.scenario,) if run.difficulty is None else run.unit
        unit = (run.scenario,) if run.scenario in copied else run.group
        passed[task].append(has_passed)
        by_seed[unit].append(has_passed)
        for key in {("task", *task), ("unit", *unit)}:
            weight_of[key] += weight
    why_one = same_runs(len(runs)) if copied and len(by_seed) == 1 else None
    task_weights = [weight_of["task", *task] for task in passed]
    unit_weights = [weight_of["unit", *unit] for unit in by_seed]
    passes = pass_rates(passed, threshold, list(by_seed.values()), why_one, task_weights, unit_weights)
    lost, left_out, count = _find_lost_cells(runs, counted, plan)
    return row.model_copy(
        update={
            "passes": passes,
            "groups": _group_rate(runs, threshold),
            "planned": count,
            "lost": lost,
            "left_out": left_out,
        }
    )


def _find_lost_cells(
    runs: Sequence[Run], counted: Sequence[Run], plan: Sequence[PlannedCell]
) -> tuple[list[PlannedCell], list[str], int]:
    """Return the planned cells without a counted run, the strata without any counted run, and the number of planned
    cells.
    """
    cells = dict.fromkeys((cell.scenario, cell.difficulty, cell.seed, cell.repeat) for cell in plan)
    cells.update(dict.fromkeys(run.cell for run in runs))
    kept = {run.cell for run in counted}
    strata = {cell[:2] for cell in kept}
    lost = [cell for cell in cells if cell not in kept]
    left_out = dict.fromkeys(cell[:2] for cell in lost if cell[:2] not in strata)
    return (
        [PlannedCell(scenario=name, difficulty=hard, seed=seed, repeat=repeat) for name, hard, seed, repeat in lost],
        [instance_title(scenario, difficulty, None) for scenario, difficulty in left_out],
        len(cells),
    )


def _group_rate(runs: Sequence[Run], threshold: float) -> GroupRate | None:
    """Return how often all days of a group were passed, among groups whose days all count; None without any."""
    groups: dict[tuple[object, ...], list[bool]] = defaultdict(list)
    sizes: dict[tuple[object, ...], int] = {}
    for run in runs:
        percent = run.counted_percent
        if run.group_size is not None and percent is not None:
            key = (*run.group, run.repeat)
            groups[key].append(percent >= threshold and not run.is_own_failure)
            sizes[key] = run.group_size
    whole = [all(passed) for key, passed in groups.items() if len(passed) == sizes[key]]
    if not whole:
        return None
    low, high = share_interval(sum(whole) / len(whole), float(len(whole)))
    return GroupRate(groups=len(whole), passed=sum(whole), low=low, high=high)


def _part(agent: str, scenario: str | None, runs: Sequence[Run], parts: _Parts, of: Of, name: str) -> Summary:
    percent = select_percent(of, name, parts)
    values = [(run, value) for run in runs if (value := percent(run)) is not None]
    judged = [(run, value) for run, value in values if not run.is_own_failure]
    certain = [(run, value) for run, value in values if not run.is_doubtful]
    tokens = [run.tokens for run in runs if run.tokens is not None]
    costs = [run.cost for run in runs if run.cost is not None]
    copied = _copied(runs)
    why_one = same_runs(len(values)) if copied else None
    estimate = estimated(_units(values, copied), bounds=(0, 100), why_one=why_one) if values else None
    return Summary(
        agent=agent,
        scenario=scenario,
        of=of,
        name=name,
        counts=_counts(runs, percent),
        percent=estimate,
        percent_judged=weighed_mean(judged) if estimate is None or len(judged) < len(values) else estimate.mean,
        percent_without_doubtful=weighed_mean(certain) if len(certain) < len(values) else None,
        by_scenario_error=_by_scenario_error(values),
        passes=None,
        tokens=sum(tokens) if tokens else None,
        cost=sum(costs) if costs else None,
        cost_known=len(costs),
    )


def _copied(runs: Sequence[Run]) -> set[str]:
    """Return the scenarios of which all runs are copies of one run."""
    by_scenario: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_scenario[run.scenario].append(run)
    return {scenario for scenario, of_it in by_scenario.items() if are_copies(of_it)}


def _units(values: Sequence[tuple[Run, float]], copied: set[str]) -> list[Unit]:
    """Group values into units: by scenario if there are enough scenarios, else by seed in each scenario, else by run.

    Runs of a scenario that are copies of each other are one unit. In a family, a unit is one day (difficulty and
    seed), or a group of days that differ in one thing.
    """
    runs = [run for run, _ in values]
    by_seed = [(run.scenario, () if run.scenario in copied else run.group) for run in runs]
    scenarios = {run.scenario for run in runs}
    if len(scenarios) >= FEWEST_SCENARIOS_TO_DRAW:
        return _make_units(values, [(None, run.scenario) for run in runs])
    if copied or len(set(by_seed)) > len(scenarios):
        return _make_units(values, by_seed)
    return _make_units(values, [(run.scenario, number) for number, run in enumerate(runs)])


def _make_units(values: Sequence[tuple[Run, float]], places: Sequence[tuple[str | None, Hashable]]) -> list[Unit]:
    """Make units with the values' weights; a value's place is its stratum and its unit in that stratum."""
    members: dict[tuple[str | None, Hashable], list[tuple[float, float]]] = defaultdict(list)
    for place, share, (_, value) in zip(places, weights([run.cell for run, _ in values]), values, strict=True):
        members[place].append((value, share))
    return [
        Unit(tuple(value for value, _ in pairs), stratum, tuple(share for _, share in pairs))
        for (stratum, _), pairs in members.items()
    ]


def _by_scenario_error(values: Sequence[tuple[Run, float]]) -> float | None:
    places = [(None, run.scenario) for run, _ in values]
    return standard_error(_make_units(values, places)) if len(set(places)) > 1 else None


def _counts(runs: Sequence[Run], percent: Percent) -> Counts:
    ended_badly = [run for run in runs if run.status in ("failed", "timeout")]
    completed = [run for run in runs if run.status == "completed"]
    judged = sum(percent(run) is not None for run in completed if not run.is_own_failure)
    return Counts(
        runs=len(runs),
        judged=judged,
        failed_by_participant=sum(run.failed_by_participant for run in ended_badly),
        failed_otherwise=sum(not run.failed_by_participant for run in ended_badly),
        canceled=sum(run.status == "canceled" for run in runs),
        unjudged=len(completed) - judged,
        doubtful=sum(run.is_doubtful for run in runs),
    )
