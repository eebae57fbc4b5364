"""Find codes, addresses, names and phrases by their letters and digits."""

import re
from collections.abc import Iterator
from functools import lru_cache

from proctor.language.reader.mentions import Mention
from proctor.language.reader.numbers import read_number
from proctor.language.reader.text import fold
from proctor.language.reader.tokens import Tokens, is_word
from proctor.language.reader.words import MONTHS, ONES, parse_number_word

_MAIL = re.compile(
    r"(?<![\w.+-])[\w.+\\-]{1,64} ?(?:@|[\[(] ?[aä]t ?[\])]) ?[\w-]{1,64}(?:(?: ?[\[(] ?(?:dot|[pP]unkt) ?[\])] ?|\.)[\w-]{1,64}){1,8}"
)
_AT = re.compile(r"[@\[(](?:(?<=@)| ?[aä]t ?[\])])")
# An optional + or 00, an optional parenthesis, digits. A search stops only at a possible first one.
# "ruth dot okafor at millbank hyphen legal dot example", as addresses are dictated.
_SAID = {"dot": ".", "punkt": ".", **dict.fromkeys(("hyphen", "dash", "minus", "bindestrich"), "-")}
_SAID |= {
    **dict.fromkeys(("underscore", "unterstrich"), "_"),
    "strich": "-",
    **dict.fromkeys(("plus sign", "pluszeichen"), "+"),
    "at": "@",
}
_SIGN = "dot|punkt|hyphen|dash|minus|bindestrich|strich|underscore|unterstrich|plus sign|pluszeichen"
_SAID_AT = "(?:(?:then|dann),? )?(?:(?:the|das) )?(?:at|ät|klammeraffe)(?:[ -](?:sign|zeichen))?"
_SPOKEN_HOST = re.compile(rf" {_SAID_AT}(?:,? then)?,? [\w-]{{1,64}},? (?:{_SIGN}),? \w", re.IGNORECASE)
"""The host of a dictated address; without a host, "on the dot" is a time."""
_SPOKEN_MAIL = re.compile(
    rf"\b\w{{1,64}}(?:,? (?:{_SIGN}),? \w{{1,64}}){{0,6}},? {_SAID_AT}(?:,? then)?,? [\w-]{{1,64}}"
    rf"(?:,? (?:{_SIGN}),? \w{{1,64}}){{0,6}},? (?:dot|punkt),? \w{{2,64}}\b",
    re.IGNORECASE,
)
_PHONE = re.compile(r"[+(\d](?=[\d ()/.-]{6})(?:(?<=\+)\(?\d|(?<=\b0)0\(?\d|(?<=\()\d|(?<=\d))[\d ()/.-]{5,28}\d\b")
_AMERICAN = re.compile(r"[2-9]\d\d[.-]\d{3}[.-]\d{4}(?!\w)")
_LIKE_PHONE = re.compile(r"[+(0][\d ()/.-]{7}")
_DATE = re.compile(
    r"[0-2]\d[0-5]\d ?- ?[0-2]\d[0-5]\d\b|\(?\d{1,2}[./-]\d{1,2}[./-](?:\d\d){1,2}\b|\d{1,2}[.:]\d\d ?- ?\d{1,2}[.:]\d\d"
)
_FIVE_PAIRS = re.compile(r"0\d(?:\.\d\d){4}\Z")
"""A French telephone number, which begins like a date."""
_CODE = re.compile(r"\b(?=[A-Za-z]{0,6}[-/]?\d)[A-Za-z0-9]+(?:[-/][A-Za-z0-9]+)*\b")
_IBAN = re.compile(r"\b[A-Za-z]{2} ?\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,4})?\b")
_DIGIT_WORDS = {**{word: str(number) for word, number in ONES.items() if number < 10}, "oh": "0", "null": "0"}
_DIGIT_WORDS |= dict(zip("eins zwei zwo drei vier fünf sechs sieben acht neun".split(), "1223456789", strict=True))
_JOINTS = frozenset("-./_: \n'()*\"#|,")
_LONGEST_NATIONAL = 12
_GLUE = frozenset("-_/")
_TITLES = frozenset(
    "mr mrs ms miss mx dr prof sir madam herr frau herrn hr fr dame lord lady professor doctor doktor".split()
)


