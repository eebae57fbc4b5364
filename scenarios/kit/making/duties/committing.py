"""Keep promises: on the day that was promised last, and only promises that still hold."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta

from proctor.scenarios.kit.checks import PromiseCheck, PromisedDay
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.inviting import Statement, statement_records
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    besides,
    forgotten,
    message_check,
    once_check,
    silence_check,
    tell,
    to_write_to,
    values_of,
)
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact, Record, latest
from proctor.scenarios.kit.making.wording import show
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

Commitments = Sequence[tuple[datetime, date]]
"""Times of the user's promises, each with the promised day; the last promise holds."""


def keep_word(
    day: Day,
    key: str,
    *,
    person: Person,
    thing: Phrase,
    commitments: Commitments,
    statements: Sequence[Statement],
) -> Duty:
    """The user promised a person a value on a day of the week; the value comes later.

    Args:
        person: the person to whom it was promised.
        thing: the value's name; no other thing of the day has it.
        commitments: the promises; the user makes the first one before the first turn.
        statements: statements of the value; the last one is right, and comes before the last promised day.
    """
    promises = list(_promises(day, key, person, thing, commitments))
    values = statement_records(day, key, thing, statements)
    due, right = commitments[-1][1], statements[-1][2]
    check, once = f"{key}.kept", f"{key}.once"
    act = _tell_in_day(day, key, person, thing, due, right, check)
    former = dict.fromkeys(promised for _, promised in commitments if promised != due)
    others = {"too early": day.starts[0].date(), **{f"on a day of before {n}": at for n, at in enumerate(former, 1)}}
    at, until = _bounds(day, due)
    lapses = [
        forgotten(act),
        act.wrong_person(day.stranger),
        act.twice(loses=[once]),
        *(
            act.instead(_tell_in_day(day, key, person, thing, other, right), name=name)
            for name, other in others.items()
        ),
        *act.wrong_values("stale value", values_of(statements[:-1])),
    ]
    sentence = f"{person.name} has {thing.en} on {due:%A}, as was promised last"
    wrong = values_of(statements[:-1])
    duty = Duty(
        key=key,
        title=f"Keep the promise to send {person.name} {thing.en} on {due:%A}",
        dimension="instruction_following",
        checks=[
            message_check(check, 8, sentence, person, [right], wrong, after=at, before=until),
            once_check(once, 1, "only once", person, [right]),
        ],
        explains=to_write_to(person, about=values),
        acts=[act],
        solve=lambda facts: _join_due_values(facts, thing.en),
        answers=frozenset({f"{due.isoformat()}/{right.value}"}),
        candidates=tuple(f"{each.isoformat()}/{value.value}" for each in (due, *former) for *_, value in statements),
        enact=lambda answer: [_as_answered(day, key, person, thing, answer)],
        records=[*promises, *values],
        lapses=lapses,
        points=[("forgotten", "too early"), *Duty.each_named(lapses, "on a", "st")],
        people=(person, *dict.fromkeys(who for _, who, _ in statements)),
    )
    return day.add(duty)


def let_go(
    day: Day,
    key: str,
    *,
    person: Person,
    thing: Phrase,
    promised: date,
    released: datetime,
    statements: Sequence[Statement],
) -> Duty:
    """The user promised a person a value, and says later that it is no longer needed.

    Args:
        day, key, person, thing, statements: as in ``keep_word``.
        promised: the day that was promised.
        released: when the user says that nothing should be sent.
    """
    records = list(_promises(day, key, person, thing, [(day.start - timedelta(minutes=47), promised)]))
    slots, fact = {"person": person.name, "thing": thing.en}, Fact("released", thing.en, person.name)
    form = day.draws.pick(_SAY["releases"], key, "release")
    records.append(day.letter(f"{key}-release", released, day.user, f"For {person.first}", form, slots, fact))
    values, silent = statement_records(day, key, thing, statements), f"{key}.silent"
    act = _tell_in_day(day, key, person, thing, promised, statements[-1][2])
    lapses = [
        besides(act, loses=[silent], name="sent all the same"),
        besides(replace(act, channel="text"), loses=[silent], name="sent as a text message"),
        besides(replace(act, at=day.starts[-1], until=day.starts[-1]), loses=[silent], name="sent at the end"),
    ]
    duty = Duty(
        key=key,
        title=f"Send {person.name} nothing about {thing.en}, since it is no longer needed",
        dimension="instruction_following",
        checks=[silence_check(silent, 4, f"{person.name} has not got {thing.en}", person, values_of(statements))],
        explains=to_write_to(person, about=values),
        acts=[],
        solve=lambda facts: _released(facts, thing.en),
        answers=frozenset({f"nothing for {person.name}"}),
        enact=lambda answer: [_as_answered(day, key, person, thing, answer)] if "/" in answer else [],
        records=[*records, *values],
        lapses=lapses if person.phone else [lapses[0], replace(lapses[0], name="sent again"), lapses[2]],
        points=[("sent all the same",)],
        people=(person, *dict.fromkeys(who for _, who, _ in statements)),
    )
    return day.add(duty)


