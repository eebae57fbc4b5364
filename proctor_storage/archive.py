"""The archive: what was assessed, as plain files that need neither Temporal nor a simulator to be read.

Layout below its folder (``proctor_protocol.archive`` describes the files themselves)::

    2026-11-22/ID.FENCE/entry.json, result.json, …     one entry; DATE is the day on which the assessment began
    2026-11-22/ID.FENCE/judgements/KEY.json            a second judgement of it (``proctor_protocol.judgements``)
    contents/ab/cdef….json                             what entries share, by the SHA-256 of its content
    index/…                                            where entries are (``day_index``, ``entry_ids``)

No file of an entry is ever changed; second judgements are added. A later writer of the same entry (a retry, a reset)
has a higher fence and so another folder; the highest fence is the entry, even if an earlier writer writes again later.
The index follows from the entries: readers make it again where it is damaged, gone, or older than the entries.
"""

import hashlib
import json
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter, ValidationError

from proctor_protocol.archive import (
    ENTRY,
    FORMAT,
    JUDGEMENT,
    RESULT,
    RUNS,
    STATES,
    TRANSCRIPT,
    TURNS,
    UPDATES,
    ArchivedUpdate,
    ArchiveEntry,
    CommandRecord,
    Content,
    EntrySummary,
    Items,
    StateRecord,
    TurnRecord,
    states_of,
)
from proctor_protocol.archived_runs import NO_NAMES, run_of_assessment, runs_of_campaign, runs_of_entries
from proctor_protocol.callers import ANYBODY, Caller
from proctor_protocol.campaigns import CampaignResults, parse_campaign_results
from proctor_protocol.judgements import Judgement, Shift
from proctor_protocol.problems import describe
from proctor_protocol.results import AssessmentResults
from proctor_protocol.scenario import ScenarioConfig
from proctor_protocol.statistics import Run
from proctor_protocol.terminal import TrialResult
from proctor_settings.config import GreenAgentConfig
from proctor_storage.blobs import blob_ref
from proctor_storage.day_index import DayIndex
from proctor_storage.entry_ids import EntryIds, fence_of, id_of
from proctor_storage.entry_table import EntryQuery, MatrixCell
from proctor_storage.folder import Folder
from proctor_storage.local_index import ArchiveBeingReadError as ArchiveBeingReadError
from proctor_storage.local_index import LocalIndex

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
J = TypeVar("J", Judgement, Shift)

CONTENTS = "contents"
_SCENARIO, _INITIAL_STATE = "scenario", "initial_state"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_GRACE = timedelta(days=1)
"""The least age of a content that no entry names before it is removed: its entry may still be in writing."""

_REMEMBERED = 2_000
"""Entries that are kept in memory."""

_READ_AT_ONCE = 200
_NAMED = 5
"""How many ids a refusal names."""

_ITEMS: TypeAdapter[Items] = TypeAdapter(Items)


class NoSuchEntryError(LookupError):
    """The archive has no entry of that id, or several whose ids begin so."""


class SeveralEntriesError(NoSuchEntryError):
    """There are several whose ids begin so."""


class EntryDamagedError(ValueError):
    """An entry's file is missing, or isn't what the entry says."""


