"""Check 17's notations: how people write days, times, amounts, numbers, codes and addresses in English and German.

``babel`` and ``num2words`` write most of them. No notation is taken from the reader's tests, since the reader was
fitted to these tests.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from proctor.common.errors import CommandError
from proctor.scenarios.kit.making.people import Language
from proctor.scenarios.kit.values import Value

try:
    from babel.dates import format_date, format_time
    from babel.numbers import format_currency
    from num2words import num2words
except ModuleNotFoundError as error:
    raise CommandError(
        f"the audit needs {error.name}: pip install 'proctor[audit]' (in a checkout: make install)"
    ) from None

_NBSP, _NARROW, _FIRM_HYPHEN, _DASH = "\u00a0", "\u202f", "\u2011", "\u2013"
_PLAIN_MONTHS = 12
_HALF = 30


@dataclass(frozen=True)
class Notation:
    """One way to write values of a kind.

    Attributes:
        name: an example.
        language: the language that uses the notation; None if both do.
        write: converts the kind's Python value to a text, which is empty if the notation can't write this value.
    """

    name: str
    language: Language | None
    write: Callable[[Any], str]


def _make_notations(
    both: dict[str, Callable[[Any], str]],
    en: dict[str, Callable[[Any], str]],
    de: dict[str, Callable[[Any], str]],
) -> tuple[Notation, ...]:
    groups: tuple[tuple[Language | None, dict[str, Callable[[Any], str]]], ...] = ((None, both), ("en", en), ("de", de))
    return tuple(Notation(name, language, write) for language, group in groups for name, write in group.items())


def _money(locale: str, pattern: str | None = None) -> Callable[[int], str]:
    def write(cents: int) -> str:
        if pattern is None:
            return format_currency(Decimal(cents) / 100, "EUR", locale=locale)
        return format_currency(Decimal(cents) / 100, "EUR", pattern, locale=locale, currency_digits=False)

    return write


def _whole_only(write: Callable[[int], str]) -> Callable[[int], str]:
    return lambda cents: "" if cents % 100 else write(cents // 100)


def _in_words(cents: int, language: Language) -> str:
    whole, rest = divmod(cents, 100)
    unit, joint, small = ("euros", " and ", "cents") if language == "en" else ("Euro", " und ", "Cent")
    text = f"{num2words(whole, lang=language)} {unit}"
    return f"{text}{joint}{num2words(rest, lang=language)} {small}" if rest else text


def _in_hundreds(whole: int) -> str:
    hundreds, rest = divmod(whole, 100)
    if not 10 < hundreds < 100 or hundreds % 10 == 0:
        return ""
    return f"{num2words(hundreds)} hundred{f' and {num2words(rest)}' if rest else ''} euros"


AMOUNTS = _make_notations(
    {
        "1234.50": lambda cents: f"{cents // 100}.{cents % 100:02}",
        "1234.50 EUR": lambda cents: f"{cents // 100}.{cents % 100:02} EUR",
        "1 234.50 EUR": lambda cents: f"{cents // 100:,}".replace(",", _NARROW) + f".{cents % 100:02} EUR",
    },
    {
        "€1,234.50": _money("en_IE"),
        "EUR 1,234.50": _money("en_IE", f"¤¤{_NBSP}#,##0.00"),
        "1,234.50 euros": _money("en_IE", "#,##0.00 ¤¤¤"),
        "€ 1,234.50": _money("en_IE", "¤ #,##0.00"),
        "€1,234": _whole_only(lambda whole: f"€{whole:,}"),
        "1234 euros": _whole_only(lambda whole: f"{whole} euros"),
        "one thousand, two hundred and thirty-four euros": lambda cents: _in_words(cents, "en"),
        "twelve hundred and thirty-four euros": _whole_only(_in_hundreds),
    },
    {
        "1.234,50 €": _money("de_DE"),
        "€ 1.234,50": _money("de_AT"),
        "EUR 1.234,50": _money("de_DE", "¤¤ #,##0.00"),
        "1.234,50 Euro": _money("de_DE", "#,##0.00 ¤¤¤"),
        "1234,50 EUR": _money("de_DE", "0.00 ¤¤"),
        "1.234 Euro": _whole_only(lambda whole: f"{whole:,} Euro".replace(",", ".")),
        "1.234,– €": _whole_only(lambda whole: f"{whole:,}".replace(",", ".") + f",{_DASH} €"),
        "eintausendzweihundertvierunddreißig Euro": lambda cents: _in_words(cents, "de"),
    },
)


def _dated(pattern: str, locale: str) -> Callable[[date], str]:
    return lambda day: format_date(day, pattern, locale=locale)


def _unless_a_month(write: Callable[[date], str]) -> Callable[[date], str]:
    """Limit a notation to days after the 12th: their day and month can't be confused."""
    return lambda day: write(day) if day.day > _PLAIN_MONTHS else ""


