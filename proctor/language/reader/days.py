"""Read days: ``31 August``, ``August the 31st``, ``31. 8. 2027``, ``31-08-2027``, ``next Friday``, ``übermorgen``."""

import re
from calendar import isleap
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import count
from typing import NamedTuple

from proctor.language.reader.mentions import Mention
from proctor.language.reader.tokens import Tokens, is_word
from proctor.language.reader.words import (
    DAYS_OF,
    GERMAN_ORDINALS,
    MONTHS,
    ORDINALS,
    RELATIVE_DAYS,
    SHORT_GERMAN_WEEKDAYS,
    TENS,
    WEEKDAYS,
    parse_number_word,
)

_SUFFIXES = frozenset(("st", "nd", "rd", "th", "ter", "ten"))
_ARTICLES = frozenset(("the", "den", "dem", "der", "of"))
_NEXT = frozenset(("next", "nächsten", "nächster", "nächste", "naechsten", "naechste"))
_AFTER_NEXT = frozenset(("übernächste", "übernächsten", "übernächster"))
_LAST = frozenset(("last", "letzten", "letzte", "vergangenen", "vorigen", "letzter"))
_THIS = frozenset(("this", "coming", "diesen", "kommenden", "dieser", "kommender", "diese", "kommende"))
_ENGLISH_WORDS = frozenset(("sun", "sat", "wed", "mon"))
_BEFORE_WEEKDAY = frozenset((*_NEXT, *_THIS, "on", "by", "until"))
_ROMAN = {name: month for month, name in enumerate("I II III IV V VI VII VIII IX X XI XII".split(), start=1)}
_NUMBER_SIGNS = ("-", "/", ".")
_BETWEEN = frozenset((*_ARTICLES, "a", "am", "on", "ein", ",", ".", "(", "-", "/", "*", "_"))
"""Tokens that may be between a weekday and its date."""
_BEFORE_NTH = frozenset((*_ARTICLES, "on", "by", "am", "zum", "vom", "until", "before", "bis"))
_OF_WEEK = frozenset(("next", "nächster", "übernächster", "kommender", "of", "in", "week", "this", "dieser"))


_DIGITS_OF_DATE = 8
_WEEK = timedelta(days=7)
_COUNTERS = frozenset(
    "a one two three four five six seven eight nine ten eleven twelve eine zwei drei vier fünf sechs sieben acht neun "
    "zehn".split()
)
"""Numbers that begin a day only before a unit of days (``DAYS_OF``)."""
_PHRASES = frozenset(
    "day date morgen new christmas heiligabend heiligen silvester nye leap schalttag in end ende last letzten letzter month "
    "monatsende".split()
)
"""The words that begin a day in several words."""
DAY_WORDS = frozenset(
    (*MONTHS, *WEEKDAYS, *RELATIVE_DAYS, *ORDINALS, *GERMAN_ORDINALS, *SHORT_GERMAN_WEEKDAYS, "twenty", "thirty")
).union(_PHRASES, _COUNTERS)
"""The words that begin a day."""
_NEEDS = {
    **dict.fromkeys(_COUNTERS, frozenset(DAYS_OF)),
    **dict.fromkeys(SHORT_GERMAN_WEEKDAYS, frozenset((*DAYS_OF, ".", ",", "kw"))),
}
"""Words that rarely begin a day, each with the tokens that follow it if it does; a number may follow, too."""
_WORDS_OF_DAYS = DAY_WORDS.union(TENS, _LAST, _PHRASES)
_AFTER_DAY = frozenset((*MONTHS, *DAYS_OF, *_SUFFIXES, "of", "-", "/"))
_AFTER_FULL_STOP = frozenset((*MONTHS, *map(str.lower, _ROMAN), "d", "of", "-", "/"))
_BEFORE_FULL_STOP = frozenset(("am", "den", "dem", "zum", "vom", "bis", "der"))


class Dated(NamedTuple):
    """A day in a text: the days it may mean, the place after it, its notation, and whether it certainly is a day."""

    days: tuple[date, ...]
    after: int
    is_weekday: bool = False
    is_weak: bool = False
    is_doubtful: bool = False


