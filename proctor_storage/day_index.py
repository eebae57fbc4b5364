"""The archive's index by day: files with a line for each entry, from which readers make their tables.

    index/days/2026-11-22/WRITER.jsonl.gz     lines, packed with gzip; DATE is the day on which they were written

Each writer has a file of its own, so that writers never wait for each other. It writes the whole file again with each
line, and begins another one after ``LINES`` lines or at midnight (UTC): a write costs the same at any size. A line is
written before its entry is. ``is_written`` is false then, and true as soon as the file is written again: where it is
false, a reader looks whether the entry is there. So an entry whose writer was killed is found all the same.

A day is closed ``CLOSED_AFTER`` its end, and readers don't look at it again. A writer that took longer than
``WRITTEN_WITHIN`` writes its line again.
"""

import gzip
import json
import threading
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from pydantic_core import to_json

from proctor_protocol.archive import EntrySummary
from proctor_storage.folder import Folder

DAYS = "index/days"
LINES = 256
"""Lines of a writer's file."""

_REPEATED = 16
"""The last lines of a writer's file, with which its next one begins: they say that these entries were written."""

_PACKED_LINES = 5_000
"""Lines of a file that many entries are written to at once."""

CLOSED_AFTER = timedelta(days=1)
WRITTEN_WITHIN = 3600.0
"""Seconds."""

_SUMMARY = set(EntrySummary.model_fields)


class IndexDamagedError(ValueError):
    """A file of the index that can't be read; its lines can be made again from the entries."""


@dataclass(frozen=True)
class Line:
    """What the index says of an entry.

    Attributes:
        at: when it was written, in microseconds since 1970. folder: the entry's.
        is_written: whether the entry was written, too. summary: the entry's; None where the entry was removed.
    """

    at: int
    folder: str
    is_written: bool
    summary: dict[str, Any] | None


class DayIndex:
    """The index of an archive's folder, and the file in it that this process writes."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._path = ""
        self._lines: dict[str, tuple[bool, bytes]] = {}

    @contextmanager
    def entering(self, entry: EntrySummary, folder: str) -> Iterator[None]:
        """While an entry is written into its folder: before it a line, and after it the note that it was written."""
        began = time.time()
        self._put(entry, folder)
        yield
        if time.time() - began > WRITTEN_WITHIN:  # its day may be closed
            self._put(entry, folder)
        with self._lock:
            if folder in self._lines:
                self._lines[folder] = (True, _line(entry, folder, is_written=True))

    def write_all(self, entries: Iterable[tuple[EntrySummary, str]]) -> dict[str, str]:
        """Write the lines of entries that are there, with their folders; returns the files and their versions."""
        return self._write_packed(_line(entry, folder, is_written=True) for entry, folder in entries)

    def remove(self, folders: Iterable[str]) -> None:
        self._write_packed(to_json({"at": _now(), "folder": each, "is_written": True}) for each in folders)

    def days(self) -> list[str]:
        return self._folder.names(DAYS)

    def versions(self, day: str) -> dict[str, str]:
        """The files of a day, with what changes when one is written again."""
        versions = self._folder.versions(f"{DAYS}/{day}")
        return {f"{DAYS}/{day}/{name}": version for name, version in versions.items() if name.endswith(".jsonl.gz")}

    def _put(self, entry: EntrySummary, folder: str) -> None:
        with self._lock:
            day = f"{datetime.now(UTC):%Y-%m-%d}"
            if len(self._lines) >= LINES or not self._path.startswith(f"{DAYS}/{day}/"):
                self._path = _new_path(day)
                self._lines = dict(list(self._lines.items())[-_REPEATED:])
            self._lines.pop(folder, None)
            self._lines[folder] = (False, _line(entry, folder, is_written=False))
            self._folder.write(self._path, _packed(line for _, line in self._lines.values()))

    def _write_packed(self, lines: Iterable[bytes]) -> dict[str, str]:
        remaining, days, written = iter(lines), set[str](), set[str]()
        while some := list(islice(remaining, _PACKED_LINES)):
            day = f"{datetime.now(UTC):%Y-%m-%d}"
            path = _new_path(day)
            self._folder.write(path, _packed(some))
            days.add(day)
            written.add(path)
        versions = {path: version for day in days for path, version in self.versions(day).items()}
        return {path: versions[path] for path in written if path in versions}


def read_lines(content: bytes) -> Sequence[Line]:
    """The lines of a file of the index. Raises ``IndexDamagedError``."""
    try:
        read = [json.loads(line) for line in gzip.decompress(content).splitlines()]
        if not read:
            raise IndexDamagedError("it is empty")
        return [
            Line(int(each["at"]), str(each["folder"]), bool(each["is_written"]), each.get("entry")) for each in read
        ]
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as problem:
        raise IndexDamagedError(str(problem) or type(problem).__name__) from None


def summary_of(entry: EntrySummary) -> dict[str, Any]:
    """What the index keeps of an entry: all of its summary that isn't the default."""
    kept = entry.model_dump(mode="json", include=_SUMMARY, exclude_defaults=True)
    return {name: value for name, value in kept.items() if value is not None}


def is_closed(day: str) -> bool:
    """Whether nothing is written to a day's files any more."""
    try:
        end = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except ValueError:
        return False
    return datetime.now(UTC) >= end + CLOSED_AFTER


def _line(entry: EntrySummary, folder: str, *, is_written: bool) -> bytes:
    return to_json({"at": _now(), "folder": folder, "is_written": is_written, "entry": summary_of(entry)})


def _now() -> int:
    return time.time_ns() // 1000


def _new_path(day: str) -> str:
    return f"{DAYS}/{day}/{uuid.uuid4().hex}.jsonl.gz"


def _packed(lines: Iterable[bytes]) -> bytes:
    return gzip.compress(b"".join(line + b"\n" for line in lines), 1, mtime=0)
