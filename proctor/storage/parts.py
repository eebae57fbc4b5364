"""Checkpoints in parts (``proctor.ues.parts``), as they lie in the store: a manifest, and the parts that it names.

Each is a blob. Parts are put there first and the manifest last, so that a reader of a manifest finds its parts; and
they pass through a worker a few at a time, however many there are.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from pydantic_core import from_json

from proctor.storage.blobs import BlobDamagedError, BlobNotFoundError, BlobRef, BlobStore, blob_ref
from purple_sdk.processes.together import do_all

AT_ONCE = 8
"""How many parts are on their way at the same time."""

TOGETHER = 1024 * 1024
"""Bytes of parts that are sent to the simulator in one request."""

_IN_PARTS = b'{"format":2,'


def is_in_parts(checkpoint: bytes) -> bool:
    """Whether a checkpoint is a manifest; others are whole."""
    return checkpoint.startswith(_IN_PARTS)


async def keep_parts(
    store: BlobStore, new: Iterable[BlobRef], along: Sequence[bytes], fetch: Callable[[str], Awaitable[bytes]]
) -> None:
    """See to it that parts, named by ``new``, are in the store: those that came ``along``, in any order, and others,
    which ``fetch`` gets by their SHA-256 where they aren't there.
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
    """Where contents are found by their names: a store, or what came from one."""

    async def get(self, ref: BlobRef) -> bytes:
        """Fetch a content; raises ``BlobNotFoundError`` and ``BlobDamagedError``."""

    def get_blocking(self, ref: BlobRef) -> bytes:
        """The same, for callers without an event loop."""


class InParts:
    """Something that is in parts; ``BlobNotFoundError`` and ``BlobDamagedError`` name what is missing or damaged.

    Args:
        store: where the parts are.
        listed: its parts, as a manifest lists them.
        what: what it is called.
        known: pages that were read before, by their names, where several that share them are read and none is altered.
    """

    def __init__(
        self, store: Contents, listed: list[dict[str, Any]], what: str, known: dict[str, Any] | None = None
    ) -> None:
        self._store = store
        self._known = known
        self._listed = listed
        self._what = what

    async def read_indexes(self) -> tuple[list[bytes], dict[str, BlobRef]]:
        """The contents of the indexes, and all other parts by their names."""
        indexes = [await self.read(ref) for each in self._listed for ref in _refs(each["index"])]
        pages = [ref for index in indexes for ref in _refs(from_json(index))]
        pages += [ref for each in self._listed for ref in _refs(each["pages"])]
        return indexes, {ref.sha256: ref for ref in pages}

    async def read(self, part: BlobRef) -> bytes:
        with self._named():
            return await self._store.get(part)

    async def require(self) -> None:
        """See whether all parts are there and sound."""
        _, parts = await self.read_indexes()
        for part in parts.values():
            await self.read(part)

    def paths(self, top: str | None = None) -> Iterator[tuple[tuple[str, ...], list[BlobRef]]]:
        """The collections that are in parts, or those below a name, each with its pages; for callers without an event
        loop, as the rest is.
        """
        for each in self._listed:
            path = tuple(each["path"])
            if top is None or path[0] == top:
                indexed = (self._read_now(index) for index in _refs(each["index"]))
                yield path, [*(ref for index in indexed for ref in _refs(index)), *_refs(each["pages"])]

    def pages(self, pages: Iterable[BlobRef]) -> Iterator[Any]:
        return map(self._read_page, pages)

    def join(self, data: dict[str, Any], top: str | None = None) -> dict[str, Any]:
        """Put into the data what is in parts, of all or below a name."""
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
        with self._named():
            return from_json(self._store.get_blocking(part))

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (BlobNotFoundError, BlobDamagedError) as problem:
            raise type(problem)(f"a part of {self._what} can't be had: {problem}") from None


def parts_of_checkpoint(store: Contents, manifest: bytes, known: dict[str, Any] | None = None) -> InParts:
    """The parts of a checkpoint, whose content is a manifest, read as they are needed; ``known`` has decoded parts by
    their SHA-256, and is added to.
    """
    return InParts(store, from_json(manifest)["parts"], f"the checkpoint {blob_ref(manifest).sha256}", known)


def batched(contents: Mapping[str, int]) -> Iterator[list[str]]:
    """Names of contents in groups of a limited number of bytes; ``contents`` has the sizes."""
    together: list[str] = []
    size = 0
    for name, each in contents.items():
        if together and size + each > TOGETHER:
            yield together
            together, size = [], 0
        together.append(name)
        size += each
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
