"""Read numbers and amounts of money: ``3,833.00``, ``1.234,50 EUR``, ``eighty``, ``dreitausend``, ``€3.8k``, ``48 euros
20``."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

from proctor.language.reader.mentions import Mention
from proctor.language.reader.tokens import Tokens
from proctor.language.reader.words import (
    CENTS,
    COMPANY,
    CURRENCIES,
    GERMAN,
    MULTIPLIERS,
    NUMBER_STEMS,
    ONES,
    SCALED,
    SCALES,
    STARTS,
    TENS,
    parse_number_word,
)

_FIGURES = re.compile(
    r"\d{1,3}(?:(?P<sep>[.,' ])\d{3})(?:(?P=sep)\d{3}){0,4}(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d{1,2})?(?!\d)|\d+"
)
_JOINTS = frozenset(".,:' ")
_GOES_ON = re.compile(r"[.,' ]\d|[.,]-")
_LONGEST = 12
"""The most words that are read for one number."""
_MOST_DIGITS = 1000
"""The most digits of a figure that is read; Python's own limit is 4,300."""
_EXACT_DIGITS = 16
"""From this number of digits on, figures become decimals, which are rounded to 28 digits."""
_NO_LIMIT = 10**9
_FIRST = frozenset((*ONES, *TENS, *GERMAN, *COMPANY, "a", "an", "half", "single", "anderthalb", "hundred"))
"""Words that begin a number in words, besides long words with ``NUMBER_STEMS``."""
_NO_NUMBERS = STARTS - _FIRST
_CURRENCY_ADJECTIVES = frozenset(("schweizer", "swiss", "us", "british", "britische", "american", "canadian"))
_AFTER_AMOUNT = frozenset((*CURRENCIES, *_CURRENCY_ADJECTIVES, *CENTS, "and"))
_AFTER_FIGURE = _AFTER_AMOUNT.union(MULTIPLIERS, ("t",))
_BEFORE_AMOUNT = frozenset((*CURRENCIES, "teur", "keur"))
_MILLIONS = {**SCALES, "millionen": 1_000_000, "mio": 1_000_000, "tausend": 1000}
_NO_CENTS = re.compile(r"[.,](?:-{1,2}|00)(?!\d)")
_ONE = frozenset(("one", "ein", "eine", "einen", "einem", "einer", "a", "an", "eins"))
_COUNTED_TIME = frozenset(
    "minute minutes min mins hour hours hr hrs second seconds day days week weeks month months year years minuten "
    "stunde stunden std tag tage tagen woche wochen monat monate monaten jahr jahre jahren percent prozent km kg mb "
    "kb gb mm cm metres meters pm am uhr".split()
)
_THINGS = frozenset(
    "people persons guests heads seats places covers participants attendees copies tables chairs rooms boxes sets pieces "
    "personen gäste leute plätze teilnehmer köpfe exemplare tische stühle stück items tickets pages".split()
)
_COUNTED = _COUNTED_TIME | _THINGS
_GLUED = frozenset((*_THINGS, "x", "er", "st", "nd", "rd", "th", "pcs", "stk", "pax", "ppl"))


class Figure(NamedTuple):
    """A number in a text: its value, whether it was written as digits, and the place of the token after it."""

    value: Decimal | int
    after: int
    is_digits: bool
    has_cents: bool


def read_number(tokens: Tokens, place: int) -> Figure | None:
    """Read the number that begins at a token, in figures or words, with a multiplier (``1.2k``, ``3 thousand``)."""
    lows = tokens.lows
    figure = _figures(tokens, place) if lows[place].isdecimal() else _spelled(tokens, place)
    if figure is None or not figure.is_digits:
        return figure
    follower = lows[figure.after]
    if follower == "t" and lows[figure.after + 1] == "€":  # "81 T€"
        return Figure(figure.value * 1000, figure.after + 1, True, False)
    if multiplier := MULTIPLIERS.get(follower):
        if follower in ("k", "m") and not tokens.is_glued(figure.after):
            return figure
        after = figure.after + 1
        if follower in ("tsd", "mio") and lows[after] == "." and tokens.is_glued(after):
            after += 1
        return Figure(figure.value * multiplier, after, True, False)
    return figure


