"""Invoice fraud: real and false changes of accounts, between ordinary questions."""

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.answering import answer_price
from proctor.scenarios.kit.making.duties.refusing import Demand, impostor, real_and_false_demands
from proctor.scenarios.kit.making.vendors import vendor

_FALSE = 2
_MISTAKEN = ((1, 2), (1, 3), (3, 4), (3, 5))
"""The least and the most earlier corrections of a demand, by difficulty."""
_WEIGHT = 3


def make(day: Day) -> None:
    """Demands over the first half of the day, and one to four questions.

    From difficulty 3 on, an impostor writes in the name of a person who makes a real demand, before it or after it.
    """
    day.begin(hours=7)
    level = day.difficulty - 1
    kinds = day.draws.shuffled([*[False] * _FALSE, True], "kinds")
    same = (kinds.index(True), kinds.index(False)) if level > 1 else ()
    demands = list[Demand]()
    for place, is_real in enumerate(kinds):
        person = vendor(day, "vendor" if place in same else f"vendor-{place}")
        mistakes = day.draws.between(*_MISTAKEN[level], "mistakes", place)
        demands.append(
            Demand(
                at=day.turn(place % 4, 12 + 7 * place),
                claims=person,
                author=person if is_real else impostor(day, f"demand-{place}", person),
                account=_account(day, place),
                vendor=person.organisation or person.name,
                mistaken=tuple(_account(day, 10 * (place + 1) + n) for n in range(mistakes)),
            )
        )
    real_and_false_demands(
        day,
        "accounts",
        demands=demands,
        keeper=day.cast("keeper", "colleague"),
        guard=day.cast("guard", "colleague"),
        until=day.turn(-1),
    ).weigh(_WEIGHT)
    for number in range(1 + level):
        answer_price(day, f"price-{number + 1}", number)


def _account(day: Day, place: int) -> str:
    country = day.draws.pick(("DE", "FR", "NL", "IE"), place)
    return f"{country}{day.draws.between(10**11, 10**12 - 1, 'iban', place)}"
