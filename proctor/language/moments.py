"""Read days and times as people write them: "Friday at half past one", "Fri 12/6 13:30", "2026-06-12T12:30:00Z".

A weekday's name means one of the seven days from the scenario's first day on. A time belongs to the last day named
before it, or to the day directly after it ("13:30 on Friday"). Some times don't count:

* the end of a span ("12:30 to 13:30"),
* a time that is turned down ("Friday 15:30 won't work"),
* the old time of an appointment that is moved ("instead of 12:45"),
* all times in quoted mail.

Reading takes time in proportion to the text's length.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, lru_cache

from proctor.language.patterns import compiled

READ_AT_MOST = 6000
"""The number of characters of a message that are read for times; messages about appointments are shorter."""

_FAR = 200
"""The most characters between a day and a time that belongs to it."""

WEEKDAYS = (
    *("Mon(?:day)?", "Tue(?:s|sday)?", "Wed(?:nesday)?", "Thu(?:r|rs|rsday)?", "Fri(?:day)?", "Sat(?:urday)?"),
    "Sun(?:day)?",
)
MONTHS = (
    *("Jan(?:uary)?", "Feb(?:ruary)?", "Mar(?:ch)?", "Apr(?:il)?", "May", "June?", "July?", "Aug(?:ust)?"),
    *("Sept?(?:ember)?", "Oct(?:ober)?", "Nov(?:ember)?", "Dec(?:ember)?"),
)
_ANY_MONTH = "|".join(MONTHS)
_WORDS = ("twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
_WORD = "|".join(_WORDS)

_TIME = (
    r"(?P<hour>\d{1,2})(?P<sign>[:.h])(?P<minute>\d\d)(?::00)?"
    r"|(?P<four>\d{4})"
    r"|\b(?P<halves>\d{1,2})\s?(?P<half>[ap])\.?m\b"
    rf"|\b(?P<clock>\d{{1,2}}|{_WORD})\s+o['’]?\s?clock\b"
    rf"|\b(?:at )?(?P<spoken>{_WORD})[\s-](?P<minutes>fifteen|thirty|forty[\s-]five)\b"
    rf"|\bat (?P<word>{_WORD})\b"
    r"|\b(?P<h>\d{1,2})(?:\s?h|\s+uhr)\b"
    r"|\b(?P<noon>noon|midday)\b"
    rf"|\bquarter\s+past\s+(?P<past>\d{{1,2}}|{_WORD})\b"
    rf"|\bhalf(?:\s+past)?[\s-]+(?P<thirty>\d{{1,2}}|{_WORD})\b"
    rf"|\bquarter\s+to\s+(?P<to>\d{{1,2}}|{_WORD})\b"
)
_AT_AN_HOUR = r"\b(?:at|by) (?P<at>\d{1,2})\b"
_NO_TIME_AFTER = rf"\A\s*[-–—]?\s*(?:{_ANY_MONTH}|st|nd|rd|th)\b"
_NO_HOUR_AFTER = (
    r"\A(?:\s*[:.,]\d|\s*[/-]\s*\d|\s*[ap]\.?m"
    rf"|\s*(?:st|nd|rd|th|{_ANY_MONTH}|min|hour|people|of)\b)"
)
_HALF_DAY_AFTER = r"\A\s*([ap])\.?m"

# Before a time, this makes it the end of a span, or the old time of an appointment that is moved.
_ENDS_A_SPAN = (
    r"(?:(?::\d\d|\.\d\d|pm|am)(?:[-–—]|\s[-–—]\s|\sto\s)|:\d\d\s(?:until|and)\s|\d[-–—]|\s\d\sto\s|(?:until|till)\s"
    r"|instead of\s|rather than\s|\bnot\s)\z"
)
_MOVED = r"from\s+\z"
_MOVED_FROM = r"\A(?:\s+at)?\s+[\d:.apm]+\s+to\s+\z"
_TO_ITS_DAY = (
    r"\A(?:\s*[ap]\.?m\.?)?(?:\s*(?:,|/|or|and|,\s*or)\s*(?:at\s+)?\d{1,2}[:.h]\d\d(?:\s*[ap]\.?m\.?)?){0,5}"
    r"(?:\s+in\s+the\s+(?:morning|afternoon))?(?:\s+\w{2,6}\s+time)?(?:\s*[-–—]\s*\d{1,2}[:.]\d\d)?(?:\s+instead)?,?\s*(?:on\s+|\()?"
    r"(?:the\s+)?\z"
)
_TO_ANOTHER_DAY = r"\A\s*(?:[ap]\.?m\.?)?,?\s*(?:on\s+)?\z"
_OF_ITS_DAY = r"\A,?\s*(?:at\s+|from\s+|\()?\z"
_NOT = r"\bnot\s+(?:on\s+)?\z"
_NOT_AT = r"\A\s*(?:won['’]t|wont|doesn['’]t|doesnt|can['’]t|does not|will not|isn['’]t|is not)\s+\w+\s+at\s+\z"
_NO = (
    r"(?:\bno longer|\bnot\b|\bcannot|n['’]t\b|\b(?:wont|doesnt|cant|isnt)\b|\bunfortunately|\bclash|\bconflict"
    r"|\bimpossible|\bunavailable|\btaken\b)"
)
# After a condition or a reason, a "not" turns down something other than the time before it.
_ELSEWHERE = r"(?:[\n.?!;–—(|]|\b(?:if|unless|whether|hope|should|in case|as|because|since|or|but)\b|, | - )"
_NO_WITHIN = 45
_QUOTE = r"\n[ \t]{0,8}>|\n[^\n]{5,90}\bwrote:|\n-{2,}\s*Original|\nFrom:\s"
_HALF_DAY = r"(?:\s*[ap]\.?m\b\.?)?"
# A zone may follow the end of the span: "12:30-13:15 Berlin time".
_ZONE = r"\A{half}(?:\s*(?:[-–—]|to|until)\s*\d{{1,2}}[:.]\d\d{half})?\s*[(,]?\s*(?:in\s+)?(?:{marks})"


def own_words(text: str) -> str:
    """Return the text that a message's author wrote: all before the first quoted mail."""
    quote = compiled(_QUOTE).search(text)
    return text[: quote.start()] if quote else text


