"""Find out who owes what, and by when, after promises were moved, handed on and taken back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import named
from proctor.scenarios.kit.making.duty import Act, Duty, forgotten, message_check, tell, to_write_to
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.records import Fact, Record
from proctor.scenarios.kit.making.texts import mail_saying, message_saying, shown, text_saying
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

Step = Literal["promise", "move", "hand", "back", "release", "maybe"]
"""Steps of a promise: it is made, gets another day, is handed to another person, is taken back by its maker, or is
released by the user. With ``maybe`` a person only thinks about it."""


@dataclass(frozen=True)
class Pledge:
    """A thing that a person promised to the user.

    Attributes:
        thing: its name without an article; no other thing of the day has it.
        steps: its steps, in order.
        holders: the person who promised it, and those who took it over, in order; the last one has it.
        dues: the named days, in order; the last one holds.
        records: the messages.
    """

    thing: str
    steps: tuple[Step, ...]
    holders: tuple[Person, ...]
    dues: tuple[Value, ...]
    records: tuple[Record, ...]

    @property
    def is_owed(self) -> bool:
        """Whether its last holder still owes it."""
        return self.steps[-1] in ("promise", "move", "hand")

    def is_owed_by(self, person: Person) -> bool:
        """Whether this person still owes it."""
        return self.is_owed and self.holders[-1] == person

    @property
    def word(self) -> Value:
        """Its name as a value."""
        return Value("words", self.thing)


def draw_pledge(
    day: Day, name: str, thing: str, steps: Sequence[Step], people: Sequence[Person], *, last: datetime | None = None
) -> Pledge:
    """A promise with its steps.

    Args:
        name: the pledge's name in draws.
        thing: its name without an article.
        steps: its steps.
        people: the person who promised it, and one more for each ``hand``, who took it over.
        last: when the last step comes; before the day by default.
    """
    draws = day.draws.of("pledge", name)
    span = 27 if day.world.size != "S" else 9
    width = span // len(steps)
    ends = [width * (len(steps) - n) for n in range(len(steps))]
    times = [day.ago(f"{name}-{n}", days=(end - width + 1, end)) for n, end in enumerate(ends)]
    times = [*times[:-1], last] if last else times
    # "Friday 4 May" names a weekday as well, so no old day may be within a week.
    offsets = draws.some([n for n in range(8, 30) if day.clock(9, day=n).weekday() < 5], len(steps), "dues")
    holders, dues, records = [people[0]], list[Value](), list[Record]()
    for n, (step, at) in enumerate(zip(steps, times, strict=True)):
        holder, old = holders[-1], dues[-1] if dues else None
        if step in ("promise", "move"):
            dues.append(Value("day", (day.start.date() + timedelta(days=offsets[n])).isoformat()))
        if step == "hand":
            holders.append(people[len(holders)])
        due = dues[-1] if dues else None
        records.append(_statement(day, f"{name}-{n}", step, at, thing, holder, holders[-1], due, old))
    return Pledge(thing, tuple(steps), tuple(holders), tuple(dues), tuple(records))


def _statement(
    day: Day,
    name: str,
    step: Step,
    at: datetime,
    thing: str,
    author: Person,
    holder: Person,
    due: Value | None,
    old: Value | None,
) -> Record:
    """The message of one step; ``author`` had the promise before it, ``holder`` has it after it."""
    draws = day.draws.of("pledge text", name)
    when, before = (shown(day, f"{name}-{n}", author, value) if value else "" for n, value in enumerate((due, old)))
    slots = {"thing": thing, "who": holder.name, "when": when, "old": before}
    if step == "promise":
        say = text_saying if author.phone and draws.chance(0.35, "by text") else mail_saying
        made = say(day, name, at, author, "promise", thing=f"the {thing}", when=when)
    elif step == "release":
        slots["you"], body = author.first, draws.pick(_SAY["released"], "form")
        made = day.letter(name, at, day.user, "The {thing}", body, slots, readers=[author])
    else:
        forms = _SAY[f"steps.{step}"]
        if step == "move" and due and old:
            forms += _SAY[f"steps.{'later' if due.value > old.value else 'sooner'}"]
        titles = ("The {thing}", "About the {thing}", "A word on the {thing}", "{thing}")
        made = message_saying(day, name, at, author, draws, forms, titles, by_text=0.35, **slots)
    if step == "maybe":
        return made
    if step in ("back", "release"):
        return made.with_facts(Fact("back", thing, thing))
    assert due is not None
    return made.with_facts(Fact("promise", thing, f"{holder.name}/{due.value}"))


def _holding(facts: Iterable[Fact], thing: str) -> str:
    """The last written debtor and day of a thing: ``Ada Long/2027-05-03``; empty if no one owes it."""
    statements = [fact for fact in facts if fact.about == thing and fact.kind in ("promise", "back") and fact.at]
    last = max(statements, key=lambda fact: fact.at or datetime.max, default=None)
    return last.value if last and last.kind == "promise" else ""


def tell_promise(day: Day, key: str, *, asker: Person, pledge: Pledge, asked: datetime, until: datetime) -> Duty:
    """A person asks who delivers a thing, and by when.

    Args:
        asker: the person who asks by mail, not a holder of the pledge.
        pledge: a promise that still holds.
        asked, until: when the question comes, and when the answer is due.
    """
    holder, due = pledge.holders[-1], pledge.dues[-1]
    thing = f"the day for the {pledge.thing}, and who delivers it"
    question = mail_saying(day, f"{key}-question", asked, asker, "ask_fact", thing=thing)
    former = [named(person) for person in dict.fromkeys(pledge.holders[:-1]) if person != holder]
    right, wrong = [named(holder), due], [*former, *pledge.dues[:-1]]
    sentence = f"{asker.name} knows who delivers the {pledge.thing}, and by when"
    check = message_check(f"{key}.told", 7, sentence, asker, right, wrong, before=until)
    begin = day.seen(max(asked, *(record.at for record in pledge.records)))
    act = replace(tell(f"{key}.1", begin, until, asker, right, f"the {pledge.thing}", check.id), reply_to=question.id)
    lapses = [
        forgotten(act),
        act.wrong_person(day.stranger),
        *act.each_instead("old day", (replace(act, values=(named(holder), old)) for old in pledge.dues[:-1])),
        *act.each_instead("former holder", (replace(act, values=(person, due)) for person in former)),
        act.wrong_value(named(holder), name="without the day"),
        *act.too_late(day.starts, until),
    ]
    people = {person.name: person for person in pledge.holders}

    def enact(answer: str) -> list[Act]:
        name, _, when = answer.partition("/")
        return [replace(act, values=(named(people[name]), Value("day", when)))]

    duty = Duty(
        key=key,
        title=f"Tell {asker.name} who delivers the {pledge.thing}, and by when",
        dimension="accuracy",
        checks=[check],
        explains=to_write_to(asker, about=(question, *pledge.records)),
        acts=[act],
        solve=lambda facts: frozenset({_holding(facts, pledge.thing)} - {""}),
        answers=frozenset({f"{holder.name}/{due.value}"}),
        records=[question, *pledge.records],
        lapses=lapses,
        points=[("forgotten", "wrong person"), *Duty.each_named(lapses, "old day", "former holder")],
        candidates=tuple(f"{name}/{value.value}" for name in people for value in dict.fromkeys(pledge.dues)),
        enact=enact,
        people=(asker, *dict.fromkeys(pledge.holders)),
        asked={asker.key: ("day",)},
        knows={asker.key: f"You want to know who delivers the {pledge.thing}, and by when."},
    )
    return day.add(duty)


def tell_owed(
    day: Day,
    key: str,
    *,
    person: Person,
    reader: Person,
    pledges: Sequence[Pledge],
    until: datetime,
) -> Duty:
    """The user wants a reader to know how many things a person still owes, and which.

    Args:
        person: the person who owes some of the pledges' things.
        reader: the person who gets the number and the list.
        pledges: all promises in question, other people's included.
        until: when the reader has to know it.
    """
    owed = [pledge for pledge in pledges if pledge.is_owed_by(person)]
    other = [pledge for pledge in pledges if not pledge.is_owed_by(person)]
    records = [record for pledge in pledges for record in pledge.records]
    sentence = f"{reader.name} knows how many things {person.name} owes"
    count = message_check(f"{key}.count", 3, sentence, reader, [Value("number", str(len(owed)))], before=until)
    right, wrong = ([pledge.word for pledge in group] for group in (owed, other))
    sentence = f"{reader.name} knows just the things that {person.name} owes"
    things = message_check(f"{key}.things", 6, sentence, reader, right, wrong, before=until)
    begin = day.seen(max(day.start, *(record.at for record in records)))

    def telling(found: Sequence[Pledge]) -> Act:
        values = [Value("number", str(len(found))), *(pledge.word for pledge in found)]
        return tell(f"{key}.1", begin, until, reader, values, person.name, count.id, things.id)

    act = telling(owed)
    fewer, more = (
        [[pledge for pledge in owed if pledge is not one] for one in owed],
        [[*owed, pledge] for pledge in other],
    )
    lapses = [
        forgotten(act),
        act.wrong_person(day.stranger),
        *(act.each_instead("misses thing", map(telling, fewer)) if len(owed) > 1 else []),
        *act.each_instead("counts other thing", map(telling, more)),
        *act.too_late(day.starts, until),
    ]
    by_thing = {pledge.thing: pledge for pledge in pledges}
    duty = Duty(
        key=key,
        title=f"Tell {reader.name} how many things {person.name} owes, and which",
        dimension="accuracy",
        brief=f"Tell {reader.name} by {until:%H:%M} how many things {person.name} still owes me (in digits), and which ones.",
        checks=[count, things],
        explains=to_write_to(reader, about=records),
        acts=[act],
        solve=lambda facts: frozenset(
            {_join_things(thing for thing in by_thing if _holding(facts, thing).partition("/")[0] == person.name)}
            - {""}
        ),
        answers=frozenset({_join_things(pledge.thing for pledge in owed)}),
        records=records,
        lapses=lapses,
        points=[("forgotten", "wrong person"), *Duty.each_named(lapses, "misses", "counts")],
        candidates=tuple(
            dict.fromkeys(_join_things(pledge.thing for pledge in group) for group in (owed, *more, *fewer) if group)
        ),
        enact=lambda answer: [telling([by_thing[thing] for thing in answer.split("/")])],
        people=(reader, person),
        knows={reader.key: f"You wait to hear what {person.name} still owes."},
    )
    return day.add(duty, claimed=act)


def _join_things(things: Iterable[str]) -> str:
    return "/".join(sorted(things))


RULES = _SAY["rules"]
"""The brief's sentences on promises."""

THINGS = _SAY["things"]
"""Things that people promise."""
