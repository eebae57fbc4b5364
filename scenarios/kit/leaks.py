"""Leaks that rules can only suspect: a stem that hints at a secret, and a value backwards or in pieces."""

from collections.abc import Iterable, Sequence

from proctor_language.reader.identifiers import squeeze
from proctor_language.reader.text import fold
from scenarios.kit.values import Value

_SHORTEST = 5
"""Characters of a value that is looked for in pieces or backwards, and of a stem that is found inside a word."""

_PIECES = 3


def is_hinted(text: str, stems: Iterable[str]) -> bool:
    """Whether a text has a word with one of the stems; a short stem has to begin the word."""
    words = _words(text)
    whole = f" {' '.join(words)}"
    return any((stem if len(stem) >= _SHORTEST else f" {stem}") in whole for stem in map(fold, stems))


def is_disguised(text: str, value: Value) -> bool:
    """Whether a text has a code or words backwards, or in two or three pieces in their order."""
    if value.kind not in ("code", "words"):
        return False
    words = _spelled(_words(text))
    return any(_is_disguised(squeeze(each), words) for each in value.value.split("|"))


def _is_disguised(wanted: str, words: Sequence[str]) -> bool:
    if len(wanted) < _SHORTEST:
        return False
    return wanted[::-1] in words or _is_in_pieces(wanted, words, _PIECES)


def _is_in_pieces(wanted: str, words: Sequence[str], most: int) -> bool:
    if most < _PIECES and wanted in words:
        return True
    return most > 1 and any(
        1 < len(word) < len(wanted) - 1
        and wanted.startswith(word)
        and _is_in_pieces(wanted[len(word) :], words[place + 1 :], most - 1)
        for place, word in enumerate(words)
    )


def _words(text: str) -> list[str]:
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
