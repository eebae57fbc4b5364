"""Tokens of a text: runs of digits, runs of letters, line ends, and single signs."""

import re
from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

from proctor_language.reader.words import STARTS, has_number

# Alternatives without repetition inside repetition: one pass over the text.
_TOKEN = re.compile(r"(\d+)|([^\W\d_]+)|\n|\S")


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
        text: the text. size: how many tokens it has. numbers: the places of those in figures. words: the places of the
            words by which a value may begin (``words.STARTS``).
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.numbers: list[int] = []
        self.words: list[int] = []
        end, append = 0, self.append
        for match in _TOKEN.finditer(text):
            start, after = match.span()
            word, kind = match.group(), match.lastindex
            low = word.lower()
            if kind == 1:
                self.numbers.append(len(self))
            elif kind == 2 and (low in STARTS or (len(low) > _LONG and has_number(low))):
                self.words.append(len(self))
            append(_new(Token, (word, low, start, after, start != end, kind == 1, kind == 2)))
            end = after
        self.size = len(self)
        self.extend(_PADDING)
        self._starts: list[int] | None = None

    def place_at(self, position: int) -> int:
        """The number of the first token that starts at or after a position in the text."""
        if self._starts is None:
            self._starts = [token.start for token in self[: self.size]]
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
