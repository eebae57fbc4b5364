"""The archive: records of assessments, trials and campaigns as plain files, readable without Temporal or a simulator.

Layout below its folder (``proctor.protocol.archive`` describes the files themselves)::

        2026-11-22/ID.FENCE/entry.json, result.json, …     one entry, in the folder of the day on which it began
        2026-11-22/ID.FENCE/judgements/KEY.json            a second judgement of it (``proctor.protocol.judgements``)
        contents/ab/cdef….json                             content that entries share, by its SHA-256
        index/…                                            an index of the entries (``day_index``, ``entry_ids``)

Files of an entry never change; only second judgements are added. A later writer of the same entry (a retry, a reset)
has a higher fence, and therefore another folder. The folder with the highest fence counts, even if an earlier writer
writes again later. If the index is damaged, gone, or older than the entries, readers rebuild it from the entries.

An archive may come from elsewhere, with any content. An entry counts only in the folder that its id, fence and date
determine. Files above a size limit, and files that aren't plain files, count as damaged.
"""

import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from proctor.protocol.archive import ENTRY, ENTRY_AT_MOST, RESULT, RUNS, ArchiveEntry, EntrySummary
from proctor.protocol.archived_runs import NO_NAMES, run_of_assessment, runs_of_entries
from proctor.protocol.callers import ANYBODY, Caller
from proctor.settings.config import GreenAgentConfig
from proctor.storage.blobs import blob_ref
from proctor.storage.day_index import DayIndex
from proctor.storage.entry_files import CONTENTS, RESTORE, EntryFiles, content_path, get_entry_folder, parsed
from proctor.storage.entry_files import SCENARIO as SCENARIO
from proctor.storage.entry_files import EntryDamagedError as EntryDamagedError
from proctor.storage.entry_ids import EntryIds, is_folder, parse_fence, parse_id
from proctor.storage.entry_table import EntryQuery, MatrixCell
from proctor.storage.folder import Folder, StoreUnavailableError
from proctor.storage.local_index import ArchiveBeingReadError as ArchiveBeingReadError
from proctor.storage.local_index import LocalIndex
from purple_sdk.protocol.statistics import Run

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_GRACE = timedelta(days=1)
"""The minimum age at which an unused content is removed. The entry of a younger content may still be written."""

_REMEMBERED = 2_000
"""The number of entries that are cached in memory."""

_REMEMBERED_AT_MOST = 2**16
"""Size limit in bytes of an ``entry.json`` for caching its entry."""

_READ_AT_ONCE = 32
ENTRY_FILES_AT_MOST = 2**29
"""Size limit in bytes of all files of an entry that is copied."""

_NAMED = 5
"""The number of ids that an error names."""


class NoSuchEntryError(LookupError):
    """The archive has no entry with that id, or several that begin with it."""


class SeveralEntriesError(NoSuchEntryError):
    """Several entries have ids with this prefix."""


