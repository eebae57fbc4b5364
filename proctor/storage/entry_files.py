"""The files of an archive's entries, read with their bounds, and what is wrong with them."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import from_json

from proctor.protocol.archive import (
    ENTRY,
    ENTRY_AT_MOST,
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
from proctor.protocol.archived_runs import runs_of_campaign
from proctor.protocol.campaigns import CampaignResults, parse_campaign_results
from proctor.protocol.judgements import Judgement, Shift
from proctor.protocol.scenario import ScenarioConfig
from proctor.storage.blobs import blob_ref
from proctor.storage.folder import Folder, RefusedFileError
from purple_sdk.protocol.problems import describe
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.protocol.statistics import Run
from purple_sdk.protocol.terminal import TrialResult

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
J = TypeVar("J", Judgement, Shift)

CONTENTS = "contents"
SCENARIO, _INITIAL_STATE = "scenario", "initial_state"
_JUDGEMENT = re.compile(r"[0-9a-f]{16}\.json")
FILE_AT_MOST = 2**27
"""Bytes of a file that an entry names."""

RESTORE = "put it back from a copy of the archive"

_ITEMS: TypeAdapter[Items] = TypeAdapter(Items)


class EntryDamagedError(ValueError):
    """An entry's file is missing, can't be read, or isn't what the entry says; the message is a sentence."""


class EntryFiles:
    """Reads the files of entries in an archive's folder.

    Methods raise ``EntryDamagedError`` for a file that isn't there, or not as it was written, and
    ``StoreUnavailableError`` where the archive can't be read just now.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def read(self, entry: ArchiveEntry, name: str) -> bytes:
        expected = entry.files.get(name)
        if expected is None:
            raise EntryDamagedError(f"the entry {entry.id} has no {name}")
        return self._checked(f"{folder_of(entry)}/{name}", expected)

    def read_json(self, entry: ArchiveEntry, name: str) -> Any:
        return _model(entry, name, lambda: from_json(self.read(entry, name)))

    def read_content(self, entry: ArchiveEntry, name: str) -> bytes:
        expected = entry.contents.get(name)
        if expected is None:
            raise EntryDamagedError(f"the entry {entry.id} names no {name}")
        return self._checked(content_path(expected), expected)

    def results(self, entry: ArchiveEntry) -> AssessmentResults:
        return _model(entry, RESULT, lambda: AssessmentResults.model_validate_json(self.read(entry, RESULT)))

    def trial_result(self, entry: ArchiveEntry) -> TrialResult:
        return _model(entry, RESULT, lambda: TrialResult.model_validate_json(self.read(entry, RESULT)))

    def campaign_results(self, entry: ArchiveEntry) -> CampaignResults:
        return _model(entry, RESULT, lambda: parse_campaign_results(self.read_json(entry, RESULT)))

    def runs(self, entry: ArchiveEntry, results: CampaignResults | None = None) -> list[Run]:
        """The runs of an ended campaign, in the order of its results; these are read where they aren't given."""
        known = self._lines_of(entry, RUNS, Run) if RUNS in entry.files else []
        return runs_of_campaign(results or self.campaign_results(entry), known)

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

    def scenario(self, entry: ArchiveEntry) -> ScenarioConfig:
        """The scenario as it was played."""
        return _model(entry, SCENARIO, lambda: ScenarioConfig.model_validate_json(self.read_content(entry, SCENARIO)))

    def copy_judgements(self, entry: ArchiveEntry, to: "EntryFiles", other: ArchiveEntry) -> None:
        """Add the second judgements of an entry to those that the same one has in another archive."""
        there, own = _judgements_folder(other), self._judgements_of(entry)
        known = to.folder.names(there) if own else []
        for name, content in own.items():
            if name not in known:
                to.folder.write(f"{there}/{name}", content)

    def keep_judgement(self, entry: ArchiveEntry, judgement: Judgement | Shift) -> None:
        """Keep a second judgement beside an entry; one of the same key is replaced. What the entry is does not change,
        and where a reset has made a new entry of its id, the judgement goes with the old one.
        """
        content = judgement.model_dump_json(indent=1).encode()
        self.folder.write(f"{folder_of(entry)}/{JUDGEMENT.replace('KEY', judgement.key)}", content)

    def judgements(self, entry: ArchiveEntry, kind: type[J]) -> list[J]:
        """The second judgements of an entry, the oldest first; those that can't be read, or are of another entry or of
        other first verdicts, are left out.

        ``kind`` is ``Shift`` for a campaign, and ``Judgement`` for all else.
        """
        found = []
        for content in self._judgements_of(entry).values():
            with suppress(ValidationError, EntryDamagedError):
                judged = kind.model_validate_json(content)
                if isinstance(judged, Shift) or self._is_of(entry, judged):
                    found.append(judged)
        return sorted(found, key=lambda each: each.judged_at)

    def _is_of(self, entry: ArchiveEntry, judged: Judgement) -> bool:
        """Whether a judgement is of this entry and of its first verdicts."""
        return judged.assessment_id == entry.id and judged.first == self.results(entry).final_scores

    def _judgements_of(self, entry: ArchiveEntry) -> dict[str, bytes]:
        folder = _judgements_folder(entry)
        names = filter(_JUDGEMENT.fullmatch, self.folder.names(folder))
        read = self.folder.read_all([f"{folder}/{name}" for name in names])
        return {path.rpartition("/")[2]: content for path, content in read.items()}

    def size(self, entry: ArchiveEntry) -> int:
        return sum(content.size for content in entry.files.values())

    def _lines_of(self, entry: ArchiveEntry, name: str, kind: type[M]) -> list[M]:
        content = self.read(entry, name)
        return _model(
            entry, name, lambda: [kind.model_validate_json(line) for line in content.splitlines() if line.strip()]
        )

    def look_at(self, path: str, expected: Content, is_whole: bool) -> None:
        if is_whole or self.folder.size(path) != expected.size:
            self._checked(path, expected)

    def _checked(self, path: str, expected: Content) -> bytes:
        if expected.size > FILE_AT_MOST:
            raise EntryDamagedError(
                f"{path} in the archive at {self.folder.place} has {expected.size} bytes, more than any that proctor "
                "writes"
            )
        try:
            content = self.folder.read(path, expected.size)
        except FileNotFoundError:
            raise EntryDamagedError(f"{path} is not in the archive at {self.folder.place}: was it removed?") from None
        except RefusedFileError as problem:
            raise EntryDamagedError(str(problem)) from None
        if blob_ref(content) != expected:
            raise EntryDamagedError(f"{path} in the archive at {self.folder.place} is not as it was written")
        return content

    def require(self, folder: str, entry: ArchiveEntry | None) -> ArchiveEntry:
        """An entry, read where it isn't given. Raises ``EntryDamagedError``."""
        if entry is not None:
            return entry
        path = f"{folder}/{ENTRY}"
        try:
            return parsed(folder, self.folder.read(path, ENTRY_AT_MOST))
        except FileNotFoundError as problem:
            raise EntryDamagedError(f"{path} is not in the archive at {self.folder.place}: {RESTORE}") from problem
        except RefusedFileError as problem:
            raise EntryDamagedError(str(problem)) from None
        except ValueError as problem:
            raise EntryDamagedError(
                f"{path} in the archive at {self.folder.place} can't be read ({problem}): {RESTORE}"
            ) from None


