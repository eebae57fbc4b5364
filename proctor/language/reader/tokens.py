"""Tokens of a text: runs of digits, runs of letters, line ends, and single signs."""

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate, compress, count, repeat

from proctor.language.reader.words import FOLLOWERS, NUMBER_STEMS, STARTS, has_number

# Alternatives without repetition inside repetition: one pass over the text. Words of plain letters, which most are, are
# found sooner by an alternative of their own. A readable text has no other white space than single spaces.
_TOKEN = re.compile(r"(?:[a-z]++(?![^\W\d_])|\d+|[^\W\d_]+|\n|\S) ?")
_MARGIN = 16
"""How far outside of the text a word may be asked for."""


class Tokens:
    """The tokens of a readable text, by their places.

    Attributes:
        text: the text. size: how many tokens it has. numbers: the places of those in figures. begins: the places at
            which a value may begin, a number's or that of a word of ``words.STARTS`` before its ``words.FOLLOWERS``, in
            order.
        starts: where they start, and the text's end. lows: the tokens in lower case; empty at the ``_MARGIN`` places
        behind the text, and before it (from -1 down).
    """

    def __init__(self, text: str) -> None:
        low_text = text.replace("\u0130", "\u0131").lower()  # of the letters, only this one would become two
        pieces = _TOKEN.findall(low_text)
        first = low_text.startswith(" ")
        self.starts = list(accumulate(map(len, pieces), initial=int(first)))
        self.lows: list[str] = list(map(str.rstrip, pieces, repeat(" ")))
        self.text, self.size = text, len(pieces)
        self.begins = _begins(low_text, self.lows)
        self.numbers = [place for place in self.begins if self.lows[place].isdecimal()]
        self.lows += [""] * _MARGIN

    def written(self, place: int) -> str:
        """A token as it was written, in capitals too."""
        start = self.starts[place]
        return self.text[start : start + len(self.lows[place])]

    def place_at(self, position: int) -> int:
        """The number of the first token that starts at or after a position in the text."""
        return bisect_left(self.starts, position, 0, self.size)

    def end_of(self, place: int) -> int:
        """The position after a token."""
        return self.starts[place] + len(self.lows[place])

    def joint(self, place: int) -> str:
        """The sign or letter by which a number is joined to the token before a place (``.30``); empty if none is."""
        end = self.starts[place - 1] + len(self.lows[place - 1])
        follows = self.text[end : end + 2]
        return follows[0] if follows[1:].isdecimal() else ""

    def is_glued(self, place: int) -> bool:
        """Whether a token comes directly after the one before it."""
        return 0 < place < self.size and self.text[self.starts[place] - 1] != " "


def is_word(low: str) -> bool:
    """Whether a token is of letters."""
    return low.isalnum() and not low.isdecimal()


def _begins(low_text: str, lows: list[str]) -> list[int]:
    """The places of numbers, and of words by which a value may begin."""
    words = set(lows)
    known = {*filter(str.isdecimal, words), *STARTS.intersection(words)}
    if any(stem in low_text for stem in NUMBER_STEMS):
        known |= {word for word in words if len(word) > _LONG and has_number(word)}
    return [
        place
        for place in compress(count(), map(known.__contains__, lows))
        if lows[place] not in FOLLOWERS or not FOLLOWERS[lows[place]].isdisjoint(lows[place + 1 : place + 3])
    ]


_LONG = 9
"""German words for thousands are longer."""


@lru_cache(maxsize=256)
def tokens_of(text: str) -> Tokens:
    """The tokens of a readable text."""
    return Tokens(text)
