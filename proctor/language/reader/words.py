"""Words for numbers, months, weekdays and parts of the day, in English and German."""

ONES = dict(
    zip(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen".split(),
        range(20),
        strict=True,
    )
)
TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
TENS["fourty"] = 40
SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
MULTIPLIERS = {
    "k": 1000,
    "thousand": 1000,
    "grand": 1000,
    "tsd": 1000,
    "teur": 1000,
    "tausend": 1000,
    "hundred": 100,
    "dozen": 12,
    "dutzend": 12,
    "million": 1_000_000,
    "millions": 1_000_000,
    "mio": 1_000_000,
    "mill": 1_000_000,
    "m": 1_000_000,
    "mn": 1_000_000,
    "millionen": 1_000_000,
}
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
ORDINALS = dict(zip(_ORDINALS.split(), range(1, 21), strict=True))
ORDINALS["thirtieth"] = 30

_GERMAN_ONES = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
).split()
_GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()


def _german_below_hundred(number: int) -> str:
    if number < 20:
        return _GERMAN_ONES[number]
    tens, ones = divmod(number, 10)
    if ones == 0:
        return _GERMAN_TENS[tens - 2]
    return f"{'ein' if ones == 1 else _GERMAN_ONES[ones]}und{_GERMAN_TENS[tens - 2]}"


def _replace_umlauts(word: str) -> str:
    """Replace umlauts as many people type them: ``fuenf``."""
    return word.replace("ü", "ue").replace("ö", "oe").replace("ä", "ae").replace("ß", "ss")


def _german() -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number in range(1000):
        hundreds, rest = divmod(number, 100)
        heads = ["", *(["hundert", "einhundert"] if hundreds == 1 else [])]
        if hundreds > 1:
            heads = [f"{_GERMAN_ONES[hundreds]}hundert"]
        elif hundreds == 1:
            heads = ["hundert", "einhundert"]
        tails = [""] if hundreds and not rest else [_german_below_hundred(rest)]
        if hundreds and rest:
            tails.append(f"und{tails[0]}")
        for head in heads:
            for tail in tails:
                numbers.setdefault(head + tail, number)
    numbers |= {"fuffzehn": 15, "fuffzig": 50, "zwo": 2, "ein": 1, "eine": 1, "einen": 1, "einem": 1, "einer": 1}
    return (
        numbers
        | {_replace_umlauts(word): number for word, number in numbers.items()}
        | {word.replace("ß", "ss"): number for word, number in numbers.items()}
    )


GERMAN = _german() | {f"{tens}{ones}": TENS[tens] + ONES[ones] for tens in TENS for ones in [*ONES][1:10]}
"""Numbers in one word: German below 1,000, English below 100 (``twentysix``)."""


def _german_ordinals() -> dict[str, int]:
    stems = {"erst": 1, "dritt": 3, "siebt": 7, "siebent": 7, "acht": 8}
    ordinals = dict(stems)
    for number in range(1, 32):
        if number not in stems.values():
            ordinals[_german_below_hundred(number) + ("st" if number > 19 else "t")] = number
    ordinals |= {_replace_umlauts(word): number for word, number in ordinals.items()}
    ordinals |= {word.replace("ß", "ss"): number for word, number in ordinals.items()}
    return {stem + ending: number for stem, number in ordinals.items() for ending in ("e", "en", "er", "es", "em")}


GERMAN_ORDINALS = _german_ordinals()

_MONTHS = (
    "january|jan|januar|jän|jänner february|feb|februar|feber march|mar|märz|mrz|maerz|mär april|apr may|mai "
    "june|jun|juni july|jul|juli august|aug september|sept|sep october|oct|oktober|okt november|nov "
    "december|dec|dezember|dez"
)


def _misspelled(word: str) -> set[str]:
    """Return misspellings of a word: one inner letter missing or doubled, or two swapped (``novmber``, ``aprill``)."""
    places = range(1, len(word) - 1)
    left_out = {word[:place] + word[place + 1 :] for place in places}
    doubled = {word[: place + 1] + word[place:] for place in range(1, len(word))}
    return left_out | doubled | {word[:place] + word[place + 1] + word[place] + word[place + 2 :] for place in places}


def _months() -> dict[str, int]:
    numbered = {name: number for number, names in enumerate(_MONTHS.split(), start=1) for name in names.split("|")}
    long = [name for name in numbered if len(name) > 5 or name == "april"]
    return {wrong: numbered[name] for name in long for wrong in _misspelled(name)} | numbered


MONTHS = _months()
"""The months by name, short name, and misspelled long name."""
_WEEKDAYS = (
    "monday|mon|montag|mondays tuesday|tue|tues|dienstag wednesday|wed|weds|mittwoch thursday|thu|thur|thurs|donnerstag "
    "friday|fri|freitag saturday|sat|samstag|sonnabend sunday|sun|sonntag"
)
WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAYS.split()) for name in names.split("|")}
SHORT_GERMAN_WEEKDAYS = {"mo": 0, "di": 1, "mi": 2, "do": 3, "fr": 4, "sa": 5, "so": 6}
"""Abbreviations that are weekdays only before a date, or with a capital and a full stop: ``Fr., 12.3.``"""

