"""A store that is full, read-only, slow or damaged: what is said, and what is there afterwards."""

import asyncio
import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.converter import StorageDriverStoreContext

from proctor_storage import blobs, folder
from proctor_storage.blobs import BlobDamagedError, BlobNotFoundError, BlobStore, StoreUnavailableError
from proctor_storage.temporal import BlobPayloads

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
    assert str(problem.value) == (
        f"The evaluator's store at {full_disk} can't be written (No space left on device): free some space there."
    )
    assert files(full_disk) == []
    small = await store.put(b"there is room for this")
    assert await store.get(small) == b"there is room for this"


async def test_a_disk_that_is_read_only(full_disk: Path) -> None:
    store = BlobStore(str(full_disk))
    kept = await store.put(b"kept")
    await asyncio.to_thread(subprocess.check_call, ["mount", "-o", "remount,ro", str(full_disk)])
    with pytest.raises(StoreUnavailableError, match=r"can't be written \(Read-only file system\): mount it writable\."):
        await store.put(b"more")
    assert await store.put(b"kept") == kept
    assert await store.get(kept) == b"kept"


FAILURES = [
    (errno.ENOSPC, "(No space left on device): free some space there."),
    (errno.EDQUOT, "): raise the quota or free some space there."),
    (errno.EROFS, "(Read-only file system): mount it writable."),
    (errno.EACCES, "(Permission denied): let the evaluator's user write and read there."),
    (errno.EIO, "): see whether it is there and works."),
]


@pytest.mark.parametrize(("code", "words"), FAILURES, ids=[errno.errorcode[code] for code, _ in FAILURES])
async def test_what_the_system_says_is_told_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    def fail(_: int) -> None:
        raise OSError(code, os.strerror(code))

    store = BlobStore(str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(StoreUnavailableError) as problem:
            await store.put(CONTENT)
    assert str(problem.value).startswith(f"The evaluator's store at {tmp_path} can't be written (")
    assert str(problem.value).endswith(words)
    assert files(tmp_path) == []
    assert await store.get(await store.put(CONTENT)) == CONTENT


async def test_a_store_that_is_no_folder_any_more(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("somebody's notes")
    store = BlobStore(str(tmp_path / "store"))
    with pytest.raises(StoreUnavailableError, match="can't be written"):
        await store.put(CONTENT)


async def test_a_store_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    monkeypatch.setattr(folder, "ANSWERS_WITHIN", 0.05)
    monkeypatch.setattr(folder, "_write_durably", lambda *_: answers.wait())
    try:
        with pytest.raises(StoreUnavailableError, match=r"can't be written \(no answer within 0.05 s\)"):
            await BlobStore(str(tmp_path)).put(CONTENT)
    finally:
        answers.set()


@pytest.mark.parametrize("damage", [b"", b"not zlib", CONTENT], ids=["emptied", "garbage", "other content"])
async def test_a_damaged_blob_is_written_again_by_whoever_has_its_content(tmp_path: Path, damage: bytes) -> None:
    store = BlobStore(str(tmp_path))
    ref = await store.put(CONTENT)
    [file] = files(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage or whole[: len(whole) // 2])
    with pytest.raises(BlobDamagedError, match=r"is damaged .*put it back"):
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
