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
"""A blob's time of writing is never much older than its last use, so that stores may be pruned by age."""

_PIECE, _PACKED_PIECE = 1024 * 1024, 32 * 1024

_LARGE = 64 * 1024
"""Bytes of a content that is packed well rather than fast: there are few, and they are most of what a store holds."""

_RESTORE = "put it back from a copy of the store; a scenario's is written again when it is next played."


BlobRef = Content
"""What names a blob."""


class BlobNotFoundError(LookupError):
    """No such blob in this store."""


class BlobDamagedError(ValueError):
    """A blob whose content is not what its name says."""


def blob_ref(content: bytes) -> BlobRef:
    return BlobRef(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


class BlobStore:
    """Blobs below an fsspec URL or a local folder (``/srv/proctor/storage``, ``s3://bucket/proctor``, ``memory://``).

    Contents are kept zlib-compressed, large ones better than small ones. A local blob is written beside its place,
    flushed to the disk and renamed, so neither a reader nor a crash ever meets half a file. A blob is
    believed only if its content has its hash: a writer that has the content and finds a damaged blob writes it again.
    All methods raise ``StoreUnavailableError`` where the store is full, read-only, away or doesn't answer.
    """

    def __init__(self, url: str) -> None:
        self._folder = Folder(url, "store")

    def without_place(self, problem: Exception) -> str:
        """What an error of this store says, for callers, who must not know where it is."""
        return self._folder.without_place(problem)

    async def put(self, content: bytes) -> BlobRef:
        """Keep a content and return its name; one that is there already is written again after ``RENEWED_AFTER``."""
        return await self._folder.within_time(lambda: self.put_blocking(content), "written", len(content))

    async def get(self, ref: BlobRef) -> bytes:
        """Fetch a content. Raises ``BlobNotFoundError`` and ``BlobDamagedError``."""
        return await self._folder.within_time(lambda: self.get_blocking(ref), "read", ref.size)

    async def read_in_pieces(self, ref: BlobRef) -> AsyncIterator[bytes]:
        """Fetch a content of which it is known at its end only that it is sound; raises as ``get``, by then."""
        packed = await self._folder.within_time(lambda: self._read_packed(ref), "read", ref.size)
        for piece in self._pieces(ref, packed):
            yield piece

    async def holds(self, ref: BlobRef) -> bool:
        """Whether a content is there, sound, and written lately: it needn't be put there then."""
        return await self._folder.within_time(lambda: self._has(ref), "read", ref.size)

    def put_blocking(self, content: bytes) -> BlobRef:
        ref = blob_ref(content)
        if self._folder.is_of_objects and self._folder.write_first(path_of(ref), _packed(content)):
            return ref
        if not self._has(ref):
            self._folder.write(path_of(ref), _packed(content))
        return ref

    def get_blocking(self, ref: BlobRef) -> bytes:
        return b"".join(self._pieces(ref, self._read_packed(ref)))

    def _read_packed(self, ref: BlobRef) -> bytes:
        try:
            return self._folder.read(path_of(ref), ref.size)
        except FileNotFoundError:
            raise BlobNotFoundError(
                f"no blob {ref.sha256} below {self._folder.place}: was the store moved or pruned? If it is lost, "
                f"{_RESTORE}"
            ) from None
        except RefusedFileError as problem:
            raise self._damaged(ref, str(problem)) from None

    def _pieces(self, ref: BlobRef, packed: bytes) -> Iterator[bytes]:
        """A content in pieces; at its end it is known whether it was what its name says."""
        digest, size, unpacker = hashlib.sha256(), 0, zlib.decompressobj()
        try:
            for place in range(0, len(packed), _PACKED_PIECE):
                piece = unpacker.decompress(packed[place : place + _PACKED_PIECE])
                digest.update(piece)
                size += len(piece)
                if size > ref.size:
                    break
                yield piece
        except zlib.error as problem:
            raise self._damaged(ref, str(problem)) from None
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
        except Exception as problem:  # every kind of file system has its own
            raise self._folder.unavailable(problem, "written") from problem

    def _is_fresh(self, ref: BlobRef) -> bool:
        try:
            written = self._folder.written_at(path_of(ref))
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
    """A store that is only read, and before it contents in memory; for one who needs some for a moment."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._held: dict[BlobRef, bytes] = {}
        self._holders: Counter[BlobRef] = Counter()

    @contextmanager
    def holding(self, content: bytes) -> Iterator[BlobRef]:
        """Have a content in memory meanwhile."""
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
    """A content compressed, without a second copy of the whole meanwhile."""
    is_large = len(content) >= _LARGE
    # Short matches cost hexadecimals and base64 more than they save.
    packer = zlib.compressobj(4, strategy=zlib.Z_FILTERED) if is_large else zlib.compressobj(1)
    packed = io.BytesIO()
    view = memoryview(content)
    for place in range(0, len(view), _PIECE):
        packed.write(packer.compress(view[place : place + _PIECE]))
    packed.write(packer.flush())
    return packed.getvalue()


def path_of(ref: BlobRef) -> str:
    """Where a blob is, below the store's folder."""
    return posixpath.join(ref.sha256[:2], ref.sha256[2:])
