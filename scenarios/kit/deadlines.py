"""Days and times of day that a text names, resolved against the time at which it was written.

"Today", "tomorrow", "this afternoon", "17h", "end of day", "in two days", "by Thursday", "half past five" and dates in
figures become a ``When``. Hours without "am" or "pm" are hours of a working day: 7 to 12 in the morning, 1 to 6 in the
afternoon. The work only grows with the text's length.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from proctor_language.moments import MONTHS, WEEKDAYS
from proctor_language.patterns import compiled

MOST_VALUES = 4
"""Different days and times that a report of one deadline may name; a list of more names none of them."""

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORD = "|".join(_HOURS)
_HOUR = rf"\d{{1,2}}|{_WORD}"
_WEEKDAY, _MONTH = "|".join(WEEKDAYS), "|".join(MONTHS)
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"
_PART = r"(?:\s+(?:morning|afternoon|evening|night)\b)?"

_TIMES = (
    r"(?P<h>\b\d{1,2})[:.h](?P<m>[0-5]\d)(?:\s?(?P<half>[ap])\.?m\b\.?|\b)|\b(?P<h2>\d{1,2})\s?(?P<half2>[ap])\.?m\b\.?"
    rf"|\b(?P<clock>{_HOUR})\s?o['’]?\s?clock\b|\b(?P<french>\d{{1,2}})\s?(?:h|uhr|hrs|hours)\b"
    rf"|\bhalf[\s-](?:past[\s-])?(?P<half_past>{_HOUR})\b|\bquarter[\s-]past[\s-](?P<past>{_HOUR})\b"
    rf"|\bquarter[\s-]to[\s-](?P<to>{_HOUR})\b|\b(?P<four>(?:[01]\d|2[0-3])[0-5]\d)\s?(?:h|hrs|hours)\b"
    r"|\b(?P<noon>(?:12 )?(?:noon|midday))\b|\b(?P<midnight>midnight)\b"
    rf"|\b(?:in|within)\s(?P<hours>an|{_HOUR})\shours?\b"
)
_DAYS = (
    r"(?P<after>\bday after tomorrow\b)|(?P<tomorrow>\btomorrow\b)" + _PART + r"|(?P<today>\btoday\b|\btonight\b|"
    r"\bthis (?:very )?(?:morning|afternoon|evening)\b)|(?P<eod>\b(?:EOD|COB|EOB)\b|\b(?:end|close) of (?:the |this )?"
    r"(?:business |working )?(?:day|business|play)\b|\bbefore the day is out\b|\bbefore the end of the day\b)"
    r"|(?P<week>\b(?:the )?end of (?:the |this )?week\b|\bbefore the weekend\b|\bEOW\b)"
    r"|(?P<month>\bend of (?:the |this )?month\b|\bmonth['’]?s?[\s-]end\b|\bEOM\b)"
    rf"|\b(?:in|within) (?P<days>\d|{_WORD}|a) days?\b"
    rf"|\b(?:end of |late )(?P<month_end>{_MONTH})\b"
    rf"|\b(?P<iso>\d{{4}}-\d\d-\d\d)\b|\b(?P<day>{_NTH}(?:\sof)?\s?(?:{_MONTH})\b)|\b(?P<us>(?:{_MONTH})\.?\s(?:the\s)?{_NTH}\b)"
    r"|\b(?P<slash>\d{1,2}/\d{1,2})(?:/(?:20)?\d\d)?\b|\b(?P<dot>\d{1,2}\.\d{1,2})\.(?:(?:20)?\d\d)?"
    r"|\bthe (?P<nth>\d{1,2})(?:st|nd|rd|th)\b"
    rf"|\b(?P<weekday>{_WEEKDAY})\b(?:['’]s)?(?P<next>\s(?:of )?next week\b)?" + _PART
)
# "By 4", "at five": an hour only after such a word, and only where no noun follows.
_BARE = (
    rf"\b(?:by|before|until|till|til|at|than|around|about|to|deadline:?)\s(?P<bare>(?:[01]\d|2[0-3])[0-5]\d|{_HOUR})"
    r"(?P<rest>\s*\z|[,;)!?\n(]|\.(?:\s|\z)|:(?:\s|\z)|\s[-–—(]|\s(?:today|this|tonight|tomorrow|on|in|and|or|at|our|"
    r"your|his|her|their|local|sharp|latest|London|Bergen|GMT|CET|UTC|UK|mon|tue|wed|thu|fri|if|unless|else|otherwise|so)\b)"
)
_OF_MONTH = r"\A,?\s(?:the\s)?(\d{1,2})(?:st|nd|rd|th)?(?:[^\d:.h/%]|[.](?:\D|\z)|\z)"
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
        """Whether this names what another asks for; a day that isn't named is any."""
        if other.at is not None and self.at != other.at:
            return False
        return self.day == other.day if self.day is not None or other.at is None else True

    def is_part_of(self, other: "When") -> bool:
        """Whether this is what another asks for, with less detail."""
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
    return [mention.when for mention in _mentions_in(text, now)]


