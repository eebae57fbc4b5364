"""Read times of day and spans: ``3:20pm``, ``15.20 Uhr``, ``half past three``, ``halb vier``, ``2-3:30 pm``, ``14:00
(45 min)``."""

from collections.abc import Sequence
from typing import NamedTuple

from proctor.language.reader.days import DAY_WORDS
from proctor.language.reader.mentions import Mention
from proctor.language.reader.numbers import read_number
from proctor.language.reader.tokens import Tokens, is_word
from proctor.language.reader.words import (
    AFTERNOON,
    CURRENCIES,
    FORENOON,
    MIDNIGHT,
    MONTHS,
    NOON,
    ONES,
    STARTS,
    TENS,
    WEEKDAYS,
    parse_number_word,
)

_AT = frozenset(
    "at by from until till til before after around about um ab von bis gegen vor nach @ between zwischen to since past "
    "deadline punkt zw starts begins start beginning kl time uhrzeit zeit begin beginn".split()
)
_MOVES = frozenset(
    "move moved moves moving change changed changes shift shifted postpone postponed reschedule rescheduled".split()
)
_PAST, _TO = frozenset(("past", "after", "nach")), frozenset(("to", "before", "vor", "til", "till", "of"))
_TO_JOIN = frozenset(("-", "to", "until", "till", "til", "bis", "through", "thru", "/", ">"))
_AND_JOIN = frozenset(("and", "und", "u", "&"))
_JOINTS = _TO_JOIN | _AND_JOIN
_WITHIN = frozenset(("between", "zwischen", "from", "von", "zw"))
_TILL = frozenset(("till", "til", "until"))
_NOUNS_AFTER_HOUR = frozenset(
    "people persons guests minutes minute min hours hour days day weeks week months month years percent of euros euro "
    "pounds copies items units km personen gäste stunden stunde tage tagen minuten st nd rd th times mails".split()
)
_NO_BARE_HOUR = _NOUNS_AFTER_HOUR.union("%/€£$")
_DURATION = {"h": 60, "hr": 60, "hrs": 60, "hour": 60, "hours": 60, "stunde": 60, "stunden": 60, "std": 60,
             "min": 1, "mins": 1, "minute": 1, "minutes": 1, "minuten": 1}  # fmt: skip
_NIGHT_HOUR, _NOON_HOUR = 7, 12
_HOURS_IN_WORDS = frozenset(word for word in STARTS if parse_number_word(word) is not None and word != "three")
"""Words for numbers; like figures, they begin a time only beside certain words."""
_NO_TIMES = (DAY_WORDS | {"a", "an", "single"}) - _HOURS_IN_WORDS - {"three"}
"""Words that begin a value but never a time."""


class Clock(NamedTuple):
    """A time in a text: the minutes of the day it may mean, the place after it, and how certain it is a time."""

    minutes: tuple[int, ...]
    after: int
    is_weak: bool
    is_bare: bool = False
    half: str = ""


def may_be_time(lows: Sequence[str], place: int) -> bool:
    """Whether a time may begin at a word or number, by the words beside it (``Tokens.lows``)."""
    low, after = lows[place], lows[place + 1]
    if low.isdecimal():
        if len(low) > 2:
            return len(low) == 4 or lows[place - 1] == "t"
        if (after.isdecimal() and lows[place + 2] in _HALF_BEGINS) or (low == "1" and after == "/"):
            return True
        if after in (".", ":") and lows[place + 2].isdecimal():
            return True
    elif low not in _HOURS_IN_WORDS:
        return low not in _NO_TIMES
    elif after in _MINUTES_IN_WORDS:
        return True
    if after in (",", "("):
        after = lows[place + 2]
    return after in _AFTER_HOUR or lows[place - 1] in _AT


def read_time(tokens: Tokens, place: int) -> Clock | None:
    """Read the time of day that begins at a token."""
    low = tokens.lows[place]
    if low.isdecimal():
        return _in_figures(tokens, place)
    return _in_words(tokens, place) if low.isalnum() else None


