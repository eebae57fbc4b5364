"""Tokens of a text: runs of digits, runs of letters, line ends, and single signs."""

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate, compress, count, repeat
from operator import gt
from typing import NamedTuple

from proctor_language.reader.words import NUMBER_STEMS, STARTS, has_number

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
_PADDING = [END] * 12
_new = tuple.__new__


class Tokens(list[Token]):
    """The tokens of a readable text, and after them some of ``END``: places just outside of the text are ``END``.

    Attributes:
        text: the text. size: how many tokens it has. numbers: the places of those in figures. begins: the places at which
            a value may begin, a number's or that of a word of ``words.STARTS``, in order.
    """

    def __init__(self, text: str) -> None:
        pieces = _TOKEN.split(text)  # white space and tokens take turns
        places = list(accumulate(map(len, pieces)))
        words, self._starts = pieces[1::2], places[:-1:2]
        lows, are_numbers = list(map(str.lower, words)), list(map(str.isdecimal, words))
        are_words = map(gt, map(str.isalnum, words), are_numbers)
        gaps, ends = map(bool, pieces[:-1:2]), places[1::2]
        fields = zip(words, lows, self._starts, ends, gaps, are_numbers, are_words, strict=True)
        super().__init__(map(_new, repeat(Token), fields))
        self.text, self.size = text, len(self)
        self.extend(_PADDING)
        self.numbers = list(compress(count(), are_numbers))
        starts = compress(count(), map(STARTS.__contains__, lows))
        self.begins = sorted([*self.numbers, *starts])
        low_text = text.lower()
        if any(stem in low_text for stem in NUMBER_STEMS):
            long = (place for place, low in enumerate(lows) if len(low) > _LONG and has_number(low))
            self.begins = sorted({*self.begins, *long})

    def place_at(self, position: int) -> int:
        """The number of the first token that starts at or after a position in the text."""
        return bisect_left(self._starts, position)

    def is_glued(self, place: int) -> bool:
        """Whether a token comes directly after the one before it."""
        return 0 < place < self.size and not self[place].gap


_LONG = 9
"""German words for thousands are longer."""


@lru_cache(maxsize=256)
def tokens_of(text: str) -> Tokens:
    """The tokens of a readable text."""
    return Tokens(text)
