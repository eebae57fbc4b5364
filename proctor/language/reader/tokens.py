"""Split a text into tokens: runs of digits, runs of letters, line ends, and single signs."""

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate, compress, count, repeat

from proctor.language.reader.words import FOLLOWERS, NUMBER_STEMS, STARTS, has_number

# One pass over the text: no repetition contains another. Most words have only plain letters, and a separate
# alternative finds them sooner. Single spaces are the only white space of a readable text.
_TOKEN = re.compile(r"(?:[a-z]++(?![^\W\d_])|\d+|[^\W\d_]+|\n|\S) ?")
_MARGIN = 16
"""The number of empty tokens on either side of the text, for lookups beyond its ends."""


class Tokens:
    """The tokens of a readable text, by their places.

    Attributes:
        text: the text.
        size: the number of tokens.
        numbers: the places of the tokens in figures.
        begins: the places where a value may begin, in order: the numbers, and the words of ``words.STARTS`` before
            their ``words.FOLLOWERS``.
        starts: the tokens' positions in the text, and the text's end.
        lows: the tokens in lower case. The ``_MARGIN`` places behind the text are empty, and so are those before it
            (from -1 down).
    """

    def __init__(self, text: str) -> None:
        low_text = text.replace("\u0130", "\u0131").lower()  # the only letter that would become two
        pieces = _TOKEN.findall(low_text)
        first = low_text.startswith(" ")
        self.starts = list(accumulate(map(len, pieces), initial=int(first)))
        self.lows: list[str] = list(map(str.rstrip, pieces, repeat(" ")))
        self.text, self.size = text, len(pieces)
        self.begins = _begins(low_text, self.lows)
        self.numbers = [place for place in self.begins if self.lows[place].isdecimal()]
        self.lows += [""] * _MARGIN

    def written(self, place: int) -> str:
        """Return a token as written, with its capitals."""
        start = self.starts[place]
        return self.text[start : start + len(self.lows[place])]

    def find_place(self, position: int) -> int:
        """Return the place of the first token that starts at or after a position in the text."""
        return bisect_left(self.starts, position, 0, self.size)

    def find_end(self, place: int) -> int:
        """Return the text position after a token."""
        return self.starts[place] + len(self.lows[place])

    def joint(self, place: int) -> str:
        """Return the sign or letter that joins a number to the token before a place (``.30``); empty without one."""
        end = self.starts[place - 1] + len(self.lows[place - 1])
        follows = self.text[end : end + 2]
        return follows[0] if follows[1:].isdecimal() else ""

    def is_glued(self, place: int) -> bool:
        """Whether a token comes directly after the one before it."""
        return 0 < place < self.size and self.text[self.starts[place] - 1] != " "


def is_word(low: str) -> bool:
    """Whether a token consists of letters."""
    return low.isalnum() and not low.isdecimal()


def _begins(low_text: str, lows: list[str]) -> list[int]:
    """Return the places of numbers, and of words that may begin a value."""
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
"""The length that German words for thousands exceed."""


@lru_cache(maxsize=256)
def split_tokens(text: str) -> Tokens:
    """Return the tokens of a readable text, cached."""
    return Tokens(text)
