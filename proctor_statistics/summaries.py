"""The tables of a campaign: by agent, by scenario, dimension and criterion.

Runs that their participant failed count as 0 points in means, intervals and pass rates. Runs that failed otherwise are
counted separately.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from proctor_protocol.statistics import Counts, GroupRate, Of, Run, Summary
from proctor_statistics.comparisons import are_copies, same_runs
from proctor_statistics.estimates import Unit, clopper_pearson, estimated, standard_error
from proctor_statistics.passes import pass_rates

PASSING = 60.0
"""The default pass mark, in percent of the judged points (``config.passing_percent`` changes it)."""
FEWEST_SCENARIOS_TO_DRAW = 10
"""From this many scenarios on they are treated as a sample of scenarios; fewer are taken as they are."""

_Percent = Callable[[Run], float | None]


def summaries(runs: Sequence[Run], *, threshold: float = PASSING) -> list[Summary]:
    """For each agent: all scenarios together and each alone, overall, by dimension and by criterion.

    Criteria stand under their own scenario only, as two scenarios' criteria are never the same.
    """
    rows = []
    for agent in dict.fromkeys(run.agent for run in runs):
        own = [run for run in runs if run.agent == agent]
        scenarios = list(dict.fromkeys(run.scenario for run in own))
        rows.append(_summary(agent, None, own, threshold))
        rows += [_part(agent, None, own, "dimension", name) for name in _names(own, "dimension")]
        for scenario in scenarios:
            of_it = [run for run in own if run.scenario == scenario]
            rows.append(_summary(agent, scenario, of_it, threshold))
            rows += [_part(agent, scenario, of_it, "dimension", name) for name in _names(of_it, "dimension")]
            rows += [_part(agent, scenario, of_it, "criterion", name) for name in _names(of_it, "criterion")]
    return rows


def _names(runs: Sequence[Run], of: Of) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in (run.dimensions if of == "dimension" else run.criteria)))


def _percent_of(of: Of, name: str) -> _Percent:
    def percent(run: Run) -> float | None:
        if of == "overall" or run.is_own_failure:
            return run.counted_percent
        points = (run.dimensions if of == "dimension" else run.criteria).get(name)
        return points.percent if run.percent is not None and points is not None else None

    return percent


def _summary(agent: str, scenario: str | None, runs: Sequence[Run], threshold: float) -> Summary:
    row = _part(agent, scenario, runs, "overall", "overall")
    passed: dict[tuple[object, ...], list[bool]] = defaultdict(list)
    by_seed: dict[tuple[object, ...], list[bool]] = defaultdict(list)
    copied = _copied(runs)
    for run in runs:
        percent = run.counted_percent
        if percent is not None:
            has_passed = percent >= threshold and not run.is_own_failure
            passed[(run.scenario,) if run.difficulty is None else run.unit].append(has_passed)
            by_seed[(run.scenario,) if run.scenario in copied else run.group].append(has_passed)
    why_one = same_runs(len(runs)) if copied and len(by_seed) == 1 else None
    passes = pass_rates(passed, threshold, list(by_seed.values()), why_one)
    return row.model_copy(update={"passes": passes, "groups": _group_rate(runs, threshold)})


def _group_rate(runs: Sequence[Run], threshold: float) -> GroupRate | None:
    """How often all days of a group were passed, over the groups of which each day counts."""
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
    low, high = clopper_pearson(sum(whole) / len(whole), float(len(whole)))
    return GroupRate(groups=len(whole), passed=sum(whole), low=low, high=high)


def _part(agent: str, scenario: str | None, runs: Sequence[Run], of: Of, name: str) -> Summary:
    percent = _percent_of(of, name)
    values = [(run, value) for run in runs if (value := percent(run)) is not None]
    judged = [value for run, value in values if not run.is_own_failure]
    certain = [value for run, value in values if not run.is_doubtful]
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
        percent_judged=sum(judged) / len(judged) if judged else None,
        percent_without_doubtful=sum(certain) / len(certain) if 0 < len(certain) < len(values) else None,
        by_scenario_error=_by_scenario_error(values),
        passes=None,
        tokens=sum(tokens) if tokens else None,
        cost=sum(costs) if costs else None,
    )


def _copied(runs: Sequence[Run]) -> set[str]:
    """The scenarios of which all runs are copies of one."""
    by_scenario: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_scenario[run.scenario].append(run)
    return {scenario for scenario, of_it in by_scenario.items() if are_copies(of_it)}


def _units(values: Sequence[tuple[Run, float]], copied: set[str]) -> list[Unit]:
    """Scenarios where there are enough to represent others; else seeds, scenario by scenario; else single runs.

    All runs of a scenario that are copies of each other are one unit. Of a family, a day is one: its difficulty and
    seed; or a group of days that differ in one thing. Where there are families, each scenario has the same weight,
    however many days of it were played.
    """
    by_scenario: dict[str, list[float]] = defaultdict(list)
    by_seed: dict[tuple[str, tuple[object, ...]], list[float]] = defaultdict(list)
    for run, value in values:
        by_scenario[run.scenario].append(value)
        by_seed[run.scenario, () if run.scenario in copied else run.group].append(value)
    weights = _weights(values, by_scenario)
    if len(by_scenario) >= FEWEST_SCENARIOS_TO_DRAW:
        return [Unit(tuple(each), weight=weights[scenario]) for scenario, each in by_scenario.items()]
    if copied or len(by_seed) > len(by_scenario):
        return [Unit(tuple(each), scenario, weights[scenario]) for (scenario, _), each in by_seed.items()]
    return [Unit((value,), run.scenario, weights[run.scenario]) for run, value in values]


def _weights(values: Sequence[tuple[Run, float]], by_scenario: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The weight of each run of a scenario: 1, or, with families, what gives all scenarios the same."""
    if all(run.difficulty is None for run, _ in values):
        return dict.fromkeys(by_scenario, 1.0)
    fair = len(values) / len(by_scenario)
    return {scenario: fair / len(each) for scenario, each in by_scenario.items()}


def _by_scenario_error(values: Sequence[tuple[Run, float]]) -> float | None:
    by_scenario: dict[str, list[float]] = defaultdict(list)
    for run, value in values:
        by_scenario[run.scenario].append(value)
    if len(by_scenario) < 2:
        return None
    weights = _weights(values, by_scenario)
    return standard_error([Unit(tuple(each), weight=weights[scenario]) for scenario, each in by_scenario.items()])


def _counts(runs: Sequence[Run], percent: _Percent) -> Counts:
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
