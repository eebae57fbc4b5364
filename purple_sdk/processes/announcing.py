"""Lines that say what a service has come to: plain, or as JSON where its logs are JSON."""

import json
import re
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters by which a text could command a terminal, or change the order of what it shows."""

_as_json = False


def printable(text: str) -> str:
    """A text without control characters, but with its line ends and tabs: others may have written parts of it."""
    return _CONTROL.sub("", text)


def announce_as_json(is_on: bool) -> None:
    """Whether this process's announcements are JSON, as its log lines are."""
    global _as_json
    _as_json = is_on


def announce(text: str, level: Literal["INFO", "WARNING", "ERROR"] = "INFO", stream: TextIO | None = None) -> None:
    """Print a line, as text or as JSON with ``time``, ``level``, ``logger`` and ``message``.

    Args:
        text: the line.
        level: of the JSON line: a level's name in ``logging``.
        stream: where to; None for standard output.
    """
    if _as_json:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        text = json.dumps({"time": now, "level": level, "logger": "proctor", "message": text}, ensure_ascii=False)
    print(printable(text), file=stream or sys.stdout, flush=True)
