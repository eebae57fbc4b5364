"""Pass on a value to the person in charge, whom the participant has to find out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import Statement, statement_records
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    forgotten,
    message_check,
    silence_check,
    tell,
    to_write_to,
    values_of,
)
from proctor.scenarios.kit.making.forms import phrases
from proctor.scenarios.kit.making.people import Person, Phrase, Relation
from proctor.scenarios.kit.making.records import Fact, Record, latest
from proctor.scenarios.kit.making.texts import mail_saying
from proctor.scenarios.kit.making.wording import show
from proctor.scenarios.kit.values import Value


@dataclass(frozen=True)
class Office:
    """An office with its successive holders.

    Attributes:
        task: the holder's task, an infinitive clause: ``look after the parking spaces``.
        holders: all holders, in order, each with the time of the note about them.
        deputy: the person who replaces the last holder, who is away, with the time of the note.
        head: the author of the first note.
    """

    task: Phrase
    holders: tuple[tuple[datetime, Person], ...]
    head: Person
    deputy: tuple[datetime, Person] | None = None

    @property
    def person(self) -> Person:
        """The person in charge now."""
        return self.deputy[1] if self.deputy else self.holders[-1][1]

    @property
    def others(self) -> tuple[Person, ...]:
        """Former holders, and the holder who is away."""
        holders = tuple(person for _, person in self.holders)
        return holders if self.deputy else holders[:-1]

    @property
    def latest(self) -> datetime:
        """The time of the last note."""
        return max(at for at, _ in (*self.holders, *([self.deputy] if self.deputy else [])))

    def records(self, day: Day, key: str) -> list[Record]:
        """The notes."""
        made = []
        for number, (at, who) in enumerate(self.holders):
            author = self.holders[number - 1][1] if number else self.head
            slots = {"task": self.task.by(author), "who": who.name}
            note = mail_saying(day, f"{key}-note-{number}", at, author, "hand_over", **slots)
            made.append(note.with_facts(Fact("charge", self.task.en, who.name)))
        if self.deputy:
            at, who = self.deputy
            away = self.holders[-1][1]
            back = show(Value("day", (day.clock(9, day=12)).date().isoformat()), 5 if away.language == "de" else 4)
            note = mail_saying(day, f"{key}-away", at, away, "out_of_office", until=back, deputy=who.name)
            made.append(note.with_facts(Fact("deputy", away.name, who.name)))
        return made

    def solve(self, facts: Iterable[Fact]) -> str:
        """The name of the person in charge by the facts; empty if the facts don't say it."""
        facts = list(facts)
        found = latest(facts, "charge", self.task.en)
        if len(found) != 1:
            return ""
        (holder,) = found
        deputies = latest(facts, "deputy", holder)
        return next(iter(deputies)) if len(deputies) == 1 else holder

    def solve_with(self, facts: Sequence[Fact], *things: str) -> frozenset[str]:
        """The person and the last values of things, if the facts say them: ``Ada Long/4711``."""
        known = product(*(latest(facts, "value", thing) for thing in things))
        return frozenset("/".join([person, *values]) for values in known if (person := self.solve(facts)))


def pass_on(
    day: Day,
    key: str,
    *,
    source: Person,
    thing: Phrase,
    statements: Sequence[Statement],
    office: Office,
    asked: datetime,
    until: datetime,
    rival: Office | None = None,
    own_records: Sequence[Record] | None = None,
) -> Duty:
    """A person asks to pass a value on to the person in charge.

    Args:
        source: the person who asks by mail.
        thing: the value's name; no other thing of the day has it.
        statements: times, speakers and values; the last value is right, and differs from all others.
        office: the office in charge of the thing's subject; no other duty writes to its people.
        asked, until: when the request comes, and when it is due.
        rival: a similar office, whose holder must not get it.
        own_records: the caller's records of the value, with facts of kind ``value`` about the thing; then the old
            values may be mentioned. By default, the records are made here.
    """
    right, reader = statements[-1][2], office.person
    wrong = values_of(statements[:-1])
    slots = {"thing": thing.by(source), "who": _whoever(office.task, source)}
    request = mail_saying(day, f"{key}-request", asked, source, "ask_pass_on", **slots)
    records = list(statement_records(day, key, thing, statements) if own_records is None else own_records)
    records += office.records(day, key)
    records += rival.records(day, f"{key}-rival") if rival else []
    mistaken = (*office.others, *([rival.person] if rival else []))
    at = day.seen(max(asked, office.latest, *(when for when, *_ in statements)))
    sentence, barred = f"{reader.name} got {thing.en} by {until:%H:%M}", wrong if own_records is None else ()
    check = message_check(f"{key}.told", 7, sentence, reader, [right], barred, before=until)
    act = tell(f"{key}.1", at, until, reader, [right], thing.en, check.id)
    sentence = f"{' and '.join(person.name for person in mistaken)} did not get it"
    kept = silence_check(f"{key}.nobody-else", 2, sentence, mistaken, [right])
    lost = [check.id, kept.id]
    lapses = [
        forgotten(act),
        *(act.changed(f"sent to {who.first}", to=who, loses=lost, damage=["sent"]) for who in mistaken),
        act.wrong_person(day.stranger),
        *act.too_late(day.starts, until),
        *act.wrong_values("wrong value", wrong),
    ]
    people = {person.name: person for person in (reader, *mistaken)}

    def enact(answer: str) -> list[Act]:
        name, _, value = answer.partition("/")
        return [replace(act, to=people[name], values=(Value(right.kind, value),))]

    duty = Duty(
        key=key,
        title=f"Pass on {thing.en} to the one who has to {office.task.en}",
        dimension="accuracy",
        checks=[check, *([kept] if mistaken else [])],
        explains=to_write_to(reader, source, about=(*records, request)),
        acts=[act],
        solve=lambda facts: office.solve_with(facts, thing.en),
        answers=frozenset({f"{reader.name}/{right.value}"}),
        records=[*records, request],
        lapses=lapses,
        points=[("forgotten",), *Duty.each_named(lapses, "sent to", "wrong value")],
        candidates=tuple(f"{name}/{value.value}" for name in people for value in (right, *wrong)),
        enact=enact,
        people=(reader, source),
        knows={source.key: f"You want {thing.en} to be passed on.", reader.key: f"You {office.task.en}."},
    )
    return day.add(duty)


def _whoever(task: Phrase, author: Person) -> str:
    if author.language == "de":
        return f"die Person mit der Aufgabe „{task.de}“"
    return f"the person whose job it is to {task.en}"


TASKS = phrases(__file__, "tasks")
"""Tasks that people are in charge of."""


def draw_office(
    day: Day,
    key: str,
    task: Phrase,
    *,
    holders: int,
    away: bool = False,
    last: datetime | None = None,
    relation: Relation = "colleague",
) -> Office:
    """An office that was handed on ``holders`` - 1 times; the last note comes at ``last``, or before the day."""
    times = sorted(day.ago(f"{key}-holder-{number}", days=(2, 8)) for number in range(holders))
    if last is not None and not away:
        times[-1] = last
    people = [day.cast(f"{key}-holder-{number}", relation) for number in range(holders)]
    since = last or day.ago(f"{key}-away", days=(1, 1))
    deputy = (since, day.cast(f"{key}-deputy", relation)) if away else None
    head = day.cast(f"{key}-head", relation)
    return Office(task, tuple(zip(times, people, strict=True)), head, deputy)