def may_be_day(lows: Sequence[str], place: int) -> bool:
    """Whether a day may begin at a word or number, by the words beside it (``Tokens.lows``)."""
    low, after = lows[place], lows[place + 1]
    if low in DAY_WORDS:
        return low not in _NEEDS or after in _NEEDS[low] or (after.isdecimal() and low in SHORT_GERMAN_WEEKDAYS)
    if (len(low) > 2 and len(low) not in (4, _DIGITS_OF_DATE)) or not low.isdecimal():
        return False
    if after == ".":
        behind = lows[place + 2]
        if behind.isdecimal() or behind in _AFTER_FULL_STOP or lows[place - 1] in _BEFORE_FULL_STOP:
            return True
    return after in _AFTER_DAY or len(low) == _DIGITS_OF_DATE


def read_day(tokens: Tokens, place: int, today: date) -> Dated | None:
    """Read the day that begins at a token; an adjacent weekday and date are one day."""
    lows = tokens.lows
    first = _read_one(tokens, place, today)
    if first is None:
        return None
    if first.is_weekday and lows[place - 1] in ("a", "an", "ein", "einem", "einen", "every", "jeden"):
        return None  # any such day
    here = first.after
    steps = 0
    is_aside = lows[here] in ("(", ",") and lows[here + 1] in ("that", "it", "which", "a", "das", "ein")
    is_aside = is_aside or lows[here] in ("is", "ist")
    while steps < (6 if is_aside else 3) and (
        lows[here] in _BETWEEN or (is_aside and lows[here] in ("that", "it", "which", "is", "'", "s", "das", "ist"))
    ):
        here, steps = here + 1, steps + 1
    if lows[here] == "\n":
        return first
    second = _read_one(tokens, here, today, after_weekday=first.is_weekday)
    if second is None or first.is_weekday == second.is_weekday:
        return first
    if lows[first.after] == "," and lows[here - 1] in ("on", "am") and not first.is_weekday:
        return first
    weekday, dated = (first, second) if first.is_weekday else (second, first)
    after = second.after + (lows[second.after] == ")")
    if steps and not first.is_weekday and lows[first.after] not in ("(", ",", "a", "is", "ist"):
        return first
    wanted = weekday.days[0].weekday()
    fitting = tuple(day for day in dated.days if day.weekday() == wanted)
    if not fitting and not first.is_weekday and lows[first.after] in (",", "is", "ist"):
        return first
    if not fitting and dated.is_weak:
        return first if first.is_weekday else None
    return Dated(fitting or dated.days, after, is_doubtful=not fitting)


def _read_one(tokens: Tokens, place: int, today: date, *, after_weekday: bool = False) -> Dated | None:
    low, after = tokens.lows[place], tokens.lows[place + 1]
    if low.isdecimal():
        if after in DAYS_OF:
            return _weeks_later(tokens, place, today)
        return _dated_by_figures(tokens, place, today, after_weekday=after_weekday)
    if low not in _WORDS_OF_DAYS and not (after in DAYS_OF and low.isalnum()):
        return None
    if low in MONTHS and (low != "may" or tokens.written(place) != "may" or after.isdecimal()):
        return _month_first(tokens, place, today)
    if low in RELATIVE_DAYS:
        return _relative(tokens, place, today)
    if low in WEEKDAYS:
        return _weekday(tokens, place, today)
    if low in SHORT_GERMAN_WEEKDAYS and _is_short_weekday(tokens, place):
        past = place + 1 + (after == "." and tokens.is_glued(place + 1))
        return _of_weekday(tokens, place, SHORT_GERMAN_WEEKDAYS[low], past, today)
    if low in ORDINALS or low in GERMAN_ORDINALS or low in TENS or low in _LAST:
        return (
            _nth_weekday(tokens, place, today)
            or _ordinal_in_words(tokens, place, today, after_weekday=after_weekday)
            or _phrase(tokens, place, today)
        )
    return _phrase(tokens, place, today)


