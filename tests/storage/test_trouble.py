"""A store that is full, read-only, slow or damaged: what is said, and what is there afterwards."""

import asyncio
import errno
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY
from temporalio.api.common.v1 import Payload
from temporalio.converter import StorageDriverStoreContext

from proctor.observing.readiness import LOOKS_FOR
from proctor.storage import blobs, folder
from proctor.storage.archive import Archive
from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobStore, StoreUnavailableError
from proctor.storage.folder import Folder
from proctor.storage.temporal import BlobPayloads
from proctor.storage.trying import TRIED_WITHIN, find_problem_of_store
from purple_sdk.processes.local_files import LocalFiles
from tests.sentences import says
from tests.viewer.entries import write_day
from tests.waiting import PATIENCE

CONTENT = os.urandom(300_000)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 kB; where nobody may mount one, files that may not grow do as well."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", tmp_path], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting takes root")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_a_full_disk(full_disk: Path) -> None:
    store = BlobStore(str(full_disk))
    with pytest.raises(StoreUnavailableError) as problem:
        await store.put(CONTENT)
    assert str(problem.value) == says(full_disk=full_disk)
    assert files(full_disk) == []
    small = await store.put(b"there is room for this")
    assert await store.get(small) == b"there is room for this"


async def test_a_disk_that_is_read_only(full_disk: Path) -> None:
    store = BlobStore(str(full_disk))
    kept = await store.put(b"kept")
    await asyncio.to_thread(subprocess.check_call, ["mount", "-o", "remount,ro", str(full_disk)])
    with pytest.raises(StoreUnavailableError, check=says()):
        await store.put(b"more")
    assert await store.put(b"kept") == kept
    assert await store.get(kept) == b"kept"


FAILURES = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO]


@pytest.mark.parametrize("code", FAILURES, ids=[errno.errorcode[code] for code in FAILURES])
async def test_what_the_system_says_is_told_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(_: int) -> None:
        raise OSError(code, os.strerror(code))

    store = BlobStore(str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(StoreUnavailableError) as problem:
            await store.put(CONTENT)
    assert str(problem.value) == says(os.strerror(code), tmp_path=tmp_path)
    assert files(tmp_path) == []
    assert await store.get(await store.put(CONTENT)) == CONTENT


async def test_a_store_that_is_no_folder_any_more(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("somebody's notes")
    store = BlobStore(str(tmp_path / "store"))
    with pytest.raises(StoreUnavailableError, check=says()):
        await store.put(CONTENT)


async def test_a_store_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    monkeypatch.setattr(folder, "ANSWERS_WITHIN", 0.05)
    monkeypatch.setattr(LocalFiles, "write", lambda *_: answers.wait())
    try:
        with pytest.raises(StoreUnavailableError, check=says("0.05")):
            await BlobStore(str(tmp_path)).put(CONTENT)
    finally:
        answers.set()


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which no write ever ends. Only writes have a short time."""
    answers, wait = threading.Event(), Folder._wait

    def wait_for_writes_briefly(own: Folder, work: Callable[[], Any], done: str, limit: float) -> Any:
        return wait(own, work, done, 0.05 if done == "written" else limit)

    monkeypatch.setattr(Folder, "_wait", wait_for_writes_briefly)
    monkeypatch.setattr(os, "fsync", lambda _: answers.wait())
    yield tmp_path
    answers.set()


def test_an_archive_that_hangs_is_reported_and_counted_like_one_that_refuses(hanging: Path) -> None:
    def failures() -> float:
        return REGISTRY.get_sample_value("proctor_store_failures_total", {"operation": "write"}) or 0.0

    before = failures()
    with pytest.raises(StoreUnavailableError, check=says("0.05")):
        write_day(Archive(str(hanging)), "day", turns=1)
    assert failures() == before + 1


async def test_a_store_that_hangs_is_a_problem_before_readiness_stops_looking(hanging: Path) -> None:
    assert str(await find_problem_of_store(str(hanging), seconds=0.05)) == says("0.05", hanging=hanging)
    assert TRIED_WITHIN < LOOKS_FOR


async def test_a_store_that_hangs_holds_up_no_other_one(
    hanging: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "file").write_bytes(b"content")
    hung = Folder(str(hanging), "store")
    tried = [hung.within_time(lambda: hung.write("file", b""), "written") for _ in range(40)]
    assert {type(error) for error in await asyncio.gather(*tried, return_exceptions=True)} == {StoreUnavailableError}
    assert await asyncio.to_thread(Folder(str(other), "archive").read, "file") == b"content"


async def test_an_endpoint_that_accepts_connections_and_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listener.getsockname()[1]}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        problem = await find_problem_of_store("s3://bucket/prefix", seconds=0.5)
    assert says().within(str(problem))


def test_a_process_ends_though_its_store_hangs(tmp_path: Path) -> None:
    code = "import sys, threading; from proctor.storage import folder; folder.ANSWERS_WITHIN = 0.1"
    code += "; folder.LocalFiles.read = lambda *_: threading.Event().wait()"
    code += "; folder.Folder(sys.argv[1], 'store').read('file')"
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert says("0.1").within(ended.stderr)


@pytest.mark.parametrize("damage", [b"", b"not zlib", CONTENT], ids=["emptied", "garbage", "other content"])
async def test_a_damaged_blob_is_written_again_by_whoever_has_its_content(tmp_path: Path, damage: bytes) -> None:
    store = BlobStore(str(tmp_path))
    ref = await store.put(CONTENT)
    [file] = files(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage or whole[: len(whole) // 2])
    with pytest.raises(BlobDamagedError, check=says(why=re.compile(r"(?<=decompressing data: )[\w ]+"))):
        await store.get(ref)
    assert await store.put(CONTENT) == ref
    assert await store.get(ref) == CONTENT


async def test_a_missing_blob_is_written_again(tmp_path: Path) -> None:
    store = BlobStore(str(tmp_path))
    ref = await store.put(CONTENT)
    files(tmp_path)[0].unlink()
    with pytest.raises(BlobNotFoundError):
        await store.get(ref)
    await store.put(CONTENT)
    assert await store.get(ref) == CONTENT


async def test_file_and_folder_are_flushed_before_a_blob_counts_as_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    flush = os.fsync

    def noting(descriptor: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    await BlobStore(str(tmp_path)).put(CONTENT)
    [file] = files(tmp_path)
    root, part, folder = flushed
    assert (root, folder) == (str(tmp_path), str(file.parent))
    assert part.startswith(str(file))


async def test_a_payload_that_was_just_put_away_is_not_looked_for_again(tmp_path: Path) -> None:
    """A step that was given up while the store was slow goes through the next time."""
    store = Counting(str(tmp_path))
    driver = BlobPayloads(store)
    payloads = [Payload(data=CONTENT)]
    once = await driver.store(StorageDriverStoreContext(), payloads)
    again = await driver.store(StorageDriverStoreContext(), payloads)
    assert once == again
    assert store.puts == 1


class Counting(BlobStore):
    puts = 0

    async def put(self, content: bytes) -> blobs.BlobRef:
        self.puts += 1
        await asyncio.sleep(0)
        return await super().put(content)


async def test_a_store_is_tried_where_new_folders_come_and_nothing_is_left(tmp_path: Path) -> None:
    assert await find_problem_of_store(str(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []
