"""``proctor compare`` of two agents: who they are, their means group by group, and what all says together."""

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from proctor.console import plain_table, show
from proctor.errors import UsageError
from proctor.phrases import clean, comparison_in_words, counted
from proctor_protocol.archive import ArchiveEntry
from proctor_protocol.statistics import Comparison, GroupedBy, Of, Run
from proctor_storage.archive import Archive

_CANDIDATES_NAMED = 6

Who = tuple[str, str, str]
"""An agent's label, the name on its card, and its address."""


def chosen_agent(name: str, entries: Sequence[ArchiveEntry]) -> list[ArchiveEntry]:
    """The entries of one agent; empty where none is of that name.

    Args:
        name: its label: what its campaign calls it, or else the name on its card. Or its card's name or address, where
            one label alone has it. Or ``LABEL=ADDRESS`` and ``LABEL=CARD``, where one label was used for several.

    Raises:
        UsageError: the name is that of several agents; the message has them, and what to write instead.
    """
    agents: dict[Who, list[ArchiveEntry]] = {}
    for entry in entries:
        if entry.kind != "campaign":
            agents.setdefault((entry.agent, entry.participant, entry.participant_url), []).append(entry)
    label, _, which = name.partition("=")
    labelled = [who for who in agents if who[0] == name]
    if not labelled:
        exact = [who for who in agents if which and who[0] == label and which in who[1:]]
        if exact:
            return [entry for who in exact for entry in agents[who]]
        labelled = [who for who in agents if name in who[1:]]
    if len(labelled) > 1:
        raise UsageError(_ambiguous(name, {who: len(agents[who]) for who in labelled}))
    return agents[labelled[0]] if labelled else []


def runs_of_agents(
    archive: Archive, entries: Sequence[ArchiveEntry], names: Sequence[str], campaign: str | None = None
) -> list[Run]:
    """The runs of some agents, each under the name that it is called by here; forks are left out.

    A fork has its beginning from another assessment.

    Args:
        names: as of ``chosen_agent``.
        campaign: of which the entries are; None of any.

    Raises:
        UsageError: a name is that of no agent or of several, or two are of the same one.
    """
    chosen = {name: chosen_agent(name, entries) for name in names}
    if unknown := [name for name, own in chosen.items() if not own]:
        where = f"of the campaign {campaign} " if campaign else ""
        raise UsageError(f"nothing {where}in {archive.folder.place} is of an agent {unknown[0]!r}")
    called = {entry.id: name for name, own in chosen.items() for entry in own}
    if len(called) < sum(map(len, chosen.values())):
        raise UsageError(f"{' and '.join(map(repr, chosen))} are names of the same agent: name two agents")
    return archive.runs_of([each for each in entries if each.id in called and not each.forked_from], called)


def _ambiguous(name: str, agents: Mapping[Who, int]) -> str:
    """An error for a name that several agents have, and the names to write instead."""
    urls = {who: sum(other[0] == who[0] and other[2] == who[2] for other in agents) for who in agents}
    forms = [
        f"{label}={url if urls[label, card, url] == 1 else card} ({counted(runs, 'run')}"
        + (f", card {clean(card)!r})" if card and card != label else ")")
        for (label, card, url), runs in sorted(agents.items())
    ]
    more = f" and {len(forms) - _CANDIDATES_NAMED} more" if len(forms) > _CANDIDATES_NAMED else ""
    return (
        f"{name!r} is the name of {len(forms)} agents: {', '.join(forms[:_CANDIDATES_NAMED])}{more}. Write one of "
        "these (LABEL=CARD takes all addresses of a card), or --campaign ID to compare within one campaign"
    )


def compare_agents(
    console: Console, runs: Sequence[Run], first: str, second: str, difference: int = 5, by: GroupedBy = "scenario"
) -> None:
    """Print two agents side by side: means of what both have played, and the runs that would show a difference.

    Args:
        runs: of both; others are left out.
        difference: in points, 0 to 100.
        by: the kind of group that has a row each.
    """
    from proctor_statistics import compared, units_needed, units_needed_range

    runs = [run for run in runs if run.agent in (first, second)]
    rows = [(name, each) for name, each in _rows(runs, first, second, by) if each.difference is not None]
    if rows:
        names = Text(clean(first)), Text(clean(second))
        table = plain_table(by, numbers=(*names, "difference", "95 % interval", "pairs"))
        for name, each in rows:
            table.add_row(Text(clean(name)), *_cells(each))
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
    """A comparison for each of what they are grouped by."""
    from proctor_statistics import compared, parts_by_scenario, percent_of

    if by in ("scenario", "difficulty"):
        group = _GROUPS[by]
        groups = dict.fromkeys(group(run) for run in runs)
        if by == "difficulty":
            groups = dict.fromkeys(sorted(groups))
        return [(name, compared(first, second, [run for run in runs if group(run) == name])) for name in groups]
    of: Of = "dimension" if by == "dimension" else "criterion"
    parts = parts_by_scenario(runs)
    names = dict.fromkeys(name for run in runs for name in run.parts(of))
    return [(name, compared(first, second, runs, percent_of(of, name, parts))) for name in names]


_GROUPS: Mapping[str, Callable[[Run], str]] = {
    "scenario": lambda run: run.scenario,
    "difficulty": lambda run: "fixed" if run.difficulty is None else str(run.difficulty),
}