def _in_figures(tokens: Tokens, place: int) -> Clock | None:
    lows = tokens.lows
    low, before = lows[place], lows[place - 1]
    if tokens.is_glued(place):
        if before.isalnum() and before not in ("t", "um", "at", "ab"):
            return None
        if lows[place - 2].isdecimal() and (
            before in (".", ",", "/") or (before == ":" and tokens.is_glued(place - 1))
        ):
            return None
        if len(low) == 6 and before == "t" and low < "240000":  # RFC 5545: 20270311T094500
            return Clock((int(low[:2]) * 60 + int(low[2:4]) % 60,), place + 1, False)
    if len(low) > 4:
        return None
    sign, digits = lows[place + 1 : place + 3]
    is_pair = sign in (":", ".", "h") and len(digits) == 2 and len(low) <= 2
    if is_pair and tokens.joint(place + 1) and int(digits) < 60 and int(low) <= 24:
        return _with_minutes(tokens, place)
    after = place + 1
    if low == "1" and sign == "/" and digits == "2" and not tokens.is_glued(place + 3):
        return _half_hour(tokens, place + 2, is_before=True)
    if len(low) == 4:
        return _four_digits(tokens, place)
    if len(low) > 2 or int(low) > 59:
        return None
    number = int(low)
    if spoken := _minutes_past(tokens, place, number, place + 1):
        return spoken
    if number > 24:
        return None
    if spaced := _with_spaced_minutes(tokens, place, number):
        return spaced
    follower = lows[after]
    half, past_half = _half_day(tokens, after)
    if half:
        return _clock(number, 0, half, past_half) if number <= _NOON_HOUR else None
    if number == _NOON_HOUR and (follower in NOON or follower in MIDNIGHT):
        return Clock((720 if follower in NOON else 0,), after + 1, False)
    if past := _o_clock(tokens, after):
        half, end = _half_day(tokens, past)
        return _clock(number, 0, half or _half_before(tokens, place), end)
    if follower == "uhr":
        return _uhr(tokens, place, number, after + 1)
    if follower in ("h", "hrs", "hours") and number >= _NIGHT_HOUR and (follower == "h" or len(low) == 2):
        is_duration = lows[place - 1] in ("for", "takes", "in", "für")
        return None if is_duration else Clock((number * 60 % 1440,), after + 1, follower != "h")
    if before in _AT and (before not in ("nach", "vor") or place < 2):
        return _bare_hour(tokens, place, number, after)
    return None


def _with_spaced_minutes(tokens: Tokens, place: int, hour: int) -> Clock | None:
    """Read ``6 50 am``, ``9 30 in the morning``: minutes without a sign, if the half of the day follows."""
    minute = tokens.lows[place + 1]
    if not (len(minute) == 2 and minute.isdecimal() and int(minute) < 60 and 0 < hour <= _NOON_HOUR):
        return None
    half, past = _half_day(tokens, place + 2)
    return _clock(hour, int(minute), half, past) if half else None


def _with_minutes(tokens: Tokens, place: int) -> Clock | None:
    lows = tokens.lows
    hour, sign, minute = lows[place], lows[place + 1], int(lows[place + 2])
    after = place + 3
    joint = tokens.joint(after)
    if joint in (".", ","):
        return None
    if joint == sign == ":":
        if len(lows[after + 1]) != 2:
            return None
        after += 4 if tokens.joint(after + 2) == "." else 2
    follower = lows[after]
    if follower in _NO_MINUTES or (
        follower.isalnum() and follower not in _GLUED_AFTER_MINUTES and tokens.is_glued(after)
    ):
        return None
    if sign == "." and lows[place - 1] in ("€", "£", "$"):
        return None
    half, past_half = _half_day(tokens, after)
    if half and int(hour) <= _NOON_HOUR:
        return _clock(int(hour), minute, half, past_half)
    is_named = sign != "." or lows[place - 1] in _AT
    if follower in ("uhr", "h", "hrs", "hours"):
        is_named = True
        half, past_half = _half_day(tokens, after + 1)
    is_exact = len(hour) == 2 or int(hour) == 0
    may_be_late = not hour.startswith("0") and int(hour) <= _NOON_HOUR
    before = (half or _half_before(tokens, place)) if may_be_late else ""
    return _clock(int(hour), minute, before, past_half, is_exact=is_exact and not before, is_weak=not is_named)


_NO_MINUTES = frozenset(("%", "€", "£", "$", "eur", "euro", "euros", "gbp", "chf", "pounds", "usd"))
_GLUED_AFTER_MINUTES = frozenset(("am", "pm", "a", "p", "h", "hrs", "uhr", "z", "t", "gmt", "utc", "cet"))


_AT_FOUR_DIGITS = _AT - {"about", "to", "of", "from", "past", "since", "nach", "von", "vor"}


