"""Content-addressed files: a blob's name is the SHA-256 of its content, so writing it twice changes nothing."""

import asyncio
import errno
import hashlib
import os
import posixpath
import uuid
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import fsspec
from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")

RENEWED_AFTER = timedelta(days=1)
"""A blob's time of writing is never much older than its last use, so that stores may be pruned by age."""

ANSWERS_WITHIN = 30.0
"""Seconds after which a store that does not answer counts as unavailable."""

_REMEDIES = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "raise the quota or free some space there",
    errno.EFBIG: "raise the limit on the size of files",
    errno.EROFS: "mount it writable",
    errno.EACCES: "let the evaluator's user write and read there",
    errno.EPERM: "let the evaluator's user write and read there",
}

_RESTORE = "put it back from a copy of the store; a scenario's is written again when it is played anew."

_threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="store")
"""A store that hangs holds up its own callers, and nobody else who needs a thread."""


class BlobRef(BaseModel):
    """What names a blob: the SHA-256 (hex) and the size in bytes of its content."""

    model_config = ConfigDict(frozen=True)

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)


class BlobNotFoundError(LookupError):
    """No such blob in this store."""


class BlobDamagedError(ValueError):
    """A blob whose content is not what its name says."""


class StoreUnavailableError(Exception):
    """The store can't be written or read just now; the message is a sentence with its place, the reason and a remedy.

    Nothing was lost: the same call may be repeated.
    """


def blob_ref(content: bytes) -> BlobRef:
    """The name of a content."""
    return BlobRef(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


class BlobStore:
    """Blobs below an fsspec URL or a local folder (``/srv/proctor/storage``, ``s3://bucket/proctor``, ``memory://``).

    Contents are kept zlib-compressed. A local blob is written beside its place, flushed to the disk and renamed, so
    neither a reader nor a crash ever meets half a file. What is there is believed only if its content has its hash:
    who has the content and finds a damaged blob writes it anew.
    """

    def __init__(self, url: str) -> None:
        self._fs, self._root = fsspec.core.url_to_fs(url if "://" in url else os.path.abspath(url))
        self._is_local = "file" in (self._fs.protocol if isinstance(self._fs.protocol, tuple) else (self._fs.protocol,))

    async def put(self, content: bytes) -> BlobRef:
        """Keep a content and return its name; one that is there already is written again after ``RENEWED_AFTER``.

        Raises:
            StoreUnavailableError: the store is full, read-only, away or doesn't answer.
        """
        return await self._in_thread(lambda: self.put_blocking(content), "written")

    async def get(self, ref: BlobRef) -> bytes:
        """Fetch a content.

        Raises:
            BlobNotFoundError: the store has no such blob.
            BlobDamagedError: what the store has is not what the name says.
            StoreUnavailableError: the store can't be read or doesn't answer.
        """
        return await self._in_thread(lambda: self.get_blocking(ref), "read")

    def put_blocking(self, content: bytes) -> BlobRef:
        """``put`` for callers without an event loop; it waits for as long as it takes."""
        ref = blob_ref(content)
        path = self._path(ref)
        try:
            if not (self._is_fresh(path) and self._is_sound(ref)):
                packed = zlib.compress(content, 1)
                if self._is_local:
                    _write_durably(path, packed)
                else:
                    self._fs.makedirs(posixpath.dirname(path), exist_ok=True)
                    self._fs.pipe_file(path, packed)
        except Exception as problem:  # every kind of file system has its own
            raise self._unavailable(problem, "written") from problem
        return ref

    def get_blocking(self, ref: BlobRef) -> bytes:
        """``get`` for callers without an event loop; it waits for as long as it takes."""
        try:
            packed: bytes = self._fs.cat_file(self._path(ref))
        except FileNotFoundError:
            raise BlobNotFoundError(
                f"no blob {ref.sha256} below {self._root}: was the store moved or pruned? If it is lost, {_RESTORE}"
            ) from None
        except Exception as problem:
            raise self._unavailable(problem, "read") from problem
        try:
            content = zlib.decompress(packed)
        except zlib.error as problem:
            raise BlobDamagedError(f"blob {ref.sha256} below {self._root} is damaged ({problem}): {_RESTORE}") from None
        if blob_ref(content) != ref:
            raise BlobDamagedError(
                f"blob {ref.sha256} below {self._root} is damaged (it is other content than its name says): {_RESTORE}"
            )
        return content

    async def _in_thread(self, work: Callable[[], T], done: str) -> T:
        running = asyncio.get_running_loop().run_in_executor(_threads, work)
        try:
            return await asyncio.wait_for(running, ANSWERS_WITHIN)
        except TimeoutError:
            slow = TimeoutError(errno.ETIMEDOUT, f"no answer within {ANSWERS_WITHIN:g} s")
            raise self._unavailable(slow, done) from None

    def _unavailable(self, problem: Exception, done: str) -> StoreUnavailableError:
        code = problem.errno if isinstance(problem, OSError) else None
        reason = (problem.strerror if isinstance(problem, OSError) else None) or str(problem) or type(problem).__name__
        remedy = _REMEDIES.get(code or 0, "see whether it is there and works")
        return StoreUnavailableError(
            f"The evaluator's store at {self._root} can't be {done} ({' '.join(reason.split())[:300]}): {remedy}."
        )

    def _is_fresh(self, path: str) -> bool:
        try:
            written: datetime = self._fs.modified(path)
        except FileNotFoundError:
            return False
        except NotImplementedError:
            return bool(self._fs.exists(path))
        return datetime.now(UTC) - written.astimezone(UTC) < RENEWED_AFTER

    def _is_sound(self, ref: BlobRef) -> bool:
        try:
            self.get_blocking(ref)
        except (BlobDamagedError, BlobNotFoundError):
            return False
        return True

    def _path(self, ref: BlobRef) -> str:
        return posixpath.join(self._root, ref.sha256[:2], ref.sha256[2:])


def _write_durably(path: str, content: bytes) -> None:
    """Write a local file so that it is there as a whole or not at all, even if the machine loses its power."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)
        _flush_folder(os.path.dirname(folder))
    part = f"{path}.{uuid.uuid4().hex}.part"
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    _flush_folder(folder)


def _flush_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
