"""A journey that changes, and a person who has to know when the traveller arrives at a place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import Statement, statement_records
from proctor.scenarios.kit.making.duties.scheduling import exchanged, moment
from proctor.scenarios.kit.making.duty import Act, Duty, forgotten, message_check, tell, to_write_to, values_of
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact, Record, latest
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

ARRIVAL = Phrase("the time of arrival", "die Ankunftszeit")
"""The subject of a journey's facts of kind ``value``."""


@dataclass(frozen=True)
class Leg:
    """A flight, as the carrier announced it at a time."""

    at: datetime
    departs: datetime
    arrives: datetime


def journey_records(
    day: Day, key: str, carrier: Person, code: str, cities: tuple[str, str], legs: Sequence[Leg]
) -> list[Record]:
    """The booking, and a mail for each change; each is a fact of kinds ``arrival`` (about the code) and ``value``."""
    records: list[Record] = []
    for number, leg in enumerate(legs):
        name = f"{key}-leg-{number}"
        draws = day.draws.of("leg", name)
        slots = {
            "code": code,
            "from": cities[0],
            "to": cities[1],
            "date": f"{leg.arrives:%A} {leg.arrives.day} {leg.arrives:%B}",
            "departs": f"{leg.departs:%H:%M}",
            "arrives": f"{leg.arrives:%H:%M}",
            "carrier": carrier.first,
            "you": day.user.name,
        }
        forms, subjects = (_SAY["changed"], _SAY["changes"]) if number else (_SAY["booked"], _SAY["bookings"])
        body, arrives = f"{draws.pick(forms, 'form')}\n\n{draws.pick(_SAY['tails'], 'tail')}", moment(leg.arrives).value
        facts = Fact("arrival", code, arrives), Fact("value", ARRIVAL.en, arrives)
        records.append(day.letter(name, leg.at, carrier, draws.pick(subjects, "subject"), body, slots, *facts))
    return records


def tell_when_there(
    day: Day,
    key: str,
    *,
    reader: Person,
    place: Phrase,
    legs: Sequence[Leg],
    code: str,
    transfers: Sequence[Statement],
    bookings: Sequence[Statement],
    decoys: Sequence[tuple[datetime, Person, Phrase, Value]] = (),
    until: datetime,
) -> Duty:
    """The user wants a reader to know when they'll be at a place, with the number of a booking there.

    That time is the carrier's last announced arrival, plus the minutes from the airport to the place. The carrier's
    mails are records of another duty.

    Args:
        reader: the person who gets the message; no other duty writes to them.
        place: the place, such as ``the hotel``.
        legs: the journey as announced; ``code`` is its booking code.
        transfers: statements of the minutes from the airport (numbers).
        bookings: statements of the number of the booking at the place (codes).
        decoys: bookings of other things.
        until: when the reader has to know.
    """
    way = Phrase(f"the way from the airport to {place.en} in minutes", f"der Weg vom Flughafen in Minuten ({place.de})")
    booking = Phrase(f"the booking number at {place.en}", f"die Buchungsnummer ({place.de})")
    records = [
        *statement_records(day, f"{key}-way", way, transfers),
        *statement_records(day, f"{key}-booking", booking, bookings, decoys),
    ]
    minutes, number = int(transfers[-1][2].value), bookings[-1][2]
    right = legs[-1].arrives + timedelta(minutes=minutes)
    known = max(when for when in (*(leg.at for leg in legs), *(at for at, *_ in (*transfers, *bookings))))
    at = day.seen(known)
    wrong_codes = values_of(bookings[:-1], decoys)
    time_id, code_id = f"{key}.time", f"{key}.booking"
    act = tell(f"{key}.1", at, until, reader, [moment(right), number], f"my stay at {place.en}", time_id, code_id)

    def saying(when: datetime, what: Value = number) -> list[Act]:
        return [replace(act, values=(moment(when), what))]

    old_arrivals = [leg.arrives + timedelta(minutes=minutes) for leg in legs[:-1]]
    old_ways = [legs[-1].arrives + timedelta(minutes=int(value.value)) for *_, value in transfers[:-1]]
    lapses = [
        forgotten(act),
        *(exchanged(f"believes arrival {n}", saying(at), {time_id}) for n, at in enumerate(old_arrivals, start=1)),
        exchanged("forgets the way", saying(legs[-1].arrives), {time_id}),
        *(exchanged(f"wrong booking {n}", saying(right, no), {code_id}) for n, no in enumerate(wrong_codes, start=1)),
        *(exchanged(f"old way {n}", saying(at), {time_id}) for n, at in enumerate(old_ways, start=1)),
        act.wrong_person(day.stranger),
        *act.too_late(day.starts, until),
    ]

    def enact(answer: str) -> list[Act]:
        when, _, booked = answer.partition("/")
        return [replace(act, values=(Value("moment", when), Value("code", booked)))]

    def solve(facts: Sequence[Fact]) -> frozenset[str]:
        return frozenset(
            f"{(datetime.fromisoformat(arrives) + timedelta(minutes=int(way_))).isoformat(timespec='minutes')}/{found}"
            for arrives in latest(facts, "arrival", code)
            for way_ in latest(facts, "value", way.en)
            for found in latest(facts, "value", booking.en)
        )

    due, ways = f"{until:%H:%M}", [timedelta(minutes=int(value.value)) for *_, value in transfers]
    mistaken = Duty.each_named(lapses, "believes", "wrong b", "old")
    times = [moment(at).value for at in sorted({leg.arrives + length for leg in legs for length in ways})]
    knows_time, knows_code = (f"{reader.name} knows {what} by {due}" for what in ("day and time", "the booking number"))
    duty = Duty(
        key=key,
        title=f"Tell {reader.name} when {day.user.first} will be at {place.en}, and the booking number",
        dimension="accuracy",
        brief=_SAY["brief"][0].format(reader=reader.name, place=place.en, due=due),
        checks=[
            message_check(time_id, 5, knows_time, reader, [moment(right)], before=until),
            message_check(code_id, 4, knows_code, reader, [number], wrong_codes, before=until),
        ],
        explains=to_write_to(reader, about=records),
        acts=[act],
        solve=solve,
        answers=frozenset({f"{moment(right).value}/{number.value}"}),
        records=records,
        lapses=lapses,
        points=[("forgotten",), *mistaken],
        candidates=tuple(f"{when}/{value.value}" for when in times for value in (number, *wrong_codes)),
        enact=enact,
        people=(reader,),
        knows={reader.key: f"You expect {day.user.name} at {place.en}."},
    )
    return day.add(duty)


def draw_code(day: Day, *name: str | int, digits: int = 4) -> Value:
    """A code of two letters and digits."""
    draws = day.draws.of("code", *name)
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    number = draws.between(10 ** (digits - 1), 10**digits - 1, 3)
    return Value("code", f"{draws.pick(letters, 1)}{draws.pick(letters, 2)}{number}")


CITIES = _SAY["cities"]
CARRIERS = _SAY["carriers"]
HOTELS = _SAY["hotels"]
