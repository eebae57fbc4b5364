"""Quiet day: no one asks for anything, but some records matter."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.noticing import point_out
from proctor.scenarios.kit.making.duty import Solver
from proctor.scenarios.kit.making.forms import forms
from proctor.scenarios.kit.making.records import Fact, Record, latest
from proctor.scenarios.kit.making.texts import mail_saying, service, shown
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)


def make(day: Day) -> None:
    """Three or four things that matter, each among things like it; dates are corrected."""
    day.begin(size="M" if day.difficulty == 4 else "S", hours=6)
    day.wish(_SAY["wishes"])
    documents = day.draws.shuffled(_SAY["documents"], "documents")
    like = day.difficulty
    for number in range(2 if day.difficulty > 2 else 1):
        _document(day, number, documents[4 * number : 4 * number + 4], min(3, like))
    _birthday(day, like)
    _overlap(day, like)


def _document(day: Day, number: int, names: list[str], like: int) -> None:
    """A document that expires soon; its date was corrected, as was another document's."""
    key, today = f"document-{number + 1}", day.start.date()
    draws = day.draws.of(key)
    soon = today + timedelta(days=draws.between(6, 28, "soon"))
    far = [today + timedelta(days=draws.between(60 + 50 * n, 100 + 50 * n, "far", n)) for n in range(like)]
    statements = [(names[n + 1], when, day.ago(f"{key}-{n + 1}", days=(2, 9))) for n, when in enumerate(far)]
    statements.append((names[0], soon, day.turn(number, 20) if number else day.ago(f"{key}-0", days=(2, 9))))
    # Earlier statements: another date of this document, and a date of another document that would be soon.
    former = [today + timedelta(days=draws.between(32 + 20 * n, 50 + 20 * n, "former", n)) for n in range(like - 1)]
    former += [today + timedelta(days=130)] * (day.difficulty > 3)
    statements += [
        (names[0], date, day.ago(f"{key}-old-{n}", days=(10 + 4 * n, 13 + 4 * n))) for n, date in enumerate(former)
    ]
    if day.difficulty > 1:
        statements.append((names[1], soon + timedelta(days=1), day.ago(f"{key}-renewed", days=(10, 14))))
    records = [_mail(day, f"{key}-{n}", *statement) for n, statement in enumerate(statements)]
    point_out(
        day,
        key,
        what=f"the {names[0]} that expires",
        about=names[0],
        records=records,
        values=[Value("words", names[0]), Value("code", _number(day, names[0])), Value("day", soon.isoformat())],
        decoys=[(f"the {names[n]}", Value("words", names[n])) for n in range(1, like + 1)],
        until=3 + number,
        stale=[Value("day", when.isoformat()) for when in former],
        solve=_make_solver("expires", names[: like + 1], today, 30),
    )


def _mail(day: Day, name: str, document: str, when: date, at: datetime) -> Record:
    author = service(day.draws.pick(_SAY["offices"], name))
    text = shown(day, name, author, Value("day", when.isoformat()))
    slots = {"document": f"your {document} {_number(day, document)}", "date": text}
    record = mail_saying(day, name, at, author, "document_expiry", **slots)
    return record.with_facts(Fact("expires", document, f"{document}/{when.isoformat()}"))


def _number(day: Day, document: str) -> str:
    return f"{day.draws.pick('KLNPRTVX', document, 'letter')}{day.draws.between(10_000, 99_999, document, 'number')}"


def _make_solver(kind: str, things: list[str], first: date, days: int) -> Solver:
    """The solver: the things whose last date is at most ``days`` days after ``first``."""

    def solve(facts: Sequence[Fact]) -> frozenset[str]:
        last = {value for thing in things for value in latest(facts, kind, thing)}
        return frozenset(
            value for value in last if 0 <= (date.fromisoformat(value.rpartition("/")[2]) - first).days <= days
        )

    return solve


def _birthday(day: Day, like: int) -> None:
    """One of the family's birthdays is tomorrow; another was said earlier to be tomorrow."""
    key, tomorrow = "birthday", day.start.date() + timedelta(days=1)
    people = [day.cast(f"{key}-0", "family")]
    people += [day.cast(f"{key}-{n}", "friend" if n % 2 else "family") for n in range(1, like + 1)]
    teller = day.cast(f"{key}-teller", "friend")
    ahead = [0, *(day.draws.between(9 + 7 * n, 14 + 7 * n, key, n) for n in range(like))]
    statements = [
        (person, tomorrow + timedelta(days=ahead[n]), day.ago(f"{key}-mail-{n}", days=(1, 5)))
        for n, person in enumerate(people)
    ]
    if day.difficulty > 1:
        statements.append((people[1], tomorrow, day.ago(f"{key}-mistaken", days=(6, 8))))
    records = []
    for n, (person, when, at) in enumerate(statements):
        name, value = f"{key}-mail-{n}", Value("day", when.isoformat())
        slots = {"who": person.name, "date": shown(day, name, teller, value)}
        record = mail_saying(day, name, at, teller, "birthday_note", **slots)
        records.append(record.with_facts(Fact(key, person.name, f"{person.name}/{when.isoformat()}")))
    point_out(
        day,
        key,
        what=f"the birthday of {people[0].first}",
        about=people[0].name,
        records=records,
        values=[Value("words", people[0].name)],
        decoys=[(f"the birthday of {person.first}", Value("words", person.first)) for person in people[1:]],
        until=4,
        solve=_make_solver(key, [person.name for person in people], tomorrow, 0),
    )


def _overlap(day: Day, like: int) -> None:
    key = "overlap"
    titles = day.draws.some(_SAY["titles"], 2 + 2 * like, key, "titles")
    workdays = [n for n in range(2, 14) if day.clock(9, day=n).weekday() < 5]
    first = day.draws.between(0, 3, key, "day")
    start = day.clock(9, day=workdays[first]) + timedelta(hours=day.draws.between(0, 6, key, "hour"))
    records = [
        day.entry(f"{key}-{n}", titles[n], start + timedelta(minutes=30 * n), 60, Fact("matters", key, titles[n]))
        for n in range(2)
    ]
    for n in range(like):
        begin = start + timedelta(days=workdays[first + 1 + n] - workdays[first])
        records.append(day.entry(f"{key}-near-{n}", titles[2 + 2 * n], begin, 60))
        records.append(day.entry(f"{key}-next-{n}", titles[3 + 2 * n], begin + timedelta(minutes=60), 45))
    point_out(
        day,
        key,
        what="the two appointments that overlap",
        about=key,
        records=records,
        values=[*(Value("words", title) for title in titles[:2]), Value("day", start.date().isoformat())],
        decoys=[(titles[2 + 2 * n], Value("words", titles[2 + 2 * n])) for n in range(like)],
        until=3,
        solve=lambda facts: frozenset(fact.value for fact in facts if fact.kind == "matters" and fact.about == key),
    )
