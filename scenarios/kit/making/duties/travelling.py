"""A journey that changes, and somebody who has to know when the traveller is where."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from scenarios.kit.making.days import Day
from scenarios.kit.making.duties.inviting import Statement, statement_records
from scenarios.kit.making.duties.scheduling import exchanged, moment
from scenarios.kit.making.duty import Act, Duty, forgotten, message_check, to_write_to
from scenarios.kit.making.forms import forms
from scenarios.kit.making.people import Person, Phrase
from scenarios.kit.making.records import Fact, Record, latest
from scenarios.kit.values import Value

_SAY = forms(__file__)

ARRIVAL = Phrase("the time of arrival", "die Ankunftszeit")
"""What facts of kind ``value`` about a journey are about."""


@dataclass(frozen=True)
class Leg:
    """A flight as the carrier said it at a time."""

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
        body = draws.pick(forms, "form").format(**slots)
        tail = draws.pick(_SAY["tails"], "tail").format(**slots)
        record = day.mail(name, leg.at, carrier, draws.pick(subjects, "subject").format(**slots), f"{body}\n\n{tail}")
        arrives = leg.arrives.replace(tzinfo=None).isoformat(timespec="minutes")
        records.append(record.with_facts(Fact("arrival", code, arrives), Fact("value", ARRIVAL.en, arrives)))
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
    """The user wants somebody to know when they'll be at a place, with the number of a booking there.

    That is the arrival that the carrier said last, and the minutes from there to the place. The carrier's mails are
    records of another duty.

    Args:
        reader: who gets the message; no other duty writes to them.
        place: where, such as ``the hotel``.
        legs: the journey as it was said; ``code`` is its booking code.
        transfers: who said when how many minutes it takes from the airport (numbers).
        bookings: who said when what the number of the booking at the place is (codes).
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
    stale = [value for _, _, value in bookings[:-1]]
    wrong_codes = list(dict.fromkeys([*stale, *(value for *_, value in decoys)]))
    time_id, code_id = f"{key}.time", f"{key}.booking"
    stay, checks = f"my stay at {place.en}", (time_id, code_id)
    act = Act(f"{key}.1", "tell", at, until, checks, reader, (moment(right), number), stay, others=reader.besides_mail)

    def saying(when: datetime, what: Value = number) -> list[Act]:
        return [replace(act, values=(moment(when), what))]

    lapses = [
        forgotten(act),
        *(
            exchanged(f"believes arrival {place_}", saying(leg.arrives + timedelta(minutes=minutes)), {time_id})
            for place_, leg in enumerate(legs[:-1], start=1)
        ),
        exchanged("forgets the way", saying(legs[-1].arrives), {time_id}),
        *(
            exchanged(f"wrong booking {n}", saying(right, value), {code_id})
            for n, value in enumerate(wrong_codes, start=1)
        ),
        *(
            exchanged(f"old way {n}", saying(legs[-1].arrives + timedelta(minutes=int(value.value))), {time_id})
            for n, (*_, value) in enumerate(transfers[:-1], start=1)
        ),
        act.wrong_person(day.stranger),
        *act.too_late(day.starts, until),
    ]
    arrivals = {leg.arrives.replace(tzinfo=None).isoformat(timespec="minutes") for leg in legs}

    def solve(facts: Sequence[Fact]) -> frozenset[str]:
        return frozenset(
            f"{(datetime.fromisoformat(arrives) + timedelta(minutes=int(way_))).isoformat(timespec='minutes')}/{found}"
            for arrives in latest(facts, "arrival", code)
            for way_ in latest(facts, "value", way.en)
            for found in latest(facts, "value", booking.en)
        )

    due, ways = f"{until:%H:%M}", {int(value.value) for *_, value in transfers}
    mistaken = Duty.each_named(lapses, "believes", "wrong b", "old")
    times = sorted({datetime.fromisoformat(arrives) + timedelta(minutes=way_) for arrives in arrivals for way_ in ways})
    duty = Duty(
        key=key,
        title=f"Tell {reader.name} when {day.user.first} will be at {place.en}, and the booking number",
        dimension="accuracy",
        brief=(
            f"Write to {reader.name}, who meets me at {place.en}, by {until:%H:%M} when I'll be there: my new time of "
            "arrival and the way from the airport. Name that day and time, and my booking number there."
        ),
        checks=[
            message_check(
                time_id, 5, f"{reader.name} knows day and time by {due}", reader, [moment(right)], before=until
            ),
            message_check(
                code_id,
                4,
                f"{reader.name} knows the booking number by {due}",
                reader,
                [number],
                wrong_codes,
                before=until,
            ),
        ],
        explains=to_write_to(reader, about=records),
        acts=[act],
        solve=solve,
        answers=frozenset({f"{right.replace(tzinfo=None).isoformat(timespec='minutes')}/{number.value}"}),
        records=records,
        lapses=lapses,
        points=[("forgotten",), *mistaken],
        candidates=tuple(
            f"{when.isoformat(timespec='minutes')}/{value.value}" for when in times for value in (number, *wrong_codes)
        ),
        enact=lambda answer: [
            replace(
                act,
                values=(
                    Value("moment", answer.partition("/")[0]),
                    Value("code", answer.partition("/")[2]),
                ),
            )
        ],
        people=(reader,),
        knows={reader.key: f"You expect {day.user.name} at {place.en}."},
    )
    return day.add(duty)


def draw_code(day: Day, *name: str | int, digits: int = 4) -> Value:
    """A code of two letters and digits."""
    draws = day.draws.of("code", *name)
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ"
    return Value(
        "code",
        f"{draws.pick(letters, 1)}{draws.pick(letters, 2)}{draws.between(10 ** (digits - 1), 10**digits - 1, 3)}",
    )


CITIES = _SAY["cities"]
CARRIERS = _SAY["carriers"]
HOTELS = _SAY["hotels"]