def says_when(text: str, now: datetime, wanted: Sequence[When]) -> bool:
    """Whether a text names one of the deadlines that are wanted, and no other.

    A deadline that contradicts ("by Thursday, or by Friday"), a correction to another one, and a list of more than
    ``MOST_VALUES`` days and times make it wrong.

    Args:
        text: a sentence or a report.
        now: when it was written.
        wanted: each of these is right.
    """
    named = moments_named(text, now)
    return any(_is_right(when, wanted, now) for when in named) and not contradicts(text, now, wanted)


def begins_with_time(text: str, now: datetime) -> bool:
    """Whether a text begins with a day or a time, as the rest of a list of them does."""
    return any(mention.start < _BEGINNING for mention in _mentions_in(text, now)[:1])


def contradicts(text: str, now: datetime, wanted: Sequence[When]) -> bool:
    """Whether a text names another deadline than those that are wanted, or more days and times than a report needs."""
    named = moments_named(text, now)
    if max(len({when.day for when in named}), len({when.at for when in named})) > MOST_VALUES:
        return True
    return any(
        when.is_deadline
        and not _is_right(when, wanted, now)
        and not any(map(when.is_part_of, wanted))
        and not (when.day is None and all(each.at is None for each in wanted))
        for when in named
    )


def _is_right(when: When, wanted: Sequence[When], now: datetime) -> bool:
    if when.at is not None and any(each.at is not None for each in wanted):  # a time of day is to be one of theirs
        wanted = [each for each in wanted if each.at is not None]
    resolved = when if when.day is not None else replace(when, day=now.date())
    return any(when.fits(each) or (each.at is None and resolved.fits(each)) for each in wanted)


def _mentions_in(text: str, now: datetime) -> list[_Mention]:
    merged: list[_Mention] = []
    for mention in sorted([*_days(text, now), *_times(text, now)], key=lambda each: (each.start, -each.end)):
        if merged and mention.start < merged[-1].end:
            continue
        if merged and (joined := _joined(merged[-1], mention, text)):
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


def _joined(first: _Mention, second: _Mention, text: str) -> _Mention | None:
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


def _days(text: str, now: datetime) -> Iterator[_Mention]:
    for match in compiled(_DAYS).finditer(text):
        groups = {name: value for name, value in match.groupdict().items() if value is not None}
        if _has(r"\A\s?%|\A\d", text[match.end() : match.end() + 2]):
            continue
        day, end = _day(groups, now.date()), match.end()
        if "weekday" in groups and (number := compiled(_OF_MONTH).search(text[end : end + 12])):
            dated = _date({"nth": number.group(1)}, now.date())
            if dated is not None and day is not None and dated.weekday() == day.weekday():
                day, end = dated, end + number.end(1)
        if day is not None:
            yield _Mention(When(day, None), match.start(), end, "eod" in groups, "weekday" in groups)


