"""Limit the time in which one day or package must be made and loaded, over all tries."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from temporalio import activity

from proctor.activities.attempts.elapsed import since_scheduled

IN_ALL_TRIES = 180.0
"""The limit in seconds. A try of the admission ends after a minute. On a busy machine, one try may be too short for a
process.
"""


class Allowance:
    """The remaining time for one day or package (``what``), over all its processes. Without a name, it is for one
    process in this try.

    Tries of a local activity follow each other at once, so all time since the first counts. Other activities may wait
    for workers, so each try notes the time that it has used. Work that exceeds the time fails finally.
    """

    def __init__(self, what: str = "") -> None:
        self._what = what
        info = activity.info() if what and activity.in_activity() else None
        self._notes = info is not None and info.heartbeat_timeout is not None
        self._used = 0.0
        if self._notes:
            notes = _import_notes()
            self._used = sum(note.seconds for note in notes.noted(notes.SpentNote) if note.what == what)
        elif info is not None and info.is_local:
            self._used = since_scheduled().total_seconds()

    def left(self) -> float:
        return IN_ALL_TRIES - self._used

    @contextmanager
    def in_use(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - began
            self._used += seconds
            if self._notes:
                notes = _import_notes()
                notes.note(notes.SpentNote(what=self._what, seconds=seconds))


def _import_notes() -> ModuleType:
    """Import the notes of attempts, which only activities have. The import brings Temporal's worker."""
    return import_module("proctor.activities.attempts.notes")
