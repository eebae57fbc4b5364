"""What the forks of an assessment say together: how far its score was still open at each turn, and which decided."""

from collections import defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import UsageError
from proctor.common.phrases import clean, counted
from purple_sdk.protocol.statistics import ForkSpread


def compare_forks(archive: str | None, state: str | None, name: str) -> None:
    """Print how far the score was still open at each turn, from the archived forks of an assessment.

    Raises:
        CommandError: there is no such assessment, or it has no forks.
    """
    from proctor.client.opened_archive import archive_problems, open_archive
    from proctor.statistics import forks_compared

    kept, _ = open_archive(archive, state, name)
    with archive_problems():
        original = kept.find(name)
    forks = kept.forks_of(original.id)
    judged = [e for e in forks if e.status == "completed" and e.share is not None]
    if not judged:
        raise UsageError(
            f"no fork of {original.id} has come to a score: `proctor fork {original.id} --every-turn --repeats 3` "
            "plays some"
        )
    console = make_console()
    heading = f"{original.id}  {original.day}  {clean(original.agent)}  seed {original.seed}"
    console.print(Text(f"{heading}  {original.score_text}/{original.max_score}"), soft_wrap=True)
    if len(forks) > len(judged):
        console.print(f"{counted(len(forks) - len(judged), 'fork')} failed or weren't judged: left out")
    by_seed = defaultdict(set)
    for entry in judged:
        by_seed[entry.agent].add(entry.seed)
    for agent, seeds in by_seed.items():
        if len(seeds) > 1:
            console.print(Text(f"{clean(agent)}: of {len(seeds)} seeds, whose characters differ, too"), soft_wrap=True)
    percents = [(e.agent, e.forked_from.turn, 100 * (e.share or 0)) for e in judged if e.forked_from]
    print_forks(console, forks_compared(percents))


def print_forks(console: Console, forks: Sequence[ForkSpread]) -> None:
    for spread in forks:
        table = plain_table()
        table.add_column(Text(clean(spread.agent)), no_wrap=True)
        for heading in ("forks", "mean", "variance", "still open", "decided here"):
            table.add_column(heading, justify="right", no_wrap=True)
        whole = spread.turns[0].variance if spread.turns else 0
        for each in spread.turns:
            table.add_row(
                f"from turn {each.turn}",
                str(each.forks),
                f"{each.mean:.1f}%",
                f"{each.variance:.1f}",
                f"{each.variance / whole:.0%}" if whole else "",
                "" if each.decided is None else f"{each.decided:.0%}",
                style="bold" if each.turn == spread.deciding else "",
            )
        console.print()
        show(console, table)
        console.print(Text(_in_words(spread)), soft_wrap=True)


def _in_words(spread: ForkSpread) -> str:
    if not spread.turns:
        return f"{clean(spread.agent)}: a turn needs two forks for a variance; --repeats 3 plays three"
    if len(spread.turns) < 2:
        return "forks from another turn would say which turn decided"
    if spread.deciding is None:
        return "all forks came to the same score: nothing was open"
    whole = spread.turns[0].variance
    last = spread.turns[-1]
    share = next(
        (each.decided for each in spread.turns if each.turn == spread.deciding and each.decided is not None),
        last.variance / whole,
    )
    later = " or one after it" if spread.deciding == last.turn else ""
    return f"turn {spread.deciding}{later} decided: {share:.0%} of what was open at turn {spread.turns[0].turn}"
