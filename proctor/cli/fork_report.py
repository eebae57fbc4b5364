"""A report on an assessment's forks: how much its score could still change at each turn, and which turns decided."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from proctor.common.console import plain_table, show
from proctor.common.phrases import clean
from purple_sdk.protocol.statistics import ForkSpread


def print_forks(console: Console, forks: Sequence[ForkSpread]) -> None:
    for spread in forks:
        table = plain_table()
        table.add_column(Text(clean(spread.agent)), no_wrap=True)
        for heading in ("forks", "mean", "variance", "still open", "decided here"):
            table.add_column(heading, justify="right", no_wrap=True)
        whole = spread.turns[0].variance if spread.turns else 0
        for turn in spread.turns:
            table.add_row(
                f"from turn {turn.turn}",
                str(turn.forks),
                f"{turn.mean:.1f}%",
                f"{turn.variance:.1f}",
                f"{turn.variance / whole:.0%}" if whole else "",
                "" if turn.decided is None else f"{turn.decided:.0%}",
                style="bold" if turn.turn == spread.deciding else "",
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
        (turn.decided for turn in spread.turns if turn.turn == spread.deciding and turn.decided is not None),
        last.variance / whole,
    )
    later = " or one after it" if spread.deciding == last.turn else ""
    return f"turn {spread.deciding}{later} decided: {share:.0%} of what was open at turn {spread.turns[0].turn}"
