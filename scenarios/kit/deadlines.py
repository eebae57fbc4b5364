"""Days and times of day that a text names, resolved against the time at which it was written.

"Today", "tomorrow", "this afternoon", "17h", "end of day", "in two days", "by Thursday", "half past five" and dates in
figures become a ``When``. Hours without "am" or "pm" are hours of a working day: 7 to 12 in the morning, 1 to 6 in the
afternoon. The work only grows with the text's length.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from proctor.language.patterns import compiled
from proctor.language.reader.mentions import Mention
from proctor.language.reader.values import Values, values_of

MOST_VALUES = 4
"""The most days and times that a report of one deadline may name; a longer list names none of them."""

_HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_RELATIVE = (
    r"(?P<eod>\b(?:EOD|COB|EOB)\b|\b(?:end|close) of (?:the |this )?(?:business |working )?(?:day|business|play)\b"
    r"|\bbefore the day is out\b|\bbefore the end of the day\b)"
    r"|(?P<today>\bthis (?:very )?(?:morning|afternoon|evening)\b)"
    r"|(?P<month>\bmonth['’]?s?[\s-]end\b|\bEOM\b)"
    r"|(?P<week>\b(?:the )?end of (?:the |this )?week\b|\bbefore the weekend\b|\bEOW\b)"
    rf"|\b(?:in|within) (?P<days>\d|a|{'|'.join(_HOURS)}) days?\b"
    rf"|\b(?:in|within)\s(?P<hours>an|\d{{1,2}}|{'|'.join(_HOURS)})\shours?\b"
)
_MARK = (
    r"\b(?:by|before|until|till|til|due|deadline|no later than|not later than|at the latest|latest|correction|"
    r"make that|i mean|rather|instead)\b"
)
_MARKED_WITHIN = 12
_BEGINNING = 4
_NO_OTHER_SENTENCE = r"[.;!?\n](?:\s|\z)"
_JOINS_VALUES = r"\A[\s,;/&()–—-]*(?:(?:or|and|to|at|on|the|maybe|perhaps|by|before|until|even)[\s,]*){0,3}\z"
_JOINS_DAY_AND_TIME = (
    r"\A['’]?s?[\s,(]*(?:(?:at|by|on|the|of|before|around|about|noon|latest|no later than|–|-)[\s,(]*){0,2}\z"
)


@dataclass(frozen=True)
class When:
    """A day, a time of day, or both, as a text names them; ``is_deadline``: after "by", "before", "due", …"""

    day: date | None
    at: time | None
    is_deadline: bool = False

    def fits(self, other: "When") -> bool:
        """Whether this names the other's day and time; a time without a day fits any day."""
        if other.at is not None and self.at != other.at:
            return False
        return self.day == other.day if self.day is not None or other.at is None else True

    def is_part_of(self, other: "When") -> bool:
        """Whether this names the same as another, in less detail."""
        return self.day in (None, other.day) and self.at in (None, other.at)


@dataclass(frozen=True)
class _Mention:
    when: When
    start: int
    end: int
    is_end_of_day: bool = False
    is_weekday: bool = False


def moments_named(text: str, now: datetime) -> list[When]:
    """All days and times that a text names, in order.

    Args:
        text: a sentence or a report.
        now: when it was written; its day is "today".
    """
    return [mention.when for mention in _find_mentions(text, now)]


def says_when(text: str, now: datetime, wanted: Sequence[When]) -> bool:
    """Whether a text names one of the wanted deadlines, and no other.

    Wrong are a contradiction ("by Thursday, or by Friday"), a correction to another deadline, and a list of more than
    ``MOST_VALUES`` days and times.

    Args:
        text: a sentence or a report.
        now: when it was written.
        wanted: each of these is right.
    """
    named = moments_named(text, now)
    return any(_is_right(when, wanted, now) for when in named) and not contradicts(text, now, wanted)


def begins_with_time(text: str, now: datetime) -> bool:
    """Whether a text begins with a day or a time, like the rest of a list."""
    return any(mention.start < _BEGINNING for mention in _find_mentions(text, now)[:1])


def contradicts(text: str, now: datetime, wanted: Sequence[When]) -> bool:
    """Whether a text names an unwanted deadline, or more days and times than a report needs."""
    named = moments_named(text, now)
    if max(len({when.day for when in named}), len({when.at for when in named})) > MOST_VALUES:
        return True
    return any(
        when.is_deadline
        and not _is_right(when, wanted, now)
        and not any(map(when.is_part_of, wanted))
        and not (when.day is None and all(due.at is None for due in wanted))
        for when in named
    )


def _is_right(when: When, wanted: Sequence[When], now: datetime) -> bool:
    if when.at is not None and any(due.at is not None for due in wanted):  # a time of day has to be one of theirs
        wanted = [due for due in wanted if due.at is not None]
    resolved = when if when.day is not None else replace(when, day=now.date())
    return any(when.fits(due) or (due.at is None and resolved.fits(due)) for due in wanted)


