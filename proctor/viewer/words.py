"""Actions, times and sizes in few words. Everything here is plain text: templates escape it."""

import re
from datetime import datetime, tzinfo
from typing import Any

from purple_sdk.protocol.readings import instant

LONGEST_LINE, LONGEST_TEXT = 300, 20_000
"""Characters shown of a subject or title, and of a text."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clip(text: Any, longest: int = LONGEST_LINE) -> str:
    """Shorten a text that is too long, and add its full length."""
    whole = text if isinstance(text, str) else "" if text is None else str(text)
    return whole if len(whole) <= longest else f"{whole[:longest]}… ({len(whole):,} characters)"


def plain(text: Any) -> str:
    """Return approximately the text that a terminal would show.

    Escape sequences and control characters are removed. Of an overwritten line, only the last version is kept.
    """
    text_only = _ESCAPES.sub("", str(text or "")).replace("\r\n", "\n")
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in text_only.split("\n")]
    return _CONTROLS.sub("", "\n".join(lines))


def when(value: Any, zone: tzinfo | None = None, form: str = "%a %d %b %H:%M") -> str:
    """Write a time for people. Other texts are shortened; for other values, return an empty text.

    Args:
        value: an ISO 8601 text or a datetime.
        zone: the zone in which to show it; None for its own.
        form: a format of ``strftime``.
    """
    if isinstance(value, str):
        try:
            value = instant(value)
        except ValueError:
            return clip(value, 40)
    if not isinstance(value, datetime):
        return ""
    return (value.astimezone(zone) if zone else value).strftime(form)


def took(seconds: float | None) -> str:
    """Write a duration: ``4.2 s``, ``3 min``, ``2 h 5 min``."""
    if seconds is None:
        return ""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