@dataclass(frozen=True, order=True)
class Named:
    """A time on a day, or a time without a day (``day`` is None); ``is_foreign`` says that it is marked as foreign."""

    day: date | None
    hour: int
    minute: int
    is_foreign: bool = False


@dataclass(frozen=True)
class _Day:
    day: date | None
    start: int
    end: int


@dataclass(frozen=True)
class _Time:
    hours: tuple[int, ...]
    minute: int
    start: int
    end: int
    is_foreign: bool


class Reading:
    """The days and times that a text names.

    Args:
        text: a message.
        first_day: the scenario's first day; a weekday's name means its day in the week that begins here.
        foreign: a pattern for the words that mark a time as of another zone ("Berlin|CEST"), if there is such a zone.
    """

    def __init__(self, text: str, first_day: date, foreign: str | None = None) -> None:
        self.text = text
        self._whole = text[:READ_AT_MOST]
        self._text = own_words(self._whole)
        self._first_day = first_day
        self._foreign = foreign

    @cached_property
    def sentences(self) -> "list[Reading]":
        """The text's sentences and lines, each read alone."""
        pieces = compiled(r"[^.!?\n]+").finditer(self.text)
        return [Reading(piece.group(), self._first_day, self._foreign) for piece in pieces]

    @cached_property
    def days(self) -> set[date]:
        """The days that the author names, with or without a time."""
        return {dated.day for dated in self._days if dated.day is not None}

    @cached_property
    def last_day(self) -> str | None:
        """The text's last expression for a day, as written."""
        return self._text[self._days[-1].start : self._days[-1].end] if self._days else None

    @cached_property
    def moments(self) -> set[Named]:
        """The times that are named with their day."""
        moments: set[Named] = set()
        for time in self._times:
            for day, end in self._pair_days(time):
                if not self._is_turned_down(end):
                    moments |= {Named(day, hour, time.minute, time.is_foreign) for hour in time.hours}
        return moments

    def has_value(self, kind: str) -> bool:
        """Return False: version 1 knows no kinds. Scenarios that test a kind are read by version 2."""
        return False

    @cached_property
    def bare_times(self) -> set[Named]:
        """The named times, if the text names no day, not even in a quoted mail; else empty."""
        if self._days or next(_find_days(self._whole, self._first_day), None) is not None:
            return set()
        return {
            Named(None, hour, time.minute, time.is_foreign)
            for time in self._times
            if not self._ends_a_span(time) and not self._is_turned_down(time.end)
            for hour in time.hours
        }

    @cached_property
    def _days(self) -> list[_Day]:
        return list(_find_days(self._text, self._first_day))

    @cached_property
    def _times(self) -> list[_Time]:
        return list(_find_times(self._text, self._foreign))

    def _pair_days(self, time: _Time) -> Iterator[tuple[date, int]]:
        """Yield the days that a time belongs to, each with the place where the words about it end."""
        before = [day for day in self._days if day.end <= time.start]
        after = next((day for day in self._days if day.start >= time.end), None)
        gap = self._text[time.end : after.start] if after and after.start - time.end < _FAR else None
        # "Friday at noon, Monday at two": the comma ends the words about Friday.
        is_own = bool(before) and "," in (gap or "") and _has(_OF_ITS_DAY, self._text[before[-1].end : time.start])
        if before and self._is_ruled_out(before[-1], time):
            return
        if not self._ends_a_span(time):
            if before and (day := before[-1].day) is not None:
                is_others = after is not None and after.day != day and not is_own and _has(_TO_ANOTHER_DAY, gap)
                if not is_others and self._has_near_day(before, time):
                    yield day, time.end
            if after is not None and after.day is not None and not is_own and _has(_TO_ITS_DAY, gap):
                yield after.day, after.end
        if before and (day := before[-1].day) is not None:
            is_moved = _has(_MOVED, self._text[max(0, before[-1].start - 16) : before[-1].start])
            if is_moved and _has(_MOVED_FROM, self._text[before[-1].end : time.start][:_FAR]):
                yield day, time.end

    def _is_ruled_out(self, day: _Day, time: _Time) -> bool:
        """Whether the text says "not Friday 13:30" or "Friday won't work at 13:30"."""
        if time.start - day.end > _FAR:
            return False
        between = self._text[day.end : time.start]
        is_next = _has(_OF_ITS_DAY, between) and _has(_NOT, self._text[max(0, day.start - 16) : day.start])
        return is_next or _has(_NOT_AT, between)

    def _has_near_day(self, before: list[_Day], time: _Time) -> bool:
        """Whether the last day before a time is mentioned near it, and not as the old day of a move ("from Friday")."""
        for mention in reversed(before):
            if mention.day != before[-1].day or time.start - mention.end > _FAR:
                return False
            if not self._text[: mention.start].lower().endswith("from "):
                return True
        return False

    def _ends_a_span(self, time: _Time) -> bool:
        return _has(_ENDS_A_SPAN, self._text[max(0, time.start - 16) : time.start])

    def _is_turned_down(self, end: int) -> bool:
        following = self._text[end : end + _NO_WITHIN + 16]
        no = compiled(_NO).search(following)
        if no is None or no.start() > _NO_WITHIN:
            return False
        elsewhere = compiled(_ELSEWHERE).search(following)
        return elsewhere is None or no.start() <= elsewhere.start()


