"""On call: pass reports of faults on to the right person, by rules that change, and hand over the open ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from proctor.scenarios.kit.checks import Check
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import (
    Act,
    Duty,
    besides,
    forgotten,
    message_check,
    silence_check,
    tell,
    to_write_to,
)
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.records import Fact, Record
from proctor.scenarios.kit.making.texts import message_saying
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)


@dataclass(frozen=True)
class Priority:
    """The user's word on a system, which holds for all reports after it.

    Attributes:
        at: when it comes.
        system: the system that the reports are about: ``the goods lift``.
        who: the person who gets them.
        least: the least number of affected people.
        how: as a note in the user's mailbox, or in the chat.
    """

    at: datetime
    system: str
    who: Person
    least: int
    how: Literal["mail", "chat"] = "mail"


@dataclass(frozen=True)
class Report:
    """A fault that a person reports.

    Attributes:
        at: when it comes.
        author: the person who reports it.
        system: the broken system.
        affected: the number of affected people.
        code: the ticket's number.
        grown: when a message says that it is worse, and the number of people affected then.
        solved: when a message says that it is solved.
        again: when a message says that it is not, after all.
    """

    at: datetime
    author: Person
    system: str
    affected: int
    code: str
    grown: tuple[datetime, int] | None = None
    solved: datetime | None = None
    again: datetime | None = None

    @property
    def value(self) -> Value:
        """The ticket's number as a value."""
        return Value("code", self.code)

    @property
    def is_open(self) -> bool:
        """Whether it is open at the end."""
        return self.solved is None or self.again is not None


def priorities(day: Day, statements: Sequence[Priority]) -> None:
    """Add the user's words on systems."""
    seen: set[str] = set()
    for n, statement in enumerate(statements):
        draws = day.draws.of("priority", n)
        form = draws.pick(_SAY["changed"] if statement.system in seen else _SAY["first"], "form")
        seen.add(statement.system)
        body = form.format(system=statement.system, who=statement.who.name, least=statement.least)
        body = body[:1].upper() + body[1:]
        fact = Fact("priority", statement.system, f"{statement.who.name}/{statement.least}")
        title = f"On call: {statement.system}"
        mail, chat = (
            (f"priority-{n}", statement.at, day.user, title, body, fact),
            (f"priority-{n}", statement.at, body, fact),
        )
        day.extra_records.append(day.chat(*chat) if statement.how == "chat" else day.mail(*mail))


def dispatch(
    day: Day,
    key: str,
    *,
    statements: Sequence[Priority],
    due: Report,
    spared: Sequence[tuple[str, Report]],
) -> Duty:
    """One report has to go to the responsible person; others that come around the same time must not.

    Args:
        statements: all of the user's words on the system of ``due``, in order (``priorities`` adds them).
        due: the report to pass on, at the latest one round after the round in which it is first seen to be due.
        spared: reports that are not passed on, each with the reason.
    """
    since = due.grown[0] if due.grown else due.at
    right = [statement for statement in statements if statement.at <= since][-1]
    former = [
        statement.who for statement in dict.fromkeys(statements) if statement.at <= since and statement.who != right.who
    ]
    everyone = tuple(dict.fromkeys(statement.who for statement in statements))
    begin = day.seen(since)
    until = day.starts[min(len(day.starts) - 1, day.starts.index(begin) + 1)]
    sentence = f"{right.who.name} has ticket {due.code} by {until:%H:%M}"
    sent = message_check(f"{key}.sent", 6, sentence, right.who, [due.value], before=until)
    act = tell(f"{key}.1", begin, until, right.who, [due.value], due.system, sent.id)
    checks: list[Check] = [sent]
    lapses = [forgotten(act), act.wrong_person(day.stranger), *act.too_late(day.starts, until)]
    for n, person in enumerate(former, start=1):
        kept = silence_check(f"{key}.former-{n}", 1, f"{person.name} did not get {due.code}", person, [due.value])
        checks.append(kept)
        lapses.append(act.changed(f"by former priority {n}", to=person, loses=[sent.id, kept.id]))
    for n, (why, report) in enumerate(spared, start=1):
        kept = silence_check(f"{key}.spared-{n}", 3, f"{report.code} was not passed on", everyone, [report.value])
        checks.append(kept)
        at = day.seen(report.at)
        more = Act(f"{key}.more-{n}", "tell", at, day.starts[-1], (), right.who, (report.value,), report.system)
        lapses.append(besides(more, loses=[kept.id], name=f"passes on what {why}"))
    if due.grown:
        lapses.append(act.instead(name="overlooks that it grew"))
    reports = [due, *(report for _, report in spared)]
    records = [record for report in reports for record in _records(day, f"{key}-{report.code}", key, report)]
    codes = {report.code: report.value for report in reports}
    people = {person.name: person for person in everyone}

    def enact(answer: str) -> list[Act]:
        name, _, code = answer.partition("/")
        return [replace(act, to=people[name], values=(codes[code],))]

    duty = Duty(
        key=key,
        title=f"Pass on the report {due.code}, and no other",
        dimension="instruction_following",
        checks=checks,
        explains=to_write_to(*everyone, about=records),
        acts=[act],
        solve=lambda facts: _assign_tickets(facts, key, day.starts),
        answers=frozenset({f"{right.who.name}/{due.code}"}),
        records=records,
        lapses=lapses,
        points=[("forgotten", "wrong person"), *((lapse.name,) for lapse in lapses[2:])],
        candidates=tuple(f"{name}/{code}" for name in people for code in codes),
        enact=enact,
        people=(*everyone, *dict.fromkeys(report.author for report in reports)),
    )
    return day.add(duty)