class Archive:
    """The entries below an fsspec URL or a local folder. All methods wait; each access has a time limit (``Folder``).

    The entries that were read last are kept in memory, since they never change. Methods raise ``StoreUnavailableError``
    where the archive can't be read or written just now. Readers of an entry raise ``EntryDamagedError`` where a file
    isn't there, or not as it was written.

    Args:
        url: where it is.
        table: the file with this machine's table of the entries (``table_of``); empty for a temporary one.
        in_background: raise ``ArchiveBeingReadError`` while that table is made, instead of waiting for it.
    """

    def __init__(self, url: str, table: str = "", *, in_background: bool = False) -> None:
        self.folder = Folder(url, "archive")
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
        at = _folder_of(entry)
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
            self._write_content(_content_path(entry.contents[name]), content)
        for name, content in files.items():
            self.folder.write(f"{at}/{name}", content)
        with self.indexing(entry) if is_indexed else nullcontext():
            self.folder.write(f"{at}/{ENTRY}", entry.model_dump_json(indent=1).encode())
        for folder in self._folders_of(entry.id) if others else []:
            if fence_of(folder) < entry.fence:
                self.folder.remove(folder)
        return entry

    @contextmanager
    def indexing(self, entry: ArchiveEntry) -> Iterator[None]:
        """Index an entry that the caller writes meanwhile."""
        with self._index.entering(entry, _folder_of(entry)):
            yield

    def entries(self) -> list[ArchiveEntry]:
        """Every entry in full, the latest to have begun first; unreadable ones are left out.

        It lists the whole archive and reads each entry; see ``select``.
        """
        visible = [entry for entry in self._walked_entries() if self._caller.may_see(entry.owner)]
        return sorted(visible, key=lambda entry: (entry.started_at, entry.id), reverse=True)

    def in_full(self, summaries: Sequence[EntrySummary]) -> list[ArchiveEntry]:
        """The entries of summaries; those that can't be read are left out."""
        entries: list[ArchiveEntry] = []
        for start in range(0, len(summaries), _READ_AT_ONCE):
            some = {_folder_of(each): each for each in summaries[start : start + _READ_AT_ONCE]}
            read = self._read_entries(list(some))
            each_read = (read.get(folder) or self.get(each.id) for folder, each in some.items())
            entries += [entry for entry in each_read if entry is not None]
        return entries

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
            raise NoSuchEntryError(f"the archive's entry {some[0]!r} is not complete")
        return match

    def get(self, entry_id: str) -> ArchiveEntry | None:
        for folder in sorted(self._folders_of(entry_id), key=fence_of, reverse=True):
            if (entry := self._read_entry(folder)) is not None:
                return entry if self._caller.may_see(entry.owner) else None
        return None

    def read(self, entry: ArchiveEntry, name: str) -> bytes:
        expected = entry.files.get(name)
        if expected is None:
            raise EntryDamagedError(f"the entry {entry.id} has no {name}")
        return self._checked(f"{_folder_of(entry)}/{name}", expected)

    def read_content(self, entry: ArchiveEntry, name: str) -> bytes:
        expected = entry.contents.get(name)
        if expected is None:
            raise EntryDamagedError(f"the entry {entry.id} names no {name}")
        return self._checked(_content_path(expected), expected)

    def results(self, entry: ArchiveEntry) -> AssessmentResults:
        return _model(entry, RESULT, lambda: AssessmentResults.model_validate_json(self.read(entry, RESULT)))

    def trial_result(self, entry: ArchiveEntry) -> TrialResult:
        return _model(entry, RESULT, lambda: TrialResult.model_validate_json(self.read(entry, RESULT)))

    def campaign_results(self, entry: ArchiveEntry) -> CampaignResults:
        return _model(entry, RESULT, lambda: parse_campaign_results(json.loads(self.read(entry, RESULT))))

    def runs(self, entry: ArchiveEntry, results: CampaignResults | None = None) -> list[Run]:
        """The runs of an ended campaign, in the order of its results; these are read where they aren't given."""
        known = self._lines_of(entry, RUNS, Run) if RUNS in entry.files else []
        return runs_of_campaign(results or self.campaign_results(entry), known)

    def runs_of(self, entries: Sequence[ArchiveEntry], called: Mapping[str, str] = NO_NAMES) -> list[Run]:
        """The runs of assessments and trials, with their dimensions and criteria; campaigns are left out.

        Points come from the entry of the campaign that a run is of, or else from its own result; of a damaged result
        only the sum is known.

        Args:
            called: the agents' names, by the entry's id; by their labels where it isn't said.
        """
        known: dict[str, Run] = {}
        for name in sorted({entry.campaign for entry in entries if entry.campaign}):
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

    def transcript(self, entry: ArchiveEntry) -> list[CommandRecord]:
        """What a trial's agent did, as far as the evaluator has seen it."""
        return self._lines_of(entry, TRANSCRIPT, CommandRecord) if TRANSCRIPT in entry.files else []

    def updates(self, entry: ArchiveEntry) -> list[ArchivedUpdate]:
        return self._lines_of(entry, UPDATES, ArchivedUpdate)

    def turns(self, entry: ArchiveEntry) -> list[TurnRecord]:
        return self._lines_of(entry, TURNS, TurnRecord)

    def state_records(self, entry: ArchiveEntry) -> list[StateRecord]:
        return self._lines_of(entry, STATES, StateRecord)

    def states(self, entry: ArchiveEntry) -> Iterator[tuple[StateRecord, Items]]:
        """Every state in order, from the one before the first turn."""
        return states_of(self.initial_state(entry), self.state_records(entry))

    def initial_state(self, entry: ArchiveEntry) -> Items:
        """The state before the first turn, empty where it wasn't kept."""
        if _INITIAL_STATE not in entry.contents:
            return {}
        return _model(entry, _INITIAL_STATE, lambda: _ITEMS.validate_json(self.read_content(entry, _INITIAL_STATE)))

    def scenario(self, entry: ArchiveEntry) -> ScenarioConfig | None:
        """The scenario as it was played; None where it isn't there or can't be read."""
        try:
            return ScenarioConfig.model_validate_json(self.read_content(entry, _SCENARIO))
        except (EntryDamagedError, ValidationError):
            return None

    def copy(self, entry: ArchiveEntry, to: "Archive") -> ArchiveEntry:
        written = to.write(
            entry,
            {name: self.read(entry, name) for name in entry.files},
            {name: self.read_content(entry, name) for name in entry.contents},
        )
        if written.fence == entry.fence:
            for path, content in self._judgements_of(entry).items():
                to.folder.write(path, content)
        return written

    def keep_judgement(self, entry: ArchiveEntry, judgement: Judgement | Shift) -> None:
        """Keep a second judgement beside an entry; one of the same key is replaced. What the entry is does not change,
        and where a reset has made a new entry of its id, the judgement goes with the old one.
        """
        content = judgement.model_dump_json(indent=1).encode()
        self.folder.write(f"{_folder_of(entry)}/{JUDGEMENT.replace('KEY', judgement.key)}", content)

    def judgements(self, entry: ArchiveEntry, kind: type[J]) -> list[J]:
        """The second judgements of an entry, the oldest first; those that can't be read are left out.

        ``kind`` is ``Shift`` for a campaign, and ``Judgement`` for all else.
        """
        found = []
        for content in self._judgements_of(entry).values():
            with suppress(ValidationError):
                found.append(kind.model_validate_json(content))
        return sorted(found, key=lambda each: each.judged_at)

    def _judgements_of(self, entry: ArchiveEntry) -> dict[str, bytes]:
        folder = f"{_folder_of(entry)}/{JUDGEMENT.partition('/')[0]}"
        paths = [f"{folder}/{name}" for name in self.folder.names(folder) if name.endswith(".json")]
        return self.folder.read_all(paths) if paths else {}

    def remove(self, entries: Iterable[ArchiveEntry]) -> None:
        """Remove entries, and then what no other entry needs."""
        folders = {entry.id: self._folders_of(entry.id) for entry in entries}
        self._index.remove(folder for each in folders.values() for folder in each)
        for entry_id, each in folders.items():
            for folder in each:
                self.folder.remove(folder)
                self._known.pop(folder, None)
            self._ids.remove(entry_id)
        for path in self.unused_contents():
            self.folder.remove(path)

    def unused_contents(self) -> list[str]:
        """Paths of contents that no entry names, and that no entry on its way can need."""
        used = {_content_path(content) for entry in self._walked_entries() for content in entry.contents.values()}
        before = datetime.now(UTC) - _GRACE
        files = self.folder.sizes(CONTENTS)
        return [path for path, (_, at) in files.items() if path not in used and (at is None or at < before)]

    def size(self, entry: ArchiveEntry) -> int:
        return sum(content.size for content in entry.files.values())

    def _lines_of(self, entry: ArchiveEntry, name: str, kind: type[M]) -> list[M]:
        content = self.read(entry, name)
        return _model(
            entry, name, lambda: [kind.model_validate_json(line) for line in content.splitlines() if line.strip()]
        )

    def _checked(self, path: str, expected: Content) -> bytes:
        try:
            content = self.folder.read(path, expected.size)
        except FileNotFoundError:
            raise EntryDamagedError(f"{path} is not in the archive at {self.folder.place}: was it removed?") from None
        if blob_ref(content) != expected:
            raise EntryDamagedError(f"{path} in the archive at {self.folder.place} is not as it was written")
        return content

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
        read = self.folder.read_all([f"{folder}/{ENTRY}" for folder in folders])
        entries = {
            path.removesuffix(f"/{ENTRY}"): entry for path, c in read.items() if (entry := _entry(c)) is not None
        }
        self._known.update(entries)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return entries

    def _walked_entries(self) -> Iterator[ArchiveEntry]:
        """Every entry that can be read, by a listing of the whole archive; of each id the one of the highest fence."""
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
                missed += [each[:-1] for each in some if each[-1] not in known and len(each) > 1]
            pending = missed

    def _walk(self) -> Iterator[list[str]]:
        """The folders of all entries, complete or not, in a list for each date."""
        for date in self._dates():
            yield [f"{date}/{name}" for name in self.folder.names(date) if "." in name]

    def _walked_of(self, entry_id: str) -> list[str]:
        return [folder for folders in self._walk() for folder in folders if id_of(folder) == entry_id]

    def _dates(self) -> list[str]:
        return [name for name in self.folder.names() if _DATE.fullmatch(name)]


def table_of(state: str, url: str) -> str:
    """The file in a state folder with the table of an archive."""
    return os.path.join(state, "archive-tables", f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.sqlite")


def open_archive(config: GreenAgentConfig) -> Archive:
    return Archive(config.archive_url, table_of(config.state, config.archive_url))


def _entry(content: bytes) -> ArchiveEntry | None:
    try:
        entry = ArchiveEntry.model_validate_json(content)
    except ValidationError:
        return None
    return entry if entry.format <= FORMAT else None


def _folder_of(entry: EntrySummary) -> str:
    return f"{entry.started_at.astimezone(UTC):%Y-%m-%d}/{quote(entry.id, safe='')}.{entry.fence}"


def _content_path(content: Content) -> str:
    return f"{CONTENTS}/{content.sha256[:2]}/{content.sha256[2:]}.json"


def _model(entry: ArchiveEntry, name: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except ValidationError as problem:
        raise EntryDamagedError(f"{name} of the entry {entry.id} can't be read: {describe(problem)}") from None
    except ValueError as problem:
        raise EntryDamagedError(f"{name} of the entry {entry.id} can't be read: {problem}") from None
