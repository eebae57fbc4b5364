"""What others send is taken over without harm to own results, and what is damaged is reported as such."""

import io
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.activities.admission.origins import Origins
from proctor.client.tables import write_parquet
from proctor.common.errors import CommandError, UsageError
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobStore
from proctor.viewer.pages import Pages
from purple_sdk.protocol.forks import ForkedFrom
from purple_sdk.protocol.request import BadRequestError
from tests.cli.commands import run_proctor
from tests.sentences import says
from tests.viewer.entries import write_day

PLACE_IN_JSON = re.compile(r"line \d+ column \d+")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """An own archive with one result, and no Temporal anywhere."""
    monkeypatch.setenv("AGENTBEATS_GREEN_TEMPORAL_ADDRESS", "127.0.0.1:1")
    monkeypatch.setenv("AGENTBEATS_GREEN_CONNECT_TIMEOUT", "0.1")
    monkeypatch.setenv("AGENTBEATS_GREEN_STATE", str(tmp_path))
    kept = Archive(str(tmp_path / "archive"))
    write_day(kept, "mine")
    return kept


def sent(tmp_path: Path, own: Archive, **changes: object) -> str:
    """An archive of someone else's, with an entry like the own one but for changes."""
    there, day = Archive(str(tmp_path / "theirs")), own.find("mine")
    own.copy(day, there, **changes)
    return there.folder.root


