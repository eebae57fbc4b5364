"""Standing orders: pass each alarm on within fifteen minutes, with an exception and an end."""

from datetime import datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.alarms import Orders, follow_orders
from proctor.scenarios.kit.making.forms import forms

_SAY = forms(__file__)

TURNS = 14


def make(day: Day) -> None:
    """Two services, fourteen turns of ten minutes."""
    day.begin(step=timedelta(minutes=10), turns=TURNS)
    day.wish(_SAY["wishes"])
    sources, places = day.draws.some(_SAY["sources"], 2, "sources"), day.draws.shuffled(_SAY["places"], "places")
    for number, source in enumerate(sources):
        _service(day, f"service-{number + 1}", source, places[10 * number : 10 * number + 10])


def _service(day: Day, key: str, source: str, places: list[str]) -> None:
    """Pairs of alarms, each with one from the exceptional place; between the pairs the notes change."""
    d = day.difficulty
    pairs = (2, 3, 4, 4)[d - 1]
    turns = sorted(day.draws.some(range(1, TURNS - 2), 2 * pairs, key, "turns"))
    people = [day.cast(f"{key}-{n}", "colleague") for n in range(5)]
    special, new_special, *usual = places

    def before(pair: int, minute: int) -> datetime:
        """A time between the pair before and the first alarm of this one."""
        return day.turn(turns[2 * pair - 1], minute)

    def end_before(pair: int) -> datetime:
        return day.turn(turns[2 * pair], -7)

    def first(kind: str) -> datetime:
        return day.ago(f"{key}-{kind}", days=(1, 2))

    holders = [(first("holder"), people[0])]
    exceptions, ends = [(first("exception"), special, people[1])], list[tuple[datetime, datetime]]()
    if d > 1:
        holders.append((before(1, 1), people[2]))
        ends.append((first("end"), end_before(2 + (d == 3))))
    if d > 2:
        exceptions.append((before(2, 2), new_special, people[3]))
    if d > 3:
        holders.append((before(2, 1), people[4]))
        ends.append((before(2, 3), end_before(3)))
    comes = []
    for pair in range(pairs):
        # After the exception has changed, the former place comes as a usual one.
        two = [usual[pair], special] if d < 3 or pair < 2 else [special, new_special]
        for place, turn in zip(day.draws.shuffled(two, key, "pair", pair), turns[2 * pair : 2 * pair + 2], strict=True):
            comes.append((day.before(turn, key, "comes", turn, minutes=(1, 4)), place))
    orders = Orders(holders, exceptions, ends)
    follow_orders(day, key, source=source, orders=orders, comes=comes)