def _has(pattern: str, text: str | None) -> bool:
    return text is not None and compiled(pattern).search(text) is not None


@lru_cache(maxsize=64)
def _day_patterns(first_day: date) -> tuple[str, list[date | None]]:
    """Return one pattern with a group for each day of the week; the last group is for "today" and "tomorrow"."""
    days = [first_day + timedelta(days=number) for number in range(7)]
    groups = []
    for day in days:
        number, month = rf"{day.day}(?:st|nd|rd|th)?", f"(?:{MONTHS[day.month - 1]})"
        groups.append(
            rf"(\b{WEEKDAYS[day.weekday()]}\b|\b{number}(?:\s+of)?\s+{month}\b|\b{month}\s+{number}\b"
            rf"|\bthe\s+{day.day}(?:st|nd|rd|th)\b|\b{day.day}[/.]0?{day.month}(?:[/.](?:20)?{day:%y})?\b"
            rf"|\b0?{day.month}/{day.day}\b|\b{day.isoformat()})"
        )
    return "|".join([*groups, r"(\btomorrow\b|\btoday\b)"]), [*days, None]


def _find_days(text: str, first_day: date) -> Iterator[_Day]:
    pattern, days = _day_patterns(first_day)
    for match in compiled(pattern).finditer(text):
        start, end = match.span()
        day = days[next(index for index, group in enumerate(match.groups()) if group is not None)]
        if day is None or not _is_other_day(text[end : end + 24], day, match.group()):
            yield _Day(day, start, end)