def _four_digits(tokens: Tokens, place: int) -> Clock | None:
    lows = tokens.lows
    low, before, after = lows[place], lows[place - 1], lows[place + 1]
    hour, minute = int(low[:2]), int(low[2:])
    if hour > 23 or minute > 59:
        return None
    if after in ("-", "/", ".") and lows[place + 2].isdecimal() and len(lows[place + 2]) != 4:
        return None
    if after in ("h", "hrs", "hours", "uhr"):
        return Clock((hour * 60 + minute,), place + 2, False)
    if (
        after in _TO_JOIN
        and len(lows[place + 2]) == 4
        and lows[place + 2].isdecimal()
        and lows[place + 3] in ("h", "hrs", "hours", "uhr")
    ):
        return Clock((hour * 60 + minute,), place + 1, False)
    half, end = _half_day(tokens, place + 1)
    if half and hour <= _NOON_HOUR:
        return _clock(hour, minute, half, end)
    if before in _AT_FOUR_DIGITS:
        is_year = hour in (19, 20)
        return Clock((hour * 60 + minute,), place + 1, is_year or after in _NOUNS_AFTER_HOUR)
    # "Fri 1400", "1330 on Friday".
    is_before_day = after in ("on", "am") and lows[place + 2] in WEEKDAYS
    if before in WEEKDAYS or is_before_day:
        return Clock((hour * 60 + minute,), place + 1, hour in (19, 20))
    if minute % 5:
        return None
    is_last = before in _JOINTS and _is_round_time(lows[place - 2])
    other = lows[place - 2 if is_last else place + 2]
    is_span = (is_last or after in _JOINTS) and _is_round_time(other)
    last = after if is_last else lows[place + 3]
    is_span = is_span and last not in CURRENCIES and last not in _NOUNS_AFTER_HOUR
    if is_span and not (hour in (19, 20) and other[:2] in ("19", "20")):
        return Clock((hour * 60 + minute,), place + 1, False)
    # "0945 at reception", "wed 21/1, 1300": probably a time, if nothing marks it as something else.
    if tokens.is_glued(place):
        return None
    ahead = lows[place - 2] if before == "," else before
    is_dated = ahead in MONTHS or (before == "," and ahead.isdecimal())
    is_alone = ahead in ("", "\n") or (is_dated and hour not in (19, 20))
    if hour < 10 or (is_alone and after not in _NOUNS_AFTER_HOUR):
        return Clock((hour * 60 + minute,), place + 1, True)
    return None


def _is_round_time(text: str) -> bool:
    return len(text) == 4 and text.isdigit() and int(text[:2]) < 24 and int(text[2:]) < 60 and int(text[2:]) % 5 == 0


def _bare_hour(tokens: Tokens, place: int, number: int, after: int) -> Clock | None:
    """Read an hour without a sign, after a word such as "at": ``at 4``, ``um drei``."""
    lows = tokens.lows
    word, follower = lows[place - 1], lows[after]
    if number == 0 or follower in _NO_BARE_HOUR:
        return None
    if follower in (".", ",", ":") and tokens.is_glued(after) and lows[after + 1].isdecimal():
        return None
    is_word = follower.isalnum() and not follower.isdecimal()
    if is_word and tokens.is_glued(after):
        return None
    if (follower == "." and lows[after + 1] in MONTHS) or follower in MONTHS or follower in TENS:
        return None
    is_weak = word not in ("at", "um", "by", "@", "gegen") or (is_word and follower not in _AFTER_BARE)
    half = _half_before(tokens, place)
    return _clock(number, 0, half, after, is_weak=is_weak, is_bare=True)


_AFTER_BARE = frozenset(
    "today this tonight tomorrow on in and or our your his her their local sharp latest if unless else otherwise so heute "
    "morgen am und oder spätestens pünktlich monday tuesday wednesday thursday friday montag dienstag mittwoch donnerstag "
    "freitag for please bitte is ist with mit then dann but aber as at".split()
)


def _in_words(tokens: Tokens, place: int) -> Clock | None:
    lows = tokens.lows
    word = lows[place]
    if word in NOON:
        if lows[place - 1] in ("after", "nach") and word == "mittag":
            return None
        here = place + 2 if lows[place + 1] in ("um", "at", "gegen", "ab", ",") else place + 1
        if (lows[here].isdecimal() or parse_number_word(lows[here]) or lows[here] in ("halb", "viertel")) and read_time(
            tokens, here
        ):
            return None  # "mittags um eins"
        is_weak = word in ("mittag", "mittags")  # around noon
        return Clock((720,), place + 1, is_weak or lows[place - 1] in ("after", "before", "nach", "vor"))
    if word in MIDNIGHT:
        return Clock((0,), place + 1, False)
    if word in ("half", "halb"):
        return _half_hour(tokens, place)
    if word in ("quarter", "viertel", "dreiviertel", "three"):
        found = _quarter(tokens, place)
        if found:
            return found
    number = parse_number_word(word)
    if number is None or number > 59:
        return None
    after = place + 1
    if word in TENS and lows[after] == "-" and lows[after + 1] in ONES:
        number, after = number + ONES[lows[after + 1]], after + 2
    elif word in TENS and lows[after] in ONES and 0 < ONES[lows[after]] < 10:
        number, after = number + ONES[lows[after]], after + 1
    if spoken := _minutes_past(tokens, place, number, after):
        return spoken
    if number > 24:
        return None
    if past := _o_clock(tokens, after):
        half, end = _half_day(tokens, past)
        return _clock(number, 0, half or _half_before(tokens, place), end)
    if lows[after] == "uhr":
        return _uhr(tokens, place, number, after + 1)
    half, end = _half_day(tokens, after)
    if half and 0 < number <= _NOON_HOUR and word not in ("a", "ein", "eine"):
        return _clock(number, 0, half, end)
    if minutes := _minutes_after_hour(tokens, after):
        minute, past = minutes
        half, end = _half_day(tokens, past)
        is_named = bool(half) or lows[place - 1] in _AT
        half = half or _half_before(tokens, place)
        return _clock(number, minute, half, end, is_weak=not is_named)
    if lows[after] == "hundred" and lows[after + 1] in ("hours", "hrs"):
        return Clock((number * 60 % 1440,), after + 2, False)
    if lows[place - 1] in _AT and number >= 1 and word not in ("a", "an", "eine", "einen", "einem", "einer", "ein"):
        return _bare_hour(tokens, place, number, after)
    if lows[after] in ("sharp", "pünktlich") and number <= _NOON_HOUR:
        return _clock(number, 0, "", after + 1)
    return None


