"""The archive's index by day: files with a line for each entry, from which readers build their tables.

    index/days/2026-11-22/WRITER.jsonl.gz     lines, packed with gzip, in the folder of the day of writing

Each writer has its own file, so writers never wait for each other. A writer rewrites its whole file with each line,
and begins another file after ``LINES`` lines or at midnight (UTC). The cost of a write therefore doesn't depend on
the archive's size.

A line is written before its entry. At first, its ``is_written`` is false; when the file is next rewritten, the field
becomes true. While it is false, readers check whether the entry exists. They therefore find the entry even if its
writer was killed.

A day is closed ``CLOSED_AFTER`` its end; readers don't read a closed day again. If writing an entry takes longer than
``WRITTEN_WITHIN``, its line is written again.
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
"""Lines in a writer's file."""

_REPEATED = 16
"""The number of its last lines that a writer repeats in its next file, to say that their entries were written."""

_PACKED_LINES = 2_000
"""Lines of a file to which many entries are written at once."""

_LINES_AT_MOST = UNPACKED_AT_MOST // 4
"""The number of bytes after which a file gets no further line."""

_SENTENCE_AT_MOST = 2_000
"""Characters of an entry's final sentence that the index keeps."""

CLOSED_AFTER = timedelta(days=1)
WRITTEN_WITHIN = 3600.0
"""Seconds that the writing of an entry may take; after a longer time, its line is written again."""

_SUMMARY = set(EntrySummary.model_fields)


class IndexDamagedError(ValueError):
    """A file of the index that can't be read; its lines can be rebuilt from the entries."""


@dataclass(frozen=True)
class Line:
    """An entry's line in the index.

    Attributes:
        at: the time of writing, in microseconds since 1970.
        folder: the entry's folder.
        is_written: whether the entry itself was written.
        summary: the entry's summary; None if the entry was removed.
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
        """Index an entry while the caller writes it: add a line before, and mark it as written afterwards."""
        began = time.time()
        self._put(entry, folder)
        yield
        if time.time() - began > WRITTEN_WITHIN:  # its day may be closed
            self._put(entry, folder)
        with self._lock:
            if folder in self._lines:
                self._lines[folder] = (True, _line(entry, folder, is_written=True))

    def write_all(self, entries: Iterable[tuple[EntrySummary, str]]) -> dict[str, str]:
        """Write the lines of existing entries, given with their folders; return the files and their versions."""
        return self._write_packed(_line(entry, folder, is_written=True) for entry, folder in entries)

    def remove(self, folders: Iterable[str]) -> None:
        self._write_packed(to_json({"at": _now(), "folder": folder, "is_written": True}) for folder in folders)

    def days(self) -> list[str]:
        return self._folder.names(DAYS)

    def versions(self, day: str) -> dict[str, str]:
        """Return the files of a day, each with a text that changes when it is rewritten."""
        versions = self._folder.versions(f"{DAYS}/{day}")
        return {f"{DAYS}/{day}/{name}": version for name, version in versions.items() if name.endswith(".jsonl.gz")}

    def _put(self, entry: EntrySummary, folder: str) -> None:
        with self._lock:
            day = f"{datetime.now(UTC):%Y-%m-%d}"
            is_full = len(self._lines) >= LINES or sum(len(line) for _, line in self._lines.values()) > _LINES_AT_MOST
            if is_full or not self._path.startswith(f"{DAYS}/{day}/"):
                self._path = _new_path(day)
                repeated = list(self._lines.items())[-_REPEATED:]
                self._lines = dict(line for line in repeated if len(line[1][1]) < _LINES_AT_MOST // (2 * _REPEATED))
            self._lines.pop(folder, None)
            self._lines[folder] = (False, _line(entry, folder, is_written=False))
            self._folder.write(self._path, _packed(line for _, line in self._lines.values()))

    def _write_packed(self, lines: Iterable[bytes]) -> dict[str, str]:
        remaining, days, written = iter(lines), set[str](), set[str]()
        while some := list(_take_lines(remaining)):
            day = f"{datetime.now(UTC):%Y-%m-%d}"
            path = _new_path(day)
            self._folder.write(path, _packed(some))
            days.add(day)
            written.add(path)
        versions = {path: version for day in days for path, version in self.versions(day).items()}
        return {path: versions[path] for path in written if path in versions}


def read_lines(content: bytes) -> Iterator[Line]:
    """Yield the lines of an index file that name an entry's folder. The iterator raises ``IndexDamagedError``."""
    try:
        whole = unpacked(content)
        if not whole:
            raise IndexDamagedError("it is empty")
        for line in io.BytesIO(whole):
            if len(line) > ENTRY_AT_MOST:
                raise IndexDamagedError(f"a line has more than {ENTRY_AT_MOST} bytes")
            row = from_json(line)
            at, folder, summary = int(row["at"]), str(row["folder"]), row.get("entry")
            if not 0 <= at < 2**63 or not isinstance(summary, dict | None):
                raise IndexDamagedError("a line has other values than an index writes")
            if is_folder(folder):
                yield Line(at, folder, bool(row["is_written"]), summary)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise IndexDamagedError(str(error) or type(error).__name__) from None


def get_summary_fields(entry: EntrySummary) -> dict[str, Any]:
    """Return the part of an entry that the index keeps: the fields of its summary that differ from the defaults."""
    entry = entry.model_copy(update={"sentence": entry.sentence[:_SENTENCE_AT_MOST]})
    summary = entry.model_dump(mode="json", include=_SUMMARY, exclude_defaults=True)
    return {name: value for name, value in summary.items() if value is not None}


def is_closed(day: str) -> bool:
    """Tell whether a day's files are final."""
    try:
        end = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except ValueError:
        return False
    return datetime.now(UTC) >= end + CLOSED_AFTER


def _line(entry: EntrySummary, folder: str, *, is_written: bool) -> bytes:
    return to_json({"at": _now(), "folder": folder, "is_written": is_written, "entry": get_summary_fields(entry)})


def _take_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines that fit into one file."""
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
