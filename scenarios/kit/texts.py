"""Texts as their readers have them: lines and sentences, what is seen of HTML, all texts of an action."""

import unicodedata
from collections.abc import Iterator, Mapping
from html import unescape
from itertools import islice
from typing import Any

from proctor_language.patterns import compiled

_READ_AT_MOST = 2000
"""Lines and sentences of a text; a day has sixty mails to report."""
_TAG = r"<[^<>]*>"
_UNSEEN = r"\p{Cf}"


def segments(text: str) -> list[str]:
    """A text's lines and sentences; of an endless one, its beginning."""
    return [part for piece in islice(_pieces(text), _READ_AT_MOST) if (part := piece.strip())]


def _pieces(text: str) -> Iterator[str]:
    begin = 0
    for match in compiled(r"\n+|[.!?;](\s+)[A-Z\d*\-•]", match_case=True).finditer(text):
        is_line_end = match.group(1) is None
        yield text[begin : match.start() if is_line_end else match.start() + 1]
        begin = match.end() if is_line_end else match.end() - 1
    yield text[begin:]


def as_read(text: str) -> str:
    """A text as its reader sees it, and as it is written: without invisible characters, and without HTML's tags."""
    seen = text if text.isascii() else compiled(_UNSEEN).sub("", unicodedata.normalize("NFKC", text))
    return f"{seen}\n{unescape(compiled(_TAG).sub('', seen))}" if "<" in seen or "&" in seen else seen


def strings_in(value: Any) -> Iterator[str]:
    """Every text in an action's parameters, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from strings_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings_in(member)
