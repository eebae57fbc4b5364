"""A rule for alarms, with an exception and an end: the right person has to have each number in fifteen minutes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from proctor.scenarios.kit.checks import Check
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.scheduling import exchanged
from proctor.scenarios.kit.making.duty import Act, Duty, Lapse, forgotten, message_check, silence_check, to_write_to
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.records import Fact, Record
from proctor.scenarios.kit.making.texts import service
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

WITHIN = timedelta(minutes=15)
"""The time from an alarm to the message about it."""


@dataclass(frozen=True)
class Orders:
    """The user's notes on the alarms of a service, each with its time; the last note on each point holds.

    Attributes:
        holders: who gets the numbers.
        exceptions: the place whose alarms another person gets.
        ends: the moment from which no one gets alarms.
    """

    holders: Sequence[tuple[datetime, Person]]
    exceptions: Sequence[tuple[datetime, str, Person]]
    ends: Sequence[tuple[datetime, datetime]] = ()

    @property
    def people(self) -> tuple[Person, ...]:
        """All people who get alarms at some time."""
        named = [person for _, person in self.holders] + [person for *_, person in self.exceptions]
        return tuple(dict.fromkeys(named))


def follow_orders(day: Day, key: str, *, source: str, orders: Orders, comes: Sequence[tuple[datetime, str]]) -> Duty:
    """Each alarm of a service goes, within fifteen minutes, to the person whom the user's notes name.

    Args:
        day: the day; its turns are at most ten minutes long.
        source: the service's name; no other duty has it.
        orders: the user's notes; the first ones on holder and exception come before any alarm. No other duty writes
            to their people.
        comes: when alarms come, and from which place; a turn begins within fifteen minutes of each.
    """
    notes = _notes(day, key, source, orders)
    alarms = [_alarm(day, f"{key}-{n}", source, at, place) for n, (at, place) in enumerate(comes, start=1)]
    records, people = [*notes, *(record for record, _ in alarms)], {person.name: person for person in orders.people}
    facts = [fact for record in records for fact in record.facts]
    right = _assign_alarms(facts, source)
    begins = {code.value: day.seen(record.at) for record, code in alarms}

    def make_acts(due: dict[str, str], after: int = 0) -> list[Act]:
        """The acts that send these numbers to these people, some turns late."""
        acts = []
        for n, (_, code) in enumerate(alarms, start=1):
            if code.value in due:
                at = day.starts[day.starts.index(begins[code.value]) + after]
                who, check = people[due[code.value]], (f"{key}.{n}",) if code.value in right else ()
                acts.append(Act(f"{key}.{n}", "tell", at, at, check, who, (code,), f"{source}, alarm {n}"))
        return acts

    checks, acts = list[Check](), make_acts(right)
    for n, (record, code) in enumerate(alarms, start=1):
        name, others = right.get(code.value), orders.people
        if name:
            sentence = f"{name} has alarm {n} of {source} within fifteen minutes"
            checks.append(message_check(f"{key}.{n}", 3, sentence, people[name], [code], before=record.at + WITHIN))
            others = tuple(person for person in others if person.name != name)
        sentence = f"{'no one else' if name else 'no one'} has got alarm {n} of {source}"
        checks.append(silence_check(f"{key}.{n}-kept", 1 if name else 3, sentence, others, [code]))
    lapses = [forgotten(*acts), exchanged("always late", make_acts(right, after=2), {act.checks[0] for act in acts})]
    lapses += [act.instead(name=f"overlooks {act.topic}") for act in acts]
    lapses += _misreadings(key, source, facts, right, [code.value for _, code in alarms], make_acts)
    duty = Duty(
        key=key,
        title=f"Pass each alarm of {source} on within fifteen minutes, as the notes say",
        dimension="instruction_following",
        brief=f"Pass the number of each alarm of {source} on as my notes say, within fifteen minutes of its arrival.",
        checks=checks,
        explains=to_write_to(*orders.people, about=records),
        acts=acts,
        solve=lambda known: frozenset(f"{name}/{code}" for code, name in _assign_alarms(known, source).items()),
        answers=frozenset(f"{name}/{code}" for code, name in right.items()),
        records=records,
        lapses=lapses,
        points=[
            ("forgotten",),
            *[("always late",)] * (len(alarms) // 2 - 1),
            tuple(lapse.name for lapse in lapses if lapse.name.startswith("overlooks")),
            *Duty.each_named(lapses, "misses"),
        ],
        people=orders.people,
    )
    return day.add(duty)


def _assign_alarms(facts: Sequence[Fact], source: str) -> dict[str, str]:
    """The name of the person who has to get each alarm, by the alarm's number; alarms for no one are left out."""
    due = {}
    for alarm in facts:
        if alarm.kind == "alarm" and alarm.about == source and alarm.at:
            code, place = alarm.value.split("/")
            statements = {kind: _last(facts, kind, source, alarm.at) for kind in ("holder", "exception", "end")}
            excepted, _, other = statements["exception"].partition("/")
            name = other if place == excepted else statements["holder"]
            if name and not (statements["end"] and f"{alarm.at:%H:%M}" >= statements["end"]):
                due[code] = name
    return due