def _assign_tickets(facts: Sequence[Fact], key: str, starts: Sequence[datetime]) -> frozenset[str]:
    """A duty's tickets and their recipients, by the user's words at the time when each came or grew."""
    solved = {fact.about: fact.at for fact in facts if fact.kind == "solved" and fact.at}
    due = set()
    for fact in facts:
        if fact.kind != "report" or fact.about != key or fact.at is None:
            continue
        code, affected, system = fact.value.split("/")
        before = [
            priority for priority in facts if priority.kind == "priority" and priority.about == system and priority.at
        ]
        statements = sorted(
            (priority.at, priority.value) for priority in before if priority.at and priority.at <= fact.at
        )
        seen = next(start for start in starts if start >= fact.at)
        if statements and (code not in solved or solved[code] > seen):
            who, least = statements[-1][1].split("/")
            due |= {f"{who}/{code}"} if int(affected) >= int(least) else set()
    return frozenset(due)


def hand_over_open(day: Day, key: str, *, reader: Person, systems: Sequence[str], reports: Sequence[Report]) -> Duty:
    """In the last round, the next person on call gets the numbers of all open tickets of some systems.

    Args:
        reader: the next person on call.
        systems: the systems whose tickets are listed.
        reports: all reports of the day, which other duties add; those of other systems don't belong to the list.
    """
    own = [report for report in reports if report.system in systems]
    rest = [report for report in own if report.is_open]
    others = [report for report in own if not report.is_open] + [
        report for report in reports if report.system not in systems
    ]
    records = [record for report in own for record in _news(day, f"{key}-{report.code}", report)]
    right, wrong = ([report.value for report in found] for found in (rest, others))
    sentence = f"{reader.name} has the numbers of just the open tickets"
    check = message_check(f"{key}.told", 8, sentence, reader, right, wrong)
    at = day.starts[-1]
    act = tell(f"{key}.1", at, at, reader, check.values, "the open tickets", check.id)
    again = [report for report in rest if report.again]

    def telling(found: Sequence[Report]) -> Act:
        return replace(act, values=tuple(report.value for report in found))

    lapses = [
        forgotten(act),
        act.wrong_person(day.stranger),
        act.instead(telling(rest[1:]), name="misses an open one"),
        *act.each_instead("counts other ticket", (telling([*rest, other]) for other in others)),
        *act.each_instead(
            "misses reopened ticket", (telling([o for o in rest if o is not ticket]) for ticket in again)
        ),
    ]
    named = {_join_codes(found): found for found in ([*rest], rest[1:], *([*rest, other] for other in others))}
    duty = Duty(
        key=key,
        title=f"Hand the open tickets over to {reader.name}",
        dimension="accuracy",
        brief=f"In the last round, send {reader.name}, who is on call after me, the numbers of all of today's tickets "
        f"of {' and '.join(systems)} that are still open.",
        checks=[check],
        explains=to_write_to(reader, about=records),
        acts=[act],
        solve=lambda facts: frozenset({_open(facts, systems)} - {""}),
        answers=frozenset({_join_codes(rest)}),
        records=records,
        lapses=lapses,
        points=[("forgotten", "wrong person"), *Duty.each_named(lapses, "misses an", "counts", "misses reopened")],
        candidates=tuple(named),
        enact=lambda answer: [telling(named[answer])],
        people=(reader,),
    )
    return day.add(duty, claimed=act)


def _join_codes(reports: Sequence[Report]) -> str:
    return "/".join(sorted(report.code for report in reports))


def _open(facts: Sequence[Fact], systems: Sequence[str]) -> str:
    parts = [fact.value.split("/") for fact in facts if fact.kind == "report"]
    codes = {code for code, _, system in parts if system in systems}
    news = sorted((fact.at, fact.about, fact.kind) for fact in facts if fact.kind in ("solved", "again") and fact.at)
    last = {about: kind for _, about, kind in news}
    return "/".join(sorted(code for code in codes if last.get(code) != "solved"))


def _records(day: Day, name: str, key: str, report: Report) -> list[Record]:
    def counting(count: int) -> Fact:
        return Fact("report", key, f"{report.code}/{count}/{report.system}")

    made = [_message(day, name, report.at, report, _SAY["reports"], counting(report.affected), report.affected)]
    if report.grown:
        at, count = report.grown
        made.append(_message(day, f"{name}-grown", at, report, _SAY["grown"], counting(count), count))
    return made


def _news(day: Day, name: str, report: Report) -> list[Record]:
    return [
        _message(day, f"{name}-{kind}", at, report, forms, Fact(kind, report.code, report.code))
        for kind, at, forms in (("solved", report.solved, _SAY["solved"]), ("again", report.again, _SAY["again"]))
        if at
    ]


def _message(
    day: Day, name: str, at: datetime, report: Report, forms: Sequence[str], fact: Fact, count: int = 0
) -> Record:
    draws = day.draws.of("fault", name)
    slots = {"system": report.system, "code": report.code, "count": count, "site": draws.pick(_SAY["sites"], "site")}
    titles = ("Ticket {code}", "{code}: {system}", "On-call desk, {code}", "{code}")
    return message_saying(day, name, at, report.author, draws, forms, titles, fact, by_text=0.45, **slots)


SYSTEMS = _SAY["systems"]
"""Systems that may be out of order."""
