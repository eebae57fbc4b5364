"""Text as every rule reads it: one spelling for each dash, quote, apostrophe, space and letter."""

import re
import unicodedata
from functools import lru_cache
from html import unescape

READ_AT_MOST = 20_000
"""Characters of a text that are read for values; a mail has some 5,000 at most."""

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u207b\u208b\u2212\u2e3a\u2e3b\u30fc\ufe58\ufe63\uff0d"
_APOSTROPHES = "\u2018\u2019\u201a\u201b\u2032\u2035\u02b9\u02bb\u02bc\u02bd\u02ca\u02cb\u00b4\u0060\uff07"
_QUOTES = "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\u2039\u203a\u275d\u275e\u301d\u301e\u301f\uff02"
_LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"
_FRACTIONS = {"\u00bc": ".25", "\u00bd": ".5", "\u00be": ".75"}
# Letters of other alphabets that look like Latin ones: Unicode's confusables (UTS 39), the common part of them.
_LOOK_ALIKES = dict(
    zip(
        "АВЕЅЗІЈКМНОРСТУХаеѕіјорсухԁһӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανι",
        "ABES3IJKMHOPCTYXaesijopcyxdhlABEZHIKMNOPTYXoavi",
        strict=True,
    )
)
_TABLE = {
    **dict.fromkeys(_DASHES, "-"),
    **dict.fromkeys(_APOSTROPHES, "'"),
    **dict.fromkeys(_QUOTES, '"'),
    **dict.fromkeys(_LINE_ENDS, "\n"),
    **_LOOK_ALIKES,
    # NFKC's own, and frequent: without them most texts needn't be normalized.
    **dict.fromkeys("\u00a0\u202f", " "),
    "\u2026": "...",
    **dict.fromkeys("\u2192\u2794\u279c\u279d\u27f6\u21d2", "->"),
}
# No glyph: formats, variation selectors, fillers, controls, private use, keycaps.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u20e3\U000e0000-\U000e0fff\x00-\x08\x0e-\x1f\x7f\x80-\x84\x86-\x9f]"
)
_SPACES = re.compile(r"[^\S\n](?:[^\S\n]+|(?<! ))")
_OTHER_SPACE = re.compile(r"[^\S\n ]")
_ENTITY = re.compile(r"&(?:#\d|#[xX][0-9a-fA-F]|[a-zA-Z]{2})")
_SPECIAL = re.compile(r"[^\n -%'-_a-~]")  # what may be spelled otherwise: all but plain ASCII


@lru_cache(maxsize=1024)
def readable(text: str) -> str:
    """The same text in one typography: entities decoded, Unicode's NFKC, one form of dash, quote, apostrophe and space.

    Characters without a glyph are removed; line ends are kept. Applied twice, it changes nothing more. It prepares
    text for every rule, reply, quote check and search, so that typography and encoding never change a verdict.
    """
    signs = _special_signs(text)
    if _UNSEEN.search(signs) and not text.isascii():
        text = _UNSEEN.sub("", text)
    if "&" in signs and _ENTITY.search(text):
        text = unescape(text)
        signs = _special_signs(text)
    if signs:
        text = _spell(text, signs)
    if _OTHER_SPACE.search(signs):
        return _SPACES.sub(" ", text)
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def _special_signs(text: str) -> str:
    return "".join(set(_SPECIAL.findall(text)))  # what is asked of each sign is asked of few


def _spell(text: str, signs: str) -> str:
    text = text.replace("\r\n", "\n")
    if any(sign in signs for sign in _FRACTIONS):
        text = _write_fractions(text)
    # Signs that NFKC would take apart into a space and an accent are replaced before it.
    text = _replace(text, signs)
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
        signs = _special_signs(text)
        text = _replace(text, signs)
    return _UNSEEN.sub("", text) if _UNSEEN.search(signs) else text


def _replace(text: str, signs: str) -> str:
    for sign in filter(_TABLE.__contains__, signs):
        text = text.replace(sign, _TABLE[sign])
    return text


def _write_fractions(text: str) -> str:
    for sign, decimal in _FRACTIONS.items():
        text = re.sub(rf"(\d)\s?{sign}", rf"\g<1>{decimal}", text).replace(sign, f"0{decimal}")
    return text


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """A readable text in lower case without accents: ``Jürgen`` as ``jurgen``, ``Straße`` as ``strasse``."""
    low = text.casefold()
    if low.isascii():
        return low
    return "".join(char for char in unicodedata.normalize("NFD", low) if not unicodedata.combining(char))
