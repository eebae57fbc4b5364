"""The week: a wish of Monday holds on Thursday, unless it was changed on Wednesday."""

from datetime import timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.answering import answer_price
from proctor.scenarios.kit.making.duties.standing import between_turns, each_time
from proctor.scenarios.kit.making.forms import forms

_SAY = forms(__file__)

TURNS = 10


def make(day: Day) -> None:
    """Ten half days with two standing wishes, and questions in between."""
    day.begin(step=timedelta(hours=12), turns=TURNS, latest_weekday=1)
    count = 2
    firms = day.draws.some(_SAY["firms"], 2 * count, "firms")
    for number in range(count):
        key = f"firm-{number + 1}"
        changes = (0, 1 - number, 1, 2)[day.difficulty - 1]
        people = [day.cast(f"{key}-{n}", "colleague") for n in range(max(0, changes) + 1)]
        turns = sorted(day.draws.some((3, 5, 7, 8), 3, key, "turns"))
        at = [day.start - timedelta(minutes=30 + 7 * number)]
        at += [between_turns(day, 4 + 2 * n, f"{key}-change-{n}") for n in range(max(0, changes))]
        each_time(
            day,
            key,
            firm=firms[2 * number],
            other_firm=firms[2 * number + 1],
            wishes=list(zip(at, people, strict=True)),
            comes=[between_turns(day, turn, f"{key}-{turn}") for turn in turns],
            others=[between_turns(day, 2 + number, f"{key}-other")],
        )
    for number in range(max(0, day.difficulty - 2)):
        answer_price(day, f"price-{number + 1}", 3 + number)
