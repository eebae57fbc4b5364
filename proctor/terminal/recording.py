"""Record a trial: a transcript and a recording (for asciinema) of the agent's actions, and a recording of the tests.

Commands of the command endpoint are recorded with their output, and commands of ``docker exec`` from the engine's
events (``exec_watch``). The transcript has one JSON object per line. A recording is asciicast v2
(docs.asciinema.org/manual/asciicast/v2). It is made from the same data, so the image needs no extra program. Any worker
of this machine that serves the trial appends to these files, whose size is limited.
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
    """A recording for asciinema; an existing one is continued. If ``file`` is None, nothing is recorded."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._began = _begin(file, time.time())

    def typed(self, text: str) -> None:
        """Record an input, shown as in a terminal."""
        self._event("i", text)
        self._event("o", f"\x1b[1m$ {_as_shown(text)}\x1b[0m\r\n")

    def printed(self, data: bytes) -> None:
        self._event("o", _as_shown(data.decode(errors="replace")))

    def remarked(self, text: str) -> None:
        """Record a remark of the evaluator, marked by its brightness."""
        self._event("o", f"\x1b[2m{text}\x1b[0m\r\n")

    def screen(self, text: str) -> None:
        """Record the new content of a terminal's screen."""
        self._event("o", f"\x1b[2J\x1b[H{_as_shown(text)}")

    def _event(self, kind: str, text: str) -> None:
        if text and self._file is not None:
            _append(self._file, lambda: json.dumps([round(time.time() - self._began, 6), kind, text]))


class Recorder(Recording):
    """Records the actions of one trial's agent: a transcript, and a recording if ``is_recording``."""

    def __init__(self, folder: Path, *, is_recording: bool = True) -> None:
        super().__init__(folder / RECORDING if is_recording else None)
        folder.mkdir(parents=True, exist_ok=True)
        self._transcript = folder / TRANSCRIPT

    def note(self, kind: str, **facts: Any) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        _append(self._transcript, lambda: json.dumps({"at": at, "kind": kind, **facts}))

    def noted(self, kind: str) -> list[dict[str, Any]]:
        """Return the recorded entries of a kind, by this worker or an earlier one."""
        if not self._transcript.exists():
            return []
        with self._transcript.open(encoding="utf-8") as lines:
            return [line for line in map(_read_line, lines) if line.get("kind") == kind]


class Recordings:
    """The records of this machine's trials, a folder for each, until they are stored elsewhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of_agent(self, trial: str, *, is_recording: bool = True) -> Recorder:
        """Return the recorder for the actions of a trial's agent."""
        return Recorder(self._trial_folder(trial), is_recording=is_recording)

    def of_tests(self, trial: str) -> Recording:
        file = self._trial_folder(trial) / TESTS_RECORDING
        file.unlink(missing_ok=True)
        return Recording(file)

    def find_files(self, trial: str) -> dict[str, Path]:
        folder = self._trial_folder(trial)
        names = (RECORDING, TESTS_RECORDING, TRANSCRIPT)
        return {name: folder / name for name in names if (folder / name).exists()}

    def forget(self, trial: str) -> None:
        """Remove the records of a trial, once they are stored elsewhere."""
        shutil.rmtree(self._trial_folder(trial), ignore_errors=True)

    def _trial_folder(self, trial: str) -> Path:
        return self._folder / sha256(trial.encode()).hexdigest()[:32]


def _begin(file: Path, now: float) -> float:
    """Return the start of a recording; write the header of a new one."""
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
        return  # the records are stored elsewhere by now, and removed here
    with file.open("a", encoding="utf-8") as out:
        if out.tell() < MOST_BYTES:
            text = line()
            if out.tell() + len(text) <= MOST_BYTES:
                out.write(f"{text}\n")


def _read_line(line: str) -> dict[str, Any]:
    """Parse a line of the transcript; empty if the worker died while it wrote the line."""
    try:
        read = json.loads(line)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _as_shown(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
