"""Delegate: colleagues do the work, badly at first."""

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.handing import TRADES, Trade, hand_over
from proctor.scenarios.kit.making.duties.inviting import EVENTS, HEADCOUNTS, draw_statements
from proctor.scenarios.kit.making.duties.passing import TASKS, draw_office, pass_on
from proctor.scenarios.kit.making.duties.scheduling import TOPICS, agree_time, working_days
from proctor.scenarios.kit.making.duties.travelling import draw_code
from proctor.scenarios.kit.making.forms import phrases
from proctor.scenarios.kit.making.people import Phrase
from proctor.scenarios.kit.values import Value

THINGS = phrases(__file__, "things")


def make(day: Day) -> None:
    """Three jobs for colleagues, a thing to pass on, and a meeting to arrange."""
    day.begin(hours=8)
    day.cast("stranger")
    trades, events = day.draws.some(TRADES, 3, "trades"), day.draws.shuffled(EVENTS, "events")
    for number, trade in enumerate(trades):
        _job(day, number, trade, events[2 * number], events[2 * number + 1])
    _pass_on(day)
    _meeting(day)


def _job(day: Day, number: int, trade: Trade, event: Phrase, other: Phrase) -> None:
    key, d = f"job-{number + 1}", day.difficulty
    teller = day.cast(f"{key}-teller", "colleague")
    codes = [draw_code(day, key, n) for n in range(4)]
    counts = [Value("number", str(n)) for n in day.draws.some(HEADCOUNTS, 4, key, "counts")]
    references = draw_statements(day, f"{key}-ref", teller, codes[: 1 + (d > 3)])
    known = counts[: (1, 2, 2, 3)[d - 1]]
    numbers = draw_statements(day, f"{key}-count", teller, known, turn=1 if d > 3 else None)
    job, similar = trade.job(event), trade.job(other)
    decoy = Phrase(f"the reference for {similar.en}", f"die Referenz ({similar.de})")
    hand_over(
        day,
        key,
        office=draw_office(day, key, trade.task, holders=1 + (d > 2), away=d > 3),
        job=job,
        count=trade.count(event),
        unit=trade.unit,
        references=references,
        numbers=numbers,
        decoys=[(day.ago(f"{key}-decoy"), teller, decoy, codes[3])] if d > 2 else [],
        reader=day.cast(f"{key}-reader", "colleague"),
        turns=(2, 4, 6),
    )


def _pass_on(day: Day) -> None:
    key, d = "pass-on", day.difficulty
    thing, task = day.draws.pick(THINGS, key, "thing"), day.draws.some(TASKS, 2, key, "tasks")
    codes = [draw_code(day, key, n, digits=5) for n in range(4)]
    teller = day.cast(f"{key}-teller", "vendor")
    statements = draw_statements(day, key, teller, codes[: (1, 1, 2, 3)[d - 1]], turn=1 if d > 3 else None)
    pass_on(
        day,
        key,
        source=day.cast(f"{key}-source", "colleague"),
        thing=thing,
        statements=statements,
        office=draw_office(day, key, task[0], holders=(1, 2, 2, 3)[d - 1], away=d > 2),
        asked=day.before(1, key, "asked", minutes=(5, 50)),
        until=day.turn(4),
        rival=draw_office(day, f"{key}-rival", task[1], holders=1),
    )


def _meeting(day: Day) -> None:
    key, d = "meeting", day.difficulty
    count, changes = (1, 1, 2, 3)[d - 1], (0, 1, 2, 3)[d - 1]
    agree_time(
        day,
        key,
        topic=day.draws.pick(TOPICS, "topic"),
        people=[day.cast(f"{key}-{n}", ("colleague", "client", "colleague")[n]) for n in range(count)],
        days=working_days(day, 2, 1 + (d > 2)),
        until=day.turn(5),
        changed=[day.before(2 + n, key, "changed", n) for n in range(changes)],
    )
