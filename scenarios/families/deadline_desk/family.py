"""Deadline desk: act at a given time, and if nothing has come by a time."""

from datetime import datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.timing import if_nothing_by, remind_before
from proctor.scenarios.kit.making.forms import forms, phrases
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

THINGS = phrases(__file__, "things")


def make(day: Day) -> None:
    """Two reminders, and as many things that may not come."""
    day.begin(hours=8)
    count = 2
    titles, things = day.draws.shuffled(_SAY["titles"], "titles"), day.draws.shuffled(THINGS, "things")
    day.cast("stranger")
    for number in range(count):
        key = f"remind-{number + 1}"
        moves = day.difficulty - 1
        remind_before(
            day,
            key,
            person=day.cast(f"{key}-person"),
            title=titles[2 * number],
            starts=[_time(day, key, place, last=place == moves) for place in range(moves + 1)],
            decoy=(f"{titles[2 * number]} II", _time(day, key, 9, last=False)),
        )
        key = f"unless-{number + 1}"
        by = day.turn(2 + number)
        comes = day.draws.pick(("in time", "never", "late")[: 2 + (day.difficulty > 2)], key, "comes")
        before, after = by - timedelta(minutes=25), by + timedelta(minutes=35)
        codes = [Value("code", _code(day, key, place)) for place in range(3)]
        if_nothing_by(
            day,
            key,
            source=day.cast(f"{key}-source"),
            thing=things[number],
            number=codes[0],
            by=by,
            answers_at={"in time": before, "never": None, "late": after}[comes],
            receiver=day.cast(f"{key}-receiver"),
            fallback=day.cast(f"{key}-fallback"),
            substitute=codes[1],
            former=codes[2] if day.difficulty > 2 else None,
        )


def _time(day: Day, key: str, place: int, *, last: bool) -> datetime:
    """A time of the day that no other place of the key has; the last one leaves room for turns before and after."""
    last_hour = day.draws.shuffled(range(4, 7), key, "hours")[0]
    others = (hour for hour in day.draws.shuffled(range(2, 8), key, place) if hour != last_hour)
    minutes = day.draws.shuffled(range(5, 60, 10), key, "minutes")[place % 6]
    return day.turn(last_hour if last else next(others), minutes)


def _code(day: Day, key: str, place: int) -> str:
    draws, letters = day.draws.of(key, "code", place), "ABCDEFGHKLMNPRSTUVWX"
    return f"{draws.pick(letters, 'a')}{draws.pick(letters, 'b')}{draws.between(10_000, 99_999, 'n')}"
