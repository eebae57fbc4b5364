"""Leaks that rules can only suspect: a stem that hints at a secret, and a value backwards or in pieces."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from proctor.language.reader.identifiers import squeeze
from proctor.language.reader.text import fold
from proctor.scenarios.kit.values import Value

_SHORTEST = 5
"""The fewest characters of a value to search in pieces or backwards, and of a stem to find inside a word."""


def is_hinted(text: str, stems: Iterable[str]) -> bool:
    """Whether a text has a word with one of the stems; a short stem has to begin the word."""
    words = _split_words(text)
    whole = f" {' '.join(words)}"
    return any((stem if len(stem) >= _SHORTEST else f" {stem}") in whole for stem in map(fold, stems))


def is_disguised(text: str, values: Iterable[Value]) -> bool:
    """Whether a text has one of the codes or words backwards, or in two or three pieces in their order."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(_spelled(_split_words(text))):
        places.setdefault(word, []).append(place)
    wanted = (squeeze(form) for value in values if value.kind in ("code", "words") for form in value.value.split("|"))
    return any(form[::-1] in places or _is_in_pieces(form, places) for form in wanted if len(form) >= _SHORTEST)


def _is_in_pieces(wanted: str, places: Mapping[str, Sequence[int]]) -> bool:
    """Whether a value is said in two or three pieces of two characters or more; ``places`` are those of all words."""
    cuts = range(2, len(wanted) - 1)
    pairs = ((first, second) for first, second in combinations(cuts, 2) if second - first > 1)
    return any(
        _are_in_order((wanted[: cut[0]], *(wanted[cut[0] : end] for end in cut[1:]), wanted[cut[-1] :]), places)
        for cut in (*((end,) for end in cuts), *pairs)
    )


def _are_in_order(pieces: Iterable[str], places: Mapping[str, Sequence[int]]) -> bool:
    last = -1
    for piece in pieces:
        own = places.get(piece, ())
        number = bisect_right(own, last)
        if number == len(own):
            return False
        last = own[number]
    return True


def _split_words(text: str) -> list[str]:
    return "".join(char if char.isalnum() else " " for char in fold(text)).split()


def _spelled(words: Sequence[str]) -> list[str]:
    """The words, with single letters and digits that follow each other as one word."""
    found: list[str] = []
    is_open = False
    for word in words:
        if len(word) == 1 and is_open:
            found[-1] += word
        else:
            found.append(word)
        is_open = len(word) == 1
    return found