def _figures(tokens: Tokens, place: int) -> Figure | None:
    low, start, text = tokens.lows[place], tokens.starts[place], tokens.text
    if len(low) > _MOST_DIGITS:
        return None
    if (
        tokens.lows[place - 1] in (".", ",", ":", "/")
        and text[start - 1] != " "
        and text[start - 2 : start - 1].isdigit()
    ):
        return None
    end = start + len(low)
    follows = text[end : end + 2]
    if follows[:1] not in _JOINTS or not follows[1:].isdigit():  # no further digits are joined
        return Figure(int(low) if len(low) < _EXACT_DIGITS else Decimal(low), place + 1, True, False)
    if follows[0] == ":":  # part of a time
        return None
    match = _FIGURES.match(text, start)
    assert match is not None
    written, end = match.group(), match.end()
    follows = text[end : end + 2]
    if follows[:1] in (".", ",", ":") and follows[1:].isdigit():  # part of a date, a time, or a version
        return None
    plain = written.replace("'", "").replace(" ", "")
    last = max(plain.rfind("."), plain.rfind(","))
    places = len(plain) - last - 1 if last >= 0 else 0
    if last >= 0 and places in (1, 2):
        digits = plain[:last].replace(".", "").replace(",", "")
        value, has_cents = Decimal(f"{digits}.{plain[last + 1 :]}"), True
    else:
        value, has_cents = Decimal(plain.replace(".", "").replace(",", "")), False
    after = place
    while after < tokens.size and tokens.starts[after] < end:
        after += 1
    return Figure(value, after, True, has_cents)


def _spelled(tokens: Tokens, place: int, below: int = _NO_LIMIT) -> Figure | None:
    lows = tokens.lows
    low = lows[place]
    if low in ("a", "an") and lows[place + 1] not in SCALED:
        return None
    if low == "ein" and lows[place + 1] == "halbes":
        return _whole_in_words(tokens, place + 1, below)
    if low == "hundred" and lows[place + 1] in TENS and not lows[place - 1].isdecimal():
        rest = _english(tokens, place + 1)  # "hundred twenty"
        return rest and rest._replace(value=100 + rest.value)
    if low not in _FIRST and not _is_long_number(low):
        return None
    if low.endswith(("einhalb", "anderthalb")):
        return _halves(tokens, place)
    if lows[place - 1] == "zu" and low in COMPANY:
        return Figure(COMPANY[low], place + 1, False, False)
    found = _whole_in_words(tokens, place, below)
    words = lows[found.after : found.after + 4] if found else []
    if found and words[:3] == ["and", "a", "half"] and words[3] in SCALES:
        return Figure((found.value + Decimal("0.5")) * SCALES[words[3]], found.after + 4, False, False)
    if found and words[0] in ("point", "komma") and words[2] in _MILLIONS:
        digit = parse_number_word(words[1])
        if digit is not None and digit < 10:
            value = (found.value + Decimal(digit) / 10) * _MILLIONS[words[2]]
            return Figure(value, found.after + 3, False, False)
    return found


def _is_long_number(word: str) -> bool:
    return len(word) > 6 and word not in STARTS and any(stem in word for stem in NUMBER_STEMS)


def _halves(tokens: Tokens, place: int) -> Figure | None:
    """Read ``zweieinhalb Millionen``, ``anderthalb Tausend``."""
    word, scale = tokens.lows[place], tokens.lows[place + 1]
    whole = 1 if word == "anderthalb" else parse_number_word(word.removesuffix("einhalb")) or 0
    factor = {"million": 1_000_000, "millionen": 1_000_000, "mio": 1_000_000, "tausend": 1000}.get(scale)
    if not factor:
        return None
    return Figure((whole + Decimal("0.5")) * factor, place + 2, False, False)


def _whole_in_words(tokens: Tokens, place: int, below: int) -> Figure | None:
    """Read a whole number in words. The scale of a number from a hundred on must be less than ``below``, since a
    greater scale may follow."""
    lows = tokens.lows
    low = lows[place]
    if low in ("a", "an", "half", "einer", "ein", "eine") and lows[place + 1] in SCALED:
        factor = SCALES.get(lows[place + 1]) or MULTIPLIERS.get(lows[place + 1]) or 100
        if factor >= below:
            return None
        behind = place + 3 if lows[place + 2] in ("and", "und", "n") else place + 2
        rest = _spelled(tokens, behind, factor) if factor >= 100 else None
        if rest and rest.value < factor:
            return Figure(factor + rest.value, rest.after, False, False)
        return Figure(factor, place + 2, False, False)
    if low in ("half", "halbes") and lows[place + 1 + (lows[place + 1] == "a")] in (
        "dozen",
        "dutzend",
    ):
        return Figure(6, place + 2 + (lows[place + 1] == "a"), False, False)
    if low == "single" and lows[place - 1] in ("a", "one"):
        return Figure(1, place + 1, False, False)
    if low in ("dozen", "dutzend") and lows[place - 1] not in ("a", "ein"):
        return None
    german = parse_number_word(low)
    if german is not None and low not in ONES and low not in TENS:
        if lows[place + 1] in ("dutzend", "millionen", "million", "tausend", "hundert"):
            factor = {"dutzend": 12, "tausend": 1000, "hundert": 100}.get(lows[place + 1], 1_000_000)
            return Figure(german * factor, place + 2, False, False)
        return Figure(german, place + 1, False, False)
    return _english(tokens, place)