def _minutes_after_hour(tokens: Tokens, place: int) -> tuple[int, int] | None:
    """Read the minutes of "three twenty", "nine fifteen", "six oh five", and the place after them."""
    lows = tokens.lows
    here = place + 1 if lows[place] == "-" else place
    word = lows[here]
    ones = here + 2 if lows[here + 1] == "-" else here + 1
    if word in ("oh", "o", "zero") and 0 < ONES.get(lows[ones], 0) < 10:
        return ONES[lows[ones]], ones + 1
    if word in TENS and TENS[word] < 60:
        after = here + 1
        if lows[after] == "-" and 0 < ONES.get(lows[after + 1], 0) < 10:
            return TENS[word] + ONES[lows[after + 1]], after + 2
        if 0 < ONES.get(lows[after], 0) < 10:
            return TENS[word] + ONES[lows[after]], after + 1
        return TENS[word], after
    if word in ONES and ONES[word] >= 10:
        return ONES[word], here + 1
    return None


def _minutes_past(tokens: Tokens, place: int, minutes: int, after: int) -> Clock | None:
    """Read ``twenty past three``, ``10 vor 9``, ``fünf vor halb vier``."""
    lows = tokens.lows
    if is_counted := lows[after] in ("minutes", "mins", "min", "minuten"):
        after += 2 if lows[after + 1] == "." else 1
    word = lows[after]
    if (word not in _PAST and word not in _TO) or not 0 < minutes < 60:
        return None
    if lows[after + 1] == "halb":
        base = _half_hour(tokens, after + 1)
        if base is None:
            return None
        shift = minutes if word in _PAST else -minutes
        return base._replace(minutes=tuple((base_minute + shift) % 1440 for base_minute in base.minutes))
    hour, past = _hour(tokens, after + 1)
    if hour is None or (minutes % 5 and not is_counted):
        return None
    if word in ("to", "of", "after", "before") and lows[place - 1] in ("from", "between"):
        return None
    if (
        word in ("to", "before")
        and lows[place].isdecimal()
        and minutes < 13
        and not is_word(lows[after + 1])
        and minutes % 5
    ):
        return None
    if (
        word in ("to", "til", "till")
        and lows[place].isdecimal()
        and lows[after + 1].isdecimal()
        and (_half_day(tokens, past)[0] or lows[past] == ":")
        and minutes <= _NOON_HOUR
    ):
        return None  # "10 to 11 am" is a span
    half, end = _half_day(tokens, past)
    if past_clock := _o_clock(tokens, past):
        half, end = _half_day(tokens, past_clock)
        past = past_clock
    elif lows[past] == "uhr":
        past += 1
        half, end = _half_day(tokens, past)
    base_hour = hour if word in _PAST else hour - 1
    minute = minutes if word in _PAST else 60 - minutes
    return _clock(base_hour if base_hour else 12, minute, half or _half_before(tokens, place), end)


def _half_hour(tokens: Tokens, place: int, *, is_before: bool = False) -> Clock | None:
    """Read ``half past three``, ``halb vier``, and ``1/2 4`` in Austria (``is_before``: the half before the hour)."""
    lows = tokens.lows
    word = "halb" if is_before else lows[place]
    here = place + 1
    if lows[here] == "-" and word == "half":
        here += 1
    if lows[here] == "past":
        here += 1
        if lows[here] == "-":
            here += 1
    hour, past = _hour(tokens, here)
    if hour is None:
        return None
    if word == "half" and here == place + 1 and lows[past] in _NOUNS_AFTER_HOUR:
        return None
    if lows[past] == "uhr":
        past += 1
    half, end = _half_day(tokens, past)
    base = hour - 1 if word == "halb" else hour
    return _clock(base if base else 12, 30, half or _half_before(tokens, place), end)