def _dated_by_figures(tokens: Tokens, place: int, today: date, *, after_weekday: bool) -> Dated | None:
    lows = tokens.lows
    low, before, after = lows[place], lows[place - 1], place + 1
    if tokens.is_glued(place) and (
        before.isalnum()
        or (before in (".", "/", ":", ",", "-") and lows[place - 2].isdecimal() and tokens.is_glued(place - 1))
    ):
        return None
    if len(low) == _DIGITS_OF_DATE and low.startswith("20"):
        return _exact(int(low[:4]), int(low[4:6]), int(low[6:]), after)
    if _is_year(low):
        return _year_first(tokens, place)
    if len(low) > 2 or not 0 < int(low) <= 31:
        return None
    number = int(low)
    suffixed = lows[after] in _SUFFIXES and tokens.is_glued(after)
    if suffixed:
        after += 1
    dotted = lows[after] == "." and tokens.is_glued(after) and not suffixed
    here = after + 1 if dotted else after
    here += lows[here] == "day" and lows[here + 1] == "of"
    while lows[here] == "of" or (lows[here] == "-" and lows[here + 1] in MONTHS):
        here += 1
    if dotted and lows[here] == "d" and lows[here + 1 : here + 3] == [".", "m"]:  # "19. d. M."
        days = _of_day(number, today)[:1]
        return Dated(days, here + 3 + (lows[here + 3] == "."))
    if dotted and lows[here + 1] == "." and _is_year(lows[here + 2]) and tokens.written(here) in _ROMAN:
        return _exact(int(lows[here + 2]), _ROMAN[tokens.written(here)], number, here + 3)
    if lows[here] == "/" and lows[here + 1] in MONTHS:
        here += 1
    is_verb = lows[here] == "may" and lows[here + 1] in ("be", "have", "not") and tokens.written(here) == "may"
    if lows[here] in MONTHS and not is_verb:
        return _with_year(tokens, number, MONTHS[lows[here]], here + 1, today)
    if not suffixed and (found := _numeric(tokens, place, today, after_weekday=after_weekday)):
        return found
    is_nth = suffixed or (dotted and before in _BEFORE_FULL_STOP and not lows[here].isdecimal())
    if is_nth and (before in _BEFORE_NTH or after_weekday):
        if lows[after] in ("floor", "time", "edition", "item", "anniversary", "birthday", "attempt", "century"):
            return None
        days = _of_day(number, today)
        end = here if dotted else after
        return Dated(days, end) if days else None
    if after_weekday and lows[after] not in (":", "am", "pm", "uhr", "h", "p", "a", "o", "oclock"):
        if lows[after] == "." and lows[after + 1].isdecimal() and tokens.is_glued(after + 1):
            return None
        days = _of_day(number, today)
        return Dated(days, after, is_weak=True) if days else None
    return None


