"""The archive's index: what writes and readers ask of the store, and that nothing is lost whatever becomes of it."""

import shutil
import sqlite3
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from proctor.protocol.archive import ArchiveEntry
from proctor.protocol.callers import Caller
from proctor.storage import day_index
from proctor.storage.archive import Archive
from proctor.storage.day_index import DayIndex, read_lines
from proctor.storage.entry_table import EntryQuery
from proctor.storage.folder import Folder, StoreUnavailableError
from tests.storage.test_archive import BEGAN, entry, write

EVERYTHING = EntryQuery()


class Watched(Folder):
    """Counts what is asked of the store, and stops where it is told to."""

    def __init__(self, url: str) -> None:
        super().__init__(url, "archive")
        self.counted: Counter[str] = Counter()
        self.paths: list[str] = []
        self.stop_before = ""

    def _note(self, what: str, path: str, count: int = 1) -> None:
        self.counted[what] += count
        self.paths.append(path)
        if self.stop_before and self.stop_before in path and what == "written":
            raise KeyboardInterrupt(path)

    def write(self, path: str, content: bytes) -> None:
        self._note("written", path)
        super().write(path, content)

    def read(self, path: str, size: int = 0) -> bytes:
        self._note("read", path)
        return super().read(path, size)

    def names(self, path: str = "") -> list[str]:
        self._note("listed", path)
        return super().names(path)

    def versions(self, path: str) -> dict[str, str]:
        self._note("listed", path)
        return super().versions(path)

    def sizes(self, path: str = "") -> dict[str, tuple[int, datetime | None]]:
        self._note("listed", path)
        return super().sizes(path)


def watched(url: str, table: str = "") -> tuple[Archive, Watched]:
    archive = Archive(url, table)
    folder = Watched(url)
    for holder in (archive, archive._index, archive._ids, archive._local):
        setattr(holder, "folder" if holder is archive else "_folder", folder)
    return archive, folder


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "archive")


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "table.sqlite")


def ids(archive: Archive, query: EntryQuery = EVERYTHING) -> list[str]:
    return sorted(summary.id for summary in archive.select(query))


def earlier(url: str, *names: str) -> None:
    """Entries as a version without the index has left them."""
    archive = Archive(url)
    for name in names:
        write(archive, entry(name))
    shutil.rmtree(Path(url) / "index")


