"""Tokens of a text: runs of digits, runs of letters, line ends, and single signs."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, compress, count
from typing import NamedTuple

from proctor_language.reader.words import FOLLOWERS, NUMBER_STEMS, STARTS, has_number

# Alternatives without repetition inside repetition: one pass over the text. The group keeps tokens in ``split``. Words of
# plain letters, which most are, are found sooner by an alternative of their own.
_TOKEN = re.compile(r"([a-zA-Z]++(?![^\W\d_])|\d+|[^\W\d_]+|\n|\S)")


class Token(NamedTuple):
    """One token: its text, the same in lower case, its place, and whether white space comes before it."""

    text: str
    low: str
    start: int
    end: int
    gap: bool
    is_number: bool
    is_word: bool


END = Token("", "", 0, 0, True, False, False)
_new = tuple.__new__


class Tokens(dict[int, Token]):
    """The tokens of a readable text by their places, each made when first asked for; ``END`` is outside of the text.

    Attributes:
        text: the text. size: how many tokens it has. numbers: the places of those in figures. begins: the places at which
            a value may begin, a number's or that of a word of ``words.STARTS`` before its ``words.FOLLOWERS``, in order.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        pieces = _TOKEN.split(text)  # white space and tokens take turns
        self._spaces, self._words = pieces[::2], pieces[1::2]
        self._lows = list(map(str.lower, self._words))
        self._starts = list(accumulate(map(len, pieces)))[:-1:2]
        self.text, self.size = text, len(self._words)
        self.numbers = list(compress(count(), map(str.isdecimal, self._words)))
        self.begins = sorted({*self.numbers, *_begins(self._lows), *_long_numbers(text, self._lows)})

    def __missing__(self, place: int) -> Token:
        if not 0 <= place < self.size:
            return END
        word, start = self._words[place], self._starts[place]
        is_number = word.isdecimal()
        is_word = not is_number and word.isalnum()
        fields = (word, self._lows[place], start, start + len(word), self._spaces[place] != "", is_number, is_word)
        self[place] = token = _new(Token, fields)
        return token

    def place_at(self, position: int) -> int:
        """The number of the first token that starts at or after a position in the text."""
        return bisect_left(self._starts, position)

    def is_glued(self, place: int) -> bool:
        """Whether a token comes directly after the one before it."""
        return 0 < place < self.size and not self[place].gap


def _begins(lows: list[str]) -> Iterator[int]:
    """The places of words by which a value may begin."""
    for place in compress(count(), map(STARTS.__contains__, lows)):
        followers = FOLLOWERS.get(lows[place])
        if followers is None or not followers.isdisjoint(lows[place + 1 : place + 3]):
            yield place


_LONG = 9
"""German words for thousands are longer."""


def _long_numbers(text: str, lows: list[str]) -> Iterator[int]:
    low_text = text.lower()
    if any(stem in low_text for stem in NUMBER_STEMS):
        yield from (place for place, low in enumerate(lows) if len(low) > _LONG and has_number(low))


@lru_cache(maxsize=256)
def tokens_of(text: str) -> Tokens:
    """The tokens of a readable text."""
    return Tokens(text)
