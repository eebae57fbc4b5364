"""The terminals of running trials, as the workers of this machine record them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_core import from_json

from proctor.protocol.archive import CommandRecord
from proctor.terminal.recording import RECORDING, TESTS_RECORDING, TRANSCRIPT, Recordings
from proctor.viewer.live import LiveTerminal

if TYPE_CHECKING:
    from proctor.activities.attempts.scrubbing import Scrubber

_SHOWN_BYTES = 200_000  # bytes at the end of a recording
_SHOWN_CHARACTERS = 12_000
_RECORDS = 500


def find_recordings(state: str) -> Recordings:
    """The recordings that workers with this state folder make."""
    return Recordings(Path(state) / "terminal")


def read_terminal(recordings: Recordings, trial_id: str) -> LiveTerminal | None:
    """A trial's terminal so far, without secrets; None if this machine has no recording of it."""
    files = recordings.find_files(trial_id)
    if not files:
        return None
    from proctor.activities.attempts.scrubbing import (  # a gateway needs these imports for pages of terminals only
        Scrubber,
        find_secrets,
    )

    scrubber = Scrubber(find_secrets(os.environ))
    shown = "".join(_printed(files[name]) for name in (RECORDING, TESTS_RECORDING) if name in files)
    records = list(_records(files[TRANSCRIPT], scrubber)) if TRANSCRIPT in files else []
    return LiveTerminal(records, scrubber.text(shown)[-_SHOWN_CHARACTERS:])


def _printed(recording: Path) -> str:
    return "".join(
        event[2]
        for event in map(_json, _last_lines(recording))
        if isinstance(event, list) and len(event) == 3 and event[1] == "o" and isinstance(event[2], str)
    )


def _records(transcript: Path, scrubber: "Scrubber") -> Iterator[CommandRecord]:
    for line in _last_lines(transcript)[-_RECORDS:]:
        record = _json(scrubber.text(line.decode(errors="replace")).encode())
        if isinstance(record, dict):
            try:
                yield CommandRecord.model_validate({k: v for k, v in record.items() if k in CommandRecord.model_fields})
            except ValidationError:
                continue  # the worker is about to write this line


def _last_lines(file: Path) -> list[bytes]:
    try:
        with file.open("rb") as content:
            size = content.seek(0, os.SEEK_END)
            content.seek(max(0, size - _SHOWN_BYTES))
            lines = content.read().splitlines()
    except OSError:
        return []  # the trial has just ended
    return lines[1:] if size > _SHOWN_BYTES else lines


def _json(line: bytes) -> object:
    try:
        return from_json(line)
    except ValueError:
        return None