def test_a_write_lists_nothing_and_costs_the_same_at_any_size(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(day_index, "LINES", 64)
    archive, folder = watched(url)
    costs = []
    for number in range(80):  # more than a file of the index has lines
        folder.counted.clear()
        write(archive, entry(f"e{number}"))
        costs.append(dict(folder.counted))
    assert costs[0]["listed"] == 1, "whether there is anything yet"
    assert all("listed" not in cost for cost in costs[1:])
    assert costs[1] == costs[40] == costs[-1]
    archive, folder = watched(url)
    write(archive, entry("one-more"))
    assert folder.counted == {**costs[1], "read": 1}, "another process looks once whether the index is complete"
    assert len(list(Path(url, "index", "days").rglob("*.jsonl.gz"))) == 3
    assert len(ids(Archive(url))) == 81


def test_a_later_writer_lists_its_own_id_alone(url: str) -> None:
    archive, folder = watched(url)
    for number in range(20):
        write(archive, entry(f"e{number}"))
    folder.counted.clear()
    write(archive, entry("e3", 2))
    assert folder.counted["listed"] == 2
    assert sorted(path.name for path in Path(url).glob("2*/e3.*")) == ["e3.2"]
    assert [summary.fence for summary in archive.select(EntryQuery(search="e3"))] == [2]


def test_fences_of_writers_are_compared_as_numbers(url: str) -> None:
    """By their names, ``one.9`` is the last of these; it is gone, and the entry of 10 counts."""
    archive = Archive(url)
    for fence in (9, 10):
        write(archive, entry("one", fence))
    assert write(archive, entry("one", 8), "old").fence == 10
    assert sorted(path.name for path in Path(url).glob("2*/*")) == ["one.10"]


def test_a_reader_reads_only_what_is_new(url: str, table: str) -> None:
    writer = Archive(url)
    for number in range(10):
        write(writer, entry(f"e{number}"))
    reader, folder = watched(url, table)
    assert len(ids(reader)) == len(ids(reader)) == 10  # the first time it adds to the index, which it reads then
    for archive, watch in ((reader, folder), watched(url, table)):  # the table outlives its process
        watch.counted.clear()
        assert len(ids(archive)) == 10
        assert watch.counted == {"read": 1, "listed": 2}, "complete.json, the days, and the open one"
    write(writer, entry("new"))
    folder.counted.clear()
    assert "new" in ids(reader)
    assert folder.counted == {"read": 3, "listed": 2}, "the file of the index, and the entry whose line came first"
    write(Archive(url), entry("newer"))
    assert "newer" in ids(reader)


def test_a_closed_day_is_not_listed_again(url: str, table: str) -> None:
    write(Archive(url), entry("old"))
    (day,) = Path(url, "index", "days").iterdir()
    day.rename(day.with_name("2026-01-01"))
    reader, folder = watched(url, table)
    assert ids(reader) == ["old"]
    assert "index/days/2026-01-01" in folder.paths
    folder.paths.clear()
    assert ids(reader) == ["old"]
    assert "index/days/2026-01-01" not in folder.paths


def test_a_writer_that_took_long_writes_its_line_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frozen for a day between its line and its entry, it finds its day closed to readers."""
    archive, folder = watched(url)
    write(archive, entry("before"))
    monkeypatch.setattr(day_index, "WRITTEN_WITHIN", -1.0)
    folder.counted.clear()
    write(archive, entry("late"))
    usual = folder.counted["written"]
    monkeypatch.undo()
    folder.counted.clear()
    write(archive, entry("usual"))
    assert usual == folder.counted["written"] + 1


@pytest.mark.parametrize(("stop_before", "is_there"), [("entry.json", False), ("index/days", False)])
def test_a_writer_that_dies_before_its_entry_leaves_none(url: str, stop_before: str, is_there: bool) -> None:
    write(Archive(url), entry("other"))
    archive, folder = watched(url)
    folder.stop_before = stop_before
    with pytest.raises(KeyboardInterrupt):
        write(archive, entry("dead"))
    for reader in (Archive(url), Archive(url)):
        assert ids(reader) == ["other"]
        assert reader.get("dead") is None
    write(Archive(url), entry("dead", 2))
    assert ids(Archive(url)) == ["dead", "other"]


def test_a_writer_that_dies_after_its_entry_has_written_it(url: str, table: str) -> None:
    """Its line says that the entry isn't written: readers look."""
    reader = Archive(url, table)
    archive = Archive(url)
    write(archive, entry("first"))
    assert ids(reader) == ["first"]
    write(archive, entry("last"))
    del archive
    lines = [line for file in Path(url, "index/days").rglob("*.gz") for line in read_lines(file.read_bytes())]
    assert [line.is_written for line in lines if line.folder.endswith("/last.1")] == [False]
    assert ids(reader) == ["first", "last"]


def test_a_line_without_its_entry_is_forgotten_after_a_day(
    url: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, watch = watched(url, table)
    archive, folder = watched(url)
    write(archive, entry("first"))
    assert ids(reader) == ids(reader) == ["first"]
    folder.stop_before = "entry.json"
    with pytest.raises(KeyboardInterrupt):
        write(archive, entry("dead"))
    for expected in (3, 2):  # the index, and each time a look for the entry
        watch.counted.clear()
        assert ids(reader) == ["first"]
        assert watch.counted["read"] == expected
    monkeypatch.setattr("proctor.storage.local_index._DAY", -1)
    ids(reader)
    watch.counted.clear()
    ids(reader)
    assert watch.counted["read"] == 1


def test_two_writers_of_one_entry_at_once(url: str) -> None:
    """The one with the lower fence stops before its line and comes back when the other one is done."""
    for stop_before in ("note.txt", "index/days", "entry.json"):
        name = stop_before.replace("/", "-")
        archive, folder = watched(url)
        write(archive, entry(f"{name}-other"))
        folder.stop_before = ""
        real = folder.write
        done: list[str] = []

        def overtaken(path: str, content: bytes, real: Any = real, done: Any = done, at: str = stop_before) -> None:
            if at in path and not done:
                done.append(path)
                write(Archive(url), entry(name, 10), "new")  # noqa: B023
            real(path, content)

        folder.write = overtaken  # type: ignore[method-assign]
        write(archive, entry(name, 9, status="failed"), "old")
        for reader in (archive, Archive(url)):
            assert [summary.fence for summary in reader.select(EntryQuery(search=name)) if summary.id == name] == [10]
            assert (found := reader.get(name)) is not None
            assert found.fence == 10
            assert reader.read(found, "note.txt") == b"new"
        assert write(archive, entry(name, 9), "old").fence == 10


def test_many_writers_and_readers_at_once(url: str, table: str) -> None:
    reader, seen = Archive(url, table), set[str]()
    shared = Archive(url)
    write(shared, entry("start"))

    def work(archive: Archive, name: str) -> None:
        for number in range(8):
            write(archive, entry(f"{name}-{number}"))

    writers = [threading.Thread(target=work, args=(shared if n % 2 else Archive(url), f"w{n}")) for n in range(4)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        now = set(ids(reader))
        assert seen <= now
        seen = now
    assert len(ids(reader)) == len(ids(Archive(url, table))) == len(ids(Archive(url))) == 33


def test_an_archive_of_an_earlier_version_is_indexed_by_its_first_reader(url: str, table: str) -> None:
    earlier(url, "one", "two", "three")
    archive, folder = watched(url)
    write(archive, entry("one", 5))  # while nothing is indexed, a writer looks through all
    assert sorted(path.name for path in Path(url).glob("2*/one.*")) == ["one.5"]
    assert Archive(url).get("two") is not None
    assert ids(Archive(url, table)) == ["one", "three", "two"]
    fresh, folder = watched(url)
    assert ids(fresh) == ["one", "three", "two"]
    assert not any(path.endswith("entry.json") for path in folder.paths), "the next reader reads the index"
    later, folder = watched(url)
    assert later.get("two") is not None
    assert folder.counted == {"read": 3 + 1, "listed": 1}, "no listing but of its own id"
    write(later, entry("two", 4))
    assert sorted(path.name for path in Path(url).glob("2*/two.*")) == ["two.4"]


def test_an_index_that_is_removed_is_made_again(url: str, table: str) -> None:
    writer, reader = Archive(url), Archive(url, table)
    for name in ("one", "two"):
        write(writer, entry(name))
    assert ids(reader) == ["one", "two"]
    shutil.rmtree(Path(url) / "index")
    assert writer.get("one") is not None, "though it was complete when it looked last"
    assert Archive(url).get("one") is not None
    write(writer, entry("three"))
    assert ids(reader) == ids(Archive(url)) == ["one", "three", "two"]
    assert Path(url, "index", "complete.json").exists()
    shutil.rmtree(Path(url) / "2026-03-01")
    assert Archive(url).get("two") is None


def test_an_archive_that_takes_the_place_of_another_is_another(url: str, table: str) -> None:
    write(Archive(url), entry("old"))
    assert ids(Archive(url, table)) == ["old"]
    shutil.rmtree(url)
    write(Archive(url), entry("new"))
    assert ids(Archive(url, table)) == ids(Archive(url, table)) == ["new"]


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08\x00cut", b"no gzip at all"])
def test_a_damaged_file_of_the_index_is_made_again(url: str, table: str, content: bytes) -> None:
    for name in ("one", "two"):
        write(Archive(url), entry(name))  # a process of its own, and a file
    reader = Archive(url, table)
    assert ids(reader) == ["one", "two"]
    damaged = sorted(Path(url, "index", "days").rglob("*.gz"))[0]
    damaged.write_bytes(content)
    for archive in (reader, Archive(url)):
        assert ids(archive) == ["one", "two"]
    assert not damaged.exists()
    assert all(list(read_lines(file.read_bytes())) for file in Path(url, "index", "days").rglob("*.gz"))


def test_an_entry_is_found_whose_line_was_damaged_before_it_was_read(url: str, table: str) -> None:
    reader = Archive(url, table)
    write(Archive(url), entry("one"))
    assert ids(reader) == ids(reader) == ["one"]
    before = set(Path(url, "index", "days").rglob("*.gz"))
    write(Archive(url), entry("two"))
    (new,) = set(Path(url, "index", "days").rglob("*.gz")) - before
    new.write_bytes(b"damaged")
    assert ids(reader) == ["one", "two"]


def test_a_first_reader_finds_what_the_index_lacks(url: str) -> None:
    for name in ("one", "two"):
        write(Archive(url), entry(name))
    for file in Path(url, "index", "days").rglob("*.gz"):
        file.unlink()
    assert ids(Archive(url)) == ["one", "two"]


def test_damaged_lists_of_earlier_entries_are_made_again(url: str) -> None:
    earlier(url, "one")
    ids(Archive(url))
    (shard,) = Path(url, "index", "earlier").iterdir()
    shard.write_bytes(b"damaged")
    assert Archive(url).get("one") is not None
    ids(Archive(url))
    assert Archive(url)._ids.of("one") == [] or Archive(url).get("one") is not None
    assert shard.read_bytes() != b"damaged"


def test_an_archive_that_may_only_be_read(url: str, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier(url, "one", "two")

    def refuse(self: Folder, path: str, content: bytes) -> None:
        raise StoreUnavailableError("it is read-only")

    monkeypatch.setattr(Folder, "write", refuse)
    reader = Archive(url, table)
    assert ids(reader) == ids(reader) == ["one", "two"]
    assert reader.get("one") is not None


@pytest.mark.parametrize("damage", ["no table", "another version", "gone"])
def test_a_damaged_table_is_made_again(url: str, table: str, damage: str) -> None:
    write(Archive(url), entry("one"))
    assert ids(Archive(url, table)) == ["one"]
    if damage == "no table":
        Path(table).write_bytes(b"damaged" * 1_000)
    elif damage == "gone":
        Path(table).unlink()
    else:
        with sqlite3.connect(table) as db:
            db.execute("PRAGMA user_version = 99")
    assert ids(Archive(url, table)) == ["one"]
    assert ids(Archive(url, table)) == ["one"]


def test_a_table_that_cannot_be_written_is_a_temporary_one(url: str, tmp_path: Path) -> None:
    write(Archive(url), entry("one"))
    (tmp_path / "file").write_text("no folder")
    assert ids(Archive(url, str(tmp_path / "file" / "table.sqlite"))) == ["one"]


def test_what_is_removed_stays_removed_and_may_come_back(url: str, table: str) -> None:
    reader, writer = Archive(url, table), Archive(url)
    one, _ = write(writer, entry("one")), write(writer, entry("two"))
    assert ids(reader) == ["one", "two"]
    Archive(url).remove([one])
    for archive in (reader, Archive(url)):
        assert ids(archive) == ["two"]
        assert archive.get("one") is None
    write(writer, entry("two", 2))  # the writer's file still has the line of the one that was removed
    assert ids(reader) == ids(Archive(url)) == ["two"]
    time.sleep(0.001)
    write(writer, entry("one"))
    assert ids(reader) == ids(Archive(url)) == ["one", "two"]


def test_an_index_that_says_nonsense_is_left_out(url: str) -> None:
    archive = Archive(url)
    write(archive, entry("one"))
    index = DayIndex(archive.folder)
    index.write_all(
        [(entry("else", 7), "2026-03-01/one.9"), (entry("odd").model_copy(update={"status": "?"}), "x/odd.1")]
    )
    assert ids(archive) == ["one"]


def made(name: str, **fields: Any) -> ArchiveEntry:
    return entry(name, **{"role": "mine", "max_score": 10, **fields})


@pytest.fixture
def several(url: str) -> Archive:
    archive = Archive(url)
    for number, written in enumerate(
        [
            made("c1", kind="campaign", scenario_id="all"),
            made("c1.a", campaign="c1", seed=1, score=3, cost=2.0, owner="ann"),
            made("c1.b", campaign="c1", seed=2, score=9, cost=1.0, status="failed", role="theirs", owner="bob"),
            made("c2.a", campaign="c2", judges=["gpt-4o"]),
            made(
                "Alone",
                scenario_name="Mine",
                participant="Secretary",
                participant_url="http://HOST.example:1",
                score=5,
                owner="ann",
            ),
        ]
    ):
        write(archive, written.model_copy(update={"started_at": BEGAN + timedelta(hours=number)}))
    return archive


def test_queries(several: Archive) -> None:
    for query, expected in (
        (EVERYTHING, ["Alone", "c1", "c1.a", "c1.b", "c2.a"]),
        (EntryQuery(is_alone=True), ["Alone", "c1", "c2.a"]),
        (EntryQuery(is_alone=True, campaigns=["c2"]), ["Alone", "c1"]),
        (EntryQuery(is_alone=True, without=["c1", "nothing"]), ["Alone", "c2.a"]),
        (EntryQuery(search="C1 tiny"), ["c1.a", "c1.b"]),
        (EntryQuery(search="alone secretary host"), ["Alone"]),
        (EntryQuery(search="c1.b failed"), ["c1.b"]),
        (EntryQuery(search="c1 failed", without=["c1.b"]), []),
        (EntryQuery(search="no such words"), []),
        (EntryQuery(search="c1_a"), []),
        (EntryQuery(search="ALON"), ["Alone"]),
        (EntryQuery(search="lone mine"), ["Alone"]),
        (EntryQuery(status="failed"), ["c1.b"]),
        (EntryQuery(scenario="tiny", campaign="c1"), ["c1.a", "c1.b"]),
        (EntryQuery(agent="SECRET"), ["Alone"]),
        (EntryQuery(agent_named="theirs"), ["c1.b"]),
        (EntryQuery(called=["mine", "http://HOST.example:1"]), ["Alone", "c1", "c1.a", "c2.a"]),
        (EntryQuery(judge="gpt-4o"), ["c2.a"]),
        (EntryQuery(seed=2), ["c1.b"]),
        (EntryQuery(kind="campaign"), ["c1"]),
        (EntryQuery(since=BEGAN + timedelta(hours=3)), ["Alone", "c2.a"]),
        (EntryQuery(until=BEGAN + timedelta(hours=1)), ["c1"]),
        (EntryQuery(ended_since=BEGAN + timedelta(seconds=1)), []),
    ):
        found, counts = several.survey(query, EVERYTHING)
        assert sorted(summary.id for summary in found) == expected, query
        assert counts == [len(expected), 5], query


def test_orders(several: Archive) -> None:
    latest = [summary.id for summary in several.select(EntryQuery(most=3))]
    assert latest == ["Alone", "c2.a", "c1.b"]
    assert [summary.id for summary in several.select(EntryQuery(is_rising=True, most=1))] == ["c1"]
    assert [summary.id for summary in several.select(EntryQuery(order="share", most=3))] == ["c1.b", "Alone", "c1.a"]
    assert [summary.id for summary in several.select(EntryQuery(order="cost", is_rising=True, most=2))] == [
        "c1.b",
        "c1.a",
    ]
    assert [summary.id for summary in several.select(EntryQuery(order="scenario", is_rising=True, most=1))] == ["c1"]


def test_callers_see_their_own(several: Archive) -> None:
    ann = several.restrict_view(Caller(name="ann"))
    assert ids(ann) == ["Alone", "c1.a"]
    assert ann.survey(EVERYTHING)[1] == [2]
    assert ids(ann, EntryQuery(owner="bob")) == ["Alone", "c1.a"]
    assert ids(several.restrict_view(Caller())) == []
    assert ann.find("Alo").id == "Alone"
    assert ann.find("c1").id == "c1.a"


def test_summaries_are_what_entries_say(several: Archive) -> None:
    for entry_ in several.entries():
        (summary,) = several.select(
            EntryQuery(search=entry_.id, without=["c1.a", "c1.b"] if entry_.id == "c1" else [])
        )[:1]
        assert summary.model_dump() == entry_.model_dump(include=set(type(summary).model_fields))
    assert several.in_full(several.select(EVERYTHING)) == several.entries()


def test_days_are_closed_a_day_after_their_end() -> None:
    now = datetime.now(UTC)
    assert [day_index.is_closed(f"{now - timedelta(days=age):%Y-%m-%d}") for age in (0, 1, 3)] == [False, False, True]
    assert not day_index.is_closed("no day")