def _numeric(tokens: Tokens, place: int, today: date, *, after_weekday: bool) -> Dated | None:
    """Read ``31.8.2027``, ``31. 8.``, ``31/8``, ``31-08-2027``, ``8/31/2027``."""
    lows = tokens.lows
    sign, second = lows[place + 1 : place + 3]
    if sign not in _NUMBER_SIGNS or len(second) > 2 or not second.isdecimal() or not tokens.is_glued(place + 1):
        return None
    is_apart = not tokens.is_glued(place + 2)
    if is_apart and sign != ".":
        return None
    one, two = int(lows[place]), int(second)
    after = place + 3
    year: int | None = None
    has_second_sign = lows[after] == sign and tokens.is_glued(after)
    if has_second_sign:
        third = lows[after + 1]
        is_joined = tokens.is_glued(after + 1)
        is_short = is_joined and len(third) == 2 and third.isdecimal()
        if is_short or (_is_year(third) and (is_joined or sign == ".")):
            year, after = int(third) % 100 + 2000 if is_short else int(third), after + 2
            if tokens.joint(after) in (".", ":"):
                return None
        elif is_joined and third.isdecimal():
            return None
        elif sign == ".":
            after += 1
            # "um 15.10." ends a sentence; after a date the sentence continues, or "am" precedes it.
            before = lows[place - 1]
            has_second_sign = not _ends_sentence(tokens, after) or after_weekday or before in _DATE_BEFORE
    if sign == "." and year is None and is_apart and not has_second_sign:
        return None
    if sign in ("-", "/") and year is None and has_second_sign and lows[after + 1].isdecimal():
        return None
    if sign == "-" and year is None:
        return None
    is_weak = year is None and not has_second_sign and not after_weekday
    if (
        is_weak
        and lows[place - 1] in ("on", "by", "am", "until", "before", "the", "vom", "zum", "bis", "for")
        and sign == "/"
    ):
        is_weak = False
    if sign == "." and is_weak and lows[after] in ("uhr", "h", "am", "pm", "a", "p", "euro", "eur"):
        return None
    if lows[after] != "t" and is_word(lows[after]) and tokens.is_glued(after):
        return None
    found: list[date] = []
    orders = [(one, two), (two, one)] if sign == "/" or (two > 12 and sign == "-") else [(one, two)]
    for day, month in orders:
        found += [candidate for candidate in _dates(day, month, today, year) if candidate not in found]
    if not found:
        return None
    if sign == "/" and year is None:
        found.sort(key=lambda each: (each.month != two, abs((each - today).days)))
    return Dated(tuple(found), after, is_weak=is_weak)


def _ends_sentence(tokens: Tokens, place: int) -> bool:
    return tokens.lows[place] in ("", "\n") or (tokens.written(place)[0].isupper() and not tokens.is_glued(place))


_DATE_BEFORE = frozenset("am den dem vom zum bis der ab on by until seit".split())


_ISO = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")


def _year_first(tokens: Tokens, place: int) -> Dated | None:
    match = _ISO.match(tokens.text, tokens.starts[place])
    if match is None:
        return None
    year, month, day = map(int, match.group(1, 3, 4))
    return _exact(year, month, day, place + 5)


def _is_year(low: str) -> bool:
    return len(low) == 4 and low.isdecimal() and 1990 <= int(low) <= 2100


def _exact(year: int, month: int, day: int, after: int) -> Dated | None:
    try:
        return Dated((date(year, month, day),), after)
    except ValueError:
        return None


_AFTER_COUNT = frozenset(("am", "pm", "uhr", "people", "guests"))


def _month_first(tokens: Tokens, place: int, today: date) -> Dated | None:
    lows = tokens.lows
    month, here = MONTHS[lows[place]], place + 1
    if lows[here] in (".", "-", "/") and lows[here + 1].isdecimal() | (lows[here + 1] in _ARTICLES):
        here += 1
    if lows[here] == "the":
        here += 1
    low = lows[here]
    if len(low) <= 2 and low.isdecimal() and 0 < int(low) <= 31:
        after = here + 1
        follower = lows[after]
        if follower in _SUFFIXES and tokens.is_glued(after):
            after += 1
        elif tokens.joint(after) in (":", ".", "h", "%") or (follower in _AFTER_COUNT and lows[here - 1] != "the"):
            return None
        return _with_year(tokens, int(low), month, after, today)
    ordinal = _ordinal(tokens, here)
    if ordinal is not None:
        return _with_year(tokens, ordinal[0], month, ordinal[1], today)
    return None


