"""Notes (mails and texts), the values in them, and what was said last about a thing."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

Value = int | str | date

_AMOUNT = re.compile(r"(?:€|EUR)\s?(\d[\d.,]*\d)|(\d[\d.,]*\d)\s?(?:€|EUR|euros?)", re.I)
_CODE = re.compile(r"\b[A-Z]{1,3}-?\d{4,7}\b")
_TIME = re.compile(r"\b(\d{1,2})(?::(\d\d))?\s?([ap]m)\b|\b(\d{1,2}):(\d\d)\b", re.I)
_NUMBER = re.compile(r"(?<![\w:.,/-])\d{1,3}(?![\w:/-]|[.,]\d)")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_GERMAN = {"mär": "mar", "mai": "may", "okt": "oct", "dez": "dec"}
_MONTH = rf"({'|'.join([*_MONTHS, *_GERMAN])})[a-zäé]*"
_DAY = re.compile(
    rf"\b(\d{{1,2}})\.? {_MONTH}\b|\b{_MONTH} (\d{{1,2}})\b(?!:)"
    r"|\b(\d{1,2})[/.](\d{1,2})(?:[/.]\d{2,4}|\b(?![.,]?\d))",
    re.I,
)
_KINDS = (
    ("amount", r"price|cost|fee|rent|budget|deposit|insurance|amount"),
    ("day", r"\b(?:date|day)\b"),
    ("number", r"the number of (?!the )|minutes"),
    ("time", r"\btime\b"),
)
_STARTS = re.compile(
    r"(?<!\bfor )(?<!\bof )(?<!\bat )(?<!\bfrom )(?<!\bto )(?<!\bin )\b(?:the|your|die|der|das) ", re.I
)
_STATED = re.compile(r"([^.:;?!,\n]+?)(?: (?:is|ist) (?=€|EUR|[A-Z\d])|: (?=€|EUR|[A-Z]{0,3}-?\d))")


@dataclass(frozen=True)
class Note:
    """A mail or a text; ``sender`` is the name in the address book, ``is_own`` whether the user wrote it."""

    id: str
    at: datetime
    address: str
    sender: str
    subject: str
    body: str
    is_own: bool = False

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.subject}\n{self.body}"

    def is_about(self, thing: str) -> bool:
        """Whether it names a thing, and not one whose name only begins so."""
        return bool(re.search(rf"\b{re.escape(thing)}\b(?! (?:annex|I+)\b)", self.text, re.I))


def kind_of(thing: str) -> str:
    """What kind of value a thing has, by its name."""
    return next((kind for kind, words in _KINDS if re.search(words, thing, re.I)), "code")


def values_in(text: str, kind: str, now: datetime, names: Collection[str] = ()) -> list[tuple[str, Value]]:
    """The values of a kind in a text, in order: as they are written, and in a form that can be compared."""
    match kind:
        case "amount":
            return [(m[0], cents(m[1] or m[2])) for m in _AMOUNT.finditer(text)]
        case "time":
            return [(m[0], _minutes(m)) for m in _TIME.finditer(text)]
        case "day":
            return [(day.strftime("%A %d %B %Y"), day) for m in _DAY.finditer(text) if (day := _day(m, now))]
        case "number":
            return [(m[0], int(m[0])) for m in _NUMBER.finditer(text)]
        case "person":
            match = {name: text.find(name) for name in names if name in text}
            return [(name, name) for name in sorted(match, key=match.__getitem__)]
        case _:
            return [(m[0], m[0]) for m in _CODE.finditer(text)]


def cents(figure: str) -> int:
    """An amount in cents: ``1,997.15``, ``1.997,15``, ``1997``."""
    whole, decimals = (figure[:-3], figure[-2:]) if re.search(r"[.,]\d\d$", figure) else (figure, "00")
    return int(re.sub(r"\D", "", whole) + decimals)


def _minutes(match: re.Match[str]) -> int:
    hour, minute = int(match[1] or match[4]), int(match[2] or match[5] or 0)
    half = (match[3] or "").lower()
    return (hour % 12 + 12 * (half == "pm") if half else hour) * 60 + minute


def _day(match: re.Match[str], now: datetime) -> date | None:
    word = (match[2] or match[3] or "").lower()[:3]
    month = _MONTHS.index(_GERMAN.get(word, word)) + 1 if word else int(match[6])
    years = (now.year + 1, now.year, now.year - 1)
    try:
        days = [date(year, month, int(match[1] or match[4] or match[5])) for year in years]
    except ValueError:
        return None
    return min(days, key=lambda day: abs((day - now.date()).days))


def last_said(notes: Iterable[Note], thing: str, now: datetime, names: Collection[str] = ()) -> str | None:
    """What was said last about a thing; of a correction's values, the one that is new."""
    last: tuple[str, Value] | None = None
    for note in notes:
        if note.is_about(thing):
            text = re.sub(re.escape(thing), "", note.text, flags=re.I)
            known = [name for name in names if name != note.sender]
            values = values_in(text, kind_of(thing), now, known)
            last = next((value for value in values if last is None or value[1] != last[1]), last)
    return last[0] if last else None


def things_in(notes: Iterable[Note]) -> Iterator[str]:
    """The things of which a note says what they are: ``the rent of the van`` in ``the rent of the van is 12 EUR``."""
    for note in notes:
        for match in _STATED.finditer(note.body):
            if starts := list(_STARTS.finditer(match[1])):
                yield match[1][starts[-1].start() :].lower()


def codes_in(text: str) -> list[str]:
    """The numbers of receipts, files and the like in a text."""
    return _CODE.findall(text)


def days_in(text: str, now: datetime) -> list[date]:
    """The days that a text names, in order, each of the year that is nearest."""
    return [day for match in _DAY.finditer(text) if (day := _day(match, now))]


def minutes_in(text: str) -> list[int]:
    """The times that a text names, in order, in minutes after midnight."""
    return [_minutes(match) for match in _TIME.finditer(text)]


def cents_in(text: str) -> list[int]:
    """The amounts that a text names, in order."""
    return [cents(match[1] or match[2]) for match in _AMOUNT.finditer(text)]


def clock(text: str, now: datetime) -> datetime:
    """A time of today."""
    hour, _, minute = text.partition(":")
    return now.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)


def note_of(item: dict[str, Any], name_of: dict[str, str], user: str) -> Note:
    """A note from a mail or a text as the simulator has it."""
    address = str(item.get("from_address") or item.get("from_number"))
    return Note(
        id=str(item["message_id"]),
        at=datetime.fromisoformat(str(item.get("received_at") or item["sent_at"])),
        address=address,
        sender=name_of.get(address, ""),
        subject=str(item.get("subject", "")),
        body=str(item.get("body_text") or item.get("body") or ""),
        is_own=address == user or item.get("direction") == "outgoing",
    )
