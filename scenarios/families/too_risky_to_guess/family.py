"""Too risky to guess: orders that can't be undone, and a price that decides whether to order, to ask or to refuse."""

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.answering import answer_price
from proctor.scenarios.kit.making.duties.choosing import drawn_turns
from proctor.scenarios.kit.making.duties.deciding import decide_order
from proctor.scenarios.kit.making.forms import forms

_SAY = forms(__file__)


MOVES = (0, 1, 3, 5)
"""How often colleagues changed their limits before, by difficulty."""


def make(day: Day) -> None:
    """Offers of all three kinds in a drawn order; the right decision depends on the day's place in its group."""
    day.begin(hours=9, language_mix=0.0)
    day.wish(_SAY["wishes"])
    count = 3 + (day.difficulty > 2)
    things = day.draws.some(_SAY["things"], count, "things")
    for number, turn in enumerate(drawn_turns(day, count)):
        decide_order(
            day,
            f"offer-{number + 1}",
            turn=turn,
            thing=things[number],
            asked=day.turn(number % 4, 20 + number),
            until=day.turn(number % 4 + 4),
            moves=MOVES[day.difficulty - 1],
        )
    for number in range(1 + (day.difficulty > 3)):
        answer_price(day, f"price-{number + 1}", number)
