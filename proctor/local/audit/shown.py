"""The readable parts of a day: whether a record shows its facts, and the n-grams of all texts."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime
from zlib import crc32

from proctor.scenarios.kit.making.days import Day
from proctor.scenarios.kit.making.records import Fact, Record
from proctor.scenarios.kit.values import Value, Words

GRAM = 8


def is_shown(fact: Fact, record: Record) -> bool:
    """Whether a record shows each part of a fact's value (parted by ``/``) as a text, time, day or amount."""
    return all(_is_part_shown(part, record) for part in fact.value.split("/"))


def _is_part_shown(part: str, record: Record) -> bool:
    if any(moment is not None and part in moment.isoformat() for moment in (record.start, record.end)):
        return True
    names = " ".join(f"{person.name} {person.email} {person.key}" for person in (record.author, *record.readers))
    text = f"{record.text}\n{record.fields.get('location', '')}"
    words = Words(text, record.at.date(), with_quotes=True)
    if part.lower() in f"{text}\n{names}".lower():
        return True
    return any(words.names(value) for value in _readings(part))


def _readings(part: str) -> Iterator[Value]:
    """The possible readings of a part of a fact's value."""
    if part.isdigit():
        yield Value(kind="amount", value=part)
        yield Value(kind="number", value=part)
    with suppress(ValueError):
        moment = datetime.fromisoformat(part)
        yield Value(kind="moment", value=moment.replace(tzinfo=None).isoformat(timespec="minutes"))
    with suppress(ValueError):
        yield Value(kind="day", value=date.fromisoformat(part).isoformat())
    if len(part) == 5 and part[2] == ":":
        yield Value(kind="time", value=part)
    yield Value(kind="code", value=part)


def hash_grams(day: Day, size: int = GRAM) -> frozenset[int]:
    """The CRC-32 of each n-gram of words that the participant reads, without the user's brief."""
    texts = dict.fromkeys(record.text for record in day.records)
    return frozenset(crc32(" ".join(gram).encode()) for text in texts for gram in _grams(text, size))


def _grams(text: str, size: int) -> Iterator[tuple[str, ...]]:
    words = text.lower().split()
    return zip(*(words[place:] for place in range(size)), strict=False)
