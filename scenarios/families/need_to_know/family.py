"""Need to know: each person gets a part, by rules that change."""

from collections.abc import Sequence
from datetime import timedelta

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duties.sharing import share_part
from proctor.scenarios.kit.making.duty import Solver
from proctor.scenarios.kit.making.forms import forms, phrases
from proctor.scenarios.kit.making.people import Person, Phrase
from proctor.scenarios.kit.making.records import Fact, Record, latest
from proctor.scenarios.kit.making.texts import mail_saying, shown
from proctor.scenarios.kit.values import Value

_SAY = forms(__file__)

SUBJECTS = phrases(__file__, "subjects")
ASPECTS = (
    (Phrase("the price", "der Preis"), "amount"),
    (Phrase("the signing date", "der Tag der Unterschrift"), "day"),
    (Phrase("the file number", "das Aktenzeichen"), "code"),
    (Phrase("the announcement time", "die Uhrzeit der Bekanntgabe"), "time"),
)


def make(day: Day) -> None:
    """Three people who ask, each from a department with its own rules."""
    day.begin(hours=7)
    count = 3
    subjects = day.draws.some(SUBJECTS, count, "subjects")
    departments = day.draws.some(_SAY["departments"], 2 * count, "departments")
    day.cast("stranger")
    taken = set[str | Value]()
    for number in range(count):
        _part(day, number, subjects[number], departments[2 * number : 2 * number + 2], taken)
    day.wishes.append("My rules on who may know what are in my own messages; the last one holds.")


def _part(day: Day, number: int, subject: Phrase, departments: list[str], taken: set[str | Value]) -> None:
    """A person of the first department asks; at difficulty 4, they were in the second one before.

    ``taken`` are the subjects of mails and the values that the day has; it gets those of this part.
    """
    key, department = f"ask-{number + 1}", departments[0]
    asker = day.cast(key, "colleague")
    aspects = day.draws.shuffled(ASPECTS, key, "aspects")[:3]
    drawn = [
        (
            Phrase(f"{name.en} of {subject.en}", f"{name.de} für {subject.de}"),
            _values(day, f"{key}-{place}", kind, taken),
        )
        for place, (name, kind) in enumerate(aspects)
    ]
    source = day.cast(f"{key}-source", "colleague")
    records: list[Record] = []
    said: list[Sequence[Value]] = []
    newest = day.draws.shuffled(range(3), "newest")[number]  # the newest is the right one for one of the three only
    for place, (thing, values) in enumerate(drawn):
        # Barred values are corrected as well, so a correction doesn't show that a value is allowed.
        is_corrected = place == 0 or day.draws.chance(0.7, key, place, "corrected")
        statements = values[-1 - min(2, day.difficulty - 1) * is_corrected :]
        said.append(statements)
        start = day.ago(f"{key}-{place}", days=(3, 4) if place == newest else (5, 8))
        for n, statement in enumerate(statements):
            name = f"{key}-{place}-said-{n}"
            slots = {"thing": thing.by(source), "value": shown(day, name, source, statement)}
            if n:
                slots["old"] = shown(day, name, source, statements[n - 1])
            at, act = start + timedelta(days=n), "correct_fact" if n else "state_fact"
            mails = (mail_saying(day, f"{name}-{attempt}", at, source, act, **slots) for attempt in range(99))
            record = next(mail for mail in mails if mail.title not in taken)
            taken.add(record.title)
            records.append(record.with_facts(Fact("value", thing.en, statement.value)))
    names = [name.en.removeprefix("the ") for name, _ in aspects]
    records += [_list(day, key, source, subject.en, names), *_rules(day, key, department, subject.en, names)]
    records.append(_move(day, f"{key}-team", 2 * number, (9, 20), asker, department))
    if day.difficulty > 3:
        records.append(_move(day, f"{key}-former", 2 * number + 1, (21, 30), asker, departments[1]))
        records += _rules(day, f"{key}-former", departments[1], subject.en, [names[2], *names[:2]])
    things = [(thing, values) for (thing, _), values in zip(drawn, said, strict=True)]
    (allowed, (*stale, right)), *barred = things
    misleading = [("goes by the old rule", barred[0][1][-1]), ("goes by the former department", barred[-1][1][-1])]
    share_part(
        day,
        key,
        asker=asker,
        allowed=[(allowed, right)],
        barred=barred,
        asked=day.before(1 + number % 3, key, "asked"),
        until=day.turn(3 + number % 3),
        records=records,
        solve=_solver(asker.name, subject.en, allowed.en, names[0]),
        answers=frozenset({right.value}),
        wrong=stale,
        misleading=dict(misleading[: max(0, day.difficulty - 2)]),
    )


