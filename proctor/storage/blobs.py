"""Content-addressed files: a blob's name is the SHA-256 of its content, so writing it twice changes nothing."""

import hashlib
import io
import posixpath
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from proctor.protocol.archive import Content
from proctor.storage.folder import Folder, RefusedFileError
from proctor.storage.folder import StoreUnavailableError as StoreUnavailableError

RENEWED_AFTER = timedelta(days=1)
"""Blobs in use are rewritten after this time. Stores may therefore be pruned by age."""

_PIECE, _PACKED_PIECE = 1024 * 1024, 32 * 1024

_LARGE = 64 * 1024
"""Contents from this size in bytes are compressed better but slower. Large blobs are few but fill most of a store."""

_RESTORE = "put it back from a copy of the store; a scenario's is written again when it is next played."


BlobRef = Content
"""The name of a blob."""


class BlobNotFoundError(LookupError):
    """The store has no such blob."""


class BlobDamagedError(ValueError):
    """A blob whose content doesn't match its name."""


def blob_ref(content: bytes) -> BlobRef:
    return BlobRef(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


class BlobStore:
    """Blobs below an fsspec URL or a local folder (``/srv/proctor/storage``, ``s3://bucket/proctor``, ``memory://``).

    Contents are kept zlib-compressed, large ones better than small ones. A local blob is first written under another
    name, flushed to the disk and renamed. Neither readers nor crashes leave half a file. A blob is valid only if its
    name is the hash of its content. A writer that has the content replaces a damaged blob. All methods raise
    ``StoreUnavailableError`` if the store is full, read-only, missing or doesn't answer.
    """

    def __init__(self, url: str) -> None:
        self._folder = Folder(url, "store")

    def without_place(self, problem: Exception) -> str:
        """Return an error's text without this store's place, for callers who must not know it."""
        return self._folder.without_place(problem)

    async def put(self, content: bytes) -> BlobRef:
        """Store a content and return its name. An existing blob is rewritten after ``RENEWED_AFTER``."""
        return await self._folder.within_time(lambda: self.put_blocking(content), "written", len(content))

    async def get(self, ref: BlobRef) -> bytes:
        """Fetch a content. Raises ``BlobNotFoundError`` and ``BlobDamagedError``."""
        return await self._folder.within_time(lambda: self.get_blocking(ref), "read", ref.size)

    async def read_in_pieces(self, ref: BlobRef) -> AsyncIterator[bytes]:
        """Yield a content in pieces. Damage is found at the last piece or before; raises the errors of ``get``."""
        packed = await self._folder.within_time(lambda: self._read_packed(ref), "read", ref.size)
        for piece in self._pieces(ref, packed):
            yield piece

    async def holds(self, ref: BlobRef) -> bool:
        """Tell whether a content is present, sound and recently written. It then needn't be stored again."""
        return await self._folder.within_time(lambda: self._has(ref), "read", ref.size)

    def put_blocking(self, content: bytes) -> BlobRef:
        ref = blob_ref(content)
        if self._folder.is_of_objects and self._folder.write_first(get_blob_path(ref), _packed(content)):
            return ref
        if not self._has(ref):
            self._folder.write(get_blob_path(ref), _packed(content))
        return ref

    def get_blocking(self, ref: BlobRef) -> bytes:
        return b"".join(self._pieces(ref, self._read_packed(ref)))

    def _read_packed(self, ref: BlobRef) -> bytes:
        try:
            return self._folder.read(get_blob_path(ref), ref.size)
        except FileNotFoundError:
            raise BlobNotFoundError(
                f"no blob {ref.sha256} below {self._folder.place}: was the store moved or pruned? If it is lost, "
                f"{_RESTORE}"
            ) from None
        except RefusedFileError as error:
            raise self._damaged(ref, str(error)) from None

    def _pieces(self, ref: BlobRef, packed: bytes) -> Iterator[bytes]:
        """Yield a content in pieces; raise at the end if it doesn't match its name."""
        digest, size, unpacker = hashlib.sha256(), 0, zlib.decompressobj()
        try:
            for place in range(0, len(packed), _PACKED_PIECE):
                piece = unpacker.decompress(packed[place : place + _PACKED_PIECE])
                digest.update(piece)
                size += len(piece)
                if size > ref.size:
                    break
                yield piece
        except zlib.error as error:
            raise self._damaged(ref, str(error)) from None
        if size <= ref.size and not unpacker.eof:
            raise self._damaged(ref, "it is cut short")
        if (digest.hexdigest(), size) != (ref.sha256, ref.size):
            raise self._damaged(ref, "it is other content than its name says")

    def _damaged(self, ref: BlobRef, how: str) -> BlobDamagedError:
        return BlobDamagedError(f"blob {ref.sha256} below {self._folder.place} is damaged ({how}): {_RESTORE}")

    def _has(self, ref: BlobRef) -> bool:
        try:
            return self._is_fresh(ref) and self._is_sound(ref)
        except StoreUnavailableError:
            raise
        except Exception as error:  # each kind of file system has its own errors
            raise self._folder.unavailable(error, "written") from error

    def _is_fresh(self, ref: BlobRef) -> bool:
        try:
            written = self._folder.find_written_time(get_blob_path(ref))
        except FileNotFoundError:
            return False
        return written is None or datetime.now(UTC) - written < RENEWED_AFTER

    def _is_sound(self, ref: BlobRef) -> bool:
        try:
            for _ in self._pieces(ref, self._read_packed(ref)):
                pass
        except (BlobDamagedError, BlobNotFoundError):
            return False
        return True


class HeldBlobs(BlobStore):
    """A store for reading only, with some contents held in memory for a short time."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._held: dict[BlobRef, bytes] = {}
        self._holders: Counter[BlobRef] = Counter()

    @contextmanager
    def holding(self, content: bytes) -> Iterator[BlobRef]:
        """Hold a content in memory during the ``with`` block."""
        ref = blob_ref(content)
        self._held[ref] = content
        self._holders[ref] += 1
        try:
            yield ref
        finally:
            self._holders[ref] -= 1
            if not self._holders[ref]:
                del self._holders[ref], self._held[ref]

    def _read_packed(self, ref: BlobRef) -> bytes:
        held = self._held.get(ref)
        return super()._read_packed(ref) if held is None else zlib.compress(held, 1)


def _packed(content: bytes) -> bytes:
    """Compress a content without a second copy of the whole."""
    is_large = len(content) >= _LARGE
    # In hexadecimal and base64 data, short matches cost more than they save.
    packer = zlib.compressobj(4, strategy=zlib.Z_FILTERED) if is_large else zlib.compressobj(1)
    packed = io.BytesIO()
    view = memoryview(content)
    for place in range(0, len(view), _PIECE):
        packed.write(packer.compress(view[place : place + _PIECE]))
    packed.write(packer.flush())
    return packed.getvalue()


def get_blob_path(ref: BlobRef) -> str:
    """Return a blob's path below the store's folder."""
    return posixpath.join(ref.sha256[:2], ref.sha256[2:])
