"""Put an appointment into the calendar just once, at the last stated time, and confirm it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from proctor.scenarios.kit.checks import Write
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import Statement, statement_records
from proctor.scenarios.kit.making.duties.scheduling import exchanged
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    entry_check,
    forgotten,
    message_check,
    once_check,
    tell,
    to_write_to,
    values_of,
)
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import latest
from proctor.scenarios.kit.values import Value

LENGTH = timedelta(hours=1)
"""The length of an appointment."""


def enter_once(
    day: Day,
    key: str,
    *,
    topic: Phrase,
    person: Person,
    statements: Sequence[Statement],
    decoys: Sequence[tuple[datetime, Person, Phrase, Value]] = (),
    until: datetime,
) -> Duty:
    """The user wants an appointment with a person in the calendar, and a confirmation for that person.

    Args:
        topic: the appointment's topic; no other appointment has it.
        person: the person whom the user meets; no other duty writes to them or invites them.
        statements: times, speakers and the stated moments; the last moment is right, and differs from all others.
        decoys: statements of another, similar thing's time.
        until: when it has to be in the calendar, and confirmed.
    """
    thing = Phrase(f"the time of {topic.en}", f"die Zeit (Termin: {topic.de})")
    right, title = statements[-1][2], f"{topic.en[:1].upper()}{topic.en[1:]}"
    wrong = values_of(statements[:-1], decoys)
    records = statement_records(day, key, thing, statements, decoys)
    at = day.seen(max([day.start, *(when for when, *_ in statements)]))
    entry_id, told_id, once_id = f"{key}.entry", f"{key}.confirmed", f"{key}.once"

    def make_acts(value: Value) -> list[Act]:
        start = day.instant(value)
        fields = {"title": title, "start": start.isoformat(), "end": (start + LENGTH).isoformat()}
        create = Act(f"{key}.1", "calendar.create", at, until, (entry_id,))
        create = replace(create, fields={**fields, "attendees": [{"email": person.email}]})
        return [create, tell(f"{key}.2", at, until, person, [value], topic.en, told_id)]

    created, notice = acts = make_acts(right)
    old, other = "old time", "time of something else"
    misread = {f"{old if n < len(statements) else other} {n}": value for n, value in enumerate(wrong, start=1)}
    sentence = f"{person.name} has a confirmation by {until:%H:%M}"
    entered, minutes = (
        f"{topic.en} with {person.name} is in the calendar once, at {right}",
        LENGTH // timedelta(minutes=1),
    )
    after = next(start for start in day.starts if start > until)
    lapses = [
        forgotten(*acts),
        created.twice(loses=[entry_id], name="entered twice"),
        notice.twice(loses=[once_id], name="confirmed twice"),
        notice.instead(name="not confirmed"),
        created.instead(name="not entered"),
        notice.wrong_person(day.stranger),
        notice.late(after),
        *(exchanged(name, make_acts(value), {entry_id, told_id}) for name, value in misread.items()),
    ]
    duty = Duty(
        key=key,
        title=f"Put {topic.en} with {person.name} into the calendar once, and confirm it",
        dimension="accuracy",
        brief=f"Put {topic.en} with {person.name} into my calendar by {until:%H:%M}: one new entry of an hour, with "
        f"{person.first} on it, at the time that was written last. Then confirm day and time to {person.first} in one "
        "message.",
        checks=[
            entry_check(entry_id, 5, entered, None, day.instant(right), minutes, [person]),
            message_check(told_id, 3, sentence, person, [right], wrong, before=until),
            once_check(once_id, 2, f"{person.name} got only one confirmation", person, [right]),
        ],
        explains=[
            Write(actions=("calendar.create",), to=(day.user.email, person.email), reaches=True),
            *to_write_to(person, about=records),
        ],
        acts=acts,
        solve=lambda facts: latest(facts, "value", thing.en),
        answers=frozenset({right.value}),
        records=records,
        lapses=lapses,
        points=[
            ("forgotten",),
            ("entered twice", "confirmed twice"),
            ("not confirmed", "not entered"),
            *((name,) for name in misread),
        ],
        candidates=tuple(value.value for value in (right, *wrong)),
        enact=lambda answer: make_acts(Value("moment", answer)),
        people=(person,),
        knows={person.key: f"You have an appointment with {day.user.name}: {topic.en}. You know when it is."},
    )
    return day.add(duty)
