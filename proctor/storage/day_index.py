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
import io
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from pydantic_core import from_json, to_json

from proctor.protocol.archive import ENTRY_AT_MOST, EntrySummary
from proctor.storage.entry_ids import UNPACKED_AT_MOST, is_folder, unpacked
from proctor.storage.folder import Folder

DAYS = "index/days"
LINES = 256
"""Lines of a writer's file."""

_REPEATED = 16
"""The last lines of a writer's file, with which its next one begins: they say that these entries were written."""

_PACKED_LINES = 2_000
"""Lines of a file that many entries are written to at once."""

_LINES_AT_MOST = UNPACKED_AT_MOST // 4
"""Bytes of the lines of one file, beside the longest line."""

_SENTENCE_AT_MOST = 2_000
"""Characters of what the index has of the sentence on how something ended."""

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
            is_full = len(self._lines) >= LINES or sum(len(line) for _, line in self._lines.values()) > _LINES_AT_MOST
            if is_full or not self._path.startswith(f"{DAYS}/{day}/"):
                self._path = _new_path(day)
                repeated = list(self._lines.items())[-_REPEATED:]
                self._lines = dict(each for each in repeated if len(each[1][1]) < _LINES_AT_MOST // (2 * _REPEATED))
            self._lines.pop(folder, None)
            self._lines[folder] = (False, _line(entry, folder, is_written=False))
            self._folder.write(self._path, _packed(line for _, line in self._lines.values()))

    def _write_packed(self, lines: Iterable[bytes]) -> dict[str, str]:
        remaining, days, written = iter(lines), set[str](), set[str]()
        while some := list(_first_of(remaining)):
            day = f"{datetime.now(UTC):%Y-%m-%d}"
            path = _new_path(day)
            self._folder.write(path, _packed(some))
            days.add(day)
            written.add(path)
        versions = {path: version for day in days for path, version in self.versions(day).items()}
        return {path: versions[path] for path in written if path in versions}


def read_lines(content: bytes) -> Iterator[Line]:
    """The lines of a file of the index that name the folder of an entry. The iterator raises
    ``IndexDamagedError``.
    """
    try:
        whole = unpacked(content)
        if not whole:
            raise IndexDamagedError("it is empty")
        for line in io.BytesIO(whole):
            if len(line) > ENTRY_AT_MOST:
                raise IndexDamagedError(f"a line has more than {ENTRY_AT_MOST} bytes")
            each = from_json(line)
            at, folder, summary = int(each["at"]), str(each["folder"]), each.get("entry")
            if not 0 <= at < 2**63 or not isinstance(summary, dict | None):
                raise IndexDamagedError("a line has other values than an index writes")
            if is_folder(folder):
                yield Line(at, folder, bool(each["is_written"]), summary)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as problem:
        raise IndexDamagedError(str(problem) or type(problem).__name__) from None


def summary_of(entry: EntrySummary) -> dict[str, Any]:
    """What the index keeps of an entry: all of its summary that isn't the default."""
    entry = entry.model_copy(update={"sentence": entry.sentence[:_SENTENCE_AT_MOST]})
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


def _first_of(lines: Iterator[bytes]) -> Iterator[bytes]:
    """As many lines as a file has."""
    size = 0
    for line in islice(lines, _PACKED_LINES):
        yield line
        size += len(line)
        if size > _LINES_AT_MOST:
            return


def _now() -> int:
    return time.time_ns() // 1000


def _new_path(day: str) -> str:
    return f"{DAYS}/{day}/{uuid.uuid4().hex}.jsonl.gz"


def _packed(lines: Iterable[bytes]) -> bytes:
    return gzip.compress(b"".join(line + b"\n" for line in lines), 1, mtime=0)
