"""Compile the regular expressions of scenarios by RE2, which searches in time proportional to the text's length.

Texts may therefore come from any author. RE2's syntax is Python's without look-ahead, look-behind and back-references,
which need more time (https://github.com/google/re2/wiki/Syntax).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any

import re2
from pydantic import AfterValidator, Field

_LONGEST = 20_000
_MOST_MEMORY = 8 * 1024 * 1024
_KEPT = 512


class LinearPattern:
    """A compiled pattern; each search is one pass over the text (a lone surrogate reads as ``?``)."""

    def __init__(self, compiled_by_re2: Any) -> None:
        self._regex = compiled_by_re2

    def search(self, text: str) -> Any:
        """Return the first match, with the methods of Python's matches; None without a match."""
        return self._regex.search(_encodable(text))

    def finditer(self, text: str) -> Iterator[Any]:
        return iter(self._regex.finditer(_encodable(text)))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the beginning and the end of each match, faster than ``finditer``. No match may be empty."""
        encoded = _encodable(text).encode()
        found = [match.span() for match in self._regex.finditer(encoded)]
        if len(encoded) == len(text):
            return found
        spans, last, end = [], 0, 0
        for first_byte, last_byte in found:
            start = end + len(encoded[last:first_byte].decode())
            end = start + len(encoded[first_byte:last_byte].decode())
            last = last_byte
            spans.append((start, end))
        return spans

    def sub(self, replacement: str, text: str) -> str:
        return str(self._regex.sub(replacement, _encodable(text)))


def _encodable(text: str) -> str:
    """Replace the characters that UTF-8 can't encode; the text keeps its length."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


@lru_cache(maxsize=_KEPT)
def compiled(pattern: str, *, match_case: bool = False) -> LinearPattern:
    """Compile a pattern; ``.`` matches line ends, and case is ignored unless ``match_case``.

    Raises:
        ValueError: the pattern is invalid; the message names the remedy.
    """
    if len(pattern) > _LONGEST:
        raise ValueError(f"the pattern has {len(pattern)} characters, more than {_LONGEST}: use several patterns")
    options = re2.Options()
    options.case_sensitive = match_case
    options.dot_nl = True
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    try:
        return LinearPattern(re2.compile(pattern, options=options))
    except re2.error as error:
        raise ValueError(_sentence(error)) from None


def _sentence(problem: Exception) -> str:
    reason = problem.args[0] if problem.args else ""
    reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    if any(sign in reason for sign in ("(?=", "(?!", "(?<", "(?>")) and "perl operator" in reason:
        return (
            f"look-ahead and look-behind can't be searched in linear time ({reason}): use several patterns, with all, "
            "any and none"
        )
    if reason.startswith("invalid escape sequence: \\") and reason[-1:].isdigit():
        return f"back-references can't be searched in linear time ({reason}): use several patterns"
    return f"not a regular expression of RE2 ({reason})"


def has_match(pattern: str, text: str) -> bool:
    return compiled(pattern).search(text) is not None


def escaped(text: str) -> str:
    return str(re2.escape(_encodable(text)))


def _check(pattern: str) -> str:
    compiled(pattern)
    return pattern


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_check)]