def _with_year(tokens: Tokens, day: int, month: int, after: int, today: date) -> Dated | None:
    lows = tokens.lows
    here = after
    if lows[here] == "." and tokens.is_glued(here) and lows[here + 1].isdecimal() and len(lows[here + 1]) == 4:
        here += 1
    if lows[here] in (",", "-", "/") and lows[here + 1].isdecimal() and len(lows[here + 1]) == 4:
        here += 1
    is_short = lows[here] == "'" and lows[here + 1].isdecimal() and len(lows[here + 1]) == 2
    low = lows[here + 1] if is_short else lows[here]
    if is_short or _is_year(low):
        after_year = here + (2 if is_short else 1)
        is_time = lows[after_year] in ("h", "hrs", "hours", "uhr")
        if not is_time:
            year = 2000 + int(low) if is_short else int(low)
            return _exact(year, month, day, after_year)
    if lows[after] == "-" and lows[after + 1].isdecimal() and len(lows[after + 1]) == 2 and tokens.is_glued(after + 1):
        return _exact(2000 + int(lows[after + 1]), month, day, after + 2)
    days = _dates(day, month, today)
    # "29 Feb 28, a Tuesday": two figures are a year if no counted thing follows them.
    ends = lows[here + 1] in ("", "\n", ",", ".", ")", ";") and not lows[here + 2].isdecimal()
    if low.isdecimal() and len(low) == 2 and ends and abs(2000 + int(low) - today.year) < 3:
        return _exact(2000 + int(low), month, day, here + 1)
    return Dated(tuple(days), after) if days else None


def _dates(day: int, month: int, today: date, year: int | None = None) -> list[date]:
    """Return the dates of a day and month, the nearest first; without a year, in this year and those beside it."""
    found = []
    for candidate in [year] if year else [today.year, today.year + 1, today.year - 1]:
        try:
            found.append(date(candidate, month, day))
        except ValueError:
            continue
    return sorted(found, key=lambda found_day: abs((found_day - today).days - 60)) if year is None else found