def _last(facts: Sequence[Fact], kind: str, source: str, at: datetime) -> str:
    """The note on a point that holds at a time; empty without a note."""
    statements = [fact for fact in facts if fact.kind == kind and fact.about == source and fact.at and fact.at <= at]
    return max(statements, key=lambda fact: fact.at or at).value if statements else ""


def _misreadings(
    key: str,
    source: str,
    facts: Sequence[Fact],
    right: dict[str, str],
    codes: Sequence[str],
    make_acts: Callable[[dict[str, str]], list[Act]],
) -> list[Lapse]:
    """A lapse for each overlooked note, and for all notes on a point, if that makes a difference."""
    found = dict[frozenset[str], Lapse]()
    for kind in ("holder", "exception", "end"):
        notes = [fact for fact in facts if fact.kind == kind and fact.about == source]
        missed = {f"misses note {n} on the {kind}": [note] for n, note in enumerate(notes, start=1)}
        for name, those in {**missed, f"misses all notes on the {kind}": notes}.items():
            wrong = _assign_alarms([fact for fact in facts if fact not in those], source)
            loses = set()
            for n, code in enumerate(codes, start=1):
                if wrong.get(code) != right.get(code):
                    loses |= {f"{key}.{n}"} if code in right else set()
                    loses |= {f"{key}.{n}-kept"} if code in wrong else set()
            if loses and wrong:
                found.setdefault(frozenset(loses), exchanged(name, make_acts(wrong), loses))
    return list(found.values())


# --- records ----------------------------------------------------------------------------------------------------------


def _notes(day: Day, key: str, source: str, orders: Orders) -> list[Record]:
    statements = [
        *((at, "holder", n, person.name, {"person": person.name}) for n, (at, person) in enumerate(orders.holders)),
        *(
            (at, "exception", n, f"{place}/{who.name}", {"place": place, "person": who.name})
            for n, (at, place, who) in enumerate(orders.exceptions)
        ),
        *((at, "end", n, f"{end:%H:%M}", {"end": f"{end:%H:%M}"}) for n, (at, end) in enumerate(orders.ends)),
    ]
    notes = []
    for at, kind, n, value, words in statements:
        name = f"{key}-{kind}-{n}"
        body = day.draws.pick(_SAY[f"{'changes' if n else 'notes'}.{kind}"], name)
        title = day.draws.pick(_SAY["note_titles"], name, "title")
        notes.append(
            day.letter(name, at, day.user, title, body, {"source": source, **words}, Fact(kind, source, value))
        )
    return notes


def _alarm(day: Day, name: str, source: str, at: datetime, place: str) -> tuple[Record, Value]:
    draws = day.draws.of("alarm", name)
    code = f"{draws.pick('ABCDEFGHJKLMNPRSTUVWXYZ', 'a')}{draws.between(10**5, 10**6 - 1, 'n')}"
    slots = {"code": code, "place": place, "source": source, "time": f"{at:%H:%M}"}
    slots["what"] = draws.pick(_SAY["what"], "what")
    title, body = draws.pick(_SAY["alarm_titles"], "title"), draws.pick(_SAY["alarms"], "body")
    fact = Fact("alarm", source, f"{code}/{place}")
    return day.letter(name, at, service(source), title, body, slots, fact), Value("code", code)