def test_an_import_replaces_own_results_only_if_a_person_agrees(
    own: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place, before = own.folder.root, own.find("mine")
    theirs = sent(tmp_path, own, score=6, fence=10**15, owner="ann")
    with pytest.raises(UsageError, check=says("--replace", "mine")):
        run_proctor("import", theirs, "--archive", place)
    monkeypatch.setattr("sys.stdin", terminal := io.StringIO("n\n"))
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    with pytest.raises(UsageError, check=says()):
        run_proctor("import", theirs, "--archive", place)
    assert Archive(place).find("mine") == before
    run_proctor("import", theirs, "--archive", place, "--replace")
    found = Archive(place).find("mine")
    assert (found.score, found.owner) == (6, "")
    assert before.fence < found.fence <= time.time_ns() // 1000
    capsys.readouterr()
    run_proctor("import", theirs, "--archive", place)
    assert says().within(capsys.readouterr().out)


@pytest.mark.parametrize(
    "changes",
    [{"campaign": "mine"}, {"id": "mine--host"}, {"forked_from": ForkedFrom(task_id="mine", turn=1)}],
    ids=["of a campaign", "of an assessment", "a fork"],
)
def test_an_import_adds_to_own_results_only_if_a_person_agrees(
    own: Archive, tmp_path: Path, changes: dict[str, object]
) -> None:
    theirs = sent(tmp_path, own, **{"id": "new", **changes})
    with pytest.raises(UsageError, check=says()):
        run_proctor("import", theirs, "--archive", own.folder.root)


def test_an_import_sets_the_owner_and_bounds_the_fence(own: Archive, tmp_path: Path) -> None:
    """What this deployment archives later of the same id takes its place."""
    place, future = own.folder.root, 9 * 10**15
    theirs = sent(tmp_path, own, id="new", owner="ann", fence=future)
    run_proctor("import", theirs, "--archive", place, "--owner", "bob")
    found = Archive(place).find("new")
    assert found.owner == "bob"
    assert found.fence <= time.time_ns() // 1000
    later = own.find("mine").model_copy(update={"id": "new", "fence": time.time_ns() // 1000 + 1, "score": 0})
    files = {name: own.read(later.model_copy(update={"id": "mine", "fence": 1}), name) for name in later.files}
    own.write(later, files, {})
    assert Archive(place).find("new").score == 0
    shutil.rmtree(theirs)
    (Path(theirs) / "2026-03-10" / "new.1000000000000000000").mkdir(parents=True)
    said = later.model_copy(update={"fence": 10**18}).model_dump_json()
    (Path(theirs) / "2026-03-10" / "new.1000000000000000000" / "entry.json").write_text(said)
    with pytest.raises(UsageError, check=says()):
        run_proctor("import", theirs, "--archive", place, "--replace")


def test_damaged_entries_are_left_out_and_named(
    own: Archive, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_day(own, "other")
    run_proctor("export", "all", "--to", str(tmp_path / "there"), "--archive", own.folder.root)
    next((tmp_path / "there").glob("*/other.*/turns.jsonl")).write_text("{}")
    with pytest.raises(CommandError, check=says()):
        run_proctor("import", str(tmp_path / "there"), "--archive", str(tmp_path / "new"))
    assert [entry.id for entry in Archive(str(tmp_path / "new")).entries()] == ["mine"]
    assert says("other.1", "turns.jsonl").within(capsys.readouterr().err)


DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "entry.json": lambda content: content[:-9],
    "result.json": lambda content: content.replace(b"1", b"2"),
    "turns.jsonl": lambda content: content[:-9],
    "updates.jsonl": lambda content: None,
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_entry_says_so_in_lists_pages_and_forks(
    own: Archive, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = own.folder.root
    write_day(own, "later")  # the line of the last one says that it may not be written yet
    path = next(Path(place).glob(f"*/mine.1/{name}"))
    content = DAMAGE[name](path.read_bytes())
    path.unlink() if content is None else path.write_bytes(content)
    run_proctor("list", "--archive", place)
    said = capsys.readouterr().out
    assert said.count("damaged\n") == 1
    assert says(f"2026-03-10/mine.1/{name}", place=place, where=PLACE_IN_JSON).within(said)
    assert ">damaged<" in Pages(Archive(place)).overview([])
    if name in ("entry.json", "result.json"):
        with pytest.raises(CommandError, match=rf"mine\.1/{name} "):
            run_proctor("show", "mine", "--archive", place)
    else:
        run_proctor("show", "mine", "--archive", place)
    if name == "updates.jsonl":  # nothing else reads it
        assert says(f"mine.1/{name}").within(capsys.readouterr().err)
        assert "<b>Damaged.</b>" in Pages(Archive(place)).entry(Archive(place).find("mine"))


async def test_a_damaged_entry_cannot_be_forked_and_says_why(own: Archive, tmp_path: Path) -> None:
    config = GreenAgentConfig(archive_url=own.folder.root, storage_url=str(tmp_path / "storage"), state=str(tmp_path))
    origins = Origins(config, BlobStore(config.storage_url), None)  # type: ignore[arg-type]
    path = next(Path(own.folder.root).glob("*/mine.1/entry.json"))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadRequestError, check=says("2026-03-10/mine.1", where=PLACE_IN_JSON)):
        await origins.find("mine")


def test_a_damaged_entry_without_an_index_is_listed_by_its_folder(
    own: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Path(own.folder.root)
    path = next(place.glob("*/mine.1/entry.json"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    shutil.rmtree(place / "index")
    for _ in range(2):
        run_proctor("list", "--archive", str(place))
        assert says("2026-03-10/mine.1").within(capsys.readouterr().out)
    run_proctor("list", "--archive", str(place), "--json")
    assert json.loads(capsys.readouterr().out) == []
    path.write_bytes(whole)
    run_proctor("list", "--archive", str(place))
    said = capsys.readouterr().out
    assert "damaged" not in said
    assert "secretary" in said


def test_prune_leaves_what_is_not_a_store_s_and_what_a_damaged_entry_may_need(own: Archive, tmp_path: Path) -> None:
    notes = tmp_path / "storage" / "ab" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("mine")
    write_day(own, "damaged")
    next(Path(own.folder.root).glob("*/damaged.1/entry.json")).write_text("{")
    old = time.time() - 40 * 86_400
    contents = [path for path in Path(own.folder.root, "contents").rglob("*") if path.is_file()]
    for path in (notes, *contents):
        path.touch()
        os.utime(path, (old, old))
    run_proctor("prune", "--older-than", "30d", "--results", "--yes", "--archive", own.folder.root)
    assert notes.read_text() == "mine"
    assert Archive(own.folder.root).entries() == []
    assert all(path.exists() for path in contents)


def test_a_number_that_no_parquet_column_holds_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"all\.parquet: .* 64 bits; .* \.csv"):
        write_parquet([{"criterion.one": 2**70}], tmp_path / "all.parquet")
    assert not (tmp_path / "all.parquet").exists()
