"""The files of an archive's entries: reading with size limits, and the detection of damage."""

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
    replay_states,
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
"""Largest size in bytes of a file that an entry names."""

RESTORE = "put it back from a copy of the archive"

_ITEMS: TypeAdapter[Items] = TypeAdapter(Items)


class EntryDamagedError(ValueError):
    """An entry's file is missing, unreadable or different from the entry's record; the message is a sentence."""


class EntryFiles:
    """A reader of the files of entries in an archive's folder.

    Methods raise ``EntryDamagedError`` for a file that is missing or was changed, and ``StoreUnavailableError`` if the
    archive can't be read at the moment.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def read(self, entry: ArchiveEntry, name: str) -> bytes:
        expected = entry.files.get(name)
        if expected is None:
            raise EntryDamagedError(f"the entry {entry.id} has no {name}")
        return self._read_checked(f"{get_entry_folder(entry)}/{name}", expected)

    def read_json(self, entry: ArchiveEntry, name: str) -> Any:
        return _model(entry, name, lambda: from_json(self.read(entry, name)))

    def read_content(self, entry: ArchiveEntry, name: str) -> bytes:
        expected = entry.contents.get(name)
        if expected is None:
            raise EntryDamagedError(f"the entry {entry.id} names no {name}")
        return self._read_checked(content_path(expected), expected)

    def results(self, entry: ArchiveEntry) -> AssessmentResults:
        return _model(entry, RESULT, lambda: AssessmentResults.model_validate_json(self.read(entry, RESULT)))

    def trial_result(self, entry: ArchiveEntry) -> TrialResult:
        return _model(entry, RESULT, lambda: TrialResult.model_validate_json(self.read(entry, RESULT)))

    def campaign_results(self, entry: ArchiveEntry) -> CampaignResults:
        return _model(entry, RESULT, lambda: parse_campaign_results(self.read_json(entry, RESULT)))

    def runs(self, entry: ArchiveEntry, results: CampaignResults | None = None) -> list[Run]:
        """Return the runs of an ended campaign, in the order of its results. If ``results`` is None, they are read."""
        stored_runs = self._read_lines(entry, RUNS, Run) if RUNS in entry.files else []
        return runs_of_campaign(results or self.campaign_results(entry), stored_runs)

    def transcript(self, entry: ArchiveEntry) -> list[CommandRecord]:
        """Return the actions of a trial's agent, as far as the evaluator observed them."""
        return self._read_lines(entry, TRANSCRIPT, CommandRecord) if TRANSCRIPT in entry.files else []

    def updates(self, entry: ArchiveEntry) -> list[ArchivedUpdate]:
        return self._read_lines(entry, UPDATES, ArchivedUpdate)

    def turns(self, entry: ArchiveEntry) -> list[TurnRecord]:
        return self._read_lines(entry, TURNS, TurnRecord)

    def state_records(self, entry: ArchiveEntry) -> list[StateRecord]:
        return self._read_lines(entry, STATES, StateRecord)

    def states(self, entry: ArchiveEntry) -> Iterator[tuple[StateRecord, Items]]:
        """Yield every state in order, from the one before the first turn."""
        return replay_states(self.initial_state(entry), self.state_records(entry))

    def initial_state(self, entry: ArchiveEntry) -> Items:
        """Return the state before the first turn, empty if it wasn't archived."""
        if _INITIAL_STATE not in entry.contents:
            return {}
        return _model(entry, _INITIAL_STATE, lambda: _ITEMS.validate_json(self.read_content(entry, _INITIAL_STATE)))

    def scenario(self, entry: ArchiveEntry) -> ScenarioConfig:
        """Return the scenario as it was played."""
        return _model(entry, SCENARIO, lambda: ScenarioConfig.model_validate_json(self.read_content(entry, SCENARIO)))

    def copy_judgements(self, entry: ArchiveEntry, to: "EntryFiles", other: ArchiveEntry) -> None:
        """Add an entry's second judgements to those of the same entry in another archive."""
        target, judgements = _judgements_folder(other), self._read_judgements(entry)
        present = to.folder.names(target) if judgements else []
        for name, content in judgements.items():
            if name not in present:
                to.folder.write(f"{target}/{name}", content)

    def keep_judgement(self, entry: ArchiveEntry, judgement: Judgement | Shift) -> None:
        """Write a second judgement beside an entry; one with the same key is replaced.

        The entry itself does not change. If a reset has made a new entry with its id, the judgement stays with the old
        entry.
        """
        content = judgement.model_dump_json(indent=1).encode()
        self.folder.write(f"{get_entry_folder(entry)}/{JUDGEMENT.replace('KEY', judgement.key)}", content)

    def judgements(self, entry: ArchiveEntry, kind: type[J]) -> list[J]:
        """Return an entry's second judgements, oldest first.

        Judgements that are unreadable, or belong to another entry or to other first verdicts, are left out. ``kind`` is
        ``Shift`` for a campaign, otherwise ``Judgement``.
        """
        judgements = []
        for content in self._read_judgements(entry).values():
            with suppress(ValidationError, EntryDamagedError):
                judgement = kind.model_validate_json(content)
                if isinstance(judgement, Shift) or self._matches(entry, judgement):
                    judgements.append(judgement)
        return sorted(judgements, key=lambda judgement: judgement.judged_at)

    def _matches(self, entry: ArchiveEntry, judged: Judgement) -> bool:
        """Tell whether a judgement belongs to this entry and to its first verdicts."""
        return judged.assessment_id == entry.id and judged.first == self.results(entry).final_scores

    def _read_judgements(self, entry: ArchiveEntry) -> dict[str, bytes]:
        folder = _judgements_folder(entry)
        names = filter(_JUDGEMENT.fullmatch, self.folder.names(folder))
        read = self.folder.read_all([f"{folder}/{name}" for name in names])
        return {path.rpartition("/")[2]: content for path, content in read.items()}

    def size(self, entry: ArchiveEntry) -> int:
        return sum(content.size for content in entry.files.values())

    def _read_lines(self, entry: ArchiveEntry, name: str, kind: type[M]) -> list[M]:
        content = self.read(entry, name)
        return _model(
            entry, name, lambda: [kind.model_validate_json(line) for line in content.splitlines() if line.strip()]
        )

    def check_file(self, path: str, expected: Content, is_whole: bool) -> None:
        if is_whole or self.folder.size(path) != expected.size:
            self._read_checked(path, expected)

    def _read_checked(self, path: str, expected: Content) -> bytes:
        if expected.size > FILE_AT_MOST:
            raise EntryDamagedError(
                f"{path} in the archive at {self.folder.place} has {expected.size} bytes, more than any that proctor "
                "writes"
            )
        try:
            content = self.folder.read(path, expected.size)
        except FileNotFoundError:
            raise EntryDamagedError(f"{path} is not in the archive at {self.folder.place}: was it removed?") from None
        except RefusedFileError as error:
            raise EntryDamagedError(str(error)) from None
        if blob_ref(content) != expected:
            raise EntryDamagedError(f"{path} in the archive at {self.folder.place} is not as it was written")
        return content

    def require(self, folder: str, entry: ArchiveEntry | None) -> ArchiveEntry:
        """Return the entry of a folder; if ``entry`` is None, read it. Raises ``EntryDamagedError``."""
        if entry is not None:
            return entry
        path = f"{folder}/{ENTRY}"
        try:
            return parsed(folder, self.folder.read(path, ENTRY_AT_MOST))
        except FileNotFoundError as error:
            raise EntryDamagedError(f"{path} is not in the archive at {self.folder.place}: {RESTORE}") from error
        except RefusedFileError as error:
            raise EntryDamagedError(str(error)) from None
        except ValueError as error:
            raise EntryDamagedError(
                f"{path} in the archive at {self.folder.place} can't be read ({error}): {RESTORE}"
            ) from None