def own_word(
    day: Day,
    key: str,
    *,
    asker: Person,
    thing: Phrase,
    choices: Sequence[date],
    chosen: date,
    statements: Sequence[Statement],
) -> Duty:
    """A person asks on which day they get a value: the assistant names a day, and has to keep to it.

    Args:
        day, key, thing, statements: as in ``keep_word``.
        asker: the person who asks, before the first turn.
        choices: the days that may be named.
        chosen: the day that the oracle names.
    """
    asked = day.start - timedelta(minutes=day.draws.between(3, 50, key, "asked"))
    listed = " or ".join(show(Value("day", choice.isoformat())) for choice in choices)
    days, form = "/".join(choice.isoformat() for choice in choices), day.draws.pick(_SAY["questions"], key, "question")
    question = day.letter(f"{key}-question", asked, asker, "When: {thing}", f"{form}\n\n{{me}}", {"thing": thing.en, "days": listed}, Fact("asked", thing.en, days))  # fmt: skip
    values = statement_records(day, key, thing, statements)
    right, wrong = statements[-1][2], tuple(values_of(statements[:-1]))
    made, kept = f"{key}.promised", f"{key}.kept"
    until = day.starts[1]
    named, about = Value("day", chosen.isoformat()), f"the day for {thing.en}"
    promise = replace(tell(f"{key}.1", day.start, until, asker, [named], about, made, kept), reply_to=question.id)
    act = _tell_in_day(day, f"{key}.2", asker, thing, chosen, right, kept)

    def enact(answer: str) -> list[Act]:
        code = answer.rpartition("/")[2]
        return [promise, *([replace(act, values=(Value("code", code),))] if code else [])]

    windows = [
        PromisedDay(value=Value("day", choice.isoformat()), after=begin, before=end)
        for choice in choices
        for begin, end in [_bounds(day, choice)]
    ]
    other = next(choice for choice in choices if choice != chosen)
    common = {"to": asker.addresses, "channels": ("mail", "text"), "days": windows, "until": until + day.step}
    sentence = f"{asker.name} has {thing.en} on the day that was named"
    lapses = [
        forgotten(promise, act),
        promise.instead(name="named no day"),
        act.instead(name="own word forgotten"),
        act.instead(_tell_in_day(day, f"{key}.2", asker, thing, other, right), name="another day than its own"),
        act.wrong_person(day.stranger),
        *act.wrong_values("stale value", wrong),
    ]
    duty = Duty(
        key=key,
        title=f"Name {asker.name} a day for {thing.en}, and send it on that day",
        dimension="instruction_following",
        checks=[
            PromiseCheck(id=made, points=3, sentence=f"{asker.name} was named one of the days", **common),
            PromiseCheck(id=kept, points=8, sentence=sentence, values=(right,), wrong=wrong, **common),
        ],
        explains=to_write_to(asker, about=[question, *values]),
        acts=[promise, act],
        solve=lambda facts: _join_asked_days(facts, thing.en),
        answers=frozenset({f"{days}/{right.value}"}),
        candidates=tuple(f"{days}/{value.value}" for *_, value in statements),
        enact=enact,
        records=[question, *values],
        lapses=lapses,
        points=[
            ("named no day", "forgotten"),
            ("own word forgotten", "another day than its own"),
            *Duty.each_named(lapses, "stale"),
        ],
        people=(asker, *dict.fromkeys(who for _, who, _ in statements)),
        knows={asker.key: f"You wait for {thing.en}."},
    )
    return day.add(duty)


def _promises(day: Day, key: str, person: Person, thing: Phrase, commitments: Commitments) -> Iterator[Record]:
    """The mail in which the user promised it, and notes on later agreements."""
    for number, (at, promised) in enumerate(commitments):
        slots = {
            "person": person.name,
            "reader": person.first,
            "thing": thing.en,
            "day": show(Value("day", promised.isoformat()), day.draws.pick((0, 1, 4), key, number, "form")),
        }
        body = day.draws.pick(_SAY["notes"] if number else _SAY["promises"], key, number, "words")
        name, fact = f"{key}-word-{number}", Fact("due", thing.en, promised.isoformat())
        readers = [day.user] if number else [person]
        yield day.letter(name, at, day.user, "{reader}: {thing}", body, slots, fact, readers=readers)


def _tell_in_day(day: Day, name: str, person: Person, thing: Phrase, when: date, value: Value, *checks: str) -> Act:
    """The act of telling a person a value in one of the turns of a day."""
    turns = [start for start in day.starts if start.date() == when]
    return tell(f"{name}.tell", turns[0], turns[-1], person, [value], thing.en, *checks)


def _as_answered(day: Day, key: str, person: Person, thing: Phrase, answer: str) -> Act:
    """The act for an answer of the solver, which has a day and a code."""
    when, _, code = answer.partition("/")
    return _tell_in_day(day, key, person, thing, date.fromisoformat(when), Value("code", code))


def _bounds(day: Day, when: date) -> tuple[datetime, datetime]:
    """The begin and the end of a day in the user's time zone."""
    begin = datetime.combine(when, time(), day.start.tzinfo)
    return begin, begin + timedelta(days=1)


def _join_due_values(facts: Sequence[Fact], about: str) -> frozenset[str]:
    return frozenset(f"{due}/{value}" for due in latest(facts, "due", about) for value in latest(facts, "value", about))


def _released(facts: Sequence[Fact], about: str) -> frozenset[str]:
    people = latest(facts, "released", about)
    return frozenset(f"nothing for {person}" for person in people) or _join_due_values(facts, about)


def _join_asked_days(facts: Sequence[Fact], about: str) -> frozenset[str]:
    """The days that may be named, and the value, which is empty until it is stated."""
    days, values = latest(facts, "asked", about), latest(facts, "value", about)
    return frozenset(f"{day}/{value}" for day in days for value in values or {""})