def _find_mentions(text: str, now: datetime) -> list[_Mention]:
    values = values_of(text, now.date())
    text = values.text
    merged: list[_Mention] = []
    found = [*_relative(text, now), *_days(values), *_times(values)]
    for mention in sorted(found, key=lambda each: (each.start, -each.end)):
        if merged and mention.start < merged[-1].end:
            continue
        if merged and (joined := _join_mentions(merged[-1], mention, text)):
            merged[-1] = joined
        else:
            merged.append(mention)
    marks = sorted(match.end() for match in compiled(_MARK).finditer(text))
    marked: list[_Mention] = []
    for mention in merged:
        before = marked[-1] if marked else None
        is_marked = (
            before is not None and before.when.is_deadline and _has(_JOINS_VALUES, text[before.end : mention.start])
        )
        is_marked = is_marked or mention.when.is_deadline or _follows_mark(mention, marks, marked, text)
        marked.append(replace(mention, when=replace(mention.when, is_deadline=is_marked)))
    return marked


def _follows_mark(mention: _Mention, marks: list[int], before: list[_Mention], text: str) -> bool:
    if _has(r"\A[\s,]*(?:at the )?latest\b", text[mention.end : mention.end + 16]):
        return True
    at = bisect_right(marks, mention.end) - 1
    since = max(before[-1].end if before else 0, mention.start - _MARKED_WITHIN)
    return at >= 0 and marks[at] >= since and not _has(_NO_OTHER_SENTENCE, text[marks[at] : mention.start])


def _join_mentions(first: _Mention, second: _Mention, text: str) -> _Mention | None:
    """A day and a time beside each other as one, or two words for one day ("Friday, 13 March")."""
    if not _has(_JOINS_DAY_AND_TIME, text[first.end : second.start]):
        return None
    one, two = first.when, second.when
    if first.is_end_of_day or second.is_end_of_day:
        day = (two if first.is_end_of_day else one).day
    elif one.day is None or two.day is None or one.day == two.day:
        day = one.day or two.day
    elif (first.is_weekday or second.is_weekday) and _is_same_weekday(one.day, two.day, text[first.end : second.start]):
        day = two.day if first.is_weekday else one.day
    else:
        return None
    if (one.at is not None and two.at is not None) or (one.day is None and two.day is None):
        return None
    return _Mention(When(day, one.at or two.at), first.start, second.end)


def _is_same_weekday(one: date, two: date, between: str) -> bool:
    return one.weekday() == two.weekday() and _has(r"\A[\s,.(]*(?:the )?\z", between)


def _relative(text: str, now: datetime) -> Iterator[_Mention]:
    """Find times that are named by their distance: the end of the day or week, "in two days", "within an hour"."""
    today = now.date()
    for match in compiled(_RELATIVE).finditer(text):
        groups = {name: value.lower() for name, value in match.groupdict().items() if value is not None}
        if "hours" in groups:
            at = now + timedelta(hours=_number(groups["hours"]))
            yield _Mention(When(today, at.time()), match.start(), match.end())
            continue
        if "month" in groups:
            end = (today.replace(day=1) + timedelta(days=32)).replace(day=1) - timedelta(days=1)
            yield _Mention(When(end, None), match.start(), match.end())
            continue
        ahead = (4 - today.weekday()) % 7 if "week" in groups else _number(groups.get("days", "0"))
        yield _Mention(When(today + timedelta(days=ahead), None), match.start(), match.end(), "eod" in groups)


def _days(values: Values) -> Iterator[_Mention]:
    for day in values.days:
        is_weekday = not any(map(str.isdigit, values.text[day.start : day.end]))
        if not day.is_weak or _is_marked(values.text, day):
            yield _Mention(When(date.fromisoformat(day.value), None), day.start, day.end, False, is_weekday)


def _times(values: Values) -> Iterator[_Mention]:
    for mention in values.times:
        if mention.role != "end" and (not mention.is_weak or _is_marked(values.text, mention)):
            yield _Mention(When(None, time.fromisoformat(mention.value)), mention.start, mention.end)


def _is_marked(text: str, mention: Mention) -> bool:
    """Whether an ambiguous mention is marked as a deadline: ``31/3``, ``17.30``, ``end of March``, ``by one``."""
    word = text[mention.start : mention.end].lower()
    if any(sign in word for sign in "./"):
        return text[mention.end : mention.end + 2].strip()[:1] != "%"
    marks = (match.end() for match in compiled(_MARK).finditer(text[: mention.start]))
    return word.startswith("end of") or any(end == mention.start - 1 for end in marks)


def _number(word: str) -> int:
    return int(word) if word.isdigit() else 1 if word in ("a", "an") else _HOURS.index(word) + 1


def _has(pattern: str, text: str) -> bool:
    return compiled(pattern).search(text) is not None