def parsed(folder: str, content: bytes) -> ArchiveEntry:
    """The entry of a folder, from its file. Raises ``ValueError``, with what is wrong."""
    try:
        entry = ArchiveEntry.model_validate_json(content)
        own = folder_of(entry)
    except ValidationError as problem:
        raise ValueError(describe(problem)) from None
    except OverflowError as problem:
        raise ValueError(str(problem)) from None
    if own != folder:
        raise ValueError(f"it is of {own[:200]}")
    if entry.format > FORMAT:
        raise ValueError("a later proctor has written it: update this one")
    return entry


def folder_of(entry: EntrySummary) -> str:
    return f"{entry.started_at.astimezone(UTC):%Y-%m-%d}/{quote(entry.id, safe='')}.{entry.fence}"


def _judgements_folder(entry: EntrySummary) -> str:
    return f"{folder_of(entry)}/{JUDGEMENT.partition('/')[0]}"


def content_path(content: Content) -> str:
    return f"{CONTENTS}/{content.sha256[:2]}/{content.sha256[2:]}.json"


def _model(entry: ArchiveEntry, name: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except ValidationError as problem:
        raise EntryDamagedError(f"{name} of the entry {entry.id} can't be read: {describe(problem)}") from None
    except ValueError as problem:
        raise EntryDamagedError(f"{name} of the entry {entry.id} can't be read: {problem}") from None
