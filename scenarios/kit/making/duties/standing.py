"""Wishes that hold until they are changed: each time that a firm sends a number, pass it on."""

from collections.abc import Sequence
from datetime import datetime

from proctor.scenarios.kit.checks import Check
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    Lapse,
    besides,
    forgotten,
    message_check,
    silence_check,
    to_write_to,
)
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.records import Fact, Record
from proctor.scenarios.kit.making.texts import service
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)


def each_time(
    day: Day,
    key: str,
    *,
    firm: str,
    other_firm: str,
    wishes: Sequence[tuple[datetime, Person]],
    comes: Sequence[datetime],
    others: Sequence[datetime],
) -> Duty:
    """Each consignment number of a firm goes to the person whom the user named last; those of another firm don't.

    Args:
        firm: the firm whose numbers matter; they come at the times ``comes``.
        other_firm: a firm whose numbers don't matter; they come at the times ``others``.
        wishes: when the user named a person, with that person; the first wish comes before any number.
    """
    records: list[Record] = []
    for n, (at, person) in enumerate(wishes):
        body, fact = (
            day.draws.pick(_SAY["first"] if n == 0 else _SAY["changed"], key, n),
            Fact("wish", firm, person.name),
        )
        slots = {"firm": firm, "person": person.name}
        records.append(day.letter(f"{key}-wish-{n}", at, day.user, "{firm}: numbers", body, slots, fact))
    checks, acts, lapses = list[Check](), list[Act](), list[Lapse]()
    answers, stale = list[str](), list[str]()
    for n, at in enumerate(comes, start=1):
        record, code = _number(day, f"{key}-{n}", at, firm)
        records.append(record)
        person = [who for since, who in wishes if since <= at][-1]
        begin = day.seen(at)
        until = day.starts[min(len(day.starts) - 1, day.starts.index(begin) + 1)]
        sentence = f"{person.name} has number {n} of {firm} in time"
        check = message_check(f"{key}.{n}", 3, sentence, person, [code], before=until)
        act = Act(f"{key}.{n}", "tell", begin, until, (check.id,), person, (code,), f"{firm} {n}")
        checks.append(check)
        acts.append(act)
        answers.append(f"{person.name}/{code.value}")
        lapses.append(act.instead(name=f"number {n} overlooked"))
        for m, (_, former) in enumerate(wishes):
            if former.key != person.key:
                sentence = f"{former.name} has not got number {n} of {firm}"
                kept = silence_check(f"{key}.{n}-not-{m}", 1, sentence, former, [code])
                checks.append(kept)
                stale.append(f"number {n} by another wish ({m + 1})")
                lapses.append(act.changed(stale[-1], to=former, loses=[check.id, kept.id]))
    spare = [_number(day, f"{key}-other-{n}", at, other_firm) for n, at in enumerate(others, start=1)]
    for n, (record, code) in enumerate(spare, start=1):
        records.append(record)
        sentence = f"number {n} of {other_firm} was passed on to none of them"
        kept = silence_check(f"{key}.other-{n}", 1, sentence, (person for _, person in wishes), [code])
        checks.append(kept)
        begin = day.seen(record.at)
        act = Act(f"{key}.other-{n}", "tell", begin, day.starts[-1], (), wishes[0][1], (code,), other_firm)
        lapses.append(besides(act, loses=[kept.id], name=f"passes number {n} of {other_firm} on"))
    lapses.append(forgotten(*acts))
    people = tuple(dict.fromkeys(person for _, person in wishes))
    duty = Duty(
        key=key,
        title=f"Pass each number of {firm} on to whom the user named last",
        dimension="instruction_following",
        brief=_SAY["brief"][0].format(firm=firm),
        checks=checks,
        explains=to_write_to(*people, about=records),
        acts=acts,
        solve=lambda facts: _assign_consignments(facts, firm),
        answers=frozenset(answers),
        records=records,
        lapses=lapses,
        points=[("forgotten",), *((name,) for name in stale)]
        + [tuple(lapse.name for lapse in lapses if lapse.name.startswith(start)) for start in ("number", "passes")],
        people=people,
    )
    return day.add(duty)


def _assign_consignments(facts: Sequence[Fact], firm: str) -> frozenset[str]:
    wishes = sorted((fact.at, fact.value) for fact in facts if fact.kind == "wish" and fact.about == firm and fact.at)
    due = set()
    for fact in facts:
        if fact.kind == "consignment" and fact.about == firm and fact.at:
            named = [person for at, person in wishes if at <= fact.at]
            due |= {f"{named[-1]}/{fact.value}"} if named else set()
    return frozenset(due)


def _number(day: Day, name: str, at: datetime, firm: str) -> tuple[Record, Value]:
    draws = day.draws.of("consignment", name)
    code = f"{draws.pick('BCDFGHKLMNPRSTVWXZ', 'a')}{draws.between(10**6, 10**7 - 1, 'n')}"
    slots = {"code": code, "firm": firm, "boxes": draws.between(2, 19, "boxes")}
    titles = ("Consignment {code}", "{firm}: on its way", "Your goods from {firm}", "{code} has left us")
    title, body = draws.pick(titles, "title"), draws.pick(_SAY["numbers"], "body")
    fact = Fact("consignment", firm, code)
    return day.letter(name, at, service(firm), title, body, slots, fact), Value("code", code)


def between_turns(day: Day, turn: int, name: str) -> datetime:
    """A drawn time in the daytime, between a turn and the one before it."""
    times = [day.turn(turn, -minutes) for minutes in range(4, round(day.step.total_seconds() / 60) - 4)]
    return day.draws.pick([at for at in times if 6 <= at.hour < 22] or times, name)
