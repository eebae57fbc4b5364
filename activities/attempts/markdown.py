"""Others' text in what the Temporal UI renders as Markdown with HTML: a workflow's summary and its current details.

Memos, search attributes, payloads, failures and summaries of activities are plain text there.
"""

import re

_MARKUP = re.compile(r"[\\`*_{}\[\]()#+\-.!:|&<>~^$]")
"""What the UI's renderer lets a backslash take the meaning of (blackfriday; CommonMark knows all of them, too)."""

_DETAILS_CHARACTERS = 2_000
_SUMMARY_BYTES = 400
"""Temporal takes no longer summary."""


def escaped(text: str) -> str:
    """Markdown that shows a text as it is, on one line and cut to 2,000 characters."""
    line = " ".join(text.split())
    return _MARKUP.sub(r"\\\g<0>", line if len(line) <= _DETAILS_CHARACTERS else f"{line[:_DETAILS_CHARACTERS]} …")


def as_summary(text: str) -> str:
    """The same, cut to the length of a summary."""
    line = text[:_SUMMARY_BYTES]
    while len((summary := escaped(line)).encode()) > _SUMMARY_BYTES:
        line = line[:-1]
    return summary


def unescaped(summary: str) -> str:
    """The text that a summary shows."""
    return re.sub(r"\\(.)", r"\1", summary)