class Archive(EntryFiles):
    """The entries below an fsspec URL or a local folder. All methods block; each access has a time limit (``Folder``).

    The last entries read are cached in memory, since entries never change. Methods raise ``StoreUnavailableError`` if
    the archive can't be read or written at the moment.

    Args:
        url: the archive's place.
        table: the file with this machine's table of the entries (``get_table_path``); empty for a temporary one.
        in_background: raise ``ArchiveBeingReadError`` while that table is built, instead of waiting for it.
    """

    def __init__(self, url: str, table: str = "", *, in_background: bool = False) -> None:
        super().__init__(Folder(url, "archive"))
        self._index = DayIndex(self.folder)
        self._ids = EntryIds(self.folder)
        self._local = LocalIndex(self.folder, self._index, self._ids, self._walk, _entry, table)
        self._local.reads_in_background = in_background
        self._known: OrderedDict[str, ArchiveEntry] = OrderedDict()
        self._caller = ANYBODY

    def restrict_view(self, caller: Caller) -> "Archive":
        """Return the same archive, limited to the entries that a caller may see."""
        view = copy(self)
        view._caller = caller
        return view

    def write(
        self, entry: ArchiveEntry, files: dict[str, bytes], contents: dict[str, bytes], *, is_indexed: bool = True
    ) -> ArchiveEntry:
        """Write an entry; earlier ones with the same id are removed. The cost doesn't depend on the number of entries.

        This method fills in the entry's fields ``files`` and ``contents``.

        Args:
            files: the entry's other files by name.
            contents: the contents that the entry shares with other entries, by their role in the entry.
            is_indexed: whether to add the entry to the index; otherwise the caller adds it with ``indexing``.

        Returns:
            The entry as written. If the archive already has a newer entry with this id, that one.
        """
        at = get_entry_folder(entry)
        if not is_folder(at):
            raise ValueError(
                f"{at[:200]!r} can't be the folder of an entry: use a shorter id, and a fence of 16 digits"
            )
        others = self._add(at)
        newest = max(others, key=parse_fence, default=at)
        if parse_fence(newest) > entry.fence and (newer := self._read_entry(newest)) is not None:
            return newer
        entry = entry.model_copy(
            update={
                "files": {name: blob_ref(content) for name, content in files.items()},
                "contents": {name: blob_ref(content) for name, content in contents.items()},
            }
        )
        for name, content in contents.items():
            self._write_content(content_path(entry.contents[name]), content)
        for name, content in files.items():
            self.folder.write(f"{at}/{name}", content)
        text = entry.model_dump_json(indent=1).encode()
        if len(text) > ENTRY_AT_MOST:
            entry = entry.model_copy(update={"message": {}})
            text = entry.model_dump_json(indent=1).encode()
        with self.indexing(entry) if is_indexed else nullcontext():
            self.folder.write(f"{at}/{ENTRY}", text)
        for folder in self._find_folders(entry.id) if others else []:
            if parse_fence(folder) < entry.fence:
                self.folder.remove(folder)
        return entry

    @contextmanager
    def indexing(self, entry: ArchiveEntry) -> Iterator[None]:
        """Index an entry while the caller writes it."""
        with self._index.entering(entry, get_entry_folder(entry)):
            yield

    def entries(self, damaged: list[str] | None = None) -> list[ArchiveEntry]:
        """Return every entry in full, the latest start first; ``damaged`` collects a sentence for each unreadable one.

        This lists the whole archive and reads each entry; ``select`` is faster.
        """
        visible = [entry for entry in self.walk(damaged) if self._caller.may_see(entry.owner)]
        return sorted(visible, key=lambda entry: (entry.started_at, entry.id), reverse=True)

    def in_full(self, summaries: Sequence[EntrySummary], damaged: list[str] | None = None) -> list[ArchiveEntry]:
        """Return the entries of summaries; ``damaged`` collects a sentence for each unreadable one."""
        entries: list[ArchiveEntry] = []
        for start in range(0, len(summaries), _READ_AT_ONCE):
            some = {get_entry_folder(summary): summary for summary in summaries[start : start + _READ_AT_ONCE]}
            entries_read = self._read_entries(list(some))
            for folder, summary in some.items():
                try:
                    entry = entries_read.get(folder) or self.get(summary.id)
                    entries += [self.require(folder, entry)]
                except EntryDamagedError as error:
                    if damaged is not None:
                        damaged.append(str(error))
        return entries

    def damage(self, summary: EntrySummary, reading: Sequence[str] | None = None) -> str:
        """Describe the damage in an entry's files as a sentence; empty if there is none.

        Args:
            reading: the names of files whose contents are checked; of the other files, only the sizes are checked. None
                checks all contents. If names are given for an object store, only ``entry.json`` is checked, since each
                check is a request.
        """
        folder, is_quick = get_entry_folder(summary), reading is not None
        try:
            entry = self.require(folder, self._known.get(folder) if is_quick and self.folder.is_of_objects else None)
            if not (is_quick and self.folder.is_of_objects):
                for name, content in entry.files.items():
                    self.check_file(f"{folder}/{name}", content, reading is None or name in reading)
                for content in entry.contents.values():
                    self.check_file(content_path(content), content, reading is None)
        except (EntryDamagedError, StoreUnavailableError) as error:
            return str(error)
        return ""

    def damages(self, summaries: Sequence[EntrySummary]) -> dict[str, str]:
        """Return a sentence for each damaged entry, by its id. Of the files, only results are checked in full."""
        if self.folder.is_of_objects:  # it answers many requests at once
            self.in_full(summaries)
        sentences = self.folder.together(lambda: {entry.id: self.damage(entry, (RESULT,)) for entry in summaries})
        return {entry_id: sentence for entry_id, sentence in sentences.items() if sentence}

    def unlisted(self) -> list[str]:
        """Return the folders of unreadable entries that the index, and therefore every list, lacks.

        The result is empty unless the caller is an administrator.
        """
        return self._local.ask(lambda table: table.damaged()) if self._caller.is_admin else []

    def find_forks(self, entry_id: str) -> list[EntrySummary]:
        """Return the forks of this assessment, the latest first."""
        return self.select(EntryQuery(origin=entry_id))

    def select(self, query: EntryQuery) -> list[EntrySummary]:
        own = self._restrict_query(query)
        return [] if own is None else self._local.ask(lambda table: table.select(own))

    def matrix(self, query: EntryQuery) -> list[MatrixCell]:
        own = self._restrict_query(query)
        return [] if own is None else self._local.ask(lambda table: table.matrix(own))

    def survey(self, query: EntryQuery, *others: EntryQuery) -> tuple[list[EntrySummary], list[int]]:
        """Return the summaries that match a query, and the number of matches for each query (``most`` ignored)."""
        own = [restricted for asked in (query, *others) if (restricted := self._restrict_query(asked)) is not None]
        if not own:
            return [], [0] * (1 + len(others))
        return self._local.ask(lambda table: (table.select(own[0]), [table.count(restricted) for restricted in own]))

    def find(self, prefix: str) -> ArchiveEntry:
        """Return the entry whose id is ``prefix``, or the only entry whose id begins with it.

        Raises:
            NoSuchEntryError: there is no such entry, or there are several (``SeveralEntriesError``).
            EntryDamagedError: the entry can't be read.
        """
        if prefix and (entry := self.get(prefix)) is not None:
            return entry
        own = self._restrict_query(EntryQuery())
        total, some = 0, list[str]()
        if prefix and own is not None:
            total, some = self._local.ask(lambda table: table.find_ids(prefix, own.owner, _NAMED + 1))
        if not some:
            raise NoSuchEntryError(
                f"the archive at {self.folder.place} has no entry {prefix!r}: `proctor list` shows what it has"
            )
        if len(some) > 1:
            named = ", ".join(some[:_NAMED])
            raise SeveralEntriesError(f"{total} entries begin with {prefix!r}: {named}{', …' * (len(some) > _NAMED)}")
        if (match := self.get(some[0])) is None:
            raise EntryDamagedError(
                f"the entry {some[0]} in the archive at {self.folder.place} has no {ENTRY}: {RESTORE}"
            )
        return match

    def get(self, entry_id: str) -> ArchiveEntry | None:
        """Return the entry with an id; None if there is none. Raises ``EntryDamagedError``."""
        damage: EntryDamagedError | None = None
        for folder in sorted(self._find_folders(entry_id), key=parse_fence, reverse=True):
            if (entry := self._read_entry(folder)) is not None:
                return entry if self._caller.may_see(entry.owner) else None
            damage = damage or self._find_damage(folder)
        if damage is not None and self._lists(entry_id):
            raise damage
        return None

    def newest_fence(self, entry_id: str) -> int:
        """Return the highest fence of an id in this archive, including incomplete entries; -1 if there is none."""
        return max(map(parse_fence, self._find_folders(entry_id)), default=-1)

    def collect_runs(self, entries: Sequence[ArchiveEntry], called: Mapping[str, str] = NO_NAMES) -> list[Run]:
        """Return the runs of assessments and trials, with their dimensions and criteria; campaigns are left out.

        Points come from the entry of the run's campaign, otherwise from its own result. For a damaged result, only the
        sum is known.

        Args:
            called: the agents' names by entry id; all other agents have their labels.
        """
        known: dict[str, Run] = {}
        for name in sorted({entry.campaign for entry in entries if entry.campaign}):
            with suppress(EntryDamagedError):
                campaign = self.get(name)
                if campaign is not None and RUNS in campaign.files:
                    known |= {run.run_id: run for run in self._read_lines(campaign, RUNS, Run)}
        by_id = {entry.id: entry for entry in entries}
        for run in runs_of_entries(entries, called=called):
            stored, entry = known.get(run.run_id), by_id[run.run_id]
            if entry.kind == "assessment" and (stored is None or stored.overall != run.overall):  # judged again since
                with suppress(EntryDamagedError):
                    known[run.run_id] = run_of_assessment(self.results(entry), run)
        return runs_of_entries(entries, known, called)

    def copy(self, entry: ArchiveEntry, to: "Archive", **changes: Any) -> ArchiveEntry:
        """Write an entry with its judgements into another archive, with ``changes`` to its fields.

        Returns the entry that the other archive has afterwards: the written one, or a newer one.
        """
        total = sum(content.size for content in (*entry.files.values(), *entry.contents.values()))
        if total > ENTRY_FILES_AT_MOST:
            raise EntryDamagedError(f"the entry {entry.id} has {total} bytes, more than any that proctor writes")
        changed = entry.model_copy(update=changes)
        written = to.write(
            changed,
            {name: self.read(entry, name) for name in entry.files},
            {name: self.read_content(entry, name) for name in entry.contents},
        )
        if written.fence == changed.fence:
            self.copy_judgements(entry, to, written)
        return written

    def remove(self, entries: Iterable[ArchiveEntry]) -> None:
        """Remove entries, the folders of earlier writers of their ids, and contents that are no longer needed."""
        entries = list(entries)
        folders = {entry.id: self._find_folders(entry.id) for entry in entries}
        doomed = {
            entry.id: [folder for folder in folders[entry.id] if parse_fence(folder) <= entry.fence]
            for entry in entries
        }
        self._index.remove(folder for folders_of_id in doomed.values() for folder in folders_of_id)
        for entry_id, folders_of_id in doomed.items():
            for folder in folders_of_id:
                self.folder.remove(folder)
                self._known.pop(folder, None)
            if folders_of_id == folders[entry_id]:
                self._ids.remove(entry_id)
        for path in self.unused_contents():
            self.folder.remove(path)

    def unused_contents(self) -> list[str]:
        """Return the paths of contents that no entry names, except recent ones, whose entry may still be written.

        While an entry is unreadable, the list is empty, since that entry may name any content.
        """
        damaged = list[str]()
        used = {content_path(content) for entry in self.walk(damaged) for content in entry.contents.values()}
        if damaged:
            return []
        before = datetime.now(UTC) - _GRACE
        files = self.folder.sizes(CONTENTS)
        return [path for path, (_, at) in files.items() if path not in used and (at is None or at < before)]

    def _lists(self, entry_id: str) -> bool:
        """Tell whether the caller may know of an unreadable entry, by the owner in the index."""
        own = self._restrict_query(EntryQuery())
        if own is None or own.owner is None:
            return own is not None
        return entry_id in self._local.ask(lambda table: table.find_ids(entry_id, own.owner, 1))[1]

    def _restrict_query(self, query: EntryQuery) -> EntryQuery | None:
        """Limit a query to entries that the caller may see; None if there can't be any."""
        if self._caller.is_admin:
            return query
        return replace(query, owner=self._caller.name) if self._caller.name else None

    def _add(self, folder: str) -> list[str]:
        """Record a folder before it is written; return the other folders of its id."""
        if not self._ids.is_complete() and not self._dates():
            self._ids.complete([])  # the archive is still empty
        others = self._ids.add(folder)
        if not self._ids.is_complete():
            others = list(dict.fromkeys([*others, *self._walk_folders(parse_id(folder))]))
        return [other for other in others if other != folder]

    def _write_content(self, path: str, content: bytes) -> None:
        is_new = self.folder.write_first(path, content) if self.folder.is_of_objects else None
        if is_new is None and not self.folder.exists(path):
            self.folder.write(path, content)

    def _find_folders(self, entry_id: str) -> list[str]:
        is_known = self._ids.is_complete()
        folders = self._ids.of(entry_id) if is_known else []
        if not folders and is_known:
            is_known = self._ids.is_complete(look=True)  # the index may have been removed
        if not is_known or not self._ids.is_complete():
            folders = list(dict.fromkeys([*self._ids.of(entry_id), *self._walk_folders(entry_id)]))
        return folders

    def _read_entry(self, folder: str) -> ArchiveEntry | None:
        if folder in self._known:
            self._known.move_to_end(folder)
            return self._known[folder]
        return self._read_entries([folder]).get(folder)

    def _read_entries(self, folders: Sequence[str]) -> dict[str, ArchiveEntry]:
        contents = self.folder.read_all([f"{folder}/{ENTRY}" for folder in folders], ENTRY_AT_MOST)
        entries = dict[str, ArchiveEntry]()
        for path, content in contents.items():
            folder = path.removesuffix(f"/{ENTRY}")
            if (entry := _entry(folder, content)) is not None:
                entries[folder] = entry
                if len(content) <= _REMEMBERED_AT_MOST:
                    self._known[folder] = entry
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return entries

    def _find_damage(self, folder: str) -> EntryDamagedError | None:
        """Return why the entry in a folder can't be read; None if nothing is there, since it may be in writing."""
        try:
            self.require(folder, None)
        except EntryDamagedError as error:
            return None if isinstance(error.__cause__, FileNotFoundError) else error
        return None

    def walk(self, damaged: list[str] | None = None) -> Iterator[ArchiveEntry]:
        """List the whole archive and yield every readable entry. Of each id, yield the one with the highest fence.

        ``damaged`` collects a sentence for each unreadable entry.
        """
        by_id: dict[str, list[str]] = {}
        for folders in self._walk():
            for folder in folders:
                by_id.setdefault(parse_id(folder), []).append(folder)
        pending = [sorted(folders, key=parse_fence) for folders in by_id.values()]
        while pending:  # an entry whose newest folder is still being written is tried again with the folder before it
            missed = []
            for start in range(0, len(pending), _READ_AT_ONCE):
                some = pending[start : start + _READ_AT_ONCE]
                known = {folders[-1]: self._known[folders[-1]] for folders in some if folders[-1] in self._known}
                known |= self._read_entries([folders[-1] for folders in some if folders[-1] not in known])
                yield from known.values()
                lacking = [folders for folders in some if folders[-1] not in known]
                missed += [folders[:-1] for folders in lacking if len(folders) > 1]
                if damaged is not None:
                    damaged += [str(damage) for folders in lacking if (damage := self._find_damage(folders[-1]))]
            pending = missed

    def _walk(self) -> Iterator[list[str]]:
        """Yield the folders of all entries, complete or not, in one list per date."""
        for date in self._dates():
            yield [folder for name in self.folder.names(date) if is_folder(folder := f"{date}/{name}")]

    def _walk_folders(self, entry_id: str) -> list[str]:
        return [folder for folders in self._walk() for folder in folders if parse_id(folder) == entry_id]

    def _dates(self) -> list[str]:
        return [name for name in self.folder.names() if _DATE.fullmatch(name)]


def get_table_path(state: str, url: str) -> str:
    """Return the file in a state folder for the table of an archive."""
    return os.path.join(state, "archive-tables", f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.sqlite")


def open_archive(config: GreenAgentConfig) -> Archive:
    return Archive(config.archive_url, get_table_path(config.state, config.archive_url))


def _entry(folder: str, content: bytes) -> ArchiveEntry | None:
    try:
        return parsed(folder, content)
    except ValueError:
        return None
