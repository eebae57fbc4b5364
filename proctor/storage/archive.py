"""The archive: what was assessed, as plain files that need neither Temporal nor a simulator to be read.

Layout below its folder (``proctor.protocol.archive`` describes the files themselves)::

    2026-11-22/ID.FENCE/entry.json, result.json, …     one entry; DATE is the day on which the assessment began
    2026-11-22/ID.FENCE/judgements/KEY.json            a second judgement of it (``proctor.protocol.judgements``)
    contents/ab/cdef….json                             what entries share, by the SHA-256 of its content
    index/…                                            where entries are (``day_index``, ``entry_ids``)

No file of an entry is ever changed; second judgements are added. A later writer of the same entry (a retry, a reset)
has a higher fence and so another folder; the highest fence is the entry, even if an earlier writer writes again later.
The index follows from the entries: readers make it again where it is damaged, gone, or older than the entries.

An archive may come from elsewhere, and say anything. An entry counts in the folder alone that its id, fence and date
lead to; each file has a largest size, and what is larger or no plain file counts as damaged.
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
from proctor.storage.entry_files import CONTENTS, RESTORE, EntryFiles, content_path, folder_of, parsed
from proctor.storage.entry_files import SCENARIO as SCENARIO
from proctor.storage.entry_files import EntryDamagedError as EntryDamagedError
from proctor.storage.entry_ids import EntryIds, fence_of, id_of, is_folder
from proctor.storage.entry_table import EntryQuery, MatrixCell
from proctor.storage.folder import Folder, StoreUnavailableError
from proctor.storage.local_index import ArchiveBeingReadError as ArchiveBeingReadError
from proctor.storage.local_index import LocalIndex
from purple_sdk.protocol.statistics import Run

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_GRACE = timedelta(days=1)
"""The least age of a content that no entry names before it is removed: its entry may still be in writing."""

_REMEMBERED = 2_000
"""Entries that are kept in memory."""

_REMEMBERED_AT_MOST = 2**16
"""Bytes of an ``entry.json`` whose entry is kept in memory."""

_READ_AT_ONCE = 32
ENTRY_FILES_AT_MOST = 2**29
"""Bytes of all files of an entry that is copied."""

_NAMED = 5
"""How many ids a refusal names."""


class NoSuchEntryError(LookupError):
    """The archive has no entry of that id, or several whose ids begin so."""


class SeveralEntriesError(NoSuchEntryError):
    """There are several whose ids begin so."""


class Archive(EntryFiles):
    """The entries below an fsspec URL or a local folder. All methods wait; each access has a time limit (``Folder``).

    The entries that were read last are kept in memory, since they never change. Methods raise ``StoreUnavailableError``
    where the archive can't be read or written just now.

    Args:
        url: where it is.
        table: the file with this machine's table of the entries (``table_of``); empty for a temporary one.
        in_background: raise ``ArchiveBeingReadError`` while that table is made, instead of waiting for it.
    """

    def __init__(self, url: str, table: str = "", *, in_background: bool = False) -> None:
        super().__init__(Folder(url, "archive"))
        self._index = DayIndex(self.folder)
        self._ids = EntryIds(self.folder)
        self._local = LocalIndex(self.folder, self._index, self._ids, self._walk, _entry, table)
        self._local.reads_in_background = in_background
        self._known: OrderedDict[str, ArchiveEntry] = OrderedDict()
        self._caller = ANYBODY

    def seen_by(self, caller: Caller) -> "Archive":
        """The same archive with nothing in it but what is there for a caller."""
        seen = copy(self)
        seen._caller = caller
        return seen

    def write(
        self, entry: ArchiveEntry, files: dict[str, bytes], contents: dict[str, bytes], *, is_indexed: bool = True
    ) -> ArchiveEntry:
        """Keep an entry; earlier ones of the same id go. It costs the same, however many entries there are.

        ``files`` are its other files by name, ``contents`` what it shares with others, by what it is to it: the entry's
        fields of these names are filled in here. Unless ``is_indexed``, the caller adds it to the index, with
        ``indexing``. Returns the entry as it was written, or a newer one where that is there already.
        """
        at = folder_of(entry)
        if not is_folder(at):
            raise ValueError(
                f"{at[:200]!r} can't be the folder of an entry: use a shorter id, and a fence of 16 digits"
            )
        others = self._add(at)
        newest = max(others, key=fence_of, default=at)
        if fence_of(newest) > entry.fence and (there := self._read_entry(newest)) is not None:
            return there
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
        written = entry.model_dump_json(indent=1).encode()
        if len(written) > ENTRY_AT_MOST:
            entry = entry.model_copy(update={"message": {}})
            written = entry.model_dump_json(indent=1).encode()
        with self.indexing(entry) if is_indexed else nullcontext():
            self.folder.write(f"{at}/{ENTRY}", written)
        for folder in self._folders_of(entry.id) if others else []:
            if fence_of(folder) < entry.fence:
                self.folder.remove(folder)
        return entry

    @contextmanager
    def indexing(self, entry: ArchiveEntry) -> Iterator[None]:
        """Index an entry that the caller writes meanwhile."""
        with self._index.entering(entry, folder_of(entry)):
            yield

    def entries(self, damaged: list[str] | None = None) -> list[ArchiveEntry]:
        """Every entry in full, the latest to have begun first; ``damaged`` gets a sentence on each that can't be read.

        It lists the whole archive and reads each entry; see ``select``.
        """
        visible = [entry for entry in self.walk(damaged) if self._caller.may_see(entry.owner)]
        return sorted(visible, key=lambda entry: (entry.started_at, entry.id), reverse=True)

    def in_full(self, summaries: Sequence[EntrySummary], damaged: list[str] | None = None) -> list[ArchiveEntry]:
        """The entries of summaries; of those that can't be read, ``damaged`` gets a sentence."""
        entries: list[ArchiveEntry] = []
        for start in range(0, len(summaries), _READ_AT_ONCE):
            some = {folder_of(each): each for each in summaries[start : start + _READ_AT_ONCE]}
            read = self._read_entries(list(some))
            for folder, each in some.items():
                try:
                    entry = read.get(folder) or self.get(each.id)
                    entries += [self.require(folder, entry)]
                except EntryDamagedError as problem:
                    if damaged is not None:
                        damaged.append(str(problem))
        return entries

    def damage(self, summary: EntrySummary, reading: Sequence[str] | None = None) -> str:
        """What is wrong with an entry's files, as a sentence; empty if nothing is.

        Args:
            reading: the names of files whose contents are checked, of others only their sizes. None for all. In a store
                of objects, where each look is a request, then nothing is looked at but the entry's own file.
        """
        folder, is_quick = folder_of(summary), reading is not None
        try:
            entry = self.require(folder, self._known.get(folder) if is_quick and self.folder.is_of_objects else None)
            if not (is_quick and self.folder.is_of_objects):
                for name, content in entry.files.items():
                    self.look_at(f"{folder}/{name}", content, reading is None or name in reading)
                for content in entry.contents.values():
                    self.look_at(content_path(content), content, reading is None)
        except (EntryDamagedError, StoreUnavailableError) as problem:
            return str(problem)
        return ""

    def damages(self, summaries: Sequence[EntrySummary]) -> dict[str, str]:
        """The sentences of ``damage``, for which results alone are read, by the ids of those that are damaged."""
        if self.folder.is_of_objects:  # it answers many requests at once
            self.in_full(summaries)
        found = self.folder.together(lambda: {each.id: self.damage(each, (RESULT,)) for each in summaries})
        return {entry_id: sentence for entry_id, sentence in found.items() if sentence}

    def unlisted(self) -> list[str]:
        """The folders of entries that can't be read and that no list has, since the index says nothing of them."""
        return self._local.ask(lambda table: table.damaged()) if self._caller.is_admin else []

    def forks_of(self, entry_id: str) -> list[EntrySummary]:
        """The assessments that began with turns of this one, the latest first."""
        return self.select(EntryQuery(origin=entry_id))

    def select(self, query: EntryQuery) -> list[EntrySummary]:
        own = self._own(query)
        return [] if own is None else self._local.ask(lambda table: table.select(own))

    def matrix(self, query: EntryQuery) -> list[MatrixCell]:
        own = self._own(query)
        return [] if own is None else self._local.ask(lambda table: table.matrix(own))

    def survey(self, query: EntryQuery, *others: EntryQuery) -> tuple[list[EntrySummary], list[int]]:
        """The summaries that match a query, and the number of matches for each query (``most`` ignored)."""
        own = [restricted for each in (query, *others) if (restricted := self._own(each)) is not None]
        if not own:
            return [], [0] * (1 + len(others))
        return self._local.ask(lambda table: (table.select(own[0]), [table.count(each) for each in own]))

    def find(self, prefix: str) -> ArchiveEntry:
        """The entry whose id is, or alone begins with, ``prefix``. Raises ``NoSuchEntryError``."""
        if prefix and (entry := self.get(prefix)) is not None:
            return entry
        own = self._own(EntryQuery())
        total, some = 0, list[str]()
        if prefix and own is not None:
            total, some = self._local.ask(lambda table: table.ids_with(prefix, own.owner, _NAMED + 1))
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
        """The entry of an id; None if there is none. Raises ``EntryDamagedError``."""
        damage: EntryDamagedError | None = None
        for folder in sorted(self._folders_of(entry_id), key=fence_of, reverse=True):
            if (entry := self._read_entry(folder)) is not None:
                return entry if self._caller.may_see(entry.owner) else None
            damage = damage or self._damage_of(folder)
        if damage is not None and self._lists(entry_id):
            raise damage
        return None

    def newest_fence(self, entry_id: str) -> int:
        """The highest fence that an id has here, in an entry or in what is left of one; -1 without any."""
        return max(map(fence_of, self._folders_of(entry_id)), default=-1)

    def runs_of(self, entries: Sequence[ArchiveEntry], called: Mapping[str, str] = NO_NAMES) -> list[Run]:
        """The runs of assessments and trials, with their dimensions and criteria; campaigns are left out.

        Points come from the entry of the campaign that a run is of, or else from its own result; of a damaged result
        only the sum is known.

        Args:
            called: the agents' names, by the entry's id; by their labels where it isn't said.
        """
        known: dict[str, Run] = {}
        for name in sorted({entry.campaign for entry in entries if entry.campaign}):
            with suppress(EntryDamagedError):
                campaign = self.get(name)
                if campaign is not None and RUNS in campaign.files:
                    known |= {run.run_id: run for run in self._lines_of(campaign, RUNS, Run)}
        by_id = {entry.id: entry for entry in entries}
        for run in runs_of_entries(entries, called=called):
            kept, entry = known.get(run.run_id), by_id[run.run_id]
            if entry.kind == "assessment" and (kept is None or kept.overall != run.overall):  # judged anew since
                with suppress(EntryDamagedError):
                    known[run.run_id] = run_of_assessment(self.results(entry), run)
        return runs_of_entries(entries, known, called)

    def copy(self, entry: ArchiveEntry, to: "Archive", **changes: Any) -> ArchiveEntry:
        """Write an entry with its judgements into another archive, with ``changes`` of its fields; returns what is
        there then, which is a newer one where there is one.
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
        """Remove entries with what earlier writers of their ids have left, and then what no other entry needs."""
        entries = list(entries)
        folders = {entry.id: self._folders_of(entry.id) for entry in entries}
        going = {entry.id: [each for each in folders[entry.id] if fence_of(each) <= entry.fence] for entry in entries}
        self._index.remove(folder for each in going.values() for folder in each)
        for entry_id, each in going.items():
            for folder in each:
                self.folder.remove(folder)
                self._known.pop(folder, None)
            if each == folders[entry_id]:
                self._ids.remove(entry_id)
        for path in self.unused_contents():
            self.folder.remove(path)

    def unused_contents(self) -> list[str]:
        """Paths of contents that no entry names, and that no entry on its way can need; none while an entry can't be
        read, since it may name any of them.
        """
        damaged = list[str]()
        used = {content_path(content) for entry in self.walk(damaged) for content in entry.contents.values()}
        if damaged:
            return []
        before = datetime.now(UTC) - _GRACE
        files = self.folder.sizes(CONTENTS)
        return [path for path, (_, at) in files.items() if path not in used and (at is None or at < before)]

    def _lists(self, entry_id: str) -> bool:
        """Whether the caller may know of an entry that can't be read: the index says whose it is."""
        own = self._own(EntryQuery())
        if own is None or own.owner is None:
            return own is not None
        return entry_id in self._local.ask(lambda table: table.ids_with(entry_id, own.owner, 1))[1]

    def _own(self, query: EntryQuery) -> EntryQuery | None:
        """The query limited to entries that the caller may see; None if there can't be any."""
        if self._caller.is_admin:
            return query
        return replace(query, owner=self._caller.name) if self._caller.name else None

    def _add(self, folder: str) -> list[str]:
        """Note a folder that is about to be written; returns the others of its id."""
        if not self._ids.is_complete() and not self._dates():
            self._ids.complete([])  # there is nothing yet
        others = self._ids.add(folder)
        if not self._ids.is_complete():
            others = list(dict.fromkeys([*others, *self._walked_of(id_of(folder))]))
        return [each for each in others if each != folder]

    def _write_content(self, path: str, content: bytes) -> None:
        is_new = self.folder.write_first(path, content) if self.folder.is_of_objects else None
        if is_new is None and not self.folder.exists(path):
            self.folder.write(path, content)

    def _folders_of(self, entry_id: str) -> list[str]:
        is_known = self._ids.is_complete()
        folders = self._ids.of(entry_id) if is_known else []
        if not folders and is_known:
            is_known = self._ids.is_complete(look=True)  # the index may have been removed
        if not is_known or not self._ids.is_complete():
            folders = list(dict.fromkeys([*self._ids.of(entry_id), *self._walked_of(entry_id)]))
        return folders

    def _read_entry(self, folder: str) -> ArchiveEntry | None:
        if folder in self._known:
            self._known.move_to_end(folder)
            return self._known[folder]
        return self._read_entries([folder]).get(folder)

    def _read_entries(self, folders: Sequence[str]) -> dict[str, ArchiveEntry]:
        read = self.folder.read_all([f"{folder}/{ENTRY}" for folder in folders], ENTRY_AT_MOST)
        entries = dict[str, ArchiveEntry]()
        for path, content in read.items():
            folder = path.removesuffix(f"/{ENTRY}")
            if (entry := _entry(folder, content)) is not None:
                entries[folder] = entry
                if len(content) <= _REMEMBERED_AT_MOST:
                    self._known[folder] = entry
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return entries

    def _damage_of(self, folder: str) -> EntryDamagedError | None:
        """Why the entry in a folder can't be read; None if nothing is there: it may be in writing."""
        try:
            self.require(folder, None)
        except EntryDamagedError as problem:
            return None if isinstance(problem.__cause__, FileNotFoundError) else problem
        return None

    def walk(self, damaged: list[str] | None = None) -> Iterator[ArchiveEntry]:
        """Every entry that can be read, by a listing of the whole archive; of each id the one of the highest fence. Of
        others, ``damaged`` gets a sentence.
        """
        by_id: dict[str, list[str]] = {}
        for folders in self._walk():
            for folder in folders:
                by_id.setdefault(id_of(folder), []).append(folder)
        pending = [sorted(folders, key=fence_of) for folders in by_id.values()]
        while pending:  # those whose newest is being written just now come again, with the one before it
            missed = []
            for start in range(0, len(pending), _READ_AT_ONCE):
                some = pending[start : start + _READ_AT_ONCE]
                known = {each[-1]: self._known[each[-1]] for each in some if each[-1] in self._known}
                known |= self._read_entries([each[-1] for each in some if each[-1] not in known])
                yield from known.values()
                lacking = [each for each in some if each[-1] not in known]
                missed += [each[:-1] for each in lacking if len(each) > 1]
                if damaged is not None:
                    damaged += [str(damage) for each in lacking if (damage := self._damage_of(each[-1]))]
            pending = missed

    def _walk(self) -> Iterator[list[str]]:
        """The folders of all entries, complete or not, in a list for each date."""
        for date in self._dates():
            yield [folder for name in self.folder.names(date) if is_folder(folder := f"{date}/{name}")]

    def _walked_of(self, entry_id: str) -> list[str]:
        return [folder for folders in self._walk() for folder in folders if id_of(folder) == entry_id]

    def _dates(self) -> list[str]:
        return [name for name in self.folder.names() if _DATE.fullmatch(name)]


def table_of(state: str, url: str) -> str:
    """The file in a state folder with the table of an archive."""
    return os.path.join(state, "archive-tables", f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.sqlite")


def open_archive(config: GreenAgentConfig) -> Archive:
    return Archive(config.archive_url, table_of(config.state, config.archive_url))


def _entry(folder: str, content: bytes) -> ArchiveEntry | None:
    try:
        return parsed(folder, content)
    except ValueError:
        return None