class Squeezed:
    """The letters and digits of a text, with the place of each in the text.

    ``find`` compares letters and digits only and ignores everything between them. A stretch must not be part of a
    longer word or code.
    """

    def __init__(self, text: str) -> None:
        folded: list[str] = []
        places: list[int] = []
        for place, char in enumerate(text):
            if char.isalnum():
                for letter in fold(char):
                    folded.append(letter)
                    places.append(place)
        self.text = text
        self.letters = "".join(folded)
        self.places = places

    def find(self, value: str, *, is_code: bool) -> list[tuple[int, int]]:
        """Return the stretches of the text that spell a value."""
        wanted = squeeze(value)
        if not wanted:
            return []
        found, begin = [], self.letters.find(wanted)
        while begin >= 0:
            start, end = self.places[begin], self.places[begin + len(wanted) - 1] + 1
            if self._is_whole(start, end, value, is_code=is_code):
                found.append((start, end))
            begin = self.letters.find(wanted, begin + 1)
        return found

    def find_beginnings(self, stem: str) -> list[tuple[int, int]]:
        """Return the stretches that begin a word with a stem, including compounds."""
        wanted, found = squeeze(stem), []
        begin = self.letters.find(wanted)
        while begin >= 0:
            start, end = self.places[begin], self.places[begin + len(wanted) - 1] + 1
            if not self.text[start - 1 : start].isalnum() and self.text[start:end].replace("-", "").isalnum():
                found.append((start, end))
            begin = self.letters.find(wanted, begin + 1)
        return found

    def _is_whole(self, start: int, end: int, value: str, *, is_code: bool) -> bool:
        text = self.text
        before, after = text[start - 1 : start], text[end : end + 1]
        if before.isalnum() or (after.isalnum() and not (not is_code and self._is_inflected(end))):
            return False
        inside = text[start:end]
        if not inside.isalnum() and not self._is_parted_well(inside):
            return False
        if not is_code:
            return True
        # An attached digit or capital makes another code: "K-4711-2", "17/K4711".
        if before in _GLUE and text[start - 2 : start - 1].isdigit() and text[start - 1] != "/":
            return False
        beyond = text[end + 1 : end + 3]
        if after in ("-", "_") and beyond[:1].isalnum() and (beyond[:1].isdigit() or beyond.isupper()):
            return False
        if after == "/" and beyond[:1].isdigit():
            return False
        if after in (".", ",") and beyond[:1].isdigit() and value[-1:].isdigit():
            return False
        is_grouped = " " in inside and inside.replace(" ", "").isalnum() and value.isalnum() and len(value) > 6
        return not (is_grouped and after == " " and beyond[:1].isdigit() and _is_group(text, end + 1))

    def _is_inflected(self, end: int) -> bool:
        rest = self.text[end : end + 3]
        return rest[:1] in ("s", "S", "n") and not rest[1:2].isalnum()

    @staticmethod
    def _is_parted_well(inside: str) -> bool:
        run = 0
        for char in inside:
            if char.isalnum():
                run = 0
                continue
            run += 1
            if char not in _JOINTS or run > 3:
                return False
        return True


def _is_group(text: str, place: int) -> bool:
    """Whether a group of digits that belongs to the preceding code begins at a place."""
    match = re.compile(r"\d{1,4}\b(?![.,:]\d)").match(text, place)
    return match is not None


@lru_cache(maxsize=256)
def squeeze_text(text: str) -> Squeezed:
    """Return the letters and digits of a readable text."""
    return Squeezed(text)


def squeeze(value: str) -> str:
    """Return a value's letters and digits, in lower case and without accents."""
    return "".join(letter for char in value if char.isalnum() for letter in fold(char))


_LETTER_NAMES = {
    **dict(
        zip(
            "ay bee cee dee ee eff gee aitch jay kay el em en pee cue ar ess tee vee ex wye zed".split(),
            "abcdefghjklmnpqrstvxyz",
            strict=True,
        )
    ),
    "zee": "z",
    "zett": "z",
    "double-u": "w",
    "ypsilon": "y",
    "ka": "k",
    "ha": "h",
    "ce": "c",
    "de": "d",
    "ef": "f",
    "ge": "g",
}
# The spelling alphabets of ICAO and DIN 5009 (with the older German words that people know).
_SPELLED = frozenset(
    "alfa alpha bravo charlie delta echo foxtrot golf hotel india juliett juliet kilo lima mike november oscar papa quebec "
    "romeo sierra tango uniform victor whiskey whisky xray yankee zulu anton berta cäsar dora emil friedrich gustav heinrich "
    "ida julius kaufmann konrad ludwig martha nordpol otto paula quelle richard samuel siegfried theodor ulrich viktor "
    "wilhelm xanthippe ypsilon zacharias zeppelin".split()
)
_ZEROS = frozenset(("zeros", "zeroes", "nullen", "noughts"))
_SPOKEN_JOINTS = frozenset("- , / . dash hyphen minus slash space bindestrich strich then dann und ray".split())


