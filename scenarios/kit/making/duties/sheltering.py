"""Lunches outdoors: if it rains at the hour of a lunch, its guest has to know that it is indoors."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from proctor.scenarios.kit.checks import Check, Write
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    besides,
    forgotten,
    message_check,
    silence_check,
    tell,
    to_write_to,
)
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.outdoors import Spot, forecast, skies_around, visit
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.records import Fact, Record, latest
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)


@dataclass(frozen=True)
class Lunch:
    """A lunch outdoors.

    Attributes:
        guest: the guest.
        start: its start.
        spot: its place.
        room: the place indoors, with another name.
        skies: the forecasts for its hour, oldest first; if the last one is ``Rain``, the lunch is indoors.
    """

    guest: Person
    start: datetime
    spot: Spot
    room: str
    skies: Sequence[str]


def move_indoors(day: Day, key: str, *, lunches: Sequence[Lunch], news: Sequence[datetime]) -> Duty:
    """Tell the guests of lunches in the rain, on the day before, in which room they meet.

    Args:
        lunches: lunches on one day. The last forecast says rain for at least one of them, and no rain for another.
        news: when the forecasts come, the first one before the day.
    """
    eve = (lunches[0].start - timedelta(days=1)).date()
    turns = [start for start in day.starts if start.date() == eve]
    wet = [lunch for lunch in lunches if lunch.skies[-1] == "Rain"]
    dry = [lunch for lunch in lunches if lunch.skies[-1] != "Rain"]
    records = [
        record for number, lunch in enumerate(lunches) for record in _records(day, f"{key}-{number}", lunch, news)
    ]
    begin = datetime.combine(eve, time(), day.start.tzinfo)
    checks, end = list[Check](), begin + timedelta(days=1)
    for number, lunch in enumerate(wet):
        sentence = f"{lunch.guest.name} knows on the day before that lunch is in {lunch.room}"
        told, others = f"{key}.told-{number}", [_room(other) for other in lunches if other is not lunch]
        checks.append(message_check(told, 6, sentence, lunch.guest, [_room(lunch)], others, after=begin, before=end))
    acts = [_telling(f"{key}.{n}", lunch, turns, checks[n].id) for n, lunch in enumerate(wet)]
    sentence = f"{' and '.join(lunch.guest.name for lunch in dry)} heard of no other place"
    silent = silence_check(f"{key}.silent", 2, sentence, (lunch.guest for lunch in dry), map(_room, dry))
    needless = _telling(f"{key}.needless", dry[0], turns)
    duty = Duty(
        key=key,
        title="Tell the guests of lunches in the rain that they are indoors",
        dimension="instruction_following",
        checks=[*checks, silent],
        explains=[
            *to_write_to(*(lunch.guest for lunch in lunches)),
            Write(actions=("calendar.update",), ids=tuple(r.id for r in records if r.kind == "entry")),
        ],
        acts=acts,
        solve=lambda facts: _wet(facts, [lunch.guest.name for lunch in lunches]),
        answers=frozenset(f"{lunch.guest.name}/{lunch.room}" for lunch in wet),
        records=records,
        lapses=[
            forgotten(*acts),
            acts[0].wrong_person(day.stranger),
            acts[0].wrong_value(_room(dry[0]), name="room of another lunch"),
            besides(needless, loses=[silent.id], name="sent indoors for nothing"),
            acts[0].changed("before the last forecast", at=day.starts[0], until=day.starts[0]),
        ],
        points=[("forgotten",), ("room of another lunch",), ("sent indoors for nothing",)],
        people=tuple(lunch.guest for lunch in lunches),
        knows={lunch.guest.key: "You look forward to lunch." for lunch in lunches},
    )
    return day.add(duty)


def _telling(name: str, lunch: Lunch, turns: Sequence[datetime], *checks: str) -> Act:
    return tell(name, turns[0], turns[-1], lunch.guest, [_room(lunch)], "our lunch", *checks)


def _room(lunch: Lunch) -> Value:
    return Value("words", lunch.room)


def _records(day: Day, name: str, lunch: Lunch, news: Sequence[datetime]) -> list[Record]:
    spot, guest = lunch.spot, lunch.guest
    title, facts = f"Lunch with {guest.name}", [Fact("lunch", guest.name, spot.name)]
    facts.append(Fact("when", guest.name, lunch.start.isoformat()))
    entry = day.entry(f"{name}-entry", title, lunch.start, 60, *facts, people=[guest], location=spot.name)
    at = day.start - timedelta(minutes=day.draws.between(3, 58, name, "note"))
    body, fact = day.draws.pick(_SAY["notes"], name, "words"), Fact("room", guest.name, lunch.room)
    slots = {"guest": guest.name, "room": lunch.room}
    note = day.letter(f"{name}-note", at, day.user, f"Lunch with {guest.first}", body, slots, fact)
    forecasts = [
        forecast(day, f"{name}-sky-{n}", at, spot, skies_around(day, f"{name}-sky-{n}", lunch.start, sky))
        for n, (at, sky) in enumerate(zip(news, lunch.skies, strict=True))
    ]
    return [entry, note, visit(day, f"{name}-visit", day.ago(f"{name}-visit"), spot), *forecasts]


def _wet(facts: Sequence[Fact], guests: Sequence[str]) -> frozenset[str]:
    """The guests with rain at their place and hour, and their rooms."""
    found = set()
    for guest in guests:
        for spot in latest(facts, "lunch", guest):
            for when in latest(facts, "when", guest):
                for coordinates in latest(facts, "lies", spot):
                    if latest(facts, "sky", f"{coordinates} {when}") == {"Rain"}:
                        found |= {f"{guest}/{room}" for room in latest(facts, "room", guest)}
    return frozenset(found)
