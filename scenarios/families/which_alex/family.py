"""The family "Which Alex": one perturbation decides whether to act, to ask or to refuse."""

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.answering import answer_price
from proctor.scenarios.kit.making.duties.choosing import drawn_turns, send_to_the_right_one
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.vendors import namesake

_SAY = forms(__file__)


MOVES = (0, 1, 4, 6)
"""How often people changed their projects before, by difficulty."""


def make(day: Day) -> None:
    """Requests of all three kinds in a drawn order; the right decision depends on the day's place in its group."""
    day.begin(hours=8, language_mix=0.0)
    day.wish(_SAY["wishes"])
    count = 3 + (day.difficulty > 2)
    projects = day.draws.some(_SAY["projects"], count, "projects")
    for number, turn in enumerate(drawn_turns(day, count)):
        key = f"request-{number + 1}"
        first = day.cast(f"{key}-first", "client")
        send_to_the_right_one(
            day,
            key,
            turn=turn,
            project=projects[number],
            first=first,
            second=namesake(day, f"{key}-second", first),
            asked=day.turn(number % 4, 20 + number),
            until=day.turn(number % 4 + 3),
            moves=MOVES[day.difficulty - 1],
        )
    for number in range(1 + (day.difficulty > 3)):
        answer_price(day, f"price-{number + 1}", number)