RELATIVE_DAYS = {
    "today": 0,
    "tonight": 0,
    "heute": 0,
    "tomorrow": 1,
    "tmrw": 1,
    "tmr": 1,
    "tmw": 1,
    "tomorow": 1,
    "tommorow": 1,
    "tommorrow": 1,
    "2morrow": 1,
    "übermorgen": 2,
    "uebermorgen": 2,
    "overmorrow": 2,
    "yesterday": -1,
    "gestern": -1,
    "vorgestern": -2,
}
FORENOON = frozenset(("morning", "morgens", "vormittags", "vormittag", "früh", "frueh"))
AFTERNOON = frozenset(
    ("afternoon", "aft", "evening", "night", "tonight", "nachmittags", "nachmittag", "abends", "abend", "nachts")
)
NOON = frozenset(("noon", "midday", "mittag", "mittags", "noontime"))
MIDNIGHT = frozenset(("midnight", "mitternacht"))
CURRENCIES = {
    "€": "EUR",
    "eur": "EUR",
    "euro": "EUR",
    "euros": "EUR",
    "£": "GBP",
    "gbp": "GBP",
    "pound": "GBP",
    "quid": "GBP",
    "pounds": "GBP",
    "sterling": "GBP",
    "pfund": "GBP",
    "$": "USD",
    "usd": "USD",
    "dollar": "USD",
    "dollars": "USD",
    "chf": "CHF",
    "franken": "CHF",
    "sfr": "CHF",
    "bucks": "USD",
}
CENTS = frozenset(("cent", "cents", "ct", "cts", "p", "pence", "penny"))


COMPANY = {_german_below_hundred(number) + ("st" if number > 19 else "t"): number for number in range(2, 40)} | {
    "dritt": 3,
    "siebt": 7,
    "acht": 8,
}
"""Sizes of a group of people in German: "zu fünft"."""


def parse_number_word(word: str) -> int | None:
    """Return the whole number that a word means (``eighty``, ``dreiundachtzig``, ``zweitausend``); None for others."""
    if word in ONES:
        return ONES[word]
    if word in TENS:
        return TENS[word]
    if word in GERMAN:
        return GERMAN[word]
    if "tausend" in word or "million" in word or "hundert" in word:
        return _compound(word)
    return None


def _compound(word: str) -> int | None:
    """Read a German word of thousands: ``dreitausendachthundertdreiunddreißig``."""
    head, found, tail = word.partition("hundert")
    if found and 10 < GERMAN.get(head, 0) < 100:
        return 100 * GERMAN[head] + (GERMAN.get(tail.removeprefix("und"), 0) if tail else 0)
    head, found, tail = word.partition("tausend")
    if not found:
        return None
    thousands = GERMAN.get(head, None if head else 1)
    rest = GERMAN.get(tail.removeprefix("und"), None if tail else 0)
    return None if thousands is None or rest is None else 1000 * thousands + rest


NUMBER_STEMS = ("tausend", "hundert", "einhalb", "anderthalb", "million")
"""Parts that mark a long word as a number."""


def has_number(word: str) -> bool:
    """Whether a long German word contains a number: ``dreitausend``, ``zweieinhalb``, ``anderthalb``."""
    return "tausend" in word or "hundert" in word or word.endswith(("einhalb", "anderthalb"))


STARTS = frozenset(
    [
        *ONES,
        *TENS,
        *GERMAN,
        *MONTHS,
        *WEEKDAYS,
        *RELATIVE_DAYS,
        *ORDINALS,
        *GERMAN_ORDINALS,
        *SHORT_GERMAN_WEEKDAYS,
        *NOON,
        *MIDNIGHT,
        *COMPANY,
        "half",
        "halbes",
        "hundred",
        "nye",
        "leap",
        "schalttag",
        "letzten",
        "letzter",
        "halb",
        "quarter",
        "viertel",
        "dreiviertel",
        "day",
        "morgen",
        "new",
        "christmas",
        "heiligabend",
        "single",
        "silvester",
        "in",
        "end",
        "ende",
        "last",
        "month",
        "monatsende",
        "a",
        "an",
        "anderthalb",
        "dutzend",
    ]
)
"""Words that may begin a value."""

DAYS_OF = {
    **dict.fromkeys(("day", "days", "tag", "tage", "tagen"), 1),
    **dict.fromkeys(("week", "weeks", "woche", "wochen"), 7),
    **dict.fromkeys(("fortnight", "fortnights"), 14),
}
"""Units of time, each with its number of days."""
SCALED = frozenset("hundred thousand million dozen dutzend hundert tausend".split())
"""The words before which "a" may mean the number one."""
FOLLOWERS = {
    **dict.fromkeys(("a", "an"), SCALED.union(DAYS_OF)),
    **dict.fromkeys(("last", "letzten", "letzter"), frozenset((*WEEKDAYS, "day", "tag"))),
    "in": frozenset(DAYS_OF),
    "day": frozenset(("after", "before", "of")),
    "new": frozenset(("'", "year")),
    "end": frozenset(("of",)),
    "ende": frozenset((*MONTHS, "des", "dieses")),
}
"""Words of ``STARTS`` that rarely begin a value: one of the listed words then follows next or next but one."""
