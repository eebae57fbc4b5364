"""A reader's table (``entry_table``), kept up to date with the archive.

The first time, everything is read: the index by day, the names of all folders of entries, and each entry that the index
lacks. The index lacks an entry that an earlier version wrote, or whose line was damaged or removed. The reader adds the
missing lines to the index. Later, only changed files of the index are read. The newest days are read first.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from itertools import groupby
from typing import TypeVar

from proctor.protocol.archive import ENTRY, ENTRY_AT_MOST, ArchiveEntry
from proctor.storage.day_index import DayIndex, IndexDamagedError, Line, get_summary_fields, is_closed, read_lines
from proctor.storage.entry_ids import EntryIds
from proctor.storage.entry_table import EntryTable, delete_table
from proctor.storage.folder import Folder, StoreUnavailableError

_AT_ONCE = 32
"""The number of files that are read at the same time."""

_DAY = 24 * 3600 * 1_000_000
_HOUR = 3600 * 1_000_000
_WAITED_FOR = 10.0
"""Seconds for which a reader waits for another reader of the same table."""

_PATIENCE = 5.0
"""Seconds for which a reader in background mode waits for the whole archive."""

_WALKED = "walked"

T = TypeVar("T")

log = logging.getLogger(__name__)


class ArchiveBeingReadError(StoreUnavailableError):
    """The archive is being read for the first time, in the background: ask again later."""


class LocalIndex:
    """The table of one archive.

    Attributes:
        reads_in_background: refuse readers while the whole archive is being read, instead of letting them wait.

    Args:
        folder: the archive.
        index, ids: its index.
        walk: yields the folders of all entries, complete or not, in lists.
        parse: returns an entry, given its folder and its file's content; None for invalid content.
        path: the table's file; empty for a temporary one.
    """

    def __init__(
        self,
        folder: Folder,
        index: DayIndex,
        ids: EntryIds,
        walk: Callable[[], Iterator[Sequence[str]]],
        parse: Callable[[str, bytes], ArchiveEntry | None],
        path: str = "",
    ) -> None:
        self._folder, self._index, self._ids, self._walk, self._parse = folder, index, ids, walk, parse
        self._path = path
        self.reads_in_background = False
        self._table: EntryTable | None = None
        self._turn = threading.Lock()
        self._days: set[str] | None = None
        self._unread: set[str] = set()

    def ask(self, work: Callable[[EntryTable], T]) -> T:
        """Update the table and query it.

        Raises:
            ArchiveBeingReadError: the archive is being read for the first time.
            StoreUnavailableError: the archive or the table can't be used.
        """
        if not self.reads_in_background:
            return self._ask(work)
        if self._turn.locked() and self._days is not None:
            raise self._being_read()
        future: Future[T] = Future()

        def answer() -> None:
            try:
                future.set_result(self._ask(work))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=answer, daemon=True, name="archive").start()
        while True:
            try:
                return future.result(_PATIENCE)
            except TimeoutError:
                if future.done():
                    raise
                if self._days is not None:
                    raise self._being_read() from None

    def _being_read(self) -> ArchiveBeingReadError:
        days = self._days or ()
        return ArchiveBeingReadError(
            f"The evaluator's archive at {self._folder.place} is being read for the first time: "
            f"{len(days) - len(self._unread)} of {len(days)} days. Ask again later."
        )

    def _ask(self, work: Callable[[EntryTable], T]) -> T:
        if not self._turn.acquire(timeout=_WAITED_FOR):
            if self._days is not None:
                raise self._being_read()
            raise StoreUnavailableError(
                f"The table of the evaluator's archive at {self._folder.place} is in use: ask again later."
            )
        try:
            try:
                return work(self._refreshed())
            except sqlite3.OperationalError as error:  # no space, or no permission to write
                log.warning("the table %s can't be used (%s): a temporary one is made", self._path, error)
                self._path = ""
            except sqlite3.DatabaseError as error:
                log.warning("the table %s is made again: %s", self._path, error)
                self._close()
                delete_table(self._path)
            self._close()
            try:
                return work(self._refreshed())
            except sqlite3.DatabaseError as error:
                raise StoreUnavailableError(
                    f"The table of the archive can't be used ({error}): free some space in the temporary folder."
                ) from None
        finally:
            self._days = None
            self._turn.release()

    def _refreshed(self) -> EntryTable:
        if self._table is None:
            self._table = EntryTable(self._path)
        table = self._table
        is_complete = self._ids.is_complete(look=True)
        if is_complete and table.has(_WALKED) and not table.has(f"{_WALKED} {self._ids.name}"):
            with table.writing():
                table.forget_all()  # it belongs to an archive that was here before
        if is_complete and table.has(_WALKED):
            damaged = self._catch_up(table)
            if damaged:
                self._read_all(table)
        else:
            self._read_all(table)
        self._look_at_pending(table)
        return table

    def _close(self) -> None:
        if self._table is not None:
            self._table.close_connection()
        self._table = None

    def _catch_up(self, table: EntryTable) -> list[str]:
        """Read the changed files of the index; return those that are damaged."""
        damaged: list[str] = []
        for day in sorted(self._index.days(), reverse=True):
            self._unread.discard(day)
            if table.is_closed(day):
                continue
            is_last_time = is_closed(day)
            versions = self._index.versions(day)
            changed = [path for path, version in versions.items() if table.version(path) != version]
            for start in range(0, len(changed), _AT_ONCE):
                for path, content in self._folder.read_all(changed[start : start + _AT_ONCE]).items():
                    try:
                        with table.writing():
                            table.learn(read_lines(content))
                            table.set_version(path, versions[path])
                    except IndexDamagedError as error:
                        log.warning("%s in the archive at %s is damaged (%s)", path, self._folder.place, error)
                        damaged.append(path)
            if is_last_time and not damaged:
                with table.writing():
                    table.close(day)
        return damaged

    def _read_all(self, table: EntryTable) -> None:
        began = time.time_ns() // 1000
        was_complete = self._ids.is_complete()
        with table.writing():
            table.reopen()
            if not was_complete:
                table.mark_indexed(False)
        self._unread = set(self._index.days())
        self._days = set(self._unread)
        damaged = self._catch_up(table)
        table.drop_walked()
        is_empty = True
        for folders in self._walk():
            with table.writing():
                table.walk(folders)
            is_empty = is_empty and not folders
        with table.writing():
            table.remove_missing(began - _HOUR)
        unknown = sorted(table.unknown(), key=_get_date, reverse=True)
        self._unread = {_get_date(folder) for folder in unknown}
        self._days |= self._unread
        for date, folders_of_date in groupby(unknown, key=_get_date):
            self._read_entries(table, list(folders_of_date), began)
            self._unread.discard(date)
        try:
            if not is_empty:
                written = self._index.write_all(table.unindexed())
                with table.writing():
                    for path, version in written.items():
                        table.set_version(path, version)
                if not was_complete:
                    self._ids.complete(table.walked())
            for path in damaged:
                self._folder.remove(path)
        except StoreUnavailableError as error:
            log.warning("the archive's index can't be written: each reader has to make its own (%s)", error)
        else:
            with table.writing():
                table.mark_indexed(True)
        table.drop_walked()
        with table.writing():
            table.note(_WALKED)
            table.note(f"{_WALKED} {self._ids.name}")

    def _look_at_pending(self, table: EntryTable) -> None:
        now = time.time_ns() // 1000
        if pending := list(dict.fromkeys([*table.pending(), *table.damaged()])):
            self._read_entries(table, pending, now)
            with table.writing():
                table.forget_pending(now - _DAY)

    def _read_entries(self, table: EntryTable, folders: Sequence[str], at: int) -> None:
        for start in range(0, len(folders), _AT_ONCE):
            some = folders[start : start + _AT_ONCE]
            contents = self._folder.read_all([f"{folder}/{ENTRY}" for folder in some], ENTRY_AT_MOST)
            entries = {folder: self._parse(folder, contents.get(f"{folder}/{ENTRY}", b"")) for folder in some}
            with table.writing():
                table.learn(
                    (
                        Line(at, folder, True, get_summary_fields(entry))
                        for folder, entry in entries.items()
                        if entry is not None
                    ),
                    is_indexed=False,
                )
                for folder, entry in entries.items():
                    table.set_damaged(folder, entry is None and f"{folder}/{ENTRY}" in contents)


def _get_date(folder: str) -> str:
    return folder.partition("/")[0]