def _of_day(number: int, today: date) -> tuple[date, ...]:
    """Return the dates that "the 31st" may mean: in this month, the next, or the last one."""
    first = today.replace(day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    before = (first - timedelta(days=1)).replace(day=1)
    found = []
    for month in (first, following, before, (following + timedelta(days=32)).replace(day=1)):
        try:
            found.append(month.replace(day=number))
        except ValueError:
            continue
    return tuple(sorted(found, key=lambda day: (day < today, abs((day - today).days))))


def _relative(tokens: Tokens, place: int, today: date) -> Dated | None:
    lows = tokens.lows
    day, after = today + timedelta(days=RELATIVE_DAYS[lows[place]]), place + 1
    number = _count(lows[after + 1]) if lows[after] == "in" else None
    if number is not None and 0 < number <= 60 and lows[after + 2] in DAYS_OF:  # "heute in zehn Tagen"
        return Dated((day + timedelta(days=number * DAYS_OF[lows[after + 2]]),), after + 3)
    return Dated((day,), after)


def _weekday(tokens: Tokens, place: int, today: date) -> Dated | None:
    lows = tokens.lows
    low = lows[place]
    is_english_word = low in _ENGLISH_WORDS and tokens.written(place) == low
    if is_english_word and lows[place - 1] not in _BEFORE_WEEKDAY and not _is_before_date(tokens, place + 1):
        return None
    after = place + 1
    if lows[after] in ("vor", "before") and tokens.written(after + 1)[:1].isupper():
        return None  # "Dienstag vor Ostern"
    if lows[after] == "." and tokens.is_glued(after) and len(low) <= 5 and _is_before_date(tokens, after + 1):
        after += 1
    return _of_weekday(tokens, place, WEEKDAYS[low], after, today)


def _of_weekday(tokens: Tokens, place: int, number: int, after: int, today: date) -> Dated:
    lows = tokens.lows
    ahead = (number - today.weekday()) % 7
    soon = today + timedelta(ahead)
    days: tuple[date, ...] = (soon, soon - _WEEK) if ahead else (soon, soon + _WEEK)
    if ahead == 6:
        days = (soon - _WEEK, soon)
    before = lows[place - 1]
    monday = today - timedelta(today.weekday())
    following = monday + timedelta(7 + number)
    if before in _NEXT:
        coming = soon if ahead else soon + _WEEK
        days = (following, coming) if following != coming else (coming,)
    elif before in _LAST:
        days = (soon - _WEEK, soon - 2 * _WEEK)
    elif before in _THIS:
        days = (soon if ahead else soon + _WEEK, soon)
    elif before in ("week", "woche") and (lows[place - 2] in _NEXT or lows[place - 2] in _AFTER_NEXT):
        days = (following + (lows[place - 2] in _AFTER_NEXT) * _WEEK,)
    begun = place - 3 if before in (",", ":") else place - 2
    if lows[begun] == "kw" and (week := _calendar_week(tokens, begun, today)):
        return Dated((week[0] + timedelta(number),), after, is_weekday=True)
    if "kw" in lows[after : after + 4] and (week := _calendar_week(tokens, after, today)):
        return Dated((week[0] + timedelta(number),), week[1], is_weekday=True)
    if lows[after] not in _OF_WEEK:
        return Dated(days, after, is_weekday=True)
    words = lows[after : after + 5]
    if words[:2] == ["next", "week"] or words[:2] == ["nächster", "woche"] or words[:2] == ["kommender", "woche"]:
        days, after = (following,), after + 2
    elif words[:3] in (["of", "next", "week"], ["in", "next", "week"]):
        days, after = (following,), after + 3
    elif words == ["of", "the", "week", "after", "next"]:
        days, after = (following + timedelta(days=7),), after + 5
    elif words[:2] == ["übernächster", "woche"]:
        days, after = (following + timedelta(days=7),), after + 2
    elif words[0] == "week" and before != "this":
        days, after = (soon + timedelta(days=7),), after + 1
    elif words[:2] in (["this", "week"], ["dieser", "woche"]):
        days, after = (monday + timedelta(days=number),), after + 2
    return Dated(days, after, is_weekday=True)


def _calendar_week(tokens: Tokens, place: int, today: date) -> tuple[date, int] | None:
    """Return the Monday of a calendar week that follows a weekday (``Di., KW 12``), and the place after it."""
    here = place
    while here - place < 3 and tokens.lows[here] in (".", ",", "in", "der"):
        here += 1
    number = tokens.lows[here + 1]
    if tokens.lows[here] != "kw" or not number.isdecimal() or len(number) > 2 or not 0 < int(number) < 53:
        return None
    week = date.fromisocalendar(today.year, int(number), 1)
    if week < today - timedelta(days=60):
        week = date.fromisocalendar(today.year + 1, int(number), 1)
    return week, here + 2


def _is_before_date(tokens: Tokens, place: int) -> bool:
    lows = tokens.lows
    here = place
    while lows[here] in (".", ",") or lows[here] in ("the", "den", "dem"):
        here += 1
        if here - place > 3:
            return False
    return lows[here].isdecimal() or lows[here] in MONTHS


def _is_short_weekday(tokens: Tokens, place: int) -> bool:
    lows = tokens.lows
    follower, behind = lows[place + 1 : place + 3]
    if not tokens.written(place)[0].isupper():
        return False
    if follower in (".", ",") and tokens.is_glued(place + 1):
        return behind.isdecimal() or behind in (",", "", "um", "ab", "den")
    return (follower.isdecimal() and behind == ".") or follower == "kw"


def _ordinal(tokens: Tokens, place: int) -> tuple[int, int] | None:
    lows = tokens.lows
    low = lows[place]
    if low in GERMAN_ORDINALS:
        return GERMAN_ORDINALS[low], place + 1
    if low in ORDINALS:
        return ORDINALS[low], place + 1
    if low in ("twenty", "thirty"):
        here = place + 1
        if lows[here] == "-":
            here += 1
        if lows[here] in ORDINALS and ORDINALS[lows[here]] < 10:
            return TENS[low] + ORDINALS[lows[here]], here + 1
    return None


def _nth_weekday(tokens: Tokens, place: int, today: date) -> Dated | None:
    """Read ``the first Monday in July``, ``am letzten Donnerstag im September``."""
    lows = tokens.lows
    low = lows[place]
    nth = -1 if low in _LAST else ORDINALS.get(low) or GERMAN_ORDINALS.get(low) or 0
    weekday, month = WEEKDAYS.get(lows[place + 1]), MONTHS.get(lows[place + 3])
    if not -1 <= nth <= 5 or weekday is None or month is None or lows[place + 2] not in ("in", "of", "im"):
        return None
    year, after = today.year + (month < today.month), place + 4
    if _is_year(lows[after]):
        year, after = int(lows[after]), after + 1
    first, last = date(year, month, 1), _last_day_of_month(year, month)
    day = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))
    if nth < 0:
        day = last - timedelta(days=(last.weekday() - weekday) % 7)
    return Dated((day,), after) if day.month == month else None


