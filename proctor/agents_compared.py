"""``proctor compare`` of two agents: all that both have played, scenario by scenario, and what it says together."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import count

from rich.console import Console
from rich.text import Text

from proctor.console import plain_table, show
from proctor.phrases import clean, comparison_in_words
from proctor_protocol.archive import ArchiveEntry
from proctor_protocol.statistics import Points, Run


def is_agent(name: str, entries: Sequence[ArchiveEntry]) -> bool:
    return any(name in _names(entry) for entry in entries)


def _names(entry: ArchiveEntry) -> tuple[str, ...]:
    """By what its agent may be called: its name in the campaign, that of its card, its address."""
    return entry.role, entry.participant, entry.participant_url


def compare_agents(
    console: Console, entries: Sequence[ArchiveEntry], first: str, second: str, difference: int = 5
) -> None:
    """Print two agents side by side: means by scenario, the difference, and the runs that would show a given one.

    Args:
        entries: archived assessments and trials, of any agent.
        first, second: names or addresses of the agents.
        difference: in points, 0 to 100.
    """
    from proctor_statistics import compared, units_needed, units_needed_range

    runs = _runs(entries, (first, second))
    table = plain_table("scenario", numbers=(Text(clean(first)), Text(clean(second)), "difference", "pairs"))
    scenarios = list(dict.fromkeys(run.scenario for run in runs))
    for scenario in scenarios:
        of_it = [run for run in runs if run.scenario == scenario]
        comparison = compared(first, second, of_it)
        if comparison.difference is not None:
            table.add_row(
                Text(clean(scenario)),
                *(_mean(of_it, name) for name in (first, second)),
                f"{comparison.difference.mean:+.1f}",
                str(comparison.pairs),
            )
    comparison = compared(first, second, runs)
    if comparison.difference is not None:
        show(console, table)
        console.print()
    needed = units_needed(comparison, difference)
    if needed is not None:
        between = units_needed_range(comparison, difference)
        ranges = {difference: between} if between else {}
        comparison = comparison.model_copy(update={"units_needed": {difference: needed}, "units_needed_range": ranges})
    for line in comparison_in_words(comparison, difference):
        console.print(Text(line), soft_wrap=True)


def _mean(runs: Sequence[Run], agent: str) -> str:
    percents = [run.counted_percent for run in runs if run.agent == agent and run.counted_percent is not None]
    return f"{sum(percents) / len(percents):.1f}%" if percents else ""


def _runs(entries: Sequence[ArchiveEntry], agents: Sequence[str]) -> list[Run]:
    """The agents' runs, each with the same scenario, as it was then, and settings that make its points.

    Of one agent, scenario and seed the first is repeat 0, the next one repeat 1, and so on. Forks are left out, since
    they have their beginning from another assessment.
    """
    versions: defaultdict[str, list[tuple[object, ...]]] = defaultdict(list)
    repeats: defaultdict[tuple[str, str, int | None, int | None], count[int]] = defaultdict(count)
    runs = []
    for entry in sorted(entries, key=lambda each: each.started_at):
        agent = next((name for name in agents if name in _names(entry)), None)
        if agent is None or entry.kind == "campaign" or entry.forked_from:
            continue
        version: tuple[object, ...] = (entry.contents.get("scenario"), entry.offline, entry.max_turns)
        points = Points(score=entry.score, max_score=entry.max_score)
        if entry.kind == "trial":
            version = (entry.package,)  # a task's files
            points = Points(score=entry.earned or 0.0, max_score=entry.max_score)
        known = versions[entry.day]
        if version not in known:
            known.append(version)
        number = known.index(version)
        scenario = entry.scenario_id + (f" (version {number + 1})" if number else "")
        runs.append(
            Run(
                run_id=entry.id,
                agent=agent,
                scenario=scenario,
                difficulty=entry.difficulty,
                seed=entry.seed,
                repeat=next(repeats[agent, scenario, entry.difficulty, entry.seed]),
                status=entry.status,
                failed_by_participant=entry.failed_by_participant,
                overall=points,
            )
        )
    return runs
