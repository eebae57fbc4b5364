"""``proctor compare`` for two agents: their means in each group, and the difference over all runs that both have."""

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from proctor.common.console import plain_table, show
from proctor.common.phrases import clean, comparison_in_words
from purple_sdk.protocol.statistics import Comparison, GroupedBy, Of, Run


def compare_agents(
    console: Console, runs: Sequence[Run], first: str, second: str, difference: int = 5, by: GroupedBy = "scenario"
) -> None:
    """Print two agents side by side: their means over common runs, and how many runs would show a difference.

    Args:
        runs: runs of any agents; only those of the two agents count.
        difference: the difference to show, in points from 0 to 100.
        by: the kind of groups; each group has a row.
    """
    from proctor.statistics import compared, units_needed, units_needed_range

    runs = [run for run in runs if run.agent in (first, second)]
    rows = [(name, row) for name, row in _rows(runs, first, second, by) if row.difference is not None]
    if rows:
        names = Text(clean(first)), Text(clean(second))
        table = plain_table(by, numbers=(*names, "difference", "95 % interval", "pairs"))
        for name, row in rows:
            table.add_row(Text(clean(name)), *_cells(row))
        show(console, table)
    else:
        console.print(f"no run of both has a {by}")
    console.print()
    comparison = compared(first, second, runs)
    needed = units_needed(comparison, difference)
    if needed is not None:
        between = units_needed_range(comparison, difference)
        ranges = {difference: between} if between else {}
        comparison = comparison.model_copy(update={"units_needed": {difference: needed}, "units_needed_range": ranges})
    for line in comparison_in_words(comparison, difference):
        console.print(Text(line), soft_wrap=True)


def _cells(comparison: Comparison) -> tuple[str, ...]:
    estimate = comparison.difference
    assert estimate is not None
    interval = "" if estimate.low is None or estimate.high is None else f"{estimate.low:+.1f} to {estimate.high:+.1f}"
    means = (comparison.first_percent or 0.0, comparison.second_percent or 0.0)
    return (*(f"{mean:.1f}%" for mean in means), f"{estimate.mean:+.1f}", interval, str(comparison.pairs))


def _rows(runs: Sequence[Run], first: str, second: str, by: GroupedBy) -> list[tuple[str, Comparison]]:
    """The name and the comparison of each group."""
    from proctor.statistics import compared, parts_by_scenario, select_percent

    if by in ("scenario", "difficulty"):
        group = _GROUPS[by]
        groups = dict.fromkeys(group(run) for run in runs)
        if by == "difficulty":
            groups = dict.fromkeys(sorted(groups))
        return [(name, compared(first, second, [run for run in runs if group(run) == name])) for name in groups]
    of: Of = "dimension" if by == "dimension" else "criterion"
    parts = parts_by_scenario(runs)
    names = dict.fromkeys(name for run in runs for name in run.parts(of))
    return [(name, compared(first, second, runs, select_percent(of, name, parts))) for name in names]


_GROUPS: Mapping[str, Callable[[Run], str]] = {
    "scenario": lambda run: run.scenario,
    "difficulty": lambda run: "fixed" if run.difficulty is None else str(run.difficulty),
}
