"""What passes through a trial's command endpoint, written down: a transcript, and a recording for asciinema.

The transcript has a JSON object a line. The recording is asciicast v2 (docs.asciinema.org/manual/asciicast/v2), made
from the same, so that it needs nothing in the image. Both are appended to by whichever worker of this machine serves
the trial; neither grows beyond a bound.
"""

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TRANSCRIPT, RECORDING = "transcript.jsonl", "agent.cast"

MOST_BYTES = 20_000_000
"""Of each file: what comes later is left out."""

COLUMNS, LINES = 160, 40


class Recorder:
    """Writes down one trial; ``is_recording`` says whether there is a recording besides the transcript."""

    def __init__(self, folder: Path, *, is_recording: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._transcript = folder / TRANSCRIPT
        self._recording = folder / RECORDING if is_recording else None
        self._began = time.time()
        if self._recording is not None:
            self._began = _begun(self._recording, self._began)

    def note(self, kind: str, **facts: Any) -> None:
        """Write down that something happened."""
        line = json.dumps({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "kind": kind, **facts})
        _append(self._transcript, line)

    def typed(self, text: str) -> None:
        """Record what the agent entered, shown as it would stand in a terminal."""
        self._event("i", text)
        self._event("o", f"\x1b[1m$ {_as_shown(text)}\x1b[0m\r\n")

    def printed(self, data: bytes) -> None:
        """Record what a command printed."""
        self._event("o", _as_shown(data.decode(errors="replace")))

    def screen(self, text: str) -> None:
        """Record what a terminal showed in place of what was there."""
        self._event("o", f"\x1b[2J\x1b[H{_as_shown(text)}")

    def _event(self, kind: str, text: str) -> None:
        if self._recording is not None and text:
            _append(self._recording, json.dumps([round(time.time() - self._began, 6), kind, text]))


def _begun(file: Path, now: float) -> float:
    """When a recording began; a new one is begun with its header."""
    try:
        with file.open() as lines:
            return float(json.loads(lines.readline())["timestamp"])
    except (OSError, ValueError, KeyError, TypeError):
        header = {
            "version": 2,
            "width": COLUMNS,
            "height": LINES,
            "timestamp": int(now),
            "env": {"TERM": "xterm-256color"},
        }
        file.write_text(json.dumps(header) + "\n")
        return float(int(now))


def _append(file: Path, line: str) -> None:
    if not file.parent.is_dir():
        return  # what was recorded is kept elsewhere by now, and forgotten here
    with file.open("a", encoding="utf-8") as out:
        if out.tell() + len(line) <= MOST_BYTES:
            out.write(f"{line}\n")


def _as_shown(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
