"""Flight cancelled: a chain of consequences for pick-up, hotel, meeting and dinner."""

from datetime import timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import EVENTS, draw_statements, send_deputy
from proctor.scenarios.kit.making.duties.passing import draw_office, pass_on
from proctor.scenarios.kit.making.duties.scheduling import TOPICS, Journey, moment, move_meeting, working_days
from proctor.scenarios.kit.making.duties.travelling import (
    ARRIVAL,
    CARRIERS,
    CITIES,
    HOTELS,
    Leg,
    draw_code,
    journey_records,
    tell_when_there,
)
from proctor.scenarios.kit.making.forms import forms, phrases
from proctor.scenarios.kit.making.people import Phrase
from proctor.scenarios.kit.making.records import Record
from proctor.scenarios.kit.making.texts import service
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)
PICK_UPS = phrases(__file__, "pick_ups")


def make(day: Day) -> None:
    """A flight of the next working day is cancelled, at higher difficulties twice."""
    day.begin(hours=8)
    day.cast("stranger")
    cities = tuple(day.draws.some(CITIES, 2, "cities"))
    code, legs = draw_code(day, "flight", digits=3).value, _legs(day)
    carrier = service(day.draws.pick(CARRIERS, "carrier"))
    day.wish(_SAY["wishes"], day=legs[0].arrives, city=cities[1], carrier=carrier.first, code=code)
    flight = journey_records(day, "flight", carrier, code, (cities[0], cities[1]), legs)
    _pick_up(day, legs, flight)
    _hotel(day, legs, code)
    _meeting(day, legs, code)
    _dinner(day)


def _legs(day: Day) -> list[Leg]:
    """The flight as booked, and as changed: later and later on the same day."""
    (date,) = working_days(day, 1, 1)
    first = date.replace(hour=8, minute=5 * day.draws.between(1, 6, "flight", "minute"))
    arrivals = [first, first + timedelta(minutes=5 * day.draws.between(35, 48, "flight", "later"))]
    changes = [day.before(0, "flight", "cancelled", minutes=(10, 50))]
    if day.difficulty > 2:
        arrivals.append(arrivals[1] + timedelta(minutes=5 * day.draws.between(14, 24, "flight", "later still")))
        changes.append(day.before(2, "flight", "cancelled again"))
    times = [day.ago("flight-booked", days=(5, 9)), *changes]
    length = timedelta(minutes=5 * day.draws.between(11, 18, "flight", "length"))
    return [Leg(at, arrives - length, arrives) for at, arrives in zip(times, arrivals, strict=True)]


def _pick_up(day: Day, legs: list[Leg], flight: list[Record]) -> None:
    """A person of the hosts' firm asks to pass the arrival on to the person who fetches guests."""
    d = day.difficulty
    tasks = day.draws.some(PICK_UPS, 2, "pick-up")
    office = draw_office(
        day, "pick-up", tasks[0], holders=1 + (d > 1), away=d > 3, last=day.turn(2, -15) if d > 2 else None
    )
    pass_on(
        day,
        "pick-up",
        source=day.cast("pick-up-source", "colleague"),
        thing=ARRIVAL,
        statements=[(leg.at, day.user, moment(leg.arrives)) for leg in legs],
        office=office,
        asked=day.before(2, "pick-up", "asked", minutes=(1, 10)) if d > 2 else day.turn(1, -30),
        until=day.turn(4),
        rival=draw_office(day, "other-visitors", tasks[1], holders=1) if d > 2 else None,
        own_records=flight,
    )


def _hotel(day: Day, legs: list[Leg], code: str) -> None:
    key, d = "hotel", day.difficulty
    hotel, other = day.draws.some(HOTELS, 2, key)
    reader = day.cast(f"{key}-reader", "colleague")
    teller = day.cast(f"{key}-teller", "colleague")
    minutes = [Value("number", str(n)) for n in day.draws.some((25, 35, 40, 50, 55, 65, 70), 2, key, "minutes")]
    codes = [draw_code(day, key, n) for n in range(4)]
    count = (1, 1, 2, 3)[d - 1]
    booking = Phrase(f"the booking number at {other}", f"die Buchungsnummer ({other})")
    tell_when_there(
        day,
        key,
        reader=reader,
        place=Phrase(hotel, hotel),
        legs=legs,
        code=code,
        transfers=draw_statements(day, f"{key}-way", teller, minutes[: 1 + (d > 3)]),
        bookings=draw_statements(day, f"{key}-booking", teller, codes[:count]),
        decoys=[(day.ago(f"{key}-decoy"), teller, booking, codes[3])] if d > 1 else [],
        until=day.turn(5),
    )


def _meeting(day: Day, legs: list[Leg], code: str) -> None:
    key, d = "meeting", day.difficulty
    count, changes = (1, 1, 2, 3)[d - 1], (0, 1, 1, 2)[d - 1]
    days = working_days(day, 1, 2)
    move_meeting(
        day,
        key,
        topic=day.draws.pick(TOPICS, "topic"),
        people=[day.cast(f"{key}-{n}", "client") for n in range(count)],
        start=days[0].replace(hour=11),
        days=days,
        until=day.turn(5),
        changed=[day.before(2 + n, key, "changed", n) for n in range(changes)],
        journey=Journey(code, tuple(leg.arrives for leg in legs), lead=60),
    )


def _dinner(day: Day) -> None:
    """A colleague goes to the dinner that the user can't reach any more."""
    key, count = "evening", (1, 2, 3, 3)[day.difficulty - 1]
    event, other = day.draws.some(EVENTS, 2, key)
    send_deputy(
        day,
        key,
        topic=event,
        other=other,
        changes=count,
        turn=2 if count > 2 else None,
        start=working_days(day, 1, 1)[0].replace(hour=9),
        until=day.turn(4),
        reason=", which I no longer reach",
    )
