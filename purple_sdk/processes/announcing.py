"""Announcements of a service's state: plain lines, or JSON if the process logs JSON."""

import json
import re
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters: they could command a terminal, or change the order of the text that it shows."""

_as_json = False


def printable(text: str) -> str:
    """Remove control characters except line ends and tabs from a text, parts of which others may have written."""
    return _CONTROL.sub("", text)


def announce_as_json(is_on: bool) -> None:
    """Print this process's announcements as JSON, or as plain lines."""
    global _as_json
    _as_json = is_on


def announce(text: str, level: Literal["INFO", "WARNING", "ERROR"] = "INFO", stream: TextIO | None = None) -> None:
    """Print a line, as text or as JSON with ``time``, ``level``, ``logger`` and ``message``.

    Args:
        text: the line.
        level: the level of the JSON line, by its name in ``logging``.
        stream: the output; None for standard output.
    """
    if _as_json:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        text = json.dumps({"time": now, "level": level, "logger": "proctor", "message": text}, ensure_ascii=False)
    print(printable(text), file=stream or sys.stdout, flush=True)