def spelled_runs(tokens: Tokens) -> list[str]:
    """Return the runs of single letters and numbers, in figures or words, which may spell a code.

    ``kay zed, eighteen sixty-six`` is ``kz1866``; ``seven four double-two`` is ``7422``.
    """
    lows = tokens.lows
    runs: list[str] = []
    run, place, has_words = "", 0, False
    while place < tokens.size:
        low = lows[place]
        number = read_number(tokens, place) if is_word(low) and parse_number_word(low) is not None else None
        piece, after = "", place + 1
        if number is not None and number.value < 20 and lows[number.after] in _ZEROS:
            piece, after, has_words = "0" * int(number.value), number.after + 1, True
        elif low in ("double", "triple", "doppel"):
            here = place + 2 if lows[place + 1] == "-" else place + 1
            digit = _DIGIT_WORDS.get(lows[here], lows[here] if lows[here].isdecimal() else "")
            piece, after, has_words = digit * (3 if low == "triple" else 2), here + 1, True
        elif number is not None and number.value == int(number.value):
            piece, after, has_words = str(int(number.value)), number.after, True
        elif low.isdecimal():
            piece = low
        elif is_word(low) and len(low) == 1 and lows[place + 1] in ("for", "as", "like", "wie", "von"):
            # "K wie Kaufmann" and "T for Tango" mean the letter.
            piece, after, has_words = low, place + 3 + (lows[place + 2] == "in"), True
        elif low == "oh":
            piece, has_words = "o", True
        elif low in _SPELLED:
            piece, has_words = low[0], True
        elif is_word(low) and (len(low) == 1 or low in _LETTER_NAMES or tokens.written(place).isupper()):
            piece = _LETTER_NAMES.get(low, low)
        elif low in _SPOKEN_JOINTS and run:
            place, has_words = after, has_words or len(low) > 2
            continue
        if piece:
            run += piece
        elif run:
            runs += [run] * has_words
            run, has_words = "", False
        place = after
    return [*runs, *([run] * has_words)]


def find_codes(tokens: Tokens) -> list[Mention]:
    """Find likely references: letters and digits together, four digits or more, an IBAN."""
    found: list[Mention] = []
    end = 0
    matches = (*_matches(_IBAN, tokens, _iban_starts(tokens)), *_matches(_CODE, tokens, _code_starts(tokens)))
    for match in sorted(matches, key=lambda each: (each.start(), -each.end())):
        word = match.group()
        is_code = len(word) >= 4 and any(map(str.isdigit, word)) and word.lower() != word
        is_code = is_code and not _is_date(word)
        is_code = is_code and (" " not in word or sum(map(str.isdigit, word)) > 7)  # "on 16 November" is not an IBAN
        if is_code and match.start() >= end:
            end = match.end()
            value = "".join(char for char in word if char.isalnum()).upper()
            found.append(Mention("code", (value,), match.start(), end))
    return found


def _is_date(word: str) -> bool:
    """Whether a word is a date with the month in letters: ``14-Jul-2027``."""
    parts = word.lower().split("-")
    return len(parts) == 3 and parts[1] in MONTHS and parts[0].isdecimal() and parts[2].isdecimal()


def _iban_starts(tokens: Tokens) -> Iterator[int]:
    for place in tokens.numbers:
        if len(tokens.lows[place - 1]) == 2:
            yield tokens.starts[place - 1]


def _code_starts(tokens: Tokens) -> Iterator[int]:
    """Yield the places where a code may start: at a number, or at letters before it, with or without a sign between.

    Skip a number alone, and a number without a capital between the spaces around it.
    """
    text, lows, starts, end, has_capital = f"{tokens.text} ", tokens.lows, tokens.starts, 0, False
    for place in tokens.numbers:
        first = start = starts[place]
        if place and text[start - 1] != " ":
            first = starts[max(0, place - 1 if lows[place - 1].isalnum() else place - 2)]
        elif text[start + len(lows[place])] == " ":
            continue
        if start >= end:
            end = text.find(" ", start)
            has_capital = text[first:end] != text[first:end].lower()
        if has_capital:
            yield first
            yield start


