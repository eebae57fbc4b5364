"""An event whose place, time and number of guests change repeatedly, and the people who need the final state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product

from proctor.scenarios.kit.checks import Check, Write
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import Statement
from proctor.scenarios.kit.making.duties.passing import Office
from proctor.scenarios.kit.making.duties.scheduling import exchanged, listed
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    Lapse,
    entry_check,
    forgotten,
    message_check,
    silence_check,
    tell,
    to_write_to,
    values_of,
)
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact, Record, latest
from proctor.scenarios.kit.making.texts import hear, mail_saying, shown
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

LENGTH = timedelta(hours=2)
"""The length of an event."""

_THINGS = {
    "place": Phrase("the place of {en}", "der Ort (Termin: {de})"),
    "time": Phrase("the beginning of {en}", "der Beginn (Termin: {de})"),
    "count": Phrase("the number of guests at {en}", "die Zahl der Gäste (Termin: {de})"),
}


@dataclass(frozen=True)
class Event:
    """An event, as described in messages.

    Attributes:
        topic: its name; no other thing of the day has it.
        host: the person in charge of it.
        statements: the host's statements, in order, by ``place``, ``time`` and ``count``; changes after ``settled``
            are too late.
        heard: rumours on each of these.
        settled: the time until which it may change; a turn begins then.
        halls: the office that rents out each named place.
        booking: the number of the first place's booking.
        guests: need time and place.
        caterer: needs time and number of guests.
    """

    topic: Phrase
    host: Person
    statements: Mapping[str, Sequence[tuple[datetime, Value]]]
    heard: Mapping[str, Sequence[Statement]]
    settled: datetime
    halls: Mapping[str, Office]
    booking: Value
    guests: Sequence[Person]
    caterer: Person

    def thing(self, kind: str) -> Phrase:
        """The name of its place, time or number of guests."""
        form = _THINGS[kind]
        return Phrase(form.en.format(en=self.topic.en), form.de.format(de=self.topic.de))

    @property
    def booked(self) -> Phrase:
        """The name of the booking's number."""
        first = self.statements["place"][0][1].value
        return Phrase(
            f"the booking number at {first} for {self.topic.en}", f"die Buchungsnummer ({first}, {self.topic.de})"
        )

    def state(self, facts: Sequence[Fact]) -> dict[str, Value] | None:
        """Place, time and number of guests by the facts; None if the facts don't say them."""
        known = [fact for fact in facts if fact.at is None or fact.at <= self.settled]
        newest = {kind: latest(known, "value", self.thing(kind).en) for kind in _THINGS}
        if any(len(values) != 1 for values in newest.values()):
            return None
        return {kind: Value(self.statements[kind][0][1].kind, next(iter(newest[kind]))) for kind in newest}


