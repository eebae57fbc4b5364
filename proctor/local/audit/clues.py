"""Features of a day's candidates that need no understanding of words: the shortcut learner's data (check 14)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

from proctor.local.audit.shown import is_shown
from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.duty import Duty
from proctor.scenarios.kit.making.people import Person
from proctor.scenarios.kit.making.records import Fact, Record

Clues = dict[str, float]
"""Features of one candidate, by ``sense: clue``. Senses are ``digit``, ``value``, ``time``, ``count``, ``state``,
``wording``, ``sender``, ``id`` and ``place``."""

_PARTS = re.compile(r"/| > |:(?=\D)| (?=\w*\d)")
_HOURS = re.compile(r"T(\d\d):(\d\d)")
_NONE = -1.0


@dataclass(frozen=True)
class Choice:
    """Candidates of one kind in one duty. At least one candidate is right, and at least one is wrong.

    Attributes:
        subject: the duty's type and the kind of the candidates, such as ``price answer 0``.
        candidates: the clues of each candidate.
        right: whether each candidate is right, in the same order.
    """

    subject: str
    candidates: tuple[Clues, ...]
    right: tuple[bool, ...]


@dataclass(frozen=True)
class Decision:
    """A duty whose answer may be one of few words, such as ``ask`` and ``refuse``.

    Attributes:
        subject: the duty's type.
        clues: the clues of the whole duty.
        answer: the right answer.
    """

    subject: str
    clues: Clues
    answer: str


def find_type(duty: Duty) -> str:
    """The type of a duty: its key without its number."""
    return duty.key.rstrip("-0123456789")


def split_answers(answers: Iterable[str]) -> frozenset[str]:
    """The parts of answers: ``2028-05-03/A-12`` has two."""
    return frozenset(part for answer in answers for part in _PARTS.split(answer) if part)


def find_choices(day: Day) -> Iterator[Choice]:
    """The choices of all duties. Duties have choices among their candidates, and among values of facts of one kind."""
    order = {record.id: place for place, record in enumerate(day.records)}
    for duty in day.duties:
        right, rows = split_answers(duty.answers), dict[str, list[str]]()
        candidates = [_PARTS.split(candidate) for candidate in duty.candidates]
        if len({len(parts) for parts in candidates}) == 1:  # other answers are lists of any length
            rows |= {f"answer {place}": list(parts) for place, parts in enumerate(zip(*candidates, strict=True))}
        for record in duty.records:
            for fact in record.facts:
                for place, part in enumerate((fact.about, *fact.value.split("/"))):
                    rows.setdefault(f"{fact.kind} {place}", []).append(part)
        known = [(record, _group_parts(record)) for record in duty.records]
        for name, parts in rows.items():
            values = list(dict.fromkeys(parts))
            if 0 < sum(value in right for value in values) < len(values):
                kind = None if name.startswith("answer") else name.rpartition(" ")[0]
                yield from _choice(day, f"{find_type(duty)} {name}", values, right, known, kind, order)


def _choice(
    day: Day,
    subject: str,
    values: Sequence[str],
    right: frozenset[str],
    known: Sequence[tuple[Record, dict[str, frozenset[str]]]],
    kind: str | None,
    order: dict[str, int],
) -> Iterator[Choice]:
    records = {value: [record for record, said in known if _says(record, said, value, kind)] for value in values}
    if any(records[value] for value in values if value in right):
        values = [value for value in values if records[value]]  # values that no record names do not compete
    else:
        records = {value: [] for value in values}  # only with understanding one sees that a record rules a value out
    is_right = tuple(value in right for value in values)
    if 0 < sum(is_right) < len(values):
        rows = [_collect_clues(day, value, records[value], order) for value in values]
        yield Choice(subject, tuple(_with_ranks(rows)), is_right)


def _group_parts(record: Record) -> dict[str, frozenset[str]]:
    said: dict[str, set[str]] = {}
    for fact in record.facts:
        said.setdefault(fact.kind, set()).update((fact.about, *fact.value.split("/")))
    return {kind: frozenset(parts) for kind, parts in said.items()}


def _says(record: Record, said: dict[str, frozenset[str]], value: str, kind: str | None) -> bool:
    """Whether a record names a value in a fact of the kind.

    If ``kind`` is None, facts of all kinds count, and the text of a record without facts.
    """
    if kind is not None:
        return value in said.get(kind, ())
    if said:
        return any(value in parts for parts in said.values())
    return record.kind != "entry" and is_shown(Fact("", "", value), record)


_RANKED = {
    "newest": "time: rank of the newest",
    "oldest": "time: rank of the oldest",
    "wording: length": "wording: rank of the length",
    "count: mentions": "count: rank of the mentions",
    "value": "value: rank",
}


def _with_ranks(rows: list[Clues]) -> Iterator[Clues]:
    """The candidates' clues, with ranks among the candidates (0 to 1) added. Equal values share the middle rank."""
    for row in rows:
        ranks = {}
        for name, rank in _RANKED.items():
            below = sum(other[name] < row[name] for other in rows)
            same = sum(other[name] == row[name] for other in rows) - 1
            ranks[rank] = (below + same / 2) / max(1, len(rows) - 1)
        yield {name: value for name, value in row.items() if ":" in name} | ranks