def _count(word: str) -> int | None:
    """Return the number of days or weeks that a word means; None for other words and figures of three digits or
    more."""
    if word in ("a", "an"):
        return 1
    return (int(word) if len(word) < 3 else None) if word.isdecimal() else parse_number_word(word)


def _weeks_later(tokens: Tokens, place: int, today: date) -> Dated | None:
    """Read ``a week from today``, ``three days from now``, ``two weeks from this Friday``, ``a week tomorrow``."""
    lows = tokens.lows
    number = _count(lows[place])
    unit, here = lows[place + 1], place + 2
    if number is None or not 0 < number <= 60 or unit not in DAYS_OF:
        return None
    is_from = lows[here] in ("from", "after", "ab")
    here += is_from
    if is_from and lows[here] == "now":
        return Dated((today + timedelta(days=number * DAYS_OF[unit]),), here + 1)
    here += is_from and lows[here] in (*_THIS, "on")
    base = _read_one(tokens, here, today) if lows[here] in (*WEEKDAYS, "today", "tomorrow", "heute", "morgen") else None
    if base is None or not (is_from or (DAYS_OF[unit] > 1 and not base.is_weekday)):
        return None
    return Dated(tuple(day + timedelta(days=number * DAYS_OF[unit]) for day in base.days), base.after)


def _ordinal_in_words(tokens: Tokens, place: int, today: date, *, after_weekday: bool) -> Dated | None:
    """Read ``the thirty-first of August``, ``am ersten April``."""
    lows = tokens.lows
    ordinal = _ordinal(tokens, place)
    if ordinal is None or ordinal[0] > 31:
        return None
    number, after = ordinal
    here = after
    while lows[here] in ("of", "day", "im"):
        here += 1
    if lows[here] in MONTHS:
        return _with_year(tokens, number, MONTHS[lows[here]], here + 1, today)
    month = GERMAN_ORDINALS.get(lows[here])
    if month is not None and month <= 12 and lows[place] in GERMAN_ORDINALS and here == after:
        days = _dates(number, month, today)
        return Dated(tuple(days), here + 1) if days else None
    return Dated(_of_day(number, today), after) if after_weekday else None


def _phrase(tokens: Tokens, place: int, today: date) -> Dated | None:
    lows = tokens.lows
    low = lows[place]
    if lows[place + 1] in DAYS_OF and (found := _weeks_later(tokens, place, today)):
        return found
    if low not in _PHRASES or (low == "in" and lows[place + 2] not in DAYS_OF):
        return None
    words = lows[place : place + 6]
    match words:
        case ["day", "after", "tomorrow", *_]:
            return Dated((today + timedelta(days=2),), place + 3)
        case ["day", "before", "yesterday", *_]:
            return Dated((today - timedelta(days=2),), place + 3)
        case ["day" | "date", "of", "today", *_]:
            return Dated((today,), place + 3)
        case ["morgen", *_]:
            return _morgen(tokens, place, today)
        case ["new", "'", "s", "eve" | "year", *_]:
            return Dated(tuple(_dates(31, 12, today)), place + 4) if words[3] == "eve" else None
        case ["leap", "day", *_]:
            return _leap_day(tokens, place + 2, today)
        case ["schalttag", *_]:
            return _leap_day(tokens, place + 1, today)
        case ["nye", *_]:
            return Dated(tuple(_dates(31, 12, today)), place + 1)
        case ["new", "year", "'", "s", "eve", *_]:
            return Dated(tuple(_dates(31, 12, today)), place + 5)
        case ["christmas", "eve", *_]:
            return Dated(tuple(_dates(24, 12, today)), place + 2)
        case ["christmas", "day", *_]:
            return Dated(tuple(_dates(25, 12, today)), place + 2)
        case ["heiligabend" | "heiligen", *_]:
            return Dated(tuple(_dates(24, 12, today)), place + 1)
        case ["silvester", *_]:
            return Dated(tuple(_dates(31, 12, today)), place + 1)
        case [
            "in",
            count,
            unit,
            *_,
        ]:
            number = _count(count)
            if number is None or number > 60:
                return None
            days = number * (7 if unit.startswith("w") else 1)
            after = place + 3 + (2 if words[3:5] == ["'", "time"] else 0)
            return Dated((today + timedelta(days=days),), after)
        case ["end" | "ende" | "last" | "letzten" | "letzter", *_]:
            return _read_end(place, words, today)
        case ["month" | "monatsende", *_]:
            if words[0] == "monatsende" or words[1:2] == ["end"] or words[1:3] == ["-", "end"]:
                after = place + (1 if words[0] == "monatsende" else 3 if words[1] == "-" else 2)
                return Dated((_last_day_of_month(today.year, today.month),), after)
    return None


