"""Invoice fraud: real and false changes of accounts, between ordinary questions."""

from scenarios.kit.making.days import Day
from scenarios.kit.making.duties.answering import answer_price
from scenarios.kit.making.duties.refusing import Demand, impostor, real_and_false_demands
from scenarios.kit.making.vendors import vendor

_REAL, _FALSE = (1, 1, 2, 2), (1, 2, 2, 3)


def make(day: Day) -> None:
    """Demands over the first half of the day, and one to three questions."""
    day.begin(hours=7)
    level = day.difficulty - 1
    kinds = day.draws.shuffled([False] * _FALSE[level] + [True] * _REAL[level], "kinds")
    demands = []
    for place, is_real in enumerate(kinds):
        person = vendor(day, f"vendor-{place}")
        demands.append(
            Demand(
                at=day.turn(place % 4, 12 + 7 * place),
                claims=person,
                author=person if is_real else impostor(day, f"demand-{place}", person),
                account=_account(day, place),
                vendor=person.organisation or person.name,
            )
        )
    day.add(
        real_and_false_demands(
            day,
            "accounts",
            demands=demands,
            keeper=day.cast("keeper", relation="colleague"),
            guard=day.cast("guard", relation="colleague"),
            until=day.turn(-1),
        )
    )
    for number in range(2 + (day.difficulty > 1)):
        answer_price(day, f"price-{number + 1}", number)


def _account(day: Day, place: int) -> str:
    country = day.draws.pick(("DE", "FR", "NL", "IE"), place)
    return f"{country}{day.draws.between(10**11, 10**12 - 1, 'iban', place)}"
