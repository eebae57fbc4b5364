"""Content-addressed files: a blob's name is the SHA-256 of its content, so writing it twice changes nothing."""

import asyncio
import hashlib
import os
import posixpath
import uuid
import zlib
from datetime import UTC, datetime, timedelta

import fsspec
from pydantic import BaseModel, ConfigDict, Field

RENEWED_AFTER = timedelta(days=1)
"""A blob's time of writing is never much older than its last use, so that stores may be pruned by age."""


class BlobRef(BaseModel):
    """What names a blob: the SHA-256 (hex) and the size in bytes of its content."""

    model_config = ConfigDict(frozen=True)

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)


class BlobNotFoundError(LookupError):
    """No such blob in this store."""


class BlobDamagedError(ValueError):
    """A blob whose content is not what its name says."""


def blob_ref(content: bytes) -> BlobRef:
    """The name of a content."""
    return BlobRef(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


class BlobStore:
    """Blobs below an fsspec URL or a local folder (``.proctor/storage``, ``s3://bucket/proctor``, ``memory://``).

    Contents are kept zlib-compressed. A local write is a rename, so a reader never meets half a file.
    """

    def __init__(self, url: str) -> None:
        self._fs, self._root = fsspec.core.url_to_fs(url if "://" in url else os.path.abspath(url))
        self._is_local = "file" in (self._fs.protocol if isinstance(self._fs.protocol, tuple) else (self._fs.protocol,))

    async def put(self, content: bytes) -> BlobRef:
        """Keep a content and return its name; one that is there already is written again after ``RENEWED_AFTER``."""
        return await asyncio.to_thread(self.put_blocking, content)

    async def get(self, ref: BlobRef) -> bytes:
        """Fetch a content.

        Raises:
            BlobNotFoundError: the store has no such blob.
            BlobDamagedError: what the store has is not what the name says.
        """
        return await asyncio.to_thread(self.get_blocking, ref)

    def put_blocking(self, content: bytes) -> BlobRef:
        """``put`` for callers without an event loop."""
        ref = blob_ref(content)
        path = self._path(ref)
        if self._has_fresh(path):
            return ref
        self._fs.makedirs(posixpath.dirname(path), exist_ok=True)
        packed = zlib.compress(content, 1)
        if self._is_local:
            part = f"{path}.{uuid.uuid4().hex}.part"
            self._fs.pipe_file(part, packed)
            os.replace(part, path)
        else:
            self._fs.pipe_file(path, packed)
        return ref

    def get_blocking(self, ref: BlobRef) -> bytes:
        """``get`` for callers without an event loop."""
        try:
            packed: bytes = self._fs.cat_file(self._path(ref))
        except FileNotFoundError:
            raise BlobNotFoundError(
                f"no blob {ref.sha256} below {self._root}: was the store moved or pruned?"
            ) from None
        try:
            content = zlib.decompress(packed)
        except zlib.error as problem:
            raise BlobDamagedError(f"blob {ref.sha256} below {self._root} can't be unpacked: {problem}") from None
        if blob_ref(content) != ref:
            raise BlobDamagedError(f"blob {ref.sha256} below {self._root} has other content than its name says")
        return content

    def _has_fresh(self, path: str) -> bool:
        try:
            written: datetime = self._fs.modified(path)
        except FileNotFoundError:
            return False
        except NotImplementedError:
            return bool(self._fs.exists(path))
        return datetime.now(UTC) - written.astimezone(UTC) < RENEWED_AFTER

    def _path(self, ref: BlobRef) -> str:
        return posixpath.join(self._root, ref.sha256[:2], ref.sha256[2:])
