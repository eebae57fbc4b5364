"""Actions, times and sizes in few words. Everything here is plain text: templates escape it."""

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

from proctor_protocol.readings import chat_text, instant

LONGEST_LINE, LONGEST_TEXT = 300, 20_000
"""Characters of a subject or title, and of a text, that are shown."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_IDS = ("message_ids", "message_id", "email_ids", "event_ids", "event_id")
_TARGETS = ("labels", "label", "folder", "to_addresses", "to_numbers", "response", "status", "emoji")
_TEXTS = ("subject", "title")
_BODIES = ("body_text", "body", "content", "description", "comment")


def clip(text: Any, longest: int = LONGEST_LINE) -> str:
    """A text that is cut where it is too long, saying how long it was."""
    said = text if isinstance(text, str) else "" if text is None else str(text)
    return said if len(said) <= longest else f"{said[:longest]}… ({len(said):,} characters)"


def plain(text: Any) -> str:
    """What a terminal would show of a text, near enough: no escape sequences, no control characters, and of a line
    that was written over the last form.
    """
    said = _ESCAPES.sub("", str(text or "")).replace("\r\n", "\n")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in said.split("\n")) if "\r" in said else said.split("\n")
    return _CONTROLS.sub("", "\n".join(lines))


def when(value: Any, zone: tzinfo | None = None, form: str = "%a %d %b %H:%M") -> str:
    """A time as people write it, in a zone; other values stay unchanged."""
    if isinstance(value, str):
        try:
            value = instant(value)
        except ValueError:
            return clip(value, 40)
    if not isinstance(value, datetime):
        return ""
    return (value.astimezone(zone) if zone else value).strftime(form)


def took(seconds: float | None) -> str:
    """A duration: ``4.2 s``, ``3 min``, ``2 h 5 min``."""
    if seconds is None:
        return ""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def ids_in(parameters: Mapping[str, Any]) -> list[str]:
    """The ids of an action's items."""
    found: list[str] = []
    for name in _IDS:
        value = parameters.get(name)
        found += [str(each) for each in value] if isinstance(value, list) else [str(value)] if value else []
    return list(dict.fromkeys(found))


def target(parameters: Mapping[str, Any]) -> str:
    """An action's targets: labels, a folder, recipients."""
    for name in _TARGETS:
        value = parameters.get(name)
        if isinstance(value, str) and value:
            return clip(value, 120)
        if isinstance(value, list) and value:
            return clip(", ".join(str(each) for each in value), 120)
    return ""


def heading(parameters: Mapping[str, Any]) -> str:
    """An action's subject or title."""
    return next((clip(parameters[name]) for name in _TEXTS if isinstance(parameters.get(name), str)), "")


def body(parameters: Mapping[str, Any]) -> str:
    """The text that an action wrote."""
    for name in _BODIES:
        if text := chat_text(parameters.get(name)):
            return clip(text, LONGEST_TEXT)
    return ""