def parsed(folder: str, content: bytes) -> ArchiveEntry:
    """Read the entry of a folder from its file's content. Raises ``ValueError`` that describes the damage."""
    try:
        entry = ArchiveEntry.model_validate_json(content)
        actual_folder = get_entry_folder(entry)
    except ValidationError as error:
        raise ValueError(describe(error)) from None
    except OverflowError as error:
        raise ValueError(str(error)) from None
    if actual_folder != folder:
        raise ValueError(f"it is of {actual_folder[:200]}")
    if entry.format > FORMAT:
        raise ValueError("a later proctor has written it: update this one")
    return entry


def get_entry_folder(entry: EntrySummary) -> str:
    return f"{entry.started_at.astimezone(UTC):%Y-%m-%d}/{quote(entry.id, safe='')}.{entry.fence}"


def _judgements_folder(entry: EntrySummary) -> str:
    return f"{get_entry_folder(entry)}/{JUDGEMENT.partition('/')[0]}"


def content_path(content: Content) -> str:
    return f"{CONTENTS}/{content.sha256[:2]}/{content.sha256[2:]}.json"


def _model(entry: ArchiveEntry, name: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except ValidationError as error:
        raise EntryDamagedError(f"{name} of the entry {entry.id} can't be read: {describe(error)}") from None
    except ValueError as error:
        raise EntryDamagedError(f"{name} of the entry {entry.id} can't be read: {error}") from None