def _quarter(tokens: Tokens, place: int) -> Clock | None:
    lows = tokens.lows
    word = lows[place]
    here = place + 1
    if word == "three":
        if lows[here] == "-":
            here += 1
        if lows[here] not in ("quarters", "quarter"):
            return None
        here += 1
    if lows[here] == "-":
        here += 1
    link = lows[here]
    if link in _PAST or link in _TO:
        here += 1
        if lows[here] == "-":
            here += 1
    elif word == "quarter" or word == "three":
        return None
    hour, past = _hour(tokens, here)
    if hour is None:
        return None
    if past_clock := _o_clock(tokens, past):
        past = past_clock
    elif lows[past] == "uhr":
        past += 1
    half, end = _half_day(tokens, past)
    if link in _PAST:
        base, minute = hour, 15
    elif link in _TO:
        base, minute = hour - 1, 45
    else:  # "viertel vier", "dreiviertel vier"
        base, minute = hour - 1, 45 if word == "dreiviertel" else 15
    return _clock(base if base else 12, minute, half or _half_before(tokens, place), end)


def _hour(tokens: Tokens, place: int) -> tuple[int | None, int]:
    lows = tokens.lows
    low = lows[place]
    if low.isdecimal() and len(low) <= 2 and 0 < int(low) <= 24:
        if tokens.joint(place + 1) in (":", "."):
            return None, place
        return int(low), place + 1
    number = parse_number_word(low)
    if number is not None and 0 < number <= 24 and low not in ("a", "an", "eine", "einen", "einem", "einer"):
        return number, place + 1
    if low in NOON:
        return 12, place + 1
    return None, place


def _o_clock(tokens: Tokens, place: int) -> int | None:
    lows = tokens.lows
    if lows[place] in ("oclock",):
        return place + 1
    if lows[place] == "o":
        here = place + 2 if lows[place + 1] == "'" else place + 1
        if lows[here] == "clock":
            return here + 1
    return None


_ONE_OF = frozenset(("ein", "eine", "einen", "einem", "einer", "a", "an"))


def _uhr(tokens: Tokens, place: int, hour: int, after: int) -> Clock | None:
    """Read the rest of ``15 Uhr 20``, ``neun Uhr morgens``."""
    lows = tokens.lows
    minute, end = 0, after
    first = lows[after]
    figure = read_number(tokens, after) if first.isalnum() else None
    if figure is not None and figure.value == int(figure.value) and 0 < figure.value < 60 and not figure.has_cents:
        follower, behind = lows[figure.after : figure.after + 2]
        is_own = first not in _ONE_OF and not (follower in _NOUNS_AFTER_HOUR and is_word(follower))
        if first.isdecimal():
            is_own = is_own and len(first) == 2
            is_own = is_own and not (follower == ":" and behind.isdecimal() and tokens.is_glued(figure.after + 1))
            is_own = is_own and not (follower == "." and (behind.isdecimal() or behind in MONTHS))
        if is_own:
            minute, end = int(figure.value), figure.after
    half, past = _half_day(tokens, end)
    if hour > 24:
        return None
    if half and 0 < hour <= _NOON_HOUR:
        return _clock(hour, minute, half, past)
    is_exact = hour > _NOON_HOUR or hour == 0 or lows[place].startswith("0")
    return _clock(hour, minute, "" if is_exact else _half_before(tokens, place), end, is_exact=is_exact)


def _half_day(tokens: Tokens, place: int) -> tuple[str, int]:
    """Read the half of the day after a time (``pm``, ``p.m.``, ``in the afternoon``): ``a`` or ``p``, and the place
    after it.
    """
    lows = tokens.lows
    low = lows[place]
    if low not in _HALF_BEGINS:
        return "", place
    if low in ("am", "pm"):
        follower = lows[place + 1]
        if low == "am" and follower in _HALVES_OF_DAY:
            return _HALVES_OF_DAY[follower], place + 2
        if low == "am" and (follower in _GERMAN_DAYS or (follower.isdecimal() and lows[place + 2] == ".")):
            return "", place
        if low == "am" and any(lows[place - step] in _GERMAN_TIME for step in range(1, 5) if place >= step):
            return "", place
        end = place + 1
        return low[0], end
    if low in ("a", "p") and (tokens.is_glued(place) or lows[place + 1] == "."):
        if lows[place + 1] == "." and lows[place + 2] == "m" and tokens.is_glued(place + 2):
            return low, place + (4 if lows[place + 3] == "." and tokens.is_glued(place + 3) else 3)
        if lows[place + 1] == "." and tokens.is_glued(place + 1) and lows[place + 2] == "m":
            return low, place + 3
        if tokens.is_glued(place) and not is_word(lows[place + 1]):
            return low, place + 1
        return "", place
    if low in ("a", "p") and lows[place + 1] == "m" and not tokens.is_glued(place + 1):
        return low, place + 2
    here = place + 1 if low in (",", "(") else place
    words = [lows[here], "", "", ""]
    if words[0] in _BEFORE_HALF:
        words = lows[here : here + 4]
        for step in (1, 2, 3):
            if words[step] in FORENOON:
                return "a", here + step + 1
            if words[step] in ("night", "nacht") and words[0] != "this":
                return "n", here + step + 1
            if words[step] in AFTERNOON:
                return "p", here + step + 1
            if words[step] not in ("the", "am", "in", "early", "late", "frühen", "späten"):
                break
    if words[0] in _FORENOONS:
        return "a", here + 1
    if words[0] in _AFTERNOONS:
        return "p", here + 1
    return "", place