def _collect_clues(day: Day, value: str, records: Sequence[Record], order: dict[str, int]) -> Clues:
    times = [record.at.timestamp() for record in records]
    last = max(records, key=lambda record: record.at, default=None)
    return {
        **_clues_of_value(value),
        "count: mentions": float(len(records)),
        "newest": max(times, default=_NONE),
        "oldest": min(times, default=_NONE),
        **(_clues_of_record(day, last, order) if last else dict.fromkeys(_OF_RECORD, _NONE)),
    }


def _clues_of_value(value: str) -> Clues:
    digits = [char for char in value if char.isdigit()]
    hours = _HOURS.search(value)
    weekday = _NONE
    with suppress(ValueError):
        weekday = float(datetime.fromisoformat(value[:10]).weekday())
    return {
        "digit: last": float(digits[-1]) if digits else _NONE,
        "digit: last but zeros": float(next((digit for digit in reversed(digits) if digit != "0"), _NONE)),
        "digit: first": float(digits[0]) if digits else _NONE,
        "value: length": float(len(value)),
        "value: hour": float(hours[1]) if hours else _NONE,
        "value: minute": float(hours[2]) if hours else _NONE,
        "value: weekday": weekday,
        "value": float(value) if value.isdigit() else sum(ord(char) / 256.0**n for n, char in enumerate(value[:20])),
    }


_OF_RECORD = (
    *("time: hour", "time: minute", "time: weekday", "time: during the day", "time: order in the list"),
    *("state: read", "state: folder", "state: kind", "state: files", "state: reply", "state: readers"),
    *("wording: length", "wording: length of the subject", "wording: digits", "wording: question marks"),
    *("sender: domain", "id: first character", "id: last character"),
)


def _clues_of_record(day: Day, record: Record, order: dict[str, int]) -> Clues:
    figures = (
        *(record.at.hour, record.at.minute, record.at.weekday(), record.at > day.start),
        order.get(record.id, 0) / len(order),
        *(bool(record.fields.get("is_read")), _number(str(record.fields.get("folder", "inbox"))), _number(record.kind)),
        *(len(record.attachments), record.reply_to is not None, len(record.readers)),
        *(len(record.body), len(record.title), sum(char.isdigit() for char in record.body), record.body.count("?")),
        *(_domain(day, record.author), int(record.id[0], 36), int(record.id[-1], 36)),
    )
    return dict(zip(_OF_RECORD, map(float, figures), strict=True))


def _number(word: str) -> int:
    return sum(word.encode())


def _domain(day: Day, person: Person) -> int:
    """A number for a person's domain: 0 for the user's, else one that depends on its dots and hyphens."""
    domain = person.email.rpartition("@")[2]
    return 0 if domain == day.user.email.rpartition("@")[2] else 1 + 4 * ("-" in domain) + min(3, domain.count("."))


def find_decisions(day: Day) -> Iterator[Decision]:
    """The decisions of a day: duties with a single answer, each with the clues of the whole duty."""
    order = {record.id: place for place, record in enumerate(day.records)}
    for place, duty in enumerate(day.duties):
        if len(duty.answers) != 1:
            continue
        clues: Clues = {"place: in the day": float(place), "count: records": float(len(duty.records))}
        messages = [record for record in duty.records if record.kind != "entry"]
        if messages:
            clues |= _clues_of_record(day, max(messages, key=lambda record: record.at), order)
            clues["wording: mean length"] = fmean(len(record.body) for record in messages)
        facts = [fact for record in duty.support for fact in record.facts]
        for kind in {fact.kind for fact in facts}:
            own = [fact for fact in facts if fact.kind == kind]
            newest = max(own, key=lambda fact: fact.at.timestamp() if fact.at else 0)
            clues[f"count: {kind}"] = float(len(own))
            clues[f"digit: last of {kind}"] = _clues_of_value(newest.value)["digit: last"]
        yield Decision(find_type(duty), clues, next(iter(duty.answers)))