def _nth(day: date) -> str:
    return str(num2words(day.day, to="ordinal_num"))


DAYS = _make_notations(
    {"2027-08-31": date.isoformat},
    {
        "31 August 2027": _dated("d MMMM y", "en_GB"),
        "Tuesday, 31 August 2027": _dated("full", "en_GB"),
        "Tuesday, August 31, 2027": _dated("full", "en_US"),
        "Aug 31, 2027": _dated("medium", "en_US"),
        "Tue 31 Aug": _dated("EEE d MMM", "en_GB"),
        "the 31st of August": lambda day: f"the {_nth(day)} of {day:%B}",
        "August 31st": lambda day: f"{day:%B} {_nth(day)}",
        "the thirty-first of August": lambda day: f"the {num2words(day.day, to='ordinal')} of {day:%B}",
        "31-Aug-2027": _dated("d-MMM-y", "en_GB"),
        "31/08/2027": _unless_a_month(_dated("short", "en_GB")),
        "8/31/2027": _unless_a_month(_dated("M/d/y", "en_US")),
    },
    {
        "31. August 2027": _dated("long", "de_DE"),
        "Dienstag, 31. August 2027": _dated("full", "de_DE"),
        "31.08.2027": _dated("medium", "de_DE"),
        "31. 8. 2027": _dated("d. M. y", "de_DE"),
        "31.8.": _dated("d.M.", "de_DE"),
        "Di., 31.8.27": _dated("EEE, d.M.yy", "de_DE"),
        "den 31. Aug.": _dated("'den' d. MMM", "de_DE"),
        "der einunddreißigste August": lambda day: (
            f"der {num2words(day.day, to='ordinal', lang='de')} {format_date(day, 'MMMM', locale='de_DE')}"
        ),
    },
)


def _half(at: time) -> str:
    return "am" if at.hour < 12 else "pm"


def _twelve(at: time, parting: str = ":") -> str:
    return f"{at.hour % 12 or 12}{parting}{at.minute:02}"


def _spoken(at: time) -> str:
    """``twenty past three``, ``a quarter to nine``, ``five o'clock``."""
    this, following = (num2words((at.hour + later) % 12 or 12) for later in (0, 1))
    minutes = at.minute if at.minute <= _HALF else 60 - at.minute
    if minutes == 0:
        return f"{this} o'clock"
    word = {15: "a quarter", _HALF: "half"}.get(
        minutes
    ) or f"{num2words(minutes)}{'' if minutes % 5 == 0 else ' minutes'}"
    return f"{word} past {this}" if at.minute <= _HALF else f"{word} to {following}"


def _spoken_out(at: time) -> str:
    if (at.hour, at.minute) == (12, 0):
        return "twelve noon"
    part = "morning" if at.hour < 12 else "afternoon" if at.hour < 18 else "evening"
    return f"{_spoken(at)} in the {part}"


def _gesprochen(at: time) -> str:
    """``fünfzehn Uhr zwanzig``."""
    hour = "ein" if at.hour == 1 else num2words(at.hour, lang="de")
    minutes = f" {num2words(at.minute, lang='de')}" if at.minute else ""
    return f"{hour} Uhr{minutes}"


