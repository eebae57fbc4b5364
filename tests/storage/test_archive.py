"""The archive: plain files, written once, and the newest writer's are what counts."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from proctor.protocol.archive import (
    ArchivedUpdate,
    ArchiveEntry,
    Items,
    StateRecord,
    flatten_states,
    merge_patch,
    merged,
    schemas,
)
from proctor.storage.archive import Archive, EntryDamagedError, NoSuchEntryError
from tests.sentences import says
from tests.values import expect

BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)
UPDATE = ArchivedUpdate(sequence=0, recorded_at=BEGAN, data={"message_type": "update_turn_started", "turn_number": 1})
CALM = {"email/emails/m1": {"subject": "Hello", "is_read": False}}


def entry(name: str = "one", fence: int = 1, **fields: Any) -> ArchiveEntry:
    known = {"started_at": BEGAN, "ended_at": BEGAN, "scenario_id": "tiny", "status": "completed"}
    return ArchiveEntry(**{"id": name, "fence": fence, **known, **fields})


def write(archive: Archive, written: ArchiveEntry, text: str = "") -> ArchiveEntry:
    states = StateRecord(turn=0, patch={}).model_dump_json().encode()
    files = {
        "updates.jsonl": UPDATE.model_dump_json().encode() + b"\n",
        "states.jsonl": states,
        "note.txt": text.encode(),
    }
    return archive.write(written, files, {"initial_state": json.dumps(CALM).encode()})


@pytest.fixture(params=["folder", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "archive") if request.param == "folder" else f"memory://{tmp_path.name}"


def test_what_is_written_is_read(url: str) -> None:
    kept = write(Archive(url), entry(sentence="All is well."), "noted")
    archive = Archive(url)
    assert archive.entries() == [kept] == [archive.find("on")] == [archive.get("one")]
    assert archive.read(kept, "note.txt") == b"noted"
    assert archive.updates(kept) == [UPDATE]
    assert [items for _, items in archive.states(kept)] == [CALM]
    assert archive.get("on") is None


def test_it_is_a_folder_by_date_and_id_with_one_file_for_what_entries_share(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    write(archive, entry("one", 7))
    write(archive, entry("a/b", 8, started_at=BEGAN + timedelta(days=1)))
    folders = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("2*/*"))
    assert folders == ["2026-03-01/one.7", "2026-03-02/a%2Fb.8"]
    assert sum(path.is_file() for path in (tmp_path / "contents").rglob("*")) == 1
    assert [record.id for record in archive.entries()] == ["a/b", "one"]


def test_the_newest_writer_counts_whoever_comes_last(url: str) -> None:
    archive = Archive(url)
    write(archive, entry(fence=5), "new")
    assert write(archive, entry(fence=4, status="failed"), "old").fence == 5
    (kept,) = Archive(url).entries()
    assert archive.read(kept, "note.txt") == b"new"


def test_a_writer_that_was_frozen_in_the_middle_does_no_harm(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    write(archive, entry(fence=5), "new")
    # It had looked before the newer one came, and goes on only now.
    archive.folder.write("2026-03-01/one.4/note.txt", b"old")
    archive.folder.write("2026-03-01/one.4/entry.json", entry(fence=4, status="failed").model_dump_json().encode())
    for reader in (archive, Archive(str(tmp_path))):
        assert [record.fence for record in reader.entries()] == [5]
        assert reader.find("one").fence == 5


def test_the_highest_fence_counts_as_a_number_wherever_an_entry_is_looked_for(tmp_path: Path) -> None:
    """Folder ``one.9`` comes after ``one.10`` by name, and a writer of the past may come back at any time."""
    archive = Archive(str(tmp_path))
    write(archive, entry(fence=10), "new")
    for old in (9, 8, 1):  # each had looked before the newer one came
        folder = f"2026-03-01/one.{old}"
        archive.folder.write(f"{folder}/note.txt", b"old")
        archive.folder.write(f"{folder}/entry.json", entry(fence=old, status="failed").model_dump_json().encode())
    for reader in (archive, Archive(str(tmp_path))):
        assert [each.fence for each in reader.entries()] == [10]
        assert (reader.find("one").fence, expect(reader.get("one")).fence) == (10, 10)
    assert write(archive, entry(fence=9), "old").fence == 10


def test_a_writer_leaves_alone_what_a_newer_one_is_writing(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    write(archive, entry(fence=5), "old")
    archive.folder.write("2026-03-01/one.7/note.txt", b"half of the newer one")
    write(archive, entry(fence=6), "in between")
    assert sorted(path.name for path in (tmp_path / "2026-03-01").iterdir()) == ["one.6", "one.7"]


def test_while_an_entry_is_written_anew_the_one_before_counts(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    write(archive, entry(fence=5), "whole")
    archive.folder.write("2026-03-01/one.6/note.txt", b"half")
    for reader in (archive, Archive(str(tmp_path))):
        assert [record.fence for record in reader.entries()] == [5]
        assert reader.find("one").fence == 5
    write(archive, entry(fence=6), "anew")
    assert sorted(path.name for path in (tmp_path / "2026-03-01").iterdir()) == ["one.6"]


def test_a_prefix_has_to_be_enough(url: str) -> None:
    archive = Archive(url)
    for name in ("abc-1", "abc-2", "abc"):
        write(archive, entry(name))
    assert archive.find("abc").id == "abc"
    assert archive.find("abc-2").id == "abc-2"
    with pytest.raises(NoSuchEntryError, check=says("abc-")):
        archive.find("abc-")
    for nothing in ("nobody", ""):
        with pytest.raises(NoSuchEntryError, check=says(nothing)):
            archive.find(nothing)


def test_damage_is_told(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    kept = write(archive, entry(fence=5), "whole")
    folder = tmp_path / "2026-03-01" / "one.5"
    (folder / "note.txt").write_text("touched")
    with pytest.raises(EntryDamagedError, check=says("one.5", "note.txt")):
        archive.read(kept, "note.txt")
    (folder / "note.txt").unlink()
    with pytest.raises(EntryDamagedError, check=says()):
        archive.read(kept, "note.txt")
    (folder / "entry.json").write_text("{")
    assert Archive(str(tmp_path)).entries() == []


def test_removed_entries_leave_nothing_but_what_others_need(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    first, second = write(archive, entry("one")), write(archive, entry("two"))
    archive.remove([first])
    assert archive.entries() == [second]
    assert list(archive.states(second))
    archive.remove([second])
    (content,) = [path for path in (tmp_path / "contents").rglob("*") if path.is_file()]
    assert archive.unused_contents() == []  # its entry may be on its way
    long_ago = (datetime.now(UTC) - timedelta(days=2)).timestamp()
    os.utime(content, (long_ago, long_ago))
    archive.remove([])
    assert not content.exists()


def test_another_archive_keeps_a_copy(tmp_path: Path) -> None:
    here, there = Archive(str(tmp_path / "here")), Archive(str(tmp_path / "there"))
    kept = write(here, entry(), "noted")
    assert here.copy(kept, there) == kept
    assert there.read(there.find("one"), "note.txt") == b"noted"
    assert list(there.states(kept)) == list(here.states(kept))


def test_states_are_kept_as_merge_patches() -> None:
    before = flatten_states(
        {
            "email": {
                "emails": {"m1": {"subject": "Hello", "labels": [], "in_reply_to": None}},
                "folders": {"inbox": []},
            },
            "chat": {"messages": [{"message_id": "c1", "content": "Good morning"}], "max_history_size": 1000},
        }
    )
    assert before == {
        "email/emails/m1": {"subject": "Hello", "labels": []},
        "chat/messages/c1": {"message_id": "c1", "content": "Good morning"},
        "chat/max_history_size": 1000,
    }
    after: Items = {
        "email/emails/m1": {"subject": "Hello", "labels": ["urgent"]},
        "email/emails/m2": {"subject": "More"},
    }
    patch = merge_patch(before, after)
    assert patch["email/emails/m1"] == {"labels": ["urgent"]}
    assert merged(before, patch) == after
    assert merge_patch(after, after) == {}
    assert merge_patch({"a": {"b": {"c": 1}}}, {"a": {"b": {}}}) == {"a": {"b": {"c": None}}}


def test_files_fit_the_schemas_that_are_printed(tmp_path: Path) -> None:
    archive = Archive(str(tmp_path))
    write(archive, entry())
    known = schemas()
    folder = tmp_path / "2026-03-01" / "one.1"
    of_assessments = {"entry.json", "result.json", "updates.jsonl", "turns.jsonl", "states.jsonl"}
    later = {"trajectories/TURN.json", "judgements/KEY.json"}
    assert set(known) == of_assessments | later | {"transcript.jsonl", "runs.jsonl"}
    jsonschema.validate(json.loads((folder / "entry.json").read_text()), known["entry.json"])
    for name in ("updates.jsonl", "states.jsonl"):
        for line in (folder / name).read_text().splitlines():
            jsonschema.validate(json.loads(line), known[name])


@pytest.mark.parametrize("name", ["../entry.json", "/etc/passwd", "logs/../../x", "logs//x", ".hidden", "a\nb", ""])
def test_no_file_of_an_entry_lies_elsewhere(tmp_path: Path, name: str) -> None:
    """An archive that somebody sent may say anything, and `proctor import` writes what it says."""
    written = write(Archive(str(tmp_path / "theirs")), entry())
    said = json.loads(written.model_dump_json())
    said["files"][name] = said["files"]["updates.jsonl"]
    next((tmp_path / "theirs").glob("*/*/entry.json")).write_text(json.dumps(said))
    assert Archive(str(tmp_path / "theirs")).entries() == []
