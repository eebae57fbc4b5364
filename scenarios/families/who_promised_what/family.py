"""The family "Who promised what": promises in mails and texts, moved, handed on, taken back and let go."""

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.promising import (
    RULES,
    THINGS,
    Pledge,
    Step,
    draw_pledge,
    tell_owed,
    tell_promise,
)

_OWED: tuple[tuple[Step, ...], ...] = (
    ("promise",),
    ("promise", "move"),
    ("promise", "hand"),
    ("promise", "back", "promise"),
)
_OTHERS: tuple[tuple[Step, ...], ...] = (("promise", "back"), ("promise", "hand"), ("maybe",), ("promise", "release"))
_ASKED: tuple[tuple[Step, ...], ...] = (
    ("promise", "move"),
    ("promise", "move", "hand"),
    ("promise", "move", "hand", "move"),
    ("promise", "hand", "move", "hand", "move"),
)


def make(day: Day) -> None:
    """Two people whose open promises have to be counted, and two promises about which a person asks."""
    day.begin(size="M" if day.difficulty > 2 else "S", hours=8, language_mix=0.0)
    day.wish(RULES)
    things = day.draws.shuffled(THINGS, "things")
    day.cast("stranger")
    for number in range(2):
        _owed(day, number, things[15 * number : 15 * number + 15])
    for number in range(2):
        key, turn = f"who-{number + 1}", 2 + number
        steps = _ASKED[day.difficulty - 1]
        people = [day.cast(f"{key}-holder-{n}", "colleague") for n in range(1 + steps.count("hand"))]
        last = day.before(turn, key, "last", minutes=(41, 55)) if number and day.difficulty > 1 else None
        tell_promise(
            day,
            key,
            asker=day.cast(f"{key}-asker"),
            pledge=draw_pledge(day, key, things[30 + number], steps, people, last=last),
            asked=day.before(turn, key, "asked"),
            until=day.turn(turn + 2),
        )


def _owed(day: Day, number: int, things: list[str]) -> None:
    """The promises of a person, and others that only look like theirs; each difficulty adds one more kind of both.

    A person owes up to two further plain promises.
    """
    key, level = f"owed-{number + 1}", day.difficulty
    person = day.cast(f"{key}-person", "colleague")
    colleague = day.cast(f"{key}-colleague", "colleague")
    pledges: list[Pledge] = []
    plain, others = day.draws.below(3, key, "plain"), 1 + day.draws.below(2, key, "others")
    for n, steps in enumerate((*[_OWED[0]] * plain, *_OWED[:level])):
        people = [colleague, person] if "hand" in steps else [person]
        last = day.before(1, key, "last", minutes=(5, 50)) if steps[-1] == "hand" else None
        pledges.append(draw_pledge(day, f"{key}-{n}", things[n], steps, people, last=last))
    for n, steps in enumerate((*_OTHERS[:level], *[_OWED[0]] * others), start=len(pledges)):
        people = [person, colleague] if steps != ("promise",) else [colleague]
        pledges.append(draw_pledge(day, f"{key}-{n}", things[n], steps, people))
    tell_owed(
        day,
        key,
        person=person,
        reader=day.cast(f"{key}-reader"),
        pledges=day.draws.shuffled(pledges, key, "order"),
        until=day.turn(4 + 2 * number),
    )
