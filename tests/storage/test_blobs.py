"""Content-addressed blobs."""

import asyncio
import hashlib
import os
import random
import stat
import time
import zlib
from pathlib import Path

import pytest

from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobRef, BlobStore
from tests.sentences import says


@pytest.fixture(params=["folder", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "blobs") if request.param == "folder" else f"memory://{tmp_path.name}"


async def test_what_goes_in_comes_out_by_its_digest(url: str) -> None:
    store = BlobStore(url)
    content = b"x" * 100_000
    ref = await store.put(content)
    assert ref == BlobRef(sha256=hashlib.sha256(content).hexdigest(), size=100_000)
    assert await store.get(ref) == content
    assert await BlobStore(url).put(content) == ref


async def test_large_contents_are_packed_better_and_are_read_as_all_are(tmp_path: Path) -> None:
    content = random.Random(1).randbytes(100_000).hex(" ", 4).encode()
    ref = await BlobStore(str(tmp_path)).put(content)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert file.stat().st_size < 0.9 * len(zlib.compress(content, 1))
    assert zlib.decompress(file.read_bytes()) == content
    file.write_bytes(zlib.compress(content, 1))  # as it was packed before
    assert await BlobStore(str(tmp_path)).get(ref) == content


async def test_many_writers_of_one_content_leave_one_file(tmp_path: Path) -> None:
    store = BlobStore(str(tmp_path))
    refs = await asyncio.gather(*(store.put(b"the same") for _ in range(20)))
    assert len(set(refs)) == 1
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


async def test_a_blob_that_is_used_again_never_looks_old(tmp_path: Path) -> None:
    store = BlobStore(str(tmp_path))
    ref = await store.put(b"used every month")
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    now = time.time()

    def written_ago() -> float:
        return now - file.stat().st_mtime

    hour, month = 3600, 30 * 86_400
    for age, expected in ((hour, hour), (month, 0)):
        os.utime(file, (now - age, now - age))
        assert await store.put(b"used every month") == ref
        assert written_ago() == pytest.approx(expected, abs=60)


async def test_a_missing_blob_says_so(url: str) -> None:
    with pytest.raises(BlobNotFoundError, check=says()):
        await BlobStore(url).get(BlobRef(sha256="0" * 64, size=1))


@pytest.mark.parametrize("damage", [b"", b"not zlib", zlib.compress(b"c0ntent")], ids=["cut", "other", "as long"])
async def test_a_damaged_blob_is_never_handed_out(tmp_path: Path, damage: bytes) -> None:
    store = BlobStore(str(tmp_path))
    ref = await store.put(b"content")
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_bytes(damage)
    with pytest.raises(BlobDamagedError):
        await store.get(ref)


async def test_a_file_is_open_to_nobody_to_whom_its_folder_is_not(tmp_path: Path) -> None:
    for mode, of_file, of_folder in ((0o700, 0o600, 0o700), (0o770, 0o660, 0o770)):
        place = tmp_path / oct(mode)
        place.mkdir()
        place.chmod(mode)
        umask = os.umask(0)
        try:
            await BlobStore(str(place / "storage")).put(b"content")
        finally:
            os.umask(umask)
        found = {stat.S_IMODE(path.stat().st_mode) for path in (place / "storage").rglob("*") if path.is_file()}
        assert found == {of_file}
        assert stat.S_IMODE((place / "storage").stat().st_mode) == of_folder
