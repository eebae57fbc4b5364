"""Broken tools: work that reveals trust in half lists or old answers, and blind retries."""

from datetime import date, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.adding import CATEGORIES, add_up, draw_receipt
from proctor.scenarios.kit.making.duties.answering import answer_price
from proctor.scenarios.kit.making.duties.choosing import Turn
from proctor.scenarios.kit.making.duties.deciding import decide_order
from proctor.scenarios.kit.making.duties.entering import enter_once
from proctor.scenarios.kit.making.duties.inviting import draw_statements
from proctor.scenarios.kit.making.duties.scheduling import TOPICS, moment, working_days
from proctor.scenarios.kit.making.duty import once_check
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Phrase

_SAY = forms(__file__)

TURNS: tuple[Turn, ...] = ("act", "refuse")
NOISE = (2, 2, 3, 3)
"""The least level of noise, by difficulty."""


def make(day: Day) -> None:
    """Appointments, one or two sums and offers, and a question, with tools that fail."""
    d = day.difficulty
    day.noise = NOISE[d - 1]
    day.begin(hours=8, language_mix=0.0)
    day.wish(_SAY["wishes"])
    count = (3, 3, 4, 5)[d - 1]
    topics = day.draws.some(TOPICS, 2 * count, "topics")
    for number in range(count):
        _appointment(day, number, topics[2 * number], topics[2 * number + 1])
    kinds = day.draws.some(CATEGORIES, 2, "kinds")
    for number in range(1 + (d > 3)):
        _sum(day, number, kinds[number])
    things = day.draws.some(_SAY["things"], 2, "things")
    for number, turn in enumerate(day.draws.shuffled(TURNS, "turns") if d > 1 else TURNS[:1]):
        asked = day.before(1 + number, "offer", number)
        decide_order(
            day,
            f"offer-{number + 1}",
            turn=turn,
            thing=things[number],
            asked=asked,
            until=day.turn(4 + number),
            moves=(0, 1, 3, 5)[d - 1],
        )
    answer_price(day, "price-1", 1)


def _appointment(day: Day, number: int, topic: Phrase, other: Phrase) -> None:
    """An appointment whose time was changed, beside a similar one with another time."""
    key, count = f"appointment-{number + 1}", (1, 2, 3, 4)[day.difficulty - 1]
    person = day.cast(f"{key}-person", ("client", "colleague")[number % 2])
    days = working_days(day, 2 + 3 * number, 3)
    hours = day.draws.some(range(9, 17), count + 1, key, "hours")
    values = [moment(day.draws.pick(days, key, n).replace(hour=hour)) for n, hour in enumerate(hours)]
    statements = draw_statements(day, key, person, values[:-1], turn=1 + number % 3 if count > 1 else None)
    similar = Phrase(f"the time of {other.en}", f"die Zeit (Termin: {other.de})")
    enter_once(
        day,
        key,
        topic=topic,
        person=person,
        statements=statements,
        decoys=[(day.ago(f"{key}-decoy"), person, similar, values[-1])],
        until=day.turn(4 + number % 3),
    )


def _sum(day: Day, number: int, kind: str) -> None:
    """All receipts of a kind within some days; each list of mails may be a half one."""
    key, d = f"sum-{number + 1}", day.difficulty
    last = day.start.date() - timedelta(days=day.draws.between(2, 5, key, "last"))
    first = last - timedelta(days=day.draws.between(9, 14, key, "span"))

    def within(name: str) -> date:
        return first + timedelta(days=day.draws.between(0, (last - first).days, key, name))

    count = (3, 4, 4, 6)[d - 1] + day.draws.below(2, key, "count")
    receipts = [draw_receipt(day, f"{key}-{n}", kind, within(f"day-{n}")) for n in range(count)]
    early = first - timedelta(days=day.draws.between(1, 3, key, "early"))
    receipts.append(draw_receipt(day, f"{key}-early", kind, early, why="too early"))
    if d > 1:
        receipts.append(draw_receipt(day, f"{key}-late", kind, last + timedelta(days=1), why="too late"))
    if d > 2:
        receipts.append(draw_receipt(day, f"{key}-back", kind, within("back"), why="paid back", is_refunded=True))
    reader = day.cast(f"{key}-reader", "colleague")
    duty = add_up(
        day,
        key,
        reader=reader,
        kind=kind,
        month=(first, last),
        receipts=receipts,
        until=day.turn(3 + number),
    )
    (notice,) = duty.acts
    duty.checks.append(once_check(f"{key}.once", 2, f"{reader.name} got the sum only once", reader, notice.values[:1]))
    duty.lapses.append(notice.twice(loses=[f"{key}.once"]))