def _leap_day(tokens: Tokens, after: int, today: date) -> Dated:
    low = tokens.lows[after]
    is_named = _is_year(low) and isleap(int(low))
    year = int(low) if is_named else next(year for year in count(today.year) if isleap(year))
    return Dated((date(year, 2, 29),), after + is_named)


def _morgen(tokens: Tokens, place: int, today: date) -> Dated | None:
    """Read the German "morgen": tomorrow, but not in "guten Morgen", "heute Morgen", "am Morgen"."""
    lows = tokens.lows
    before = lows[place - 1]
    if before in ("guten", "heute", "gestern", "diesen", "am", "schönen", "jeden", "der", "den") or before in WEEKDAYS:
        return None
    is_noun = tokens.written(place) == "Morgen"
    if is_noun and (before not in ("", "\n", ".", "!", "?", ":", "-", "*") or lows[place + 1] in (",", "!")):
        return None
    if lows[place + 1] == "\n":
        return None
    if lows[place + 1 : place + 4] == ["in", "einer", "woche"]:
        return Dated((today + timedelta(days=8),), place + 4)
    return Dated((today + timedelta(days=1),), place + 1)


def _read_end(place: int, words: list[str], today: date) -> Dated | None:
    match words:
        case ["end", "of", "the" | "this", "month", *_]:
            return Dated((_last_day_of_month(today.year, today.month),), place + 4)
        case ["end", "of", "month", *_]:
            return Dated((_last_day_of_month(today.year, today.month),), place + 3)
        case ["ende", "des" | "dieses", "monats", *_]:
            return Dated((_last_day_of_month(today.year, today.month),), place + 3)
        case ["last", "day", "of", "the" | "this", "year", *_]:
            return Dated((date(today.year, 12, 31),), place + 5)
        case ["letzten" | "letzter", "tag", "des", "jahres", *_]:
            return Dated((date(today.year, 12, 31),), place + 4)
        case ["last", "day", "of", month, *_] if month in MONTHS:
            return _end_of_month(MONTHS[month], place + 4, today)
        case ["end", "of", month, *_] if month in MONTHS and words[3] not in ("st",):
            return _end_of_month(MONTHS[month], place + 3, today)
        case ["ende", month, *_] if month in MONTHS:
            return _end_of_month(MONTHS[month], place + 2, today)
    return None


def _end_of_month(month: int, after: int, today: date) -> Dated:
    year = today.year + (month < today.month)
    return Dated((_last_day_of_month(year, month),), after, is_weak=True)


def _last_day_of_month(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def make_day_mention(dated: Dated, tokens: Tokens, place: int) -> Mention:
    """Return the mention of a day that begins at a token."""
    start, end = tokens.starts[place], tokens.find_end(dated.after - 1)
    role = "doubtful" if dated.is_doubtful else ""
    return Mention("day", tuple(day.isoformat() for day in dated.days), start, end, "", dated.is_weak, role)