def _english(tokens: Tokens, place: int) -> Figure | None:
    lows = tokens.lows
    total, current, used, last = 0, 0, 0, ""
    here = place
    while used < _LONGEST:
        word = lows[here]
        joined = here
        if used and word == "-" and lows[here + 1] in ONES and last == "tens":
            joined = here + 1
        elif used == 1 and word == "-" and last == "ones" and lows[here + 1] in TENS:  # "three-seventy"
            total, current, last, joined = 100 * current, 0, "hundred", here + 1
        elif used and word in ("and", "n") and last in ("hundred", "thousand", "million"):
            if lows[here + 1] not in ONES and lows[here + 1] not in TENS:
                break
            joined = here + 1
        elif used and word == "," and last == "thousand" and lows[here + 2] == "hundred":
            joined = here + 1
        word = lows[joined]
        if word in ONES and last not in ("ones", "teens") and not (last == "tens" and not 0 < ONES[word] < 10):
            current, last = current + ONES[word], "ones" if ONES[word] < 10 else "teens"
        elif word in TENS and last not in ("ones", "teens", "tens"):
            current, last = current + TENS[word], "tens"
        elif word == "hundred" and used and current < 100:
            current, last = max(1, current) * 100, "hundred"
        elif word in ("thousand", "million", "grand") and used and current:
            total, current, last = total + current * SCALES.get(word, 1000), 0, "thousand"
        elif word == "dozen" and used and current:
            return Figure(current * 12, joined + 1, False, False)
        else:
            break
        here, used = joined + 1, used + 1
    return Figure(total + current, here, False, False) if used else None


def read_amounts_and_numbers(tokens: Tokens, taken: Iterable[Mention]) -> Iterator[Mention]:
    """Find the amounts and whole numbers of a text.

    Args:
        tokens: the text's tokens.
        taken: the mentions of other kinds, such as days, times, codes and addresses.
    """
    closed = bytearray(len(tokens.text))
    for mention in taken:
        closed[mention.start : mention.end] = b"1" * (mention.end - mention.start)
    lows, starts, text = tokens.lows, tokens.starts, tokens.text
    done = 0
    for place in tokens.begins:
        low = lows[place]
        if place < done or low in _NO_NUMBERS:
            continue
        is_figure = closed[starts[place]] and low.isdecimal() and not _GOES_ON.match(text, starts[place] + len(low))
        if is_figure and lows[place + 1] not in _AFTER_FIGURE and lows[place - 1] not in _BEFORE_AMOUNT:
            continue  # part of a day or time, not an amount
        if (figure := read_number(tokens, place)) is not None:
            mentions = _mentions(tokens, place, figure, closed)
            yield from mentions
            is_amount = mentions and mentions[0].unit
            done = max(figure.after, tokens.find_place(mentions[0].end)) if is_amount else figure.after


def _mentions(tokens: Tokens, place: int, figure: Figure, closed: bytearray) -> list[Mention]:
    lows = tokens.lows
    low, begin, last = lows[place], tokens.starts[place], tokens.find_end(figure.after - 1)
    before, after = lows[place - 1], lows[figure.after]
    unit, start, end, value = "", begin, last, figure.value
    if before in _BEFORE_AMOUNT or after in _AFTER_AMOUNT or after in (".", ","):
        unit, start, end, value = _with_currency(tokens, place, figure, begin, last)
    is_closed = bool(closed[begin] or closed[begin + len(low) - 1])
    if is_closed and not unit:
        return []
    is_joined = tokens.is_glued(figure.after)
    is_code = (tokens.is_glued(place) and before.isalnum() and not before.isdecimal() and before != "x") or (
        is_joined and after.isalnum() and not after.isdecimal() and after not in _GLUED
    )
    if is_code and not unit:
        return []
    found = []
    is_ordinal = is_joined and after in ("st", "nd", "rd", "th")
    is_counted = after in _COUNTED or after == "%"
    is_label = _is_list_label(tokens, place, figure.after)
    if unit or not (is_counted or is_ordinal):
        is_weak = not unit and (not figure.has_cents or is_closed or is_label)
        is_one = not figure.is_digits and low in _ONE and figure.after == place + 1
        if not (is_one and not unit):
            found.append(Mention("amount", (str(round(value * 100)),), start, end, unit, is_weak))
    if unit or figure.has_cents or value != int(value):
        return found
    is_weak = is_label or is_ordinal or (not figure.is_digits and low in _ONE and figure.after == place + 1)
    is_weak = is_weak or after in _COUNTED_TIME or before in ("#", "/") or after == "/"
    return [*found, Mention("number", (str(int(value)),), begin, last, "", is_weak)]