_BEFORE_HALF = frozenset((*WEEKDAYS, "in", "on", "at", "am", "this", "heute", "the", "tomorrow", "morgen"))
_HALVES_OF_DAY = {"morgen": "a", "vormittag": "a", "mittag": "p", "nachmittag": "p", "abend": "p"}
_FORENOONS = frozenset(("morgens", "vormittags", "früh", "frueh"))
_AFTERNOONS = frozenset(("nachmittags", "abends", "tonight", "mittags"))
_HALF_BEGINS = frozenset((*_BEFORE_HALF, *_FORENOONS, *_AFTERNOONS, "am", "pm", "a", "p", ",", "("))
"""The tokens that begin the half of the day behind a time."""
_AFTER_HOUR = _HALF_BEGINS.union(
    *(
        _PAST,
        _TO,
        _TO_JOIN,
        _AND_JOIN,
        ("h", "hrs", "hours", "uhr", "o", "oclock", "minutes", "mins", "min", "minuten"),
        NOON,
        MIDNIGHT,
    )
)
"""Tokens that may follow an hour, or an hour and a comma."""
_MINUTES_IN_WORDS = frozenset((*ONES, *TENS, "-", "oh", "hundred", "sharp", "pünktlich"))
_GERMAN_TIME = frozenset("um halb viertel dreiviertel uhr ab bis gegen von zwischen nach vor".split())
_GERMAN_DAYS = frozenset(
    "montag dienstag mittwoch donnerstag freitag samstag sonntag mo di mi do fr sa so nachmittag abend morgen vormittag "
    "ersten zweiten dritten".split()
)


_ENDS_HALF = frozenset(("", ".", "\n", ";", "!", "?", "by", "before", "bis"))


def _half_before(tokens: Tokens, place: int) -> str:
    """Find the half of the day that is named shortly before a time: ``this afternoon at 3``, ``nachmittags um
    drei``."""
    for step in range(1, 5):
        low = tokens.lows[place - step]
        if low in _ENDS_HALF:
            break
        if low in FORENOON and low != "früh":
            return "a"
        if low in AFTERNOON:
            return "p"
    return ""


def _clock(
    hour: int,
    minute: int,
    half: str,
    after: int,
    *,
    is_exact: bool = False,
    is_weak: bool = False,
    is_bare: bool = False,
) -> Clock | None:
    """Make a time from its hour and half of the day; without a half, an hour from 1 to 6 is in the afternoon."""
    if hour > 24 or minute > 59:
        return None
    if half == "n":
        half = "a" if hour < 6 or hour == _NOON_HOUR else "p"
    if half in ("a", "p") and 0 < hour <= _NOON_HOUR:
        return Clock((hour % 12 * 60 + minute + (720 if half == "p" else 0),), after, is_weak, is_bare, half)
    if is_exact or hour == 0 or hour > _NOON_HOUR:
        return Clock((hour * 60 % 1440 + minute,), after, is_weak, is_bare)
    morning, later = hour % 12 * 60 + minute, hour % 12 * 60 + minute + 720
    minutes = (later, morning) if hour < _NIGHT_HOUR or hour == _NOON_HOUR else (morning, later)
    return Clock(minutes, after, is_weak, is_bare)


_TEXTS = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in range(60)]


def as_text(minutes: int) -> str:
    """Return minutes of the day as HH:MM."""
    return _TEXTS[minutes % 1440]


def read_times(tokens: Tokens, place: int) -> tuple[list[Mention], int] | None:
    """Read the time or span that begins at a token: its mentions, and the place after it."""
    lows = tokens.lows
    clock = read_time(tokens, place)
    if span := _span(tokens, place, clock):
        return span
    if clock is None:
        return None
    # "12:30 noon" and "noon (12:00)" are one time.
    after = clock.after
    if lows[after] in NOON and clock.minutes[0] == 720:
        after += 1
    begin_word = place - 2 if lows[place - 1] == "at" else place - 1
    is_begun = lows[begin_word] in _BEFORE_BEGIN
    duration = _duration(tokens, after, is_near=is_begun)
    if duration is None and is_begun:
        length = _duration_before(tokens, begin_word)
        duration = (length, after) if length else None
    start, end = tokens.starts[place], tokens.find_end(after - 1)
    mentions = [_mention(clock, start, end)]
    if duration is not None:
        length, past = duration
        begin = clock.minutes[0]
        value = f"{as_text(begin)}-{as_text(begin + length)}"
        mentions.append(Mention("span", (value,), start, tokens.find_end(past - 1)))
        after = past
    return mentions, after