TIMES = _make_notations(
    {"15:20": lambda at: format_time(at, "short", locale="en_GB"), "15h20": lambda at: f"{at.hour}h{at.minute:02}"},
    {
        "3:20pm": lambda at: f"{_twelve(at)}{_half(at)}",
        "3:20 PM": lambda at: format_time(at, "short", locale="en_US"),
        "3.20 pm": lambda at: f"{_twelve(at, '.')} {_half(at)}",
        "3:20 p.m.": lambda at: f"{_twelve(at)} {_half(at)[0]}.m.",
        "3pm": lambda at: "" if at.minute else f"{at.hour % 12 or 12}{_half(at)}",
        "1520 hours": lambda at: f"{at:%H%M} hours",
        "twenty past three": _spoken,
        "twenty past three in the afternoon": _spoken_out,
    },
    {
        "15.20 Uhr": lambda at: f"{at:%H.%M} Uhr",
        "15:20 Uhr": lambda at: f"{at:%H:%M}{_NBSP}Uhr",
        "15 Uhr 20": lambda at: f"{at.hour} Uhr{f' {at.minute:02}' if at.minute else ''}",
        "15:20h": lambda at: f"{at.hour}:{at.minute:02}h",
        "fünfzehn Uhr zwanzig": _gesprochen,
    },
)

_JOINTS: dict[Language, tuple[str, ...]] = {"en": (" at ", ", ", " "), "de": (" um ", ", ", " ")}

SPANS = _make_notations(
    {
        "15:20-16:00": lambda span: f"{span[0]:%H:%M}-{span[1]:%H:%M}",
        "15:20 – 16:00": lambda span: f"{span[0]:%H:%M} {_DASH} {span[1]:%H:%M}",
    },
    {
        "from 15:20 to 16:00": lambda span: f"from {span[0]:%H:%M} to {span[1]:%H:%M}",
        "3:20 to 4:00 pm": lambda span: f"{_twelve(span[0])} {_half(span[0])} to {_twelve(span[1])} {_half(span[1])}",
    },
    {"15.20 bis 16.00 Uhr": lambda span: f"{span[0]:%H.%M} bis {span[1]:%H.%M} Uhr"},
)


def _restated(number: int, language: Language) -> str:
    return f"{number} ({num2words(number, lang=language)})"


NUMBERS = _make_notations(
    {"47": str},
    {"forty-seven": lambda n: str(num2words(n)), "47 (forty-seven)": lambda n: _restated(n, "en")},
    {"siebenundvierzig": lambda n: str(num2words(n, lang="de")), "47 (siebenundvierzig)": lambda n: _restated(n, "de")},
)


def _parted(joint: str) -> Callable[[str], str]:
    """A code with a separator between its letters and its digits, if it has exactly these two parts."""

    def write(code: str) -> str:
        bare = code.replace("-", "").replace(" ", "")
        digits = bare.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        letters = bare[: len(bare) - len(digits)]
        return f"{letters}{joint}{digits}" if letters and digits.isdigit() else ""

    return write


def _in_groups(code: str) -> str:
    """Write a code in groups of four, like an account number."""
    return " ".join(code[place : place + 4] for place in range(0, len(code), 4)) if len(code) > 10 else ""


CODES = _make_notations(
    {
        "K4711": str,
        "K 4711": _parted(" "),
        "K-4711": _parted("-"),
        "K–4711": _parted(_DASH),
        "K‑4711": _parted(_FIRM_HYPHEN),
        "K&nbsp;4711": _parted(_NBSP),
        "k4711": str.lower,
        "“K4711”": lambda code: f"“{code}”",
        "DE12 3456 …": _in_groups,
    },
    {"no. K4711": lambda code: f"no. {code}"},
    {"Nr. K4711": lambda code: f"Nr. {code}", "„K4711“": lambda code: f"„{code}“"},
)