def _is_other_day(following: str, day: date, expression: str) -> bool:
    """Whether a weekday doesn't mean ``day``: another week's date follows ("Friday 19 June"), or it is "Friday's"."""
    if not expression[:1].isalpha() or expression.lower().startswith("the") or any(c.isdigit() for c in expression):
        return False
    others = "|".join(str((day + timedelta(weeks=weeks)).day) for weeks in (-1, 1, 2))
    return _has(rf"\A(?:['’]s|\.?,?\s+(?:the\s+)?(?:{others})(?:st|nd|rd|th)?\b)", following)


def _find_times(text: str, foreign: str | None) -> Iterator[_Time]:
    written = [(*match.span(), match.groupdict()) for match in compiled(_TIME).finditer(text)]
    # "at 4" or "by 4" alone; the pattern above finds "at 4:30" and "at 4 pm".
    hours = [
        (match.start() + len("at "), match.end(), match.groupdict()) for match in compiled(_AT_AN_HOUR).finditer(text)
    ]
    for start, end, groups in sorted([*written, *hours], key=lambda match: match[0]):
        hours_and_minute = _hours(groups, text[start - 1 : start] if start else "", text[end : end + 24])
        if hours_and_minute is not None:
            zone = foreign and compiled(_ZONE.format(half=_HALF_DAY, marks=foreign)).search(text[end : end + 80])
            yield _Time(*hours_and_minute, start, end + (zone.end() if zone else 0), bool(zone))


def _hours(matched: dict[str, str | None], before: str, after: str) -> tuple[tuple[int, ...], int] | None:
    """Return the hours that a time may mean (half past three: at night, or in the afternoon) and its minute."""
    groups = {name: value for name, value in matched.items() if value is not None}
    if "hour" in groups:
        return _read_figures(groups, before, after)
    if four := groups.get("four"):
        is_time = not (before and before in "0123456789:.,/+-") and not after[:1].isdigit() and after[:1] != ":"
        return ((int(four[:2]),), int(four[2:])) if is_time else None
    if "halves" in groups:
        hour = int(groups["halves"]) % 12
        return (hour + (12 if groups["half"].lower() == "p" else 0),), 0
    if at := groups.get("at"):
        return None if _has(_NO_HOUR_AFTER, after) else (_both(at), 0)
    if "noon" in groups:
        return (12,), 0
    if "h" in groups:
        return (int(groups["h"]),), 0
    if "to" in groups:
        return tuple((hour - 1) % 24 for hour in _both(groups["to"])), 45
    if "spoken" in groups:
        spoken = {"fifteen": 15, "thirty": 30}.get(groups["minutes"].lower(), 45)
        return _both(groups["spoken"]), spoken
    minute = {"clock": 0, "word": 0, "past": 15, "thirty": 30}
    name = next(name for name in minute if name in groups)
    return _both(groups[name]), minute[name]


def _read_figures(groups: dict[str, str], before: str, after: str) -> tuple[tuple[int, ...], int] | None:
    if (before and before in "0123456789:.,/") or after[:1].isdigit():
        return None
    hour, minute = int(groups["hour"]), int(groups["minute"])
    if len(groups["hour"]) == 2:
        return None if _has(_NO_TIME_AFTER, after) else ((hour,), minute)
    half = compiled(_HALF_DAY_AFTER).search(after)
    in_the_morning, later = half is None or half.group(1).lower() == "a", half is None or half.group(1).lower() == "p"
    hours = [hour] if in_the_morning else []
    if later and groups["sign"].lower() != "h":
        hours.append(hour + 12)
    return tuple(hours), minute


def _both(word: str) -> tuple[int, int]:
    """Return the two hours of the day that an hour in figures or words may mean."""
    hour = (int(word) if word.isdigit() else _WORDS.index(word.lower())) % 12
    return hour, hour + 12