def _mention(clock: Clock, start: int, end: int) -> Mention:
    return Mention("time", tuple(map(as_text, clock.minutes)), start, end, "", clock.is_weak)


def _span(tokens: Tokens, place: int, first: Clock | None) -> tuple[list[Mention], int] | None:
    lows = tokens.lows
    after = first.after if first else place + 1
    if lows[after + (lows[after] == "uhr")] not in _JOINTS and not (first and first.is_bare):
        return None
    if first is None and _hour(tokens, place)[0] is None:
        return None
    word = lows[place - 2 if lows[place - 1] in (".", "a") else place - 1]
    is_within = word in _WITHIN or lows[after] in _TILL  # "from nine to one", "nine till one"
    if first is None and not is_within:  # a bare hour begins a span only if a sure time ends it
        sure = read_time(tokens, _second_place(tokens, after))
        if sure is None or sure.is_bare:
            return None
    if first is None or (first.is_bare and is_within):
        first = _loose_hour(tokens, place) or first
    if first is None:
        return None
    here = first.after
    if lows[here] == "uhr":
        here += 1
    joint = lows[here]
    if joint not in _TO_JOIN and not (joint in _AND_JOIN and word in ("between", "zwischen", "zw")):
        return None
    if joint == "to" and _is_old_time(tokens, place):
        return None
    target = _second_place(tokens, first.after)
    second = read_time(tokens, target)
    if second is None:
        loose = _loose_hour(tokens, target)
        if loose is not None and lows[loose.after] not in _NOUNS_AFTER_HOUR:
            second = loose if is_within or not first.is_bare else None
    if second is None:
        return None
    is_loose = first.is_bare and second.is_bare
    if first.is_bare and joint == lows[second.after] == "-" and not tokens.is_glued(second.after + 1):
        return None  # "Platform 2 - 12:20 - Cork"
    if is_loose and not is_within:
        return None
    if joint == "/" and (first.is_weak or second.is_weak):
        return None
    if second.half == "a" and second.minutes == (0,) and first.half != "p":  # "8 to 12 in the morning"
        second = second._replace(minutes=(720,))
    elif second.half == "a" and not first.half:
        first = first._replace(minutes=tuple(minute for minute in first.minutes if minute < 720) or first.minutes)
    if second.is_bare and first.half == second.half == "a" and second.minutes[0] <= first.minutes[0]:
        second = second._replace(minutes=(second.minutes[0] + 720,))  # "this morning from nine till one"
    begin, finish = _fitting(first, second)
    start, middle = tokens.starts[place], tokens.starts[target]
    end = tokens.find_end(second.after - 1)
    is_weak = first.is_weak and second.is_weak
    value = f"{as_text(begin[0])}-{as_text(finish[0])}"
    mentions = [
        Mention(
            "time", tuple(map(as_text, begin)), start, tokens.find_end(first.after - 1), "", is_weak and not is_loose
        ),
        Mention("time", tuple(map(as_text, finish)), middle, end, "", is_weak, "end"),
        Mention("span", (value,), start, end, "", is_weak and not is_loose),
    ]
    return mentions, second.after


def _second_place(tokens: Tokens, place: int) -> int:
    """Return the place where the second time of a span begins, from the place after its first."""
    lows = tokens.lows
    here = place + 1 if lows[place] == "uhr" else place
    if lows[here] == "u" and lows[here + 1] == ".":
        here += 1
    if lows[here] in ("to", "until", "till", "til", "bis") and lows[here + 1] == "at":
        here += 1
    target = here + 1
    if lows[target] == "a" and lows[target + 1] == "quarter":
        return target + 1
    return target + 1 if lows[target] in (">", "um") else target


def _is_old_time(tokens: Tokens, place: int) -> bool:
    """Whether a time is the old time of a move: ``move it from Friday 12:45 to 13:30``."""
    is_from = False
    for before in range(place - 1, max(-1, place - 9), -1):
        word = tokens.lows[before]
        if word in ("to", ".", "!", "?", ";", "\n"):
            return False
        is_from = is_from or word in ("from", "von")
        if is_from and word in _MOVES:
            return True
    return False


def _loose_hour(tokens: Tokens, place: int) -> Clock | None:
    lows = tokens.lows
    hour, after = _hour(tokens, place)
    if hour is None or (is_word(lows[place - 1]) and tokens.is_glued(place)):
        return None
    follower, behind = lows[after : after + 2]
    if follower in ("%", "€", "£", "$") or (is_word(follower) and tokens.is_glued(after)):
        return None
    if follower in (".", "/", ",") and behind.isdecimal() and tokens.is_glued(after + 1):
        return None
    if follower in MONTHS or (follower == "." and behind in MONTHS):
        return None
    return _clock(hour, 0, _half_before(tokens, place), after, is_weak=True, is_bare=True)