WORDS = _make_notations(
    {
        "words": lambda options: options[0],
        "other words": lambda options: options[-1] if len(options) > 1 else "",
        "words&nbsp;firmly&nbsp;spaced": lambda options: options[0].replace(" ", _NBSP) if " " in options[0] else "",
        "typographer’s words": lambda options: options[0].replace("'", "’") if "'" in options[0] else "",
    },
    {"“words”": lambda options: f"“{options[0]}”"},
    {"„words“": lambda options: f"„{options[0]}“"},
)

ADDRESSES = _make_notations(
    {
        "a@b.c": str,
        "<a@b.c>": lambda address: f"<{address}>",
        "A@B.C": str.upper,
        "mailto:a@b.c": lambda address: f"mailto:{address}" if "@" in address else "",
    },
    {},
    {},
)

NOTATIONS = {
    "amount": AMOUNTS,
    "day": DAYS,
    "time": TIMES,
    "span": SPANS,
    "number": NUMBERS,
    "code": CODES,
    "words": WORDS,
    "name": WORDS,
    "address": ADDRESSES,
}
"""The notations of each kind. A moment is written as a day and a time."""


def _in_python(value: Value) -> Any:
    match value.kind:
        case "amount" | "number":
            return int(value.value)
        case "day":
            return date.fromisoformat(value.value)
        case "time":
            return time.fromisoformat(value.value)
        case "span":
            return tuple(map(time.fromisoformat, value.value.split("-")))
        case "words" | "name":
            return [option.rstrip("-") for option in value.value.split("|")]
        case _:
            return value.value


@lru_cache(maxsize=4096)
def _fitting(value: Value) -> tuple[tuple[Notation, str], ...]:
    """The notations that can write a value, each with its text. The two languages alternate."""
    plain = _in_python(value)
    written = [(notation, text) for notation in NOTATIONS.get(value.kind, ()) if (text := notation.write(plain))]
    by_language = [[pair for pair in written if pair[0].language == language] for language in (None, "en", "de")]
    return tuple(pair for row in zip_longest(*by_language) for pair in row if pair is not None)


def _parts(value: Value) -> tuple[Value, ...]:
    """The day and the time of a moment; any other value itself."""
    if value.kind != "moment":
        return (value,)
    moment = datetime.fromisoformat(value.value)
    return Value(kind="day", value=moment.date().isoformat()), Value(kind="time", value=f"{moment:%H:%M}")


def choose_language(values: Iterable[Value], turn: int) -> Language:
    """The language of a message: the language of the notation that ``turn`` chooses for its first value."""
    for value in values:
        if notations := _fitting(_parts(value)[0]):
            round_, place = divmod(turn, len(notations))
            return notations[place][0].language or ("en", "de")[round_ % 2]
    return ("en", "de")[turn % 2]


def spread(turn: int, count: int) -> int:
    """A place from 0 to ``count - 1`` for a turn. Neighbouring turns get distant places; all are equally frequent.

    The method is Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, 6.4).
    """
    return (turn * 2654435769 % 2**32) * count >> 32


def write(value: Value, language: Language, turn: int, *, is_first: bool = True) -> tuple[str, tuple[str, ...]]:
    """Write a value in a notation that ``turn`` chooses among those of the language.

    A moment is written as its day, a joint and its time. ``is_first`` says that the value also chose the language.

    Returns:
        The text, and the notations' names, each after its kind.
    """
    texts, names = list[str](), list[str]()
    for number, part in enumerate(_parts(value)):
        notations = _fitting(part)
        place = turn % max(1, len(notations)) if is_first and number == 0 else spread(turn + number, len(notations))
        turned = (*notations[place:], *notations)
        chosen, text = next((pair for pair in turned if pair[0].language in (None, language)), (None, part.value))
        texts.append(text)
        names += [f"{part.kind} {chosen.name}"] if chosen else []
    return _JOINTS[language][turn % len(_JOINTS[language])].join(texts), tuple(names)


def list_names(values: Iterable[Value]) -> set[str]:
    """The names of all notations in which any of the values can be written."""
    parts = [part for value in values for part in _parts(value)]
    return {f"{part.kind} {notation.name}" for part in parts for notation, _ in _fitting(part)}
