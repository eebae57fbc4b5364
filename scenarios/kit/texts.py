"""Texts as their readers see them: lines and sentences, the visible part of HTML, all texts of an action."""

import unicodedata
from collections.abc import Iterator, Mapping
from email.utils import parseaddr
from html import unescape
from itertools import islice
from typing import Any

from proctor.language.patterns import compiled
from proctor.protocol.visible import visible

_READ_AT_MOST = 2000
"""The most lines and sentences that are read of a text; a day has sixty mails to report."""
_TAG = r"<[^<>]*>"
_UNSEEN = r"\p{Cf}"
_NOT_TEXT = r"<style\b.*?(?:</style>|\z)|<script\b.*?(?:</script>|\z)"
_BETWEEN_TEXTS = r"<!--|-->|</?[a-z][^<>]*>"
_IN_TAG = r"<[a-z][^<>]*>"
_SAYING = r"""\s(?:alt|title|href|src|value|placeholder|aria-[a-z]+|data-[a-z-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)"""
_BODIES = ("body_text", "body", "body_html")
_FIELDS = ("location", "conference_link", "response_comment")
_OF_THINGS = ("filename", "url", "data", "content_id", "thumbnail_url", "display_name", "comment")


def segments(text: str) -> list[str]:
    """A text's lines and sentences; only the beginning of a very long text."""
    return [part for piece in islice(_pieces(text), _READ_AT_MOST) if (part := piece.strip())]


def _pieces(text: str) -> Iterator[str]:
    begin = 0
    for match in compiled(r"\n+|[.!?;](\s+)[A-Z\d*\-•]", match_case=True).finditer(text):
        is_line_end = match.group(1) is None
        yield text[begin : match.start() if is_line_end else match.start() + 1]
        begin = match.end() if is_line_end else match.end() - 1
    yield text[begin:]


def as_read(text: str) -> str:
    """A text as its reader sees it: without invisible characters and HTML tags."""
    seen = text if text.isascii() else compiled(_UNSEEN).sub("", unicodedata.normalize("NFKC", text))
    return f"{seen}\n{unescape(compiled(_TAG).sub('', seen))}" if "<" in seen or "&" in seen else seen


def strings_in(value: Any) -> Iterator[str]:
    """All texts in an action's parameters, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from strings_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings_in(member)


def texts_beside(parameters: Mapping[str, Any]) -> list[str]:
    """The texts of an action that its readers get beside the visible subject and body.

    They are the plain body beside an HTML one, a body's hidden texts, places, links, and names of files and people.
    """
    plain = [str(parameters["body_text"])] if parameters.get("body_html") and parameters.get("body_text") else []
    lines = [line for name in _BODIES for line in _hidden(str(parameters.get(name) or ""))]
    lines += [str(parameters[name]) for name in _FIELDS if parameters.get(name)]
    for things in (parameters.get("attachments"), parameters.get("attendees")):
        known = (thing for thing in things or () if isinstance(thing, Mapping))
        lines += [str(thing[name]) for thing in known for name in _OF_THINGS if thing.get(name)]
    for name in ("to_addresses", "cc_addresses"):
        lines += filter(None, (parseaddr(address)[0] for address in strings_in(parameters.get(name))))
    reply_to = str(parameters.get("reply_to_address") or "")
    if reply_to and parseaddr(reply_to)[1] != parameters.get("from_address"):
        lines.append(reply_to)
    return [*map(visible, plain), *(["\n".join(lines)] if lines else [])]


def _hidden(body: str) -> Iterator[str]:
    """The hidden texts of a body: alternative texts, links, comments, elements that are not displayed."""
    if "<" in body:
        seen = _letters(visible(body))
        source = compiled(_NOT_TEXT).sub("", body)
        for piece in compiled(_BETWEEN_TEXTS).sub("\n", source).split("\n"):
            if (own := _letters(unescape(piece))) and own not in seen:
                yield unescape(piece)
        for tag in compiled(_IN_TAG).finditer(source):
            yield from (unescape(match.group(1).strip("\"'")) for match in compiled(_SAYING).finditer(tag.group()))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
