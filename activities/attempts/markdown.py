"""Escape text of others in fields that the Temporal UI renders as Markdown with HTML. These fields are a workflow's
summary and its current details. The UI shows memos, search attributes, payloads, failures and summaries of activities
as plain text.
"""

import re

_MARKUP = re.compile(r"[\\`*_{}\[\]()#+\-.!:|&<>~^$]")
"""Characters that a backslash escapes in the UI's renderer (blackfriday; CommonMark escapes them all, too)."""

_DETAILS_CHARACTERS = 2_000
_SUMMARY_BYTES = 400
"""Temporal's limit for a summary."""


def escaped(text: str) -> str:
    """Return Markdown that shows a text unchanged, on one line and cut to 2,000 characters."""
    line = " ".join(text.split())
    return _MARKUP.sub(r"\\\g<0>", line if len(line) <= _DETAILS_CHARACTERS else f"{line[:_DETAILS_CHARACTERS]} …")


def as_summary(text: str) -> str:
    """Return the Markdown of ``escaped``, cut to the length of a summary."""
    line = text[:_SUMMARY_BYTES]
    while len((summary := escaped(line)).encode()) > _SUMMARY_BYTES:
        line = line[:-1]
    return summary


def unescaped(summary: str) -> str:
    """Return the text that a summary shows."""
    return re.sub(r"\\(.)", r"\1", summary)
