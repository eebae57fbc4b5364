"""Handover: a day on call, with reports by mail and text, and priorities that change at noon."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.answering import answer_price
from proctor.scenarios.kit.making.duties.dispatching import (
    SYSTEMS,
    Priority,
    Report,
    dispatch,
    hand_over_open,
    priorities,
)
from proctor.scenarios.kit.making.forms import forms

_SAY = forms(__file__)

_TURNS = (2, 3, 6, 7)
"""The turns before which reports come: two before noon, two after it."""


def make(day: Day) -> None:
    """Two systems, two rounds of reports on each, and a list of the open reports at the end."""
    day.begin(size="M" if day.difficulty > 2 else "S", hours=9, language_mix=0.0)
    first, second, other = day.draws.some(SYSTEMS, 3, "systems")
    day.wish(_SAY["wishes"], first=first, second=second)
    statements = {system: _statements(day, n, system) for n, system in enumerate((first, second))}
    priorities(day, [statement for words in statements.values() for statement in words])
    day.cast("stranger")
    reports = list[Report]()
    for number, turn in enumerate(_TURNS):
        system = (first, second)[number % 2]
        due, spared = _reports(day, number, turn, statements[system], other)
        dispatch(day, f"report-{number + 1}", statements=statements[system], due=due, spared=spared)
        reports += [due, *(report for _, report in spared)]
    hand_over_open(
        day, "open", reader=day.cast("next", "colleague"), systems=(first, second), reports=reports,
    )  # fmt: skip
    answer_price(day, "price-1", 1)


def _statements(day: Day, number: int, system: str) -> list[Priority]:
    """The user's words on a system: before the day, at noon, and from difficulty 4 on once more after noon."""
    key, level = f"system-{number}", day.difficulty
    people = [day.cast(f"{key}-{n}", "colleague") for n in range(3)]
    least = day.draws.between(15, 40, key, "least")
    noon = day.clock(12, day.draws.between(1, 4, key, "noon"))
    # From difficulty 2 on the limit rises: reports that were due before noon no longer are.
    higher = least + (day.draws.between(12, 20, key, "higher") if level > 1 else 0)
    statements = [
        Priority(day.ago(key, days=(1, 1)), system, people[0], least),
        Priority(noon, system, people[1], higher, "chat"),
    ]
    if level > 3:
        later = noon + timedelta(minutes=day.draws.between(9, 25, key, "later"))
        statements.append(Priority(later, system, people[2], higher + 4, "chat"))
    return statements


def _reports(
    day: Day, number: int, turn: int, statements: Sequence[Priority], other: str
) -> tuple[Report, list[tuple[str, Report]]]:
    """The report that is due before a turn, and those that are not."""
    key, level = f"report-{number + 1}", day.difficulty
    draws = day.draws.of(key)
    is_late = turn > 4
    least, system = (statements[-1] if is_late else statements[0]).least, statements[0].system
    enough = least + draws.between(1, 9, "enough")

    def at(name: str, before: int = 0) -> datetime:
        return day.turn(turn, -draws.between(22 if before == 0 else 3, 52 if before == 0 else 20, name))

    def report(name: str, affected: int, *, of: str = system) -> Report:
        code = f"{draws.pick('BCDFHKMPTVW', name)}{draws.pick('GJLNRSXZ', name, 2)}{draws.between(1000, 9999, name, 'code')}"
        author = day.cast(f"{key}-{name}", ("colleague", "client")[draws.below(2, name, "relation")])
        return Report(at(name), author, of, affected, code)

    later = day.turn(-1, -draws.between(9, 50, "due solved")) if number == 1 else None
    due = replace(report("due", enough), solved=later)
    if level > 2:
        small = max(2, least - draws.between(3, 12, "small"))
        due = replace(due, affected=small, grown=(at("grown", before=1), enough))
    few = report("few", max(2, least - draws.between(1, 6, "few")))
    if number % 2:
        few = replace(few, solved=day.turn(-1, -draws.between(9, 50, "solved")))
    elif level > 1:
        solved, again = day.turn(turn, draws.between(4, 40, "solved")), day.turn(-1, -draws.between(9, 50, "again"))
        few = replace(few, solved=solved, again=again)
    spared = [("affects few", few)]
    if level > 1:
        spared.append(("is of another system", report("other", enough + 11, of=other)))
    if level > 2 and is_late:
        spared.append(("was due before noon", report("old", draws.between(statements[0].least, least - 1, "old"))))
    if level > 3:
        spared.append(("was solved at once", replace(report("solved", enough + 3), solved=at("solved", before=1))))
    return due, spared
