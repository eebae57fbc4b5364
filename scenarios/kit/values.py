"""Exact values in texts: amounts, days, times, codes, names. English and German notations, in bounded time.

A check asks whether a text names a value, in any of its usual notations. What an author quotes of other mails does not
count (``proctor_language.moments.own_words``).
"""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Literal

import re2
from pydantic.dataclasses import dataclass

from proctor_language.moments import own_words
from proctor_language.patterns import compiled

Kind = Literal["amount", "moment", "day", "time", "code", "words", "number", "address", "question"]

READ_AT_MOST = 20_000
"""Characters of a text that are read."""

_MONTHS = (
    "january|jan|januar|jän february|feb|februar march|mar|märz|mrz|maerz april|apr may|mai june|jun|juni "
    "july|jul|juli august|aug september|sept|sep october|oct|oktober|okt november|nov december|dec|dezember|dez"
)
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS.split(), start=1) for name in names.split("|")}
_MONTH = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_WEEKDAYS = (
    "monday|mon|montag tuesday|tue|tues|dienstag wednesday|wed|mittwoch thursday|thu|thur|thurs|donnerstag "
    "friday|fri|freitag saturday|sat|samstag sunday|sun|sonntag"
)
_WEEKDAY_OF = {name: number for number, names in enumerate(_WEEKDAYS.split()) for name in names.split("|")}
_WEEKDAY = "|".join(sorted(_WEEKDAY_OF, key=len, reverse=True))
_BEFORE = rf"\b(?:(?:{_WEEKDAY})\.?,?\s+(?:(?:the|den|dem)\s+)?)?"
"""A weekday before a date means that date only."""

_DAYS = (
    r"\b(?P<iso>\d{4}-\d\d-\d\d)"
    rf"|{_BEFORE}(?P<d1>\d{{1,2}})(?:st|nd|rd|th|\.)?(?:\s+of)?\s+(?P<m1>{_MONTH})\b"
    rf"|{_BEFORE}(?P<m2>{_MONTH})\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b"
    rf"|{_BEFORE}(?P<d3>\d{{1,2}})\.(?P<m3>\d{{1,2}})\.(?:\d{{2,4}})?"
    rf"|{_BEFORE}(?P<a>\d{{1,2}})/(?P<b>\d{{1,2}})(?:/\d{{2,4}})?\b"
    rf"|\b(?P<weekday>{_WEEKDAY})\b|\b(?P<near>today|tomorrow|tonight|heute|morgen)\b"
    r"|\bthe\s+(?P<nth>\d{1,2})(?:st|nd|rd|th)\b"
)
_DOTTED = r"\b\d{1,2}\.\d\d\.(?:\s|$)"
"""``15.10.`` may be a German date, or a time at the end of a sentence."""

_MORNINGS = r"\b(?:guten|heute|gestern|diesen) morgen\b"
"""Phrases in which German "morgen" means the morning."""

_TIMES = (
    r"\b(?P<h>\d{1,2})[:.](?P<m>\d\d)\b(?:\s?(?P<half>[ap])\.?m\b)?"
    r"|\b(?P<h2>\d{1,2})\s?(?P<half2>[ap])\.?m\b|\b(?P<h3>\d{1,2})\s?(?:uhr|h\b|o'clock)(?:\s?(?P<m3>\d\d))?"
    r"|\b(?P<noon>noon|midday|mittags?)\b|T(?P<h4>\d\d):(?P<m4>\d\d)"
)
_AMOUNTS = r"\d{1,3}(?:[., '’]\d{3})+(?:[.,]\d{1,2})?|\d+(?:[.,]\d{1,2})?"


@dataclass(frozen=True)
class Value:
    """One exact value.

    Attributes:
        kind: ``amount`` (money, in cents), ``moment`` (ISO date and time, without zone), ``day`` (ISO date),
            ``time`` (``HH:MM``), ``code`` (letters and digits; spaces and hyphens don't count), ``number`` (a whole
            number), ``words`` (any of several texts, parted by ``|``), ``address`` (mail address or telephone),
            ``question`` (a question mark).
        value: the value, as the kind says.
    """

    kind: Kind
    value: str

    def __str__(self) -> str:
        if self.kind == "amount":
            return f"{int(self.value) / 100:.2f}"
        first = self.value.split("|")[0]
        return first.replace("T", " ") if self.kind == "moment" else first