def _day(groups: dict[str, str], today: date) -> date | None:
    if "after" in groups:
        return today + timedelta(days=2)
    if "tomorrow" in groups:
        return today + timedelta(days=1)
    if "today" in groups or "eod" in groups:
        return today
    if "days" in groups:
        word = groups["days"].lower()
        return today + timedelta(days=1 if word == "a" else _number(word))
    if "week" in groups:
        return today + timedelta(days=(4 - today.weekday()) % 7)
    if "weekday" in groups:
        ahead = (_WEEKDAYS.index(groups["weekday"][:3].lower()) - today.weekday()) % 7
        return today + timedelta(days=ahead + (7 if "next" in groups and ahead + today.weekday() < 7 else 0))
    return _date(groups, today)


def _date(groups: dict[str, str], today: date) -> date | None:
    try:
        if "month" in groups:
            return _last_of(today.year, today.month)
        if "month_end" in groups:
            return _last_of(today.year, _month(groups["month_end"]))
        if "iso" in groups:
            return date.fromisoformat(groups["iso"])
        if "nth" in groups:
            return today.replace(day=int(groups["nth"]))
        if "slash" in groups or "dot" in groups:
            first, second = (int(each) for each in (groups.get("slash") or groups["dot"]).replace(".", "/").split("/"))
            return date(today.year, second, first) if second <= 12 else date(today.year, first, second)
        words = groups.get("day") or groups["us"]
        number = compiled(r"\d{1,2}").search(words).group()
        return date(today.year, _month(compiled(_MONTH).search(words).group()), int(number))
    except ValueError:
        return None


def _last_of(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _times(text: str, now: datetime) -> Iterator[_Mention]:
    for match in compiled(_TIMES).finditer(text):
        groups = {name: value for name, value in match.groupdict().items() if value is not None}
        at = _time(groups, now)
        if at is not None and not _has(r"\A\s?%|\A[.,:]?\d", text[match.end() : match.end() + 2]):
            # "In two hours" names a day, too.
            yield _Mention(When(now.date() if "hours" in groups else None, at), match.start(), match.end())
    for match in compiled(_BARE).finditer(text):
        word = match.group("bare").lower()
        at = time(int(word[:2]), int(word[2:])) if len(word) == 4 and word.isdigit() else _clock(_number(word))
        start = match.end() - len(match.group("rest")) - len(word)
        if at is not None:
            yield _Mention(When(None, at), start, start + len(word))


def _time(groups: dict[str, str], now: datetime) -> time | None:
    if "noon" in groups:
        return time(12)
    if "midnight" in groups:
        return time(23, 59)
    if "hours" in groups:
        ahead = 1 if groups["hours"].lower() == "an" else _number(groups["hours"].lower())
        return (now + timedelta(hours=ahead)).time()
    if "four" in groups:
        return time(int(groups["four"][:2]), int(groups["four"][2:]))
    if "h" in groups:
        return _clock(int(groups["h"]), int(groups["m"]), groups.get("half"), is_exact=len(groups["h"]) == 2)
    if "h2" in groups:
        return _clock(int(groups["h2"]), 0, groups["half2"])
    minutes = {"clock": 0, "french": 0, "half_past": 30, "past": 15, "to": -15}
    name = next(name for name in minutes if name in groups)
    hour = _number(groups[name].lower())
    return _clock(hour - 1, 45) if name == "to" else _clock(hour, minutes[name])


def _clock(hour: int, minute: int = 0, half: str | None = None, *, is_exact: bool = False) -> time | None:
    if half:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    elif hour < 7 and not is_exact:
        hour += 12
    return time(hour, minute) if hour < 24 else None


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _HOURS.index(word) + 1


def _has(pattern: str, text: str) -> bool:
    return compiled(pattern).search(text) is not None
