"""Checkpoints in parts (``proctor.ues.parts``), stored as blobs: a manifest, and the parts that it names.

The manifest is stored last, so its readers find all parts. A worker handles only a few parts at a time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from pydantic_core import from_json

from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobRef, BlobStore, blob_ref
from purple_sdk.processes.together import do_all

AT_ONCE = 8
"""The number of parts that are transferred at the same time."""

TOGETHER = 1024 * 1024
"""Bytes of parts that are sent to the simulator in one request."""

_IN_PARTS = b'{"format":2,'


def is_in_parts(checkpoint: bytes) -> bool:
    """Tell whether a checkpoint is a manifest; others are whole."""
    return checkpoint.startswith(_IN_PARTS)


async def keep_parts(
    store: BlobStore, new: Iterable[BlobRef], along: Sequence[bytes], fetch: Callable[[str], Awaitable[bytes]]
) -> None:
    """Store the parts named by ``new``.

    ``along`` has contents that came with the request, in any order. If a part is neither there nor in the store,
    ``fetch`` returns it, given its SHA-256.
    """
    contents = {blob_ref(content): content for content in along}
    few = asyncio.Semaphore(AT_ONCE)

    async def keep(ref: BlobRef) -> None:
        async with few:
            if (content := contents.get(ref)) is not None:
                await store.put(content)
            elif not await store.holds(ref):
                await store.put(await fetch(ref.sha256))

    await do_all(*map(keep, new))


class Contents(Protocol):
    """A source of contents by name: a store, or data that came from one."""

    async def get(self, ref: BlobRef) -> bytes:
        """Fetch a content; raises ``BlobNotFoundError`` and ``BlobDamagedError``."""

    def get_blocking(self, ref: BlobRef) -> bytes:
        """Fetch a content, for callers without an event loop; raises the errors of ``get``."""


class InParts:
    """Data in parts; ``BlobNotFoundError`` and ``BlobDamagedError`` name the missing or damaged part.

    Args:
        store: the place of the parts.
        listed: its parts, as a manifest lists them.
        what: its name in errors.
        known: decoded pages by name, shared between several reads. No reader may change them.
    """

    def __init__(
        self, store: Contents, listed: list[dict[str, Any]], what: str, known: dict[str, Any] | None = None
    ) -> None:
        self._store = store
        self._known = known
        self._listed = listed
        self._what = what

    async def read_indexes(self) -> tuple[list[bytes], dict[str, BlobRef]]:
        """Return the contents of the indexes, and all other parts by name."""
        indexes = [await self.read(ref) for collection in self._listed for ref in _refs(collection["index"])]
        pages = [ref for index in indexes for ref in _refs(from_json(index))]
        pages += [ref for collection in self._listed for ref in _refs(collection["pages"])]
        return indexes, {ref.sha256: ref for ref in pages}

    async def read(self, part: BlobRef) -> bytes:
        with self._name_missing_part():
            return await self._store.get(part)

    async def require(self) -> None:
        """Check that all parts are present and undamaged."""
        _, parts = await self.read_indexes()
        for part in parts.values():
            await self.read(part)

    def paths(self, top: str | None = None) -> Iterator[tuple[tuple[str, ...], list[BlobRef]]]:
        """Yield the path of each collection in parts, with its pages; with ``top``, only paths that begin with it.

        This method and the next ones are for callers without an event loop.
        """
        for collection in self._listed:
            path = tuple(collection["path"])
            if top is None or path[0] == top:
                indexed = (self._read_now(index) for index in _refs(collection["index"]))
                yield path, [*(ref for index in indexed for ref in _refs(index)), *_refs(collection["pages"])]

    def pages(self, pages: Iterable[BlobRef]) -> Iterator[Any]:
        return map(self._read_page, pages)

    def join(self, data: dict[str, Any], top: str | None = None) -> dict[str, Any]:
        """Fill the collections in parts into the data; with ``top``, only collections whose path begins with it."""
        for path, pages in self.paths(top):
            *above, last = path
            node: Any = data
            for part in above:
                node = node[part]
            node[last] = joined(self.pages(pages), node[last])
        return data

    def _read_page(self, part: BlobRef) -> Any:
        if self._known is None:
            return self._read_now(part)
        if part.sha256 not in self._known:
            self._known[part.sha256] = self._read_now(part)
        return self._known[part.sha256]

    def _read_now(self, part: BlobRef) -> Any:
        with self._name_missing_part():
            return from_json(self._store.get_blocking(part))

    @contextmanager
    def _name_missing_part(self) -> Iterator[None]:
        try:
            yield
        except (BlobNotFoundError, BlobDamagedError) as error:
            raise type(error)(f"a part of {self._what} can't be had: {error}") from None


def parts_of_checkpoint(store: Contents, manifest: bytes, known: dict[str, Any] | None = None) -> InParts:
    """Return the parts of the checkpoint with this manifest; they are read on demand.

    ``known`` has decoded parts by SHA-256; reading adds to it.
    """
    return InParts(store, from_json(manifest)["parts"], f"the checkpoint {blob_ref(manifest).sha256}", known)


def batched(contents: Mapping[str, int]) -> Iterator[list[str]]:
    """Group the names of contents into batches of limited size; ``contents`` has the sizes in bytes."""
    together: list[str] = []
    size = 0
    for name, bytes_of_name in contents.items():
        if together and size + bytes_of_name > TOGETHER:
            yield together
            together, size = [], 0
        together.append(name)
        size += bytes_of_name
    if together:
        yield together


def _refs(entries: Iterable[Sequence[Any]]) -> list[BlobRef]:
    return [BlobRef(sha256=name, size=size) for name, size in entries]


def joined(pages: Iterable[Any], tail: Any) -> Any:
    if isinstance(tail, dict):
        whole: dict[str, Any] = {}
        for page in pages:
            whole.update(page)
        return whole | tail
    return [entry for page in pages for entry in page] + tail