def _matches(pattern: re.Pattern[str], tokens: Tokens, starts: Iterator[int]) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern at the given places, without overlaps."""
    end = 0
    for start in starts:
        if start >= end and (match := pattern.match(tokens.text, start)):
            yield match
            end = match.end()


def find_addresses(text: str) -> list[Mention]:
    """Find the mail addresses and telephone numbers of a text."""
    found: list[Mention] = []
    if "@" in text or any(sign in text for sign in ("at)", "at]", "ät)", "ät]")):
        found += [Mention("address", (_mail(hit.group()),), *hit.span()) for hit in _mails(text)]
    low = text.lower()
    if (" dot " in low or " punkt " in low) and _SPOKEN_HOST.search(text):
        found += [
            Mention("address", (_write_dictated(hit.group()),), *hit.span()) for hit in _SPOKEN_MAIL.finditer(text)
        ]
    for match in _AMERICAN.finditer(text):
        before = text[max(0, match.start() - 2) : match.start()]
        if before in ("1 ", "1-", "1.") or not (before[-1:].isalnum() or before[-1:] in (".", "-", "_")):
            digits = match.group().replace(".", "").replace("-", "")
            found.append(Mention("address", (f"+1{digits}", digits), *match.span()))
    for match in _PHONE.finditer(text) if _LIKE_PHONE.search(text) else ():
        if not match.group().startswith(("+", "0", "(")):
            continue
        digits = "".join(char for char in match.group() if char.isdigit())
        if _DATE.match(match.group()) and not _FIVE_PAIRS.match(match.group()):
            continue
        is_long = 8 <= len(digits) <= 15 and (match.group().startswith(("+", "00", "0", "(")))
        if is_long:
            found.append(Mention("address", _numbers(match.group()), match.start(), match.end()))
    return found


def _mails(text: str) -> Iterator[re.Match[str]]:
    """Find the mail addresses; search only around their at signs."""
    end = 0
    for sign in _AT.finditer(text):
        if sign.start() < end:
            continue
        match = _MAIL.search(text, max(end, sign.start() - 65))  # 64 characters and a space at most
        if match is None:
            return
        yield match
        end = match.end()


def _mail(written: str) -> str:
    address = re.sub(r" ?[\[(] ?[aä]t ?[\])] ?", "@", written.lower())
    return re.sub(r" ?[\[(] ?(?:dot|punkt) ?[\])] ?", ".", address).replace(" ", "").replace("\\", "").rstrip(".-_")


def _write_dictated(dictated: str) -> str:
    """Return a dictated mail address in its written form."""
    plain = re.sub(rf",? {_SAID_AT}(?:,? then)?,? ", " at ", dictated.lower())
    spaced = re.sub(rf",? ({_SIGN}|at),? ", lambda sign: f" {_SAID[sign.group(1)]} ", plain)
    return spaced.replace(" ", "")


def _numbers(written: str) -> tuple[str, ...]:
    """Return a telephone number in E.164, or as it is dialled in its country if no country is named."""
    is_international = written.startswith(("+", "00"))
    plain = re.sub(r"\(0\)", "", written)
    digits = "".join(char for char in plain if char.isdigit())
    if digits.startswith("011") and len(digits) > _LONGEST_NATIONAL:  # as dialled from North America
        return (f"+{digits.removeprefix('011')}", digits)
    if is_international:
        return (f"+{digits.removeprefix('00')}" if written.startswith("00") else f"+{digits}",)
    return (digits,)


def is_same_address(written: str, wanted: str) -> bool:
    """Whether an address, as ``find_addresses`` finds it, is the wanted one; a national number fits any country."""
    if "@" in wanted or "@" in written:
        return written == wanted.lower()
    if written.startswith("+"):
        return written == wanted
    rest = written.removeprefix("0")
    country = wanted.removeprefix("+").removesuffix(rest)
    return len(rest) >= 7 and wanted.endswith(rest) and 0 < len(country) <= 3


def find_name(text: str, name: str) -> list[tuple[int, int]]:
    """Find the places that name a person: by full name, first name, title or initial and last name, or last name."""
    squeezed = squeeze_text(text)
    parts = [part for part in re.split(r"\s+", name) if fold(part).rstrip(".") not in _TITLES]
    if len(parts) < 2:
        return [place for part in parts for place in squeezed.find(part, is_code=False)]
    spellings = {part for whole in (parts[0], parts[-1]) for part in (whole, *transcribed(whole))}
    return sorted({place for spelling in spellings for place in squeezed.find(spelling, is_code=False)})


def transcribed(word: str) -> tuple[str, ...]:
    """Return spellings of a German or Nordic name without its special letters."""
    low = word.lower()
    if low.isascii():
        return ()
    pairs = {"ü": "ue", "ö": "oe", "ä": "ae", "ø": "oe", "å": "aa", "æ": "ae", "ß": "ss"}
    spelled = "".join(pairs.get(char, char) for char in low)
    return (spelled,) if spelled != low else ()
