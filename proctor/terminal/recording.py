"""What a trial's agent does, written down: a transcript, and a recording for asciinema; another one of its tests.

Commands that come by the command endpoint are recorded with what they print, those of ``docker exec`` as the engine
tells of them (``exec_watch``). The transcript has a JSON object a line. A recording is asciicast v2
(docs.asciinema.org/manual/asciicast/v2), made from the same, so that it needs nothing in the image. All are appended to
by whichever worker of this machine serves the trial; none grows beyond a bound.
"""

import json
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

TRANSCRIPT, RECORDING, TESTS_RECORDING = "transcript.jsonl", "agent.cast", "tests.cast"

MOST_BYTES = 20_000_000
"""The limit of each file: later output is left out."""

COLUMNS, LINES = 160, 40


class Recording:
    """A recording for asciinema; one that is there already is continued. Without a file it keeps nothing."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._began = _begun(file, time.time())

    def typed(self, text: str) -> None:
        """Record what was entered, shown as it would stand in a terminal."""
        self._event("i", text)
        self._event("o", f"\x1b[1m$ {_as_shown(text)}\x1b[0m\r\n")

    def printed(self, data: bytes) -> None:
        self._event("o", _as_shown(data.decode(errors="replace")))

    def remarked(self, text: str) -> None:
        """Record a remark of our own, marked by its brightness."""
        self._event("o", f"\x1b[2m{text}\x1b[0m\r\n")

    def screen(self, text: str) -> None:
        """Record what a terminal showed in place of what was there."""
        self._event("o", f"\x1b[2J\x1b[H{_as_shown(text)}")

    def _event(self, kind: str, text: str) -> None:
        if text and self._file is not None:
            _append(self._file, lambda: json.dumps([round(time.time() - self._began, 6), kind, text]))


class Recorder(Recording):
    """Writes down what the agent of one trial does: a transcript, and a recording where ``is_recording``."""

    def __init__(self, folder: Path, *, is_recording: bool = True) -> None:
        super().__init__(folder / RECORDING if is_recording else None)
        folder.mkdir(parents=True, exist_ok=True)
        self._transcript = folder / TRANSCRIPT

    def note(self, kind: str, **facts: Any) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        _append(self._transcript, lambda: json.dumps({"at": at, "kind": kind, **facts}))

    def noted(self, kind: str) -> list[dict[str, Any]]:
        """What was written down of a kind, by this worker or one before it."""
        if not self._transcript.exists():
            return []
        with self._transcript.open(encoding="utf-8") as lines:
            return [line for line in map(_read_line, lines) if line.get("kind") == kind]


class Recordings:
    """What is recorded of the trials of this machine, in a folder for each, until it is kept elsewhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of_agent(self, trial: str, *, is_recording: bool = True) -> Recorder:
        """Where what the agent of a trial does is written down."""
        return Recorder(self._of(trial), is_recording=is_recording)

    def of_tests(self, trial: str) -> Recording:
        file = self._of(trial) / TESTS_RECORDING
        file.unlink(missing_ok=True)
        return Recording(file)

    def files_of(self, trial: str) -> dict[str, Path]:
        folder = self._of(trial)
        names = (RECORDING, TESTS_RECORDING, TRANSCRIPT)
        return {name: folder / name for name in names if (folder / name).exists()}

    def forget(self, trial: str) -> None:
        """Remove what was recorded of a trial, once it is kept elsewhere."""
        shutil.rmtree(self._of(trial), ignore_errors=True)

    def _of(self, trial: str) -> Path:
        return self._folder / sha256(trial.encode()).hexdigest()[:32]


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


def _append(file: Path, line: Callable[[], str]) -> None:
    if not file.parent.is_dir():
        return  # what was recorded is kept elsewhere by now, and forgotten here
    with file.open("a", encoding="utf-8") as out:
        if out.tell() < MOST_BYTES:
            text = line()
            if out.tell() + len(text) <= MOST_BYTES:
                out.write(f"{text}\n")


def _read_line(line: str) -> dict[str, Any]:
    """A line of the transcript; empty where the worker that wrote it died over it."""
    try:
        read = json.loads(line)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _as_shown(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
