"""Expense report: find receipts, add them up, name their numbers."""

from datetime import date, timedelta
from functools import partial

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.adding import CATEGORIES, Receipt, add_up, draw_receipt
from proctor.scenarios.kit.making.duties.answering import answer_price


def make(day: Day) -> None:
    """Two sums, and one or two questions about prices."""
    day.begin(size="M" if day.difficulty == 4 else "S", hours=7)
    kinds = day.draws.shuffled(CATEGORIES, "kinds")
    day.cast("stranger")
    for number in range(2):
        _sum(day, number, kinds[number], kinds[number + 2])
    for number in range(1 if day.difficulty < 3 else 2):
        answer_price(day, f"price-{number + 1}", number)


def _sum(day: Day, number: int, kind: str, other: str) -> None:
    last = day.start.date() - timedelta(days=day.draws.between(2, 6, "last", number))
    first = last - timedelta(days=day.draws.between(9, 14, "span", number))
    key = f"sum-{number + 1}"
    draw = partial(draw_receipt, day, attached=0.35 if day.difficulty > 2 else 0.0)

    def within(name: str) -> date:
        return first + timedelta(days=day.draws.between(0, (last - first).days, key, name, "day"))

    count = 3 + 2 * (day.difficulty > 3) + day.draws.below(2, key, "count")
    receipts: list[Receipt] = [draw(f"{key}-right-{n}", kind, within(f"right-{n}")) for n in range(count)]
    if day.difficulty > 2:
        receipts.append(draw(f"{key}-right-file", kind, within("right-file"), attached=1.0))
    early = first - timedelta(days=day.draws.between(1, 3, key, "early"))
    receipts.append(draw(f"{key}-early", kind, early, why="too early"))
    if day.difficulty > 1:
        receipts.append(draw(f"{key}-other", other, within("other"), why="of another kind"))
    if day.difficulty > 2:
        receipts.append(draw(f"{key}-back", kind, within("back"), why="paid back", is_refunded=True))
    if day.difficulty > 3:
        receipts.append(draw(f"{key}-late", kind, last + timedelta(days=1), why="too late"))
    add_up(
        day,
        key,
        reader=day.cast(f"{key}-reader", "colleague"),
        kind=kind,
        month=(first, last),
        receipts=receipts,
        until=day.turn(3 + number),
    )