class Words:
    """A text as its author wrote it, with the values that it names.

    Args:
        text: what a reader sees of it.
        today: the day on which it was written; weekdays mean one of the seven days from the one before it.
        with_quotes: read what it quotes, too.
    """

    def __init__(self, text: str, today: date, *, with_quotes: bool = False) -> None:
        self.text = text[:READ_AT_MOST] if with_quotes else own_words(text[:READ_AT_MOST])
        self._today = today

    def names(self, value: Value) -> bool:
        """Whether the text names the value in one of its notations."""
        match value.kind:
            case "amount":
                return int(value.value) in _amounts(self.text)
            case "number":
                return compiled(rf"(?:^|\D){int(value.value)}(?:$|\D)").search(self.text) is not None
            case "day":
                return date.fromisoformat(value.value) in self.days
            case "time":
                return time.fromisoformat(value.value) in self.times
            case "moment":
                moment = datetime.fromisoformat(value.value)
                is_day = moment.date() in self.days or not _days(compiled(_DOTTED).sub(" ", self.text), self._today)
                return moment.time() in self.times and is_day
            case "words":
                return any(_has_words(self.text, each) for each in value.value.split("|"))
            case "question":
                return "?" in self.text
            case "code" | "address":
                return _squeezed(value.value) in _squeezed(self.text)

    @property
    def days(self) -> frozenset[date]:
        """The days that it names."""
        return _days(self.text, self._today)

    @property
    def times(self) -> frozenset[time]:
        """The times of day that it names."""
        return _times(self.text)


def _has_words(text: str, words: str) -> bool:
    escaped = r"\s+".join(re2.escape(word) for word in words.split())
    return compiled(rf"(?:^|\W){escaped}(?:$|\W)").search(text) is not None


@lru_cache(maxsize=4096)
def _squeezed(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum() or char in "@+")


@lru_cache(maxsize=4096)
def _amounts(text: str) -> frozenset[int]:
    return frozenset(cents for match in compiled(_AMOUNTS).finditer(text) for cents in _cents(match.group()))


def _cents(written: str) -> Iterator[int]:
    """What a number may mean as an amount: ``1.234`` is a thousand in German, and a little over one in no currency."""
    bare = "".join(char for char in written if char.isdigit() or char in ".,")
    last = max(bare.rfind("."), bare.rfind(","))
    digits = bare.replace(".", "").replace(",", "")
    places = len(bare) - last - 1 if last >= 0 else 0
    if last < 0 or places == 3:
        yield int(digits) * 100
    elif places in (1, 2):
        yield int(digits) * 10 ** (2 - places)


@lru_cache(maxsize=4096)
def _days(text: str, today: date) -> frozenset[date]:
    text = compiled(_MORNINGS).sub(" ", text)
    return frozenset(
        day
        for match in compiled(_DAYS).finditer(text)
        for day in _meant({name: value for name, value in match.groupdict().items() if value}, today)
    )


def _meant(groups: dict[str, str], today: date) -> Iterator[date]:
    if "iso" in groups:
        yield from _date(*map(int, groups["iso"].split("-")))
    elif "d1" in groups:
        yield from _near(int(groups["d1"]), _MONTH_OF[groups["m1"].lower()], today)
    elif "d2" in groups:
        yield from _near(int(groups["d2"]), _MONTH_OF[groups["m2"].lower()], today)
    elif "d3" in groups:
        yield from _near(int(groups["d3"]), int(groups["m3"]), today)
    elif "a" in groups:
        yield from _near(int(groups["a"]), int(groups["b"]), today)
        yield from _near(int(groups["b"]), int(groups["a"]), today)
    elif "weekday" in groups:
        number = _WEEKDAY_OF[groups["weekday"].lower()]
        yield next(day for day in (today + timedelta(days=n) for n in range(-1, 6)) if day.weekday() == number)
        if (today + timedelta(days=6)).weekday() == number or (today + timedelta(days=-1)).weekday() == number:
            yield today + timedelta(days=6)
    elif "nth" in groups:
        yield from _near(int(groups["nth"]), today.month, today)
        yield from _near(int(groups["nth"]), today.month % 12 + 1, today)
    else:
        yield today + timedelta(days=groups["near"].lower() in ("tomorrow", "morgen"))


def _near(day: int, month: int, today: date) -> Iterator[date]:
    """The date of that day and month, in the years around."""
    for year in (today.year - 1, today.year, today.year + 1):
        yield from _date(year, month, day)


def _date(year: int, month: int, day: int) -> Iterator[date]:
    try:
        yield date(year, month, day)
    except ValueError:
        return


@lru_cache(maxsize=4096)
def _times(text: str) -> frozenset[time]:
    return frozenset(
        at
        for match in compiled(_TIMES).finditer(text)
        if not _is_within_number(text, match.start(), match.end())
        for at in _clock({name: value for name, value in match.groupdict().items() if value})
    )


def _is_within_number(text: str, start: int, end: int) -> bool:
    """Whether more digits come directly before or after: ``1.14.30``, ``12:30.5``."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    is_after = before[-1:] in (".", ",", "/") and before[:1].isdigit()
    return is_after or (after[:1] in (".", ",", ":") and after[1:].isdigit())


def _clock(groups: dict[str, str]) -> Iterator[time]:
    if "noon" in groups:
        yield time(12)
        return
    hour = int(groups.get("h") or groups.get("h2") or groups.get("h3") or groups["h4"])
    minute = int(groups.get("m") or groups.get("m3") or groups.get("m4") or 0)
    half = groups.get("half") or groups.get("half2")
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    if hour < 24 and minute < 60:
        yield time(hour, minute)
