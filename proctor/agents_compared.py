"""``proctor compare`` of two agents: all that both have played, scenario by scenario, and what it says together."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import count

from rich.console import Console
from rich.table import Table
from rich.text import Text

from proctor.comparison_words import comparison_in_words
from proctor.console import show
from proctor.phrases import clean
from proctor_protocol.archive import ArchiveEntry
from proctor_protocol.statistics import Points, Run


def is_agent(name: str, entries: Sequence[ArchiveEntry]) -> bool:
    """Whether any of the entries is of an agent of this name, or at this address."""
    return any(name in _names(entry) for entry in entries)


def _names(entry: ArchiveEntry) -> tuple[str, ...]:
    """By what its agent may be called: its name in the campaign, that of its card, its address."""
    return entry.role, entry.participant, entry.participant_url


def compare_agents(
    console: Console, entries: Sequence[ArchiveEntry], first: str, second: str, difference: int = 5
) -> None:
    """Print two agents side by side: means by scenario, the difference, and the runs that would show a given one."""
    from proctor_statistics import compared, units_needed, units_needed_range

    runs = _runs(entries, (first, second))
    table = Table(header_style="bold", pad_edge=False, box=None, padding=(0, 2, 0, 0))
    table.add_column("scenario", overflow="fold")
    for name in (first, second, "difference", "pairs"):
        table.add_column(Text(clean(name)), justify="right", no_wrap=True)
    scenarios = list(dict.fromkeys(run.scenario for run in runs))
    for scenario in scenarios:
        of_it = [run for run in runs if run.scenario == scenario]
        found = compared(first, second, of_it)
        if found.difference is not None:
            table.add_row(
                Text(clean(scenario)),
                *(_mean(of_it, name) for name in (first, second)),
                f"{found.difference.mean:+.1f}",
                str(found.pairs),
            )
    found = compared(first, second, runs)
    if found.difference is not None:
        show(console, table)
        console.print()
    needed = units_needed(found, difference)
    if needed is not None:
        between = units_needed_range(found, difference)
        ranges = {difference: between} if between else {}
        found = found.model_copy(update={"units_needed": {difference: needed}, "units_needed_range": ranges})
    for line in comparison_in_words(found, difference):
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