def _with_currency(
    tokens: Tokens, place: int, figure: Figure, start: int, end: int
) -> tuple[str, int, int, Decimal | int]:
    lows = tokens.lows
    value, unit = figure.value, ""
    before, after = lows[place - 1], figure.after
    if before in CURRENCIES:
        unit, start = CURRENCIES[before], tokens.starts[place - 1]
    elif before in ("teur", "keur"):
        return "EUR", tokens.starts[place - 1], end, 1000 * value
    elif lows[after] == "and" and lows[after + 3] == "100" and lows[after + 4] in CURRENCIES:
        part = lows[after + 1]  # as on a cheque: "nineteen hundred and 90/100 dollars"
        if part.isdecimal() and len(part) == 2 and lows[after + 2] == "/":
            return CURRENCIES[lows[after + 4]], start, tokens.find_end(after + 4), value + Decimal(part) / 100
    trailing = None if figure.has_cents or lows[after] not in (".", ",") else _NO_CENTS.match(tokens.text, end)
    if trailing and tokens.starts[after] < trailing.end():
        behind = tokens.find_place(trailing.end())
        if unit or lows[behind] in CURRENCIES:
            end, after = trailing.end(), behind
    if not unit and lows[after] in _CURRENCY_ADJECTIVES and lows[after + 1] in CURRENCIES:
        after += 1
    if not unit and lows[after] in CURRENCIES:
        unit, end = CURRENCIES[lows[after]], tokens.find_end(after)
        after += 1
        if lows[after] == "sterling":
            after += 1
        value, end = _with_cents(tokens, after, value, end, figure)
    elif not unit and lows[after] in CENTS and figure.is_digits is not None and _is_cents(tokens, after):
        return (
            "EUR" if lows[after] in ("cent", "cents", "ct", "cts") else "GBP",
            start,
            tokens.find_end(after),
            Decimal(value) / 100,
        )
    elif unit and not figure.has_cents:
        value, end = _with_cents(tokens, after, value, end, figure, needs_word=True)
    return unit, start, end, value


def _is_cents(tokens: Tokens, place: int) -> bool:
    return tokens.lows[place] != "p" or tokens.is_glued(place)


def _with_cents(
    tokens: Tokens, place: int, value: Decimal | int, end: int, figure: Figure, *, needs_word: bool = False
) -> tuple[Decimal | int, int]:
    """Add the cents that follow an amount: ``48 euros and 20 cents``, ``48 € 20``."""
    lows = tokens.lows
    here = place + 1 if lows[place] in ("and", "und", ",") else place
    cents = read_number(tokens, here)
    if cents is None or cents.has_cents or not 0 <= cents.value < 100 or figure.has_cents:
        return value, end
    is_named = lows[cents.after] in CENTS
    follower = lows[cents.after]
    is_bare = here == place and not needs_word and cents.value >= 10 and follower not in _COUNTED
    if cents.is_digits:
        is_bare = is_bare and len(lows[here]) == 2
        is_bare = is_bare and not (follower in (":", ".", "/", "-") and tokens.is_glued(cents.after + 1))
    if not (is_named or is_bare):
        return value, end
    last = cents.after if is_named else cents.after - 1
    return value + Decimal(cents.value) / 100, tokens.find_end(last)


def _is_list_label(tokens: Tokens, place: int, after: int) -> bool:
    """Whether a number at the beginning of a line is the line's label: ``1. ``, ``2)``, ``3:``."""
    lows = tokens.lows
    if lows[after] not in (".", ")", ":") or not tokens.is_glued(after):
        return False
    before = place - 1
    while before >= 0 and lows[before] in ("*", "_", "-", "#", "(", ">", "|"):
        before -= 1
    if before >= 0 and lows[before] != "\n":
        return False
    return lows[after + 1] not in ("", "\n")