def _list(day: Day, key: str, source: Person, subject: str, names: list[str]) -> Record:
    """A mail that names all requested things without their values: a choice by similarity alone picks its number."""
    draws = day.draws.of(key, "list")
    slots = {"subject": subject, **dict(zip("abc", draws.shuffled(names, "names"), strict=True))}
    slots["number"] = f"{draws.pick('FGHJQU', 'letter')}{draws.between(10_000, 99_999, 'number')}"
    body = draws.pick(_SAY["lists"], "form")
    title = draws.pick(("List {number}", "Filed: {subject}", "{subject}: what we keep"), "title")
    return day.letter(f"{key}-list", day.ago(f"{key}-list", days=(1, 2)), source, title, body, slots)


def _move(day: Day, name: str, number: int, days: tuple[int, int], asker: Person, department: str) -> Record:
    body, title = day.draws.pick(_SAY["moves"], name), day.draws.shuffled(_SAY["move_titles"], "moves")[number]
    at, fact = day.ago(name, days=days), Fact("department", asker.name, department)
    return day.letter(name, at, asker, title, body, {"department": department}, fact)


def _values(day: Day, name: str, kind: str, taken: set[str | Value]) -> list[Value]:
    """Three values of a kind that the day doesn't have yet; the last one is right."""
    found: list[Value] = []
    for attempt in range(99):
        value = _value(day, f"{name}-{attempt}", kind)
        if len(found) < 3 and value not in taken:
            taken.add(value)
            found.append(value)
    return found


def _value(day: Day, name: str, kind: str) -> Value:
    draws = day.draws.of("value", name)
    match kind:
        case "amount":
            return Value("amount", str(draws.between(40, 990) * 100_000 + draws.between(1, 9) * 5_000))
        case "day":
            day_ = day.start.date() + timedelta(days=draws.between(20, 90))
            day_ -= timedelta(days=max(0, day_.weekday() - 4))
            return Value("day", day_.isoformat())
        case "time":
            minute = draws.pick(("15", "20", "35", "40", "50", "55"), "m")  # "15.10" could be a day in October, too
            return Value("time", f"{draws.between(10, 18, 'h'):02}:{minute}")
        case _:
            letters = [draws.pick("KLMNPRSTVWXZ", name) for name in "ab"]
            return Value("code", f"{''.join(letters)}{draws.between(1000, 9999)}")


def _rules(day: Day, key: str, department: str, subject: str, aspects: list[str]) -> list[Record]:
    """The user's rule for a department; from difficulty 3 on an older one says something else."""
    allowed, others = aspects[0], aspects[1:]
    rules = [(allowed, others)] if day.difficulty < 3 else [(others[0], [allowed, *others[1:]]), (allowed, others)]
    start = day.ago(f"{key}-rule", days=(2, 2)) - timedelta(days=len(rules))
    records = []
    for n, (may, may_not) in enumerate(rules):
        name = f"{key}-rule-{n}"
        form = day.draws.pick(_SAY["rules"] if n == 0 else _SAY["new_rules"], name)
        title, fact = (
            day.draws.shuffled(_SAY["rule_titles"], key, "titles")[n],
            Fact("rule", f"{department}/{subject}", may),
        )
        slots = {"department": department, "subject": subject, "may": may, "may_not": " and ".join(may_not)}
        records.append(day.letter(name, start + timedelta(days=n), day.user, title, form, slots, fact))
    return records


def _solver(asker: str, subject: str, thing: str, aspect: str) -> Solver:
    def solve(facts: Sequence[Fact]) -> frozenset[str]:
        known = list(facts)
        departments = latest(known, "department", asker)
        rules = [rule for department in departments for rule in latest(known, "rule", f"{department}/{subject}")]
        return latest(known, "value", thing) if rules == [aspect] else frozenset(f"not {rule}" for rule in rules)

    return solve