def follow_event(day: Day, key: str, event: Event, *, until: datetime) -> Duty:
    """The user wants all people concerned to know an event's final state, and the bookings to match it.

    Args:
        event: the event. No other duty writes to its people.
        until: the deadline for all messages; turns begin between ``event.settled`` and then.
    """
    topic, first = event.topic, event.statements["place"][0][1]
    title, start = f"{topic.en[:1].upper()}{topic.en[1:]}", day.instant(event.statements["time"][0][1])
    entry = day.entry(f"{key}-entry", title, start, LENGTH // timedelta(minutes=1))
    records = _records(day, key, event)
    facts = [fact for record in records for fact in record.facts]
    right = event.state(facts)
    assert right is not None

    def act(name: str, to: Person, *values: Value) -> Act:
        return tell(f"{key}.{name}", event.settled, until, to, values, topic.en, f"{key}.{name}")

    def make_acts(state: Mapping[str, Value]) -> list[Act]:
        place, time, count = state["place"], state["time"], state["count"]
        begin = day.instant(time)
        fields = {"event_id": entry.id, "start": begin.isoformat(), "end": (begin + LENGTH).isoformat()}
        acts = [Act(f"{key}.entry", "calendar.update", event.settled, until, (f"{key}.entry",), fields=fields)]
        acts += [act(f"guest-{n}", guest, time, place) for n, guest in enumerate(event.guests)]
        acts += [act("caterer", event.caterer, time, count), act("hall", event.halls[place.value].person, time, count)]
        if place != first:
            acts.append(act("cancelled", event.halls[first.value].person, event.booking))
        return acts

    acts = make_acts(right)
    readers = {right["place"].value, first.value}
    spared = [
        person
        for place, office in event.halls.items()
        for person in (*office.others, *([] if place in readers else [office.person]))
    ]
    misread = [
        exchanged(name, make_acts(state), *_find_losses(event, key, right, state, has_spared=bool(spared)))
        for name, state in _mistakes(event, right).items()
    ]
    lapses = [forgotten(*acts), *misread, *_slips(day, key, acts, until)]
    if former := event.halls[right["place"].value].others:
        hall = next(candidate for candidate in acts if candidate.id == f"{key}.hall")
        wrong, name = hall.changed("", to=former[-1]).change(acts), "writes to who rented it out before"
        lapses.append(exchanged(name, wrong, {hall.id, f"{key}.spared"}, ["sent"]))
        misread.append(lapses[-1])

    def answer(state: Mapping[str, Value], facts: Sequence[Fact]) -> str:
        place = state["place"].value
        codes = latest(facts, "value", event.booked.en) if place != first.value else {"-"}
        return "/".join([*(state[kind].value for kind in _THINGS), event.halls[place].solve(facts), *codes])

    def solve(known: Sequence[Fact]) -> frozenset[str]:
        state = event.state(known)
        return frozenset({answer(state, known)}) if state else frozenset()

    slots = {"topic": topic.en, "host": event.host.name, "caterer": event.caterer.name, "first": first}
    slots |= {"settled": event.settled, "guests": listed([guest.name for guest in event.guests])}
    states, renting = _all_states(event), [event.halls[place].person for place in sorted(readers)]
    duty = Duty(
        key=key,
        title=f"Let all whom {topic.en} concerns know its final state, and book for it",
        dimension="accuracy",
        brief=_SAY["brief"][0].format(start=start, title=title, until=until, **slots),
        checks=_checks(day, key, event, right, entry, spared, until),
        explains=[
            Write(actions=("calendar.update",), ids=(entry.id,), to=(day.user.email,)),
            *to_write_to(*event.guests, event.caterer, *renting, event.host, about=records),
        ],
        acts=acts,
        solve=solve,
        answers=frozenset({answer(right, facts)}),
        records=[entry, *records],
        lapses=lapses,
        points=[("forgotten",), ("guest not informed", "wrong person"), *((lapse.name,) for lapse in misread)],
        candidates=tuple(answer(state, facts) for state in states),
        enact=lambda chosen: make_acts(next(state for state in states if answer(state, facts) == chosen)),
        people=(*event.guests, event.caterer, event.host, *(office.person for office in event.halls.values())),
        knows={event.host.key: f"You are in charge of {topic.en}. It is settled, and you have written all that holds."},
    )
    return day.add(duty)


def _mistakes(event: Event, right: Mapping[str, Value]) -> dict[str, dict[str, Value]]:
    """Wrong states, each by its mistake: the missed change, or the rumour or late change that was believed."""
    mistakes = {}
    for kind, statements in event.statements.items():
        in_time = [value for at, value in statements if at <= event.settled]
        if len(in_time) > 1:
            mistakes[f"misses the last change of the {kind}"] = in_time[-2]
        mistakes |= {f"takes the late change of the {kind}": value for at, value in statements if at > event.settled}
        mistakes |= {f"believes a rumour about the {kind}": value for *_, value in event.heard.get(kind, ())}
        if len(in_time) > 2:
            mistakes[f"keeps the first {kind}"] = in_time[0]
    kinds = {value: kind for kind, statements in event.statements.items() for _, value in statements}
    kinds |= {value: kind for kind, heard in event.heard.items() for *_, value in heard}
    return {name: {**right, kinds[value]: value} for name, value in mistakes.items() if value not in right.values()}


def _all_states(event: Event) -> list[dict[str, Value]]:
    values = [values_of(event.statements[kind], event.heard.get(kind, ())) for kind in _THINGS]
    return [dict(zip(_THINGS, state, strict=True)) for state in product(*values)]


def _find_losses(
    event: Event, key: str, right: Mapping[str, Value], state: Mapping[str, Value], *, has_spared: bool
) -> tuple[frozenset[str], list[str]]:
    """The checks that a wrong state loses, and the damage that it does."""
    lost, damage, first = set[str](), list[str](), event.statements["place"][0][1]
    guests = {f"{key}.guest-{n}" for n in range(len(event.guests))}
    if state["time"] != right["time"]:
        lost |= {f"{key}.entry", *guests, f"{key}.caterer", f"{key}.hall"}
    if state["count"] != right["count"]:
        lost |= {f"{key}.caterer", f"{key}.hall"}
    if state["place"] != right["place"]:
        lost |= {*guests, f"{key}.hall"}
        if state["place"] == first:
            lost.add(f"{key}.cancelled")
        else:
            lost |= {f"{key}.spared"} if has_spared else set()
            damage = ["sent"]
    return frozenset(lost), damage


def _slips(day: Day, key: str, acts: Sequence[Act], until: datetime) -> list[Lapse]:
    """The lapses that don't concern the event's state."""
    guest, hall = (next(act for act in acts if act.id == f"{key}.{name}") for name in ("guest-0", "hall"))
    after = next(start for start in day.starts if start > until)
    return [
        guest.instead(name="guest not informed"),
        hall.instead(name="hall not booked"),
        guest.wrong_person(day.stranger),
        guest.late(after),
        hall.late(after, name="books too late"),
        *(act.instead(name="leaves the old booking") for act in acts if act.id == f"{key}.cancelled"),
    ]


def _checks(
    day: Day,
    key: str,
    event: Event,
    right: Mapping[str, Value],
    entry: Record,
    spared: Sequence[Person],
    until: datetime,
) -> list[Check]:
    place, time, count = right["place"], right["time"], right["count"]
    others = {
        kind: [value for state in _all_states(event) for value in [state[kind]] if value != right[kind]]
        for kind in right
    }
    topic, first, due = event.topic.en, event.statements["place"][0][1], f"{until:%H:%M}"

    def notice_check(name: str, sentence: str, to: Person, *kinds: str) -> Check:
        wrong = dict.fromkeys(value for kind in kinds for value in others[kind])
        values = [right[kind] for kind in kinds]
        return message_check(f"{key}.{name}", 3, sentence, to, values, wrong, before=until)

    entry_id, sentence, minutes = f"{key}.entry", f"{entry.title!r} begins at {time}", LENGTH // timedelta(minutes=1)
    checks: list[Check] = [entry_check(entry_id, 3, sentence, entry.id, day.instant(time), minutes)]
    for n, guest in enumerate(event.guests):
        sentence = f"{guest.name} knows by {due} when and where {topic} is"
        checks.append(notice_check(f"guest-{n}", sentence, guest, "time", "place"))
    hall, caterer = event.halls[place.value].person, event.caterer
    sentence = f"{caterer.name} knows time and number of guests by {due}"
    checks.append(notice_check("caterer", sentence, caterer, "time", "count"))
    sentence = f"{hall.name} knows by {due} for when and for how many {place} is booked"
    checks.append(notice_check("hall", sentence, hall, "time", "count"))
    if place != first:
        former = event.halls[first.value].person
        sentence = f"{former.name} knows by {due} that booking {event.booking} is cancelled"
        value = [event.booking]
        checks.append(
            message_check(f"{key}.cancelled", 2, sentence, former, value, before=until, gated=True, mentioned=True)
        )
    if spared:
        sentence = f"those who rent out other places were not written to about {topic}"
        checks.append(silence_check(f"{key}.spared", 2, sentence, spared, [time, count]))
    return checks


def _records(day: Day, key: str, event: Event) -> list[Record]:
    """The records: the host's statements, rumours, the offices that rent out the places, and the booking's number."""
    records = []
    for kind, statements in event.statements.items():
        thing = event.thing(kind)
        for number, (at, value) in enumerate(statements):
            name = f"{key}-{kind}-{number}"
            slots = {"thing": thing.by(event.host), "new" if number else "value": shown(day, name, event.host, value)}
            if number:
                slots["old"] = shown(day, f"{name}-old", event.host, statements[number - 1][1])
            act = "announce_change" if number else "state_fact"
            record = mail_saying(day, name, at, event.host, act, **slots)
            records.append(record.with_facts(Fact("value", thing.en, value.value)))
        records += [
            hear(day, f"{key}-{kind}-heard-{number}", at, who, thing, value, event.host)
            for number, (at, who, value) in enumerate(event.heard.get(kind, ()))
        ]
    for number, office in enumerate(event.halls.values()):
        records += office.records(day, f"{key}-hall-{number}")
    name, who = f"{key}-booking", event.halls[event.statements["place"][0][1].value].person
    slots = {"thing": event.booked.by(who), "value": event.booking.value}
    record = mail_saying(day, name, day.ago(name, days=(1, 1)), who, "state_fact", **slots)
    return [*records, record.with_facts(Fact("value", event.booked.en, event.booking.value))]
