"""Lines that say what a service has come to: plain, or as JSON where its logs are JSON."""

import json
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

_as_json = False


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
    print(text, file=stream or sys.stdout, flush=True)
