"""Do not disturb: interrupt the user only a limited number of times, and only for urgent matters."""

from dataclasses import replace
from datetime import datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.answering import answer_price
from proctor.scenarios.kit.making.duties.interrupting import TOPICS, Matter, report_rest, tell_now
from proctor.scenarios.kit.making.forms import forms

_SAY = forms(__file__)
_TURNS = (1, 3, 4)
"""The turns before which urgent matters come up."""


def make(day: Day) -> None:
    """Three rounds with urgent matters, each beside others that can wait; one report at the end.

    From difficulty 3 on, two rounds have two urgent matters, and a deputy decides in a fourth round.
    """
    level = day.difficulty - 1
    day.begin(size="M" if level > 2 else "S", hours=8, language_mix=0.0)
    most = len(_TURNS) + (level > 1)
    last = day.starts[-1]
    deputies = " My notes say who decides instead of me on a topic: write to them, not to me." if level > 1 else ""
    reason = day.draws.pick(_SAY["reasons"], "reason")
    day.wish(_SAY["wishes"], reason=reason, last=last, most=most, deputies=deputies)
    topics = day.draws.shuffled(TOPICS, "topics")
    day.cast("stranger")
    waiting, settled = list[Matter](), list[Matter]()
    for number, turn in enumerate((*_TURNS, 2)[: 3 + (level > 1)]):
        spared = _round(day, number, turn, topics[6 * number : 6 * number + 6])
        waiting += [matter for matter in spared if not matter.settled]
        settled += [matter for matter in spared if matter.settled]
    own = [_matter(day, f"rest-{n}", 5 + n % 2, topics[24 + n], _later(day, f"rest-{n}")) for n in range(1 + level)]
    if level > 2:
        own[1] = replace(own[1], settled=day.before(-1, "settled"))
    report_rest(day, "rest", own=own, waiting=waiting, settled=settled, most=most)
    answer_price(day, "price-1", 1)


def _round(day: Day, number: int, turn: int, topics: list[str]) -> list[Matter]:
    """Add the matters that come up before a turn, and return those that can wait, or are settled."""
    key, level = f"matter-{number + 1}", day.difficulty - 1
    draws = day.draws.of(key)
    soon = day.turn(turn + 1, draws.between(2, 3, "soon") * 15)

    def can_wait(name: str) -> datetime:
        return _later(day, f"{key}-{name}")

    def matter(name: str, needed: datetime, topic: str) -> Matter:
        return _matter(day, f"{key}-{name}", turn, topic, needed)

    moved = day.turn(turn, -draws.between(4, 25, "moved"))
    due = [matter("due", soon, topics[0])]
    spared = [("can wait", matter("first", can_wait("first"), topics[1]))]
    if level > 1 or (level > 0 and number < 2):
        # A matter that could wait is urgent now.
        due = [matter("due", can_wait("due"), topics[0])]
        due = [replace(due[0], moved=(moved, soon))]
    if level > 0:
        # A matter that was urgent can wait now.
        eased = matter("eased", soon + timedelta(minutes=15), topics[2])
        spared.append(("was put off", replace(eased, moved=(moved, can_wait("eased")))))
    if level > 1 and number in (1, 2):
        due.append(matter("second", soon + timedelta(minutes=30), topics[3]))
    if level > 2:
        gone = matter("gone", soon, topics[4])
        spared.append(("was settled", replace(gone, settled=moved)))
    deputy = day.cast(f"{key}-deputy", "colleague") if number == 3 else None
    noted = day.ago(f"{key}-deputy", days=(1, 2)) if deputy else None
    tell_now(day, key, due=due, spared=spared, deputy=deputy, noted=noted)
    return [matter for _, matter in spared]


def _later(day: Day, name: str) -> datetime:
    """A time after the last round: later on the day, or on one of the next days."""
    draws = day.draws.of("later", name)
    if draws.chance(0.5, "today"):
        return day.starts[-1] + timedelta(minutes=15 * draws.between(2, 8, "minutes"))
    workdays = [n for n in range(1, 6) if day.clock(9, day=n).weekday() < 5]
    hour, quarter = draws.between(9, 14, "hour"), draws.pick((0, 15, 30, 45), "quarter")
    return day.clock(hour, quarter, day=draws.pick(workdays, "days"))


def _matter(day: Day, name: str, turn: int, topic: str, needed: datetime) -> Matter:
    draws = day.draws.of("matter", name)
    numbers = day.draws.different(1000, 9999, len(TOPICS), "codes")  # each matter has its own topic
    code = f"{draws.pick('BDGKMPRTVZ', 'letter')}-{numbers[TOPICS.index(topic)]}"
    author = day.cast(name, "colleague" if draws.chance(0.5, "relation") else "client")
    return Matter(day.turn(turn, -draws.between(30, 55, "at")), author, topic, code, needed)
