"""Decline and confirm invitations, and tell the organizer a value that they need."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from proctor.scenarios.kit.checks import ResponseCheck, Write
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import Act, Duty, forgotten, message_check, tell, to_write_to, values_of
from proctor.scenarios.kit.making.forms import phrases
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact, Record, latest
from proctor.scenarios.kit.making.texts import mail_saying, shown
from proctor.scenarios.kit.values import Value

Statement = tuple[datetime, Person, Value]
"""A time, a speaker, and the value that they stated."""


def named(person: Person) -> Value:
    """A person as a value: the full name, or the first name alone."""
    return Value("words", f"{person.name}|{person.first}")


def send_deputy(
    day: Day, key: str, *, topic: Phrase, other: Phrase, changes: int, turn: int | None, **how: object
) -> Duty:
    """Decline a client's invitation, and tell the organizer which colleague comes instead.

    Args:
        topic: the invitation's topic.
        other: the topic of a similar invitation, for which a person was named as well.
        changes: how often a colleague said who comes.
        turn: the turn before which the last statement comes; None for before the day.
        how: ``start``, ``until`` and ``reason`` of ``answer_invitation``.
    """
    deputies = [named(day.cast(f"{key}-deputy-{n}", "colleague")) for n in range(changes + 1)]
    teller = day.cast(f"{key}-teller", "colleague")
    return answer_invitation(
        day,
        key,
        topic=topic,
        response="declined",
        thing=_name_deputy(topic),
        organizer=day.cast(f"{key}-organizer", "client"),
        statements=draw_statements(day, key, teller, deputies[:-1], turn=turn),
        decoys=[(day.ago(f"{key}-decoy"), teller, _name_deputy(other), deputies[-1])],
        **how,  # type: ignore[arg-type]
    )


def _name_deputy(topic: Phrase) -> Phrase:
    return Phrase(f"your stand-in at {topic.en}", f"die Vertretung (Termin: {topic.de})")


def confirm(day: Day, key: str, *, topic: Phrase, **how: object) -> Duty:
    """Accept an invitation and tell the organizer how many come; arguments as in ``answer_invitation``."""
    thing = Phrase(
        f"the number of people from our side at {topic.en}", f"die Zahl der Teilnehmenden (Termin: {topic.de})"
    )
    return answer_invitation(day, key, topic=topic, response="accepted", thing=thing, **how)  # type: ignore[arg-type]


def answer_invitation(
    day: Day,
    key: str,
    *,
    topic: Phrase,
    response: str,
    thing: Phrase,
    organizer: Person,
    start: datetime,
    statements: Sequence[Statement],
    decoys: Sequence[tuple[datetime, Person, Phrase, Value]] = (),
    until: datetime,
    reason: str = "",
) -> Duty:
    """Accept or decline an open invitation, and tell its organizer a value from the day's messages.

    Args:
        topic: the invitation's topic.
        thing: the value that the organizer needs, as its authors name it.
        response: ``accepted`` or ``declined``.
        organizer: the host; no other duty writes to them.
        start: the start of the event.
        statements: times, speakers and values; the last value is right, and differs from all others.
        decoys: statements of another, similar thing's value.
        until: the deadline of the message to the organizer.
        reason: the reason, a clause of the brief.
    """
    right, stale, other = statements[-1][2], values_of(statements[:-1]), values_of(decoys)
    records = statement_records(day, key, thing, statements, decoys)
    title = topic.by(organizer)
    entry = day.invitation(f"{key}-entry", f"{title[:1].upper()}{title[1:]}", start, organizer)
    answer_id, notice_id = f"{key}.response", f"{key}.told"
    at = day.seen(max([day.start, *(when for when, *_ in statements)]))
    fields = {"event_id": entry.id, "response": response}
    answer = Act(f"{key}.1", "calendar.respond", at, day.starts[-1], (answer_id,), fields=fields)
    notice = tell(f"{key}.2", at, until, organizer, [right], topic.en, notice_id)
    opposite = "declined" if response == "accepted" else "accepted"
    lapses = [
        forgotten(answer, notice),
        answer.changed("answered the opposite", fields={"event_id": entry.id, "response": opposite}),
        notice.instead(name="organizer not informed"),
        notice.wrong_person(day.stranger),
        *notice.too_late(day.starts, until),
        *notice.wrong_values("stale value", stale),
        *notice.wrong_values("value of something else", other),
    ]
    mistaken = [(lapse.name,) for lapse in lapses if "value" in lapse.name]
    word = "Accept" if response == "accepted" else "Decline"
    what = "how many come from our side" if response == "accepted" else "who comes in my place"
    duty = Duty(
        key=key,
        title=f"{word} {topic.en}, and tell {organizer.name} {what}",
        dimension="instruction_following",
        brief=f"{word} the invitation {entry.title!r} ({start:%a %d %b %H:%M}{reason}), and write to "
        f"{organizer.name} by {until:%H:%M} {what}; what I last heard about that counts.",
        checks=[
            message_check(notice_id, 6, f"{organizer.name} knows {what} by {until:%H:%M}", organizer, [right],
                 dict.fromkeys([*stale, *other]), before=until),
            ResponseCheck(id=answer_id, points=3, sentence=f"the answer to {entry.title!r} is {response}", gated=True,
                          event_id=entry.id, email=day.user.email, responses=(response,)),
        ],
        explains=[Write(actions=("calendar.respond",), ids=(entry.id,)),
                  *to_write_to(organizer, about=records)],
        acts=[answer, notice],
        solve=lambda facts: latest(facts, "value", thing.en),
        answers=frozenset({right.value.split("|")[0]}),
        records=[entry, *records],
        lapses=lapses,
        points=[("forgotten",), *mistaken],
        candidates=tuple(dict.fromkeys(value.value.split("|")[0] for value in (right, *stale, *other))),
        enact=lambda found: [answer, replace(notice, values=(Value(right.kind, found),))],
        people=(organizer,),
        knows={organizer.key: f"You have invited to {topic.en} and want to know {what}."},
    )  # fmt: skip
    return day.add(duty)


def statement_records(
    day: Day,
    key: str,
    thing: Phrase,
    statements: Sequence[Statement],
    decoys: Sequence[tuple[datetime, Person, Phrase, Value]] = (),
) -> list[Record]:
    """The messages with the value, its corrections, and values of other things."""
    records = []
    for number, (at, who, value) in enumerate(statements):
        name = f"{key}-said-{number}"
        slots = {"thing": thing.by(who), "value": shown(day, name, who, _full(value))}
        if number:
            slots["old"] = shown(day, name, who, _full(statements[number - 1][2]))
        record = mail_saying(day, name, at, who, "correct_fact" if number else "state_fact", **slots)
        records.append(record.with_facts(Fact("value", thing.en, _full(value).value)))
    for number, (at, who, other, value) in enumerate(decoys):
        name = f"{key}-decoy-{number}"
        slots = {"thing": other.by(who), "value": shown(day, name, who, _full(value))}
        records.append(mail_saying(day, name, at, who, "state_fact", **slots))
    return records


def _full(value: Value) -> Value:
    return Value(value.kind, value.value.split("|")[0])


def draw_statements(
    day: Day, key: str, who: Person, values: Sequence[Value], *, turn: int | None = None
) -> list[Statement]:
    """A person's statements before the day, in order, a day or more apart; the last may come shortly before a turn."""
    count = len(values)
    times = [day.ago(f"{key}-time-{place}", days=(count - place, count - place)) for place in range(count)]
    if turn is not None:
        times[-1] = day.before(turn, key, "last")
    return [(at, who, value) for at, value in zip(times, values, strict=True)]


EVENTS = phrases(__file__, "events")
"""Events to which several people are invited."""

HEADCOUNTS = tuple(number for number in range(32, 90) if number != 45)
"""Numbers of people that are neither days nor minutes."""