def _fitting(first: Clock, second: Clock) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the begin and the end of a span, in the halves of the day that make it shortest."""
    pairs = [
        (finish < begin, (finish - begin) % 1440 + 5 * (place + other), begin, finish)
        for place, begin in enumerate(first.minutes)
        for other, finish in enumerate(second.minutes)
        if finish != begin
    ]
    if not pairs:
        return first.minutes, second.minutes
    _, _, begin, finish = min(pairs)
    return (begin,), (finish,)


_LASTS = frozenset(
    "for für lasting dauer dauert duration about lasts last takes take runs run goes on geht etwa ca".split()
)
_QUARTERS = {"viertelstunde": 15, "dreiviertelstunde": 45}
_MORE_THAN_AN_HOUR = {"and a half": 30, "and a quarter": 15, "and three quarters": 45}
_TAKES = frozenset("takes take lasts last runs run goes dauert dauern geht".split())
_SAID = _LASTS.union("(,")
_LINKS = _SAID.union(("and", "und", "it", "es", "das", ".", ":"))
_HALVES = frozenset(("half", "halbe", "halben"))
_BEFORE_BEGIN = frozenset(("from", "ab", "starting", "beginning"))
_ONE_HOUR = frozenset(("an", "one", "a", "eine", "ne", "einer"))


def _length(tokens: Tokens, place: int) -> tuple[int, int] | None:
    """Read a duration in minutes at a token, and the place after it: ``an hour and a half``, ``zweieinhalb
    Stunden``."""
    lows = tokens.lows
    words = lows[place : place + 6]
    if words[:2] in (["three", "quarters"], ["a", "quarter"], ["quarter", "of"]) and "hour" in words:
        return (45 if words[0] == "three" else 15), place + words.index("hour") + 1
    if words[0] in _QUARTERS:
        return _QUARTERS[words[0]], place + 1
    if words[0] in _HALVES or (words[0] in _ONE_HOUR and words[1] in _HALVES):
        here = place + (2 if words[0] in _ONE_HOUR else 1)
        here += lows[here] in ("an", "a")
        return (30, here + 1) if lows[here] in ("hour", "stunde") else None
    if words[0] in _ONE_HOUR and words[1] in ("hour", "stunde"):
        more = _MORE_THAN_AN_HOUR.get(" ".join(words[2:5]), 0)
        return 60 + more, place + (5 if more else 2)
    if words[0].endswith("einhalb") or words[0] == "anderthalb":
        whole = 1 if words[0] == "anderthalb" else parse_number_word(words[0].removesuffix("einhalb"))
        return (60 * whole + 30, place + 2) if whole and words[1] in ("stunden", "std") else None
    figure = read_number(tokens, place)
    if figure is None:
        return None
    halves = lows[figure.after : figure.after + 4]
    if halves[:3] == ["and", "a", "half"] and halves[3] in ("hours", "hrs"):
        return int(60 * figure.value) + 30, figure.after + 4
    if halves[0] not in _DURATION:
        return None
    unit = _DURATION[halves[0]]
    length, after = int(figure.value * unit), figure.after + 1
    if unit == 60 and (rest := read_number(tokens, after)) and rest.value < 60 and not rest.has_cents:
        if lows[rest.after] in ("min", "mins", "minutes", "minuten"):
            return length + int(rest.value), rest.after + 1
        if tokens.is_glued(after):
            return length + int(rest.value), rest.after
    return (length, after) if 0 < length <= 1440 else None


def _duration_before(tokens: Tokens, place: int) -> int | None:
    """Find a duration in minutes that is named before the begin: ``for an hour and a half from 8:30``."""
    for begin in range(max(0, place - 6), place):
        length = _length(tokens, begin)
        if length is not None and length[1] == place:
            return length[0]
    return None


def _duration(tokens: Tokens, place: int, *, is_near: bool = False) -> tuple[int, int] | None:
    """Read a duration that follows the begin: ``for 45 minutes``, ``(1h30)``, ``, 90 min``, ``and runs for``.

    Args:
        is_near: whether the duration may follow the begin directly, as after "ab".
    """
    lows = tokens.lows
    here = place
    if not _TAKES.isdisjoint(lows[place : place + 5]):
        for step in range(place, place + 5):  # ", the talk takes seventy-five minutes"
            if lows[step] in _TAKES:
                here = step
                break
            if lows[step] in ("\n", "") or lows[step].isdecimal():
                break
    while lows[here] in _LINKS:
        here += 1
        if here - place > 7:
            return None
    is_said = not _SAID.isdisjoint(lows[place:here])
    return _length(tokens, here) if is_said or (is_near and here == place) else None
