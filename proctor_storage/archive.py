"""The archive: what was assessed, as plain files that need neither Temporal nor a simulator to be read.

Layout below its folder (``proctor_protocol.archive`` describes the files themselves)::

    2026-11-22/ID.FENCE/entry.json, result.json, …     one entry; DATE is the day on which the assessment began
    contents/ab/cdef….json                             what entries share, by the SHA-256 of its content

No file is ever changed. Whoever writes an entry anew (a retry, a reset) has a higher fence and so another folder; the
highest fence is the entry, whatever a writer of the past does later.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import quote, unquote

from pydantic import BaseModel, TypeAdapter, ValidationError

from proctor_protocol.archive import (
    ENTRY,
    FORMAT,
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
    Items,
    StateRecord,
    TurnRecord,
    states_of,
)
from proctor_protocol.callers import ANYBODY, Caller
from proctor_protocol.campaigns import CampaignResults, parse_campaign_results
from proctor_protocol.problems import describe
from proctor_protocol.results import AssessmentResults
from proctor_protocol.scenario import ScenarioConfig
from proctor_protocol.statistics import Run
from proctor_protocol.terminal import TrialResult
from proctor_storage.folder import Folder

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

CONTENTS = "contents"
_SCENARIO, _INITIAL_STATE = "scenario", "initial_state"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_GRACE = timedelta(days=1)
"""How old a content has to be to be removed where no entry names it: its entry may be on its way."""

_ITEMS: TypeAdapter[Items] = TypeAdapter(Items)


class NoSuchEntryError(LookupError):
    """The archive has no entry of that id, or several whose ids begin so."""


class SeveralEntriesError(NoSuchEntryError):
    """There are several whose ids begin so."""


class EntryDamagedError(ValueError):
    """An entry's file is missing, or isn't what the entry says."""


class Archive:
    """The entries below an fsspec URL or a local folder. All methods wait for as long as it takes.

    What has been read of entries is kept in memory, since they never change.
    """

    def __init__(self, url: str) -> None:
        self.folder = Folder(url, "archive")
        self._known: dict[str, ArchiveEntry] = {}
        self._caller = ANYBODY

    def seen_by(self, caller: Caller) -> "Archive":
        """The same archive with nothing in it but what is there for a caller."""
        seen = copy(self)
        seen._caller = caller
        return seen

    def write(self, entry: ArchiveEntry, files: dict[str, bytes], contents: dict[str, bytes]) -> ArchiveEntry:
        """Keep an entry; earlier ones of the same id go.

        Args:
            entry: the entry; its ``files`` and ``contents`` are filled in here.
            files: its other files, by name.
            contents: what it shares with others, by what it is to it.

        Returns:
            The entry as it was written. Where a newer one is there already, that one.

        Raises:
            StoreUnavailableError: the archive can't be written just now.
        """
        newest = self._newest(self._folders_of(entry.id))
        if newest is not None and _fence(newest) > entry.fence and (there := self._read_entry(newest)) is not None:
            return there
        entry = entry.model_copy(
            update={
                "files": {name: content_of(content) for name, content in files.items()},
                "contents": {name: content_of(content) for name, content in contents.items()},
            }
        )
        for name, content in contents.items():
            path = _content_path(entry.contents[name])
            if not self.folder.write_first(path, content) and not self.folder.exists(path):
                self.folder.write(path, content)
        at = _folder_of(entry)
        for name, content in files.items():
            self.folder.write(f"{at}/{name}", content)
        self.folder.write(f"{at}/{ENTRY}", entry.model_dump_json(indent=1).encode())
        for folder in self._folders_of(entry.id):
            if _fence(folder) < entry.fence:
                self.folder.remove(folder)
        return entry

    def entries(self) -> list[ArchiveEntry]:
        """Every entry, the latest to have begun first; what can't be read is left out."""
        folders: dict[str, str] = {}
        for folder in self._folders():
            name = _id(folder)
            if name not in folders or _fence(folder) > _fence(folders[name]):
                folders[name] = folder
        unread = [folder for folder in folders.values() if folder not in self._known]
        self._learn(unread)
        missing = [name for name, folder in folders.items() if folder not in self._known]
        if missing:  # being written just now: the one before it still counts
            self._fall_back(set(missing), folders)
        found = [self._known[folder] for folder in folders.values() if folder in self._known]
        found = [entry for entry in found if self._caller.may_see(entry.owner)]
        return sorted(found, key=lambda entry: (entry.started_at, entry.id), reverse=True)

    def forks_of(self, entry_id: str) -> list[ArchiveEntry]:
        """The assessments that began with turns of this one, the latest first."""
        return [entry for entry in self.entries() if entry.forked_from and entry.forked_from.task_id == entry_id]

    def find(self, prefix: str) -> ArchiveEntry:
        """The entry whose id is, or alone begins with, ``prefix``.

        Raises:
            NoSuchEntryError: there is none, or more than one.
        """
        by_id: dict[str, list[str]] = {}
        for folder in self._folders():
            if _id(folder).startswith(prefix):
                by_id.setdefault(_id(folder), []).append(folder)
        if not self._caller.is_admin:
            by_id = {name: folders for name, folders in by_id.items() if self.get(name) is not None}
        if prefix in by_id:
            by_id = {prefix: by_id[prefix]}
        if not by_id or not prefix:
            raise NoSuchEntryError(f"the archive at {self.folder.place} has no entry {prefix!r}")
        shortest = min(by_id, key=len)
        if all(name == shortest or name.startswith(f"{shortest}.") for name in by_id):  # a campaign with its trials
            by_id = {shortest: by_id[shortest]}
        if len(by_id) > 1:
            some = ", ".join(sorted(by_id)[:5])
            raise SeveralEntriesError(f"{len(by_id)} entries begin with {prefix!r}: {some}{', …' * (len(by_id) > 5)}")
        ((name, folders),) = by_id.items()
        for folder in sorted(folders, key=_fence, reverse=True):
            if (entry := self._read_entry(folder)) is not None:
                return entry
        raise NoSuchEntryError(f"the archive's entry {name!r} is not complete")

    def get(self, entry_id: str) -> ArchiveEntry | None:
        """The entry of exactly this id, None where there is none."""
        for folder in sorted(self._folders_of(entry_id), key=_fence, reverse=True):
            if (entry := self._read_entry(folder)) is not None:
                return entry if self._caller.may_see(entry.owner) else None
        return None

    def read(self, entry: ArchiveEntry, name: str) -> bytes:
        """One of an entry's files.

        Raises:
            EntryDamagedError: it isn't there, or not as it was written.
        """
        expected = entry.files.get(name)
        if expected is None:
            raise EntryDamagedError(f"the entry {entry.id} has no {name}")
        return self._checked(f"{_folder_of(entry)}/{name}", expected)

    def read_content(self, entry: ArchiveEntry, name: str) -> bytes:
        """Something that an entry shares with others; raises as ``read``."""
        expected = entry.contents.get(name)
        if expected is None:
            raise EntryDamagedError(f"the entry {entry.id} names no {name}")
        return self._checked(_content_path(expected), expected)

    def results(self, entry: ArchiveEntry) -> AssessmentResults:
        """The results of an assessment; raises as ``read``."""
        return _model(entry, RESULT, lambda: AssessmentResults.model_validate_json(self.read(entry, RESULT)))

    def trial_result(self, entry: ArchiveEntry) -> TrialResult:
        """The result of a trial; raises as ``read``."""
        return _model(entry, RESULT, lambda: TrialResult.model_validate_json(self.read(entry, RESULT)))

    def campaign_results(self, entry: ArchiveEntry) -> CampaignResults:
        """The results of a campaign; raises as ``read``."""
        return _model(entry, RESULT, lambda: parse_campaign_results(json.loads(self.read(entry, RESULT))))

    def runs(self, entry: ArchiveEntry) -> list[Run]:
        """What the statistics of a campaign are of; raises as ``read``."""
        return self._lines_of(entry, RUNS, Run) if RUNS in entry.files else []

    def transcript(self, entry: ArchiveEntry) -> list[CommandRecord]:
        """What a trial's agent did, as far as the evaluator has seen it; raises as ``read``."""
        return self._lines_of(entry, TRANSCRIPT, CommandRecord) if TRANSCRIPT in entry.files else []

    def updates(self, entry: ArchiveEntry) -> list[ArchivedUpdate]:
        """All task updates; raises as ``read``."""
        return self._lines_of(entry, UPDATES, ArchivedUpdate)

    def turns(self, entry: ArchiveEntry) -> list[TurnRecord]:
        """All turns; raises as ``read``."""
        return self._lines_of(entry, TURNS, TurnRecord)

    def state_records(self, entry: ArchiveEntry) -> list[StateRecord]:
        """What is known of the states; raises as ``read``."""
        return self._lines_of(entry, STATES, StateRecord)

    def states(self, entry: ArchiveEntry) -> Iterator[tuple[StateRecord, Items]]:
        """Every state in order, from the one before the first turn; raises as ``read``."""
        return states_of(self.initial_state(entry), self.state_records(entry))

    def initial_state(self, entry: ArchiveEntry) -> Items:
        """The state before the first turn, empty where it wasn't kept; raises as ``read``."""
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
        """Have another archive keep an entry of this one."""
        return to.write(
            entry,
            {name: self.read(entry, name) for name in entry.files},
            {name: self.read_content(entry, name) for name in entry.contents},
        )

    def remove(self, entries: Iterable[ArchiveEntry]) -> None:
        """Remove entries, and then what no other entry needs."""
        for entry in entries:
            for folder in self._folders_of(entry.id):
                self.folder.remove(folder)
                self._known.pop(folder, None)
        for path in self.unused_contents():
            self.folder.remove(path)

    def unused_contents(self) -> list[str]:
        """Paths of contents that no entry names, and that no entry on its way can need."""
        used = {_content_path(content) for entry in self.entries() for content in entry.contents.values()}
        before = datetime.now(UTC) - _GRACE
        files = self.folder.sizes(CONTENTS)
        return [path for path, (_, at) in files.items() if path not in used and (at is None or at < before)]

    def size(self, entry: ArchiveEntry) -> int:
        """Bytes of an entry's own files."""
        return sum(content.size for content in entry.files.values())

    def _lines_of(self, entry: ArchiveEntry, name: str, kind: type[M]) -> list[M]:
        content = self.read(entry, name)
        return _model(
            entry, name, lambda: [kind.model_validate_json(line) for line in content.splitlines() if line.strip()]
        )

    def _checked(self, path: str, expected: Content) -> bytes:
        try:
            content = self.folder.read(path)
        except FileNotFoundError:
            raise EntryDamagedError(f"{path} is not in the archive at {self.folder.place}: was it removed?") from None
        if content_of(content) != expected:
            raise EntryDamagedError(f"{path} in the archive at {self.folder.place} is not as it was written")
        return content

    def _learn(self, folders: Sequence[str]) -> None:
        read = self.folder.read_all([f"{folder}/{ENTRY}" for folder in folders])
        for path, content in read.items():
            if (entry := _entry(content)) is not None:
                self._known[path.removesuffix(f"/{ENTRY}")] = entry

    def _read_entry(self, folder: str) -> ArchiveEntry | None:
        if folder not in self._known:
            self._learn([folder])
        return self._known.get(folder)

    def _fall_back(self, missing: set[str], folders: dict[str, str]) -> None:
        others: dict[str, list[str]] = {}
        for folder in self._folders():
            if _id(folder) in missing:
                others.setdefault(_id(folder), []).append(folder)
        for name, candidates in others.items():
            for folder in sorted(candidates, key=_fence, reverse=True):
                if self._read_entry(folder) is not None:
                    folders[name] = folder
                    break

    def _folders(self) -> Iterator[str]:
        """All folders of entries, complete or not."""
        for date in self._dates():
            yield from (f"{date}/{name}" for name in self.folder.names(date) if "." in name)

    def _dates(self) -> list[str]:
        return [name for name in self.folder.names() if _DATE.fullmatch(name)]

    def _folders_of(self, entry_id: str) -> list[str]:
        return [folder for folder in self._folders() if _id(folder) == entry_id]

    def _newest(self, folders: Sequence[str]) -> str | None:
        return max(folders, key=_fence, default=None)


def content_of(content: bytes) -> Content:
    """The name of a content."""
    return Content(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


def _entry(content: bytes) -> ArchiveEntry | None:
    try:
        entry = ArchiveEntry.model_validate_json(content)
    except ValidationError:
        return None
    return entry if entry.format <= FORMAT else None


def _folder_of(entry: ArchiveEntry) -> str:
    return f"{entry.started_at.astimezone(UTC):%Y-%m-%d}/{quote(entry.id, safe='')}.{entry.fence}"


def _content_path(content: Content) -> str:
    return f"{CONTENTS}/{content.sha256[:2]}/{content.sha256[2:]}.json"


def _id(folder: str) -> str:
    return unquote(folder.rpartition("/")[2].rpartition(".")[0])


def _fence(folder: str) -> int:
    number = folder.rpartition(".")[2]
    return int(number) if number.isdecimal() else -1


def _model(entry: ArchiveEntry, name: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except ValidationError as problem:
        raise EntryDamagedError(f"{name} of the entry {entry.id} can't be read: {describe(problem)}") from None
    except ValueError as problem:
        raise EntryDamagedError(f"{name} of the entry {entry.id} can't be read: {problem}") from None
