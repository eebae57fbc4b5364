"""Archives that somebody sent: whatever they say, nothing outside of them is read, written or removed."""

import gzip
import inspect
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proctor.storage import entry_ids, folder
from proctor.storage.archive import Archive, EntryDamagedError
from proctor.storage.day_index import DayIndex, get_summary_fields
from proctor.storage.entry_files import get_entry_folder
from proctor.storage.entry_ids import is_folder, unpacked
from proctor.storage.entry_table import EntryQuery
from proctor.storage.folder import Folder, RefusedFileError, StoreUnavailableError
from tests.sentences import says
from tests.storage.test_archive import entry, write

EVERYTHING = EntryQuery()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "archive")


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder beside the archive, which has to be the same afterwards."""
    place = tmp_path / "victims" / "one.1"
    place.mkdir(parents=True)
    (place / "note.txt").write_text("mine")
    yield place
    assert {path.name: path.read_text() for path in place.iterdir()} == {"note.txt": "mine"}


@pytest.mark.parametrize("text", ["2026-03-01/one.1", "2026-03-01/a%2Fb.1764425000000000", "2026-03-01/...0"])
def test_a_folder_of_an_entry(text: str) -> None:
    assert is_folder(text) == (text != "2026-03-01/...0")


@pytest.mark.parametrize(
    "text",
    [
        "../victims/one.1", "/tmp/one.1", "2026-03-01/../../victims/one.1", "2026-03-01/one/one.1", "one.1", "",
        "2026-03-01/.1", "2026-03-01/..1", "2026-03-01/one", "2026-03-01/one.1\n", "2026-03-01/one.01",
        "2026-03-01/one.1000000000000000000", "2026-03-01/one.٣", "٢٠٢٦-03-01/one.1", "2026-03-01/a%2fb.1",
        "2026-03-01/one\0.1", "2026-03-01/\udcff.1", f"2026-03-01/{'x' * 300}.1",
    ],
)  # fmt: skip
def test_other_text_is_none(text: str) -> None:
    assert not is_folder(text)


def believing_index(archive: Archive, text: str) -> None:
    """Have every part of the index say that the entry ``one`` is at a place."""
    ids, place = archive._ids, archive.folder
    place.remove(entry_ids._first("one"))
    place.write(entry_ids._first("one"), text.encode())
    place.write(f"{entry_ids._again('one')}/{text.replace('/', '%2F')}.1", b"")
    shard = entry_ids._shard("one")
    place.write(f"index/earlier/{shard}.gz", gzip.compress(f"{text}\n2026-03-01/one.1".encode()))
    place.write("index/complete.json", b'{"format": 1, "earlier": true, "name": "x"}')
    DayIndex(place)._write_packed(
        json.dumps({"at": 1, "folder": name, "is_written": is_written, "entry": get_summary_fields(entry())}).encode()
        for name in (text, f"{text}/")
        for is_written in (True, False)
    )
    ids.is_complete(look=True)


@pytest.mark.parametrize("text", ["../victims/one.1", "2026-03-01/../../victims/one.1"])
def test_an_index_that_leads_elsewhere_leads_nowhere(url: str, victim: Path, text: str) -> None:
    archive = Archive(url)
    written = write(archive, entry())
    for work in (
        lambda: write(archive, entry(fence=2)),  # as an export or an import would
        lambda: Archive(url).select(EVERYTHING),
        lambda: archive.remove([written]),
    ):
        believing_index(archive, text)
        work()
        assert victim.exists()
    assert [record.id for record in archive.entries()] == ["one"], "of the fence that was not to be removed"


def test_an_entry_counts_only_in_the_folder_that_it_leads_to(url: str) -> None:
    archive = Archive(url)
    write(archive, entry("mine"))
    said = entry("mine", 9).model_dump_json().encode()
    for place in ("2026-03-01/theirs.9", "2026-03-02/mine.9", "2026-03-01/mine.8"):
        archive.folder.write(f"{place}/entry.json", said)
    damaged = list[str]()
    for reader in (archive, Archive(url)):
        assert [(record.id, record.fence) for record in reader.entries(damaged)] == [("mine", 1)]
    assert len(damaged) == 6
    assert says("2026-03-01/mine.9").within(damaged[0])


def test_what_gzip_has_packed_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_ids, "UNPACKED_AT_MOST", 20_000)
    assert unpacked(gzip.compress(b"x" * 19_999)) == b"x" * 19_999
    for content in (gzip.compress(b"x" * 20_001), gzip.compress(b"x" * 100)[:-9], b"else"):
        with pytest.raises(ValueError, check=says()):
            unpacked(content)


def linked(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def piped(path: Path, _outside: Path) -> None:
    os.mkfifo(path)


def endless(path: Path, _outside: Path) -> None:
    """Of a petabyte, of which the disk has nothing."""
    with path.open("wb") as file:
        file.truncate(2**43)


def packed(path: Path, _outside: Path) -> None:
    path.write_bytes(gzip.compress(b"\n" * 20_001, 1))


def nested(path: Path, _outside: Path) -> None:
    path.write_bytes((gzip.compress if path.suffix == ".gz" else bytes)(b"[" * 200_000))


@pytest.mark.parametrize(
    ("place", "kinds"),
    [
        ("2026-03-01/two.1/entry.json", [linked, piped, endless, nested]),
        ("index/complete.json", [linked, piped, nested]),
        ("index/days/2026-03-01/x.jsonl.gz", [linked, piped, endless, packed, nested]),
        (f"index/earlier/{entry_ids._shard('one')}.gz", [piped, packed]),
    ],
)
def test_one_bad_file_hides_nothing_else(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, kinds: list[Callable[[Path, Path], None]]
) -> None:
    archive = Archive(url)
    write(archive, entry("one"))
    write(archive, entry("two"))
    outside, path = tmp_path / "outside", Path(url, place)
    outside.write_bytes(Path(url, "2026-03-01/two.1/entry.json").read_bytes())
    path.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(folder, "ANSWERS_WITHIN", 5.0)  # a FIFO that is opened for reading waits for a writer
    monkeypatch.setattr(entry_ids, "UNPACKED_AT_MOST", 20_000)
    for made in kinds:
        if "earlier" in place:
            archive.folder.write("index/complete.json", b'{"earlier": true, "name": "x"}')
        path.unlink(missing_ok=True)
        made(path, outside)
        reader = Archive(url)
        assert reader.find("one").id == "one"
        assert {record.id for record in reader.entries()} == ({"one"} if "two" in place else {"one", "two"})
        assert "one" in {summary.id for summary in reader.select(EVERYTHING)}


@pytest.mark.parametrize("made", [linked, piped, endless])
def test_a_file_that_is_not_plain_or_too_large_says_what_it_is(
    url: str, tmp_path: Path, made: Callable[[Path, Path], None]
) -> None:
    archive = Archive(url)
    kept = write(archive, entry())
    outside = tmp_path / "outside"
    outside.write_bytes(b"")
    note = Path(url, "2026-03-01/one.1/note.txt")
    note.unlink()
    made(note, outside)
    with pytest.raises(EntryDamagedError, check=says("note.txt")) as damaged:
        archive.read(kept, "note.txt")
    assert str(damaged.value) in archive.damage(kept)


def test_nothing_is_read_written_or_removed_behind_a_link(url: str, victim: Path) -> None:
    archive = Archive(url)
    kept = write(archive, entry())
    inside = Path(url, "2026-03-01")
    (inside / "one.1").rename(inside / "kept")
    inside.rename(f"{inside}.aside")
    inside.symlink_to(victim.parent)
    place = archive.folder
    assert place.names("2026-03-01") == []
    refusals: list[Callable[[], object]] = [
        lambda: place.write("2026-03-01/one.1/x", b""),
        lambda: place.remove("2026-03-01/one.1"),
    ]
    for refused in refusals:
        with pytest.raises(StoreUnavailableError, check=says()):
            refused()
    with pytest.raises(RefusedFileError, check=says()):
        place.read("2026-03-01/one.1/note.txt")
    with pytest.raises(RefusedFileError, check=says()):
        place.read("../victims/one.1/note.txt")
    with pytest.raises(StoreUnavailableError):
        archive.remove([kept])


def test_an_entry_that_claims_too_much_is_not_copied(url: str, tmp_path: Path) -> None:
    archive = Archive(url)
    kept = write(archive, entry())
    large = kept.files["note.txt"].model_copy(update={"size": 2**40})
    for files in ({"note.txt": large}, {f"{n}.txt": large.model_copy(update={"size": 2**27}) for n in range(5)}):
        claiming = kept.model_copy(update={"files": files})
        with pytest.raises(EntryDamagedError, check=says()):
            archive.copy(claiming, Archive(str(tmp_path / "there")))


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    """Wherever the archive is; those of a folder that is its group's for writing are the group's, too."""
    tmp_path.chmod(0o755)
    umask = os.umask(0)
    try:
        write(Archive(str(tmp_path / "archive")), entry())
    finally:
        os.umask(umask)
    paths = [tmp_path / "archive", *(tmp_path / "archive").rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths if path.is_file()} == {0o600}


def test_an_index_line_that_is_no_summary_is_left_out(url: str) -> None:
    archive = Archive(url)
    write(archive, entry("one"))
    good = get_summary_fields(entry("two"))
    for bad in ({"score": "x", "max_score": [1]}, {"forked_from": "y"}, {"seed": 10**30}, {"started_at": 10**30}):
        DayIndex(archive.folder)._write_packed(
            [json.dumps({"at": 1, "folder": "2026-03-01/two.1", "is_written": True, "entry": good | bad}).encode()]
        )
    assert "one" in {summary.id for summary in archive.select(EVERYTHING)}


def test_a_name_that_is_not_utf_8_hides_nothing(url: str) -> None:
    write(Archive(url), entry())
    (Path(url) / os.fsdecode(b"2026-03-01/caf\xe9.1")).mkdir()
    shutil.rmtree(Path(url, "index"))
    for reader in (Archive(url), Archive(url)):
        assert [summary.id for summary in reader.select(EVERYTHING)] == ["one"]
        assert [record.id for record in reader.entries()] == ["one"]


def _dig(folder: Path, depth: int) -> None:
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


def test_folders_inside_each_other_need_no_stack(url: str) -> None:
    archive = Archive(url)
    kept = write(archive, entry())
    Path(url, "contents").mkdir(exist_ok=True)
    frames = len(inspect.stack()) + 150
    for inside in ("2026-03-01/one.1", "contents"):
        _dig(Path(url, inside), frames)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(frames)
    try:
        archive.remove([kept])
    finally:
        sys.setrecursionlimit(before)
    assert not Path(url, "2026-03-01/one.1").exists()


@pytest.mark.parametrize(
    "said", [{"score": -5}, {"score": 2**63}, {"seed": 2**63}, {"cost": -1}, {"earned": "NaN"}, {"turns_taken": -1}]
)
def test_an_entry_with_numbers_that_no_table_holds_is_damaged(url: str, said: dict[str, object]) -> None:
    archive = Archive(url)
    write(archive, entry("one"))
    path = Path(url, get_entry_folder(write(archive, entry("two"))), "entry.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | said))
    damaged = list[str]()
    assert [record.id for record in Archive(url).entries(damaged)] == ["one"]
    assert next(iter(said)) in damaged[0]


def test_a_folder_of_objects_has_bounds_too(tmp_path: Path) -> None:
    place = Folder(f"memory://{tmp_path.name}", "archive")
    place.write("large", b"x" * 5_000)
    with pytest.raises(RefusedFileError, check=says("1001")):
        place.read("large", 1)
    assert place.read_all(["large"], 1) == {"large": b""}
    assert place.read("large", 5_000) == b"x" * 5_000
