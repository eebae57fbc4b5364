"""Parts of a checkpoint: large lists of a simulation are cut into pages, each named by the SHA-256 of its content.

A *collection* (a mailbox, a folder's list, the events, the history, the access log) that takes more than ``CUT_FROM``
bytes of JSON is a row of pages and a tail; the checkpoint's manifest names the pages and holds the tail, and everything
small, itself. What an operation writes to is noted (``touch…``), so that the next checkpoint writes only those pages
again and reads no other: its cost depends on the changes, not on the size.

In a manifest ``parts`` lists the collections, those that are within others after these::

    {"path": ["states", "email", "emails"], "index": [[NAME, SIZE], …], "pages": [[NAME, SIZE], …]}

A page is a JSON object or list, as its collection is. ``index`` names parts that each hold the entries of ``INDEXED``
pages, the first ones, as a JSON list, so that a manifest stays short.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson

from proctor.ues.schema import JsonObject

CUT_FROM = 24 * 1024
"""Bytes of JSON from which a collection is cut."""

PAGE, LARGE_PAGE = 16 * 1024, 128 * 1024
"""The approximate bytes of a page; the second, where more than ``LARGE`` is cut for the first time: unchanged content
can be in few files, and changed content is cut finer later."""

LARGE = 4 * 1024 * 1024

TAIL = 8 * 1024
"""Bytes of a collection's end that stand in the manifest: mails that come in don't make a page each."""

UNCHANGING = frozenset({("states", "email", "files")})
"""Collections that are cut however small they are, and without a tail: they never change, so they are stored once."""

INDEXED = 64
"""How many pages an index names."""

_NESTED_FROM = 500
"""Entries of a list within a collection from which it is looked whether it has to be cut itself."""

Path = tuple[str, ...]
Name = str

NEVER = 1 << 62
"""The place of a list's first change where there is none."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its name, its bytes, and what it holds: the keys of the entries, or, of a list, how many there are."""

    name: Name
    size: int
    keys: list[str] | None
    count: int


@dataclass(slots=True)
class Cut:
    """How a collection is cut.

    Attributes:
        container: it itself; another one at its path has nothing to do with this.
        is_row: whether its JSON is a list.
        pages, tail: its pages, and its last entries as JSON.
        first: of a list that loses its oldest entries, the number that the first one in a page has of all that ever
            were.
        length: how many entries it had.
    """

    container: Any
    is_row: bool
    pages: list[Page] = field(default_factory=list)
    tail: bytes = b""
    first: int = 0
    length: int = -1

    def list_pages(self, blocks: dict[Name, bytes]) -> JsonObject:
        """What a manifest says of the pages; indexes are put into ``blocks``."""
        entries = [[page.name, page.size] for page in self.pages]
        covered = len(entries) // INDEXED * INDEXED if len(entries) >= 2 * INDEXED else 0
        index = []
        for place in range(0, covered, INDEXED):
            content = orjson.dumps(entries[place : place + INDEXED])
            name = name_of(content)
            blocks[name] = content
            index.append([name, len(content)])
        return {"index": index, "pages": entries[covered:]}


def name_of(content: bytes) -> Name:
    return sha256(content).hexdigest()


class Parts:
    """What is known of a simulation's parts."""

    def __init__(self) -> None:
        self._cuts: dict[Path, Cut] = {}
        self._keys: dict[Path, set[str]] = {}
        self._places: dict[Path, int] = {}
        self._fresh: dict[Name, bytes] = {}
        self.names: list[Name] = []
        """The parts of the last checkpoint that was taken or restored, indexes first."""
        self.stored: frozenset[Name] = frozenset()
        """Names of the parts that are in the evaluator's store: those of the checkpoint that it named last."""
        self.waiting: dict[Name, bytes] = {}
        """Parts that the evaluator may still fetch: those of the last checkpoint that are not stored."""

    # --- what changes ---------------------------------------------------------------------------------------------

    def touch_state(self, modality: str, patch: Iterable[Sequence[Any]]) -> None:
        """Note what the steps of a patch write to."""
        for step in patch:
            path = step[1]
            if len(path) < 2:
                continue  # a collection that is replaced is another one
            self._touch(("states", modality, path[0]), path[1])
            if len(path) > 2 and isinstance(path[2], int):
                self._touch(("states", modality, path[0], str(path[1])), path[2])

    def touch_place(self, name: str, place: int) -> None:
        """Note that a list has changed from a place on."""
        self._touch((name,), place)

    def touch_event(self, event_id: str) -> None:
        self._touch(("events",), event_id)

    def _touch(self, path: Path, where: str | int) -> None:
        if isinstance(where, int):
            self._places[path] = min(where, self._places.get(path, NEVER))
        else:
            self._keys.setdefault(path, set()).add(where)

    # --- cutting --------------------------------------------------------------------------------------------------

    def cut(self, data: JsonObject) -> tuple[JsonObject, list[JsonObject], dict[Name, bytes]]:
        """Cut a simulation's data (``checkpoint``).

        Returns the data with tails instead of collections that are cut, what a manifest says of these, and the
        contents of the parts that were cut again, indexes among them.
        """
        self._fresh = {}
        known, self._cuts = self._cuts, {}
        log = data["access_log"]
        short = {
            **data,
            "states": {
                name: {
                    key: self._shorten(known, ("states", name, key), value) if isinstance(value, dict | list) else value
                    for key, value in state.items()
                }
                for name, state in data["states"].items()
            },
            "events": self._shorten(known, ("events",), data["events"], is_row=True),
            "undo": self._shorten(known, ("undo",), data["undo"]),
            "redo": self._shorten(known, ("redo",), data["redo"]),
            "access_log": {
                **log,
                "entries": self._shorten(
                    known, ("access_log", "entries"), log["entries"], base=log["total"] - len(log["entries"])
                ),
            },
        }
        self._keys.clear()
        self._places.clear()
        listed = [
            {"path": list(path), **cut.list_pages(self._fresh)}
            for path, cut in sorted(self._cuts.items(), key=lambda item: len(item[0]))
            if cut.pages
        ]
        fresh, self._fresh = self._fresh, {}
        self.names = [name for each in listed for name, _ in each["index"]]
        self.names += dict.fromkeys(page.name for cut in self._cuts.values() for page in cut.pages)
        return short, listed, fresh

    def shorten_shown(self, shown: Mapping[str, JsonObject]) -> tuple[JsonObject, list[JsonObject]]:
        """Modalities as they are shown, with tails instead of the collections that were cut last, and what lists these,
        as in a manifest, with ``path`` from the modality's name on. Nothing may have changed since they were cut.
        """
        cuts = {
            id(cut.container): path
            for path, cut in self._cuts.items()
            if path[0] == "states" and cut.pages and cut.tail
        }
        listed: list[JsonObject] = []

        def tail(value: Any, *path: str) -> Any:
            place = cuts.get(id(value))
            if place is None:
                return value
            for each, cut in self._cuts.items():
                if each[: len(place)] == place and cut.pages:
                    listed.append({"path": [*path, *each[len(place) :]], **cut.list_pages({})})
            return orjson.Fragment(self._cuts[place].tail)

        short = {
            name: {field: tail(value, name, field) for field, value in state.items()} for name, state in shown.items()
        }
        return short, sorted(listed, key=lambda each: len(each["path"]))

    def _shorten(
        self, known: dict[Path, Cut], path: Path, container: Any, *, is_row: bool | None = None, base: int = 0
    ) -> orjson.Fragment:
        """A collection's JSON, or that of its tail."""
        is_row = not isinstance(container, dict) if is_row is None else is_row
        size, before = PAGE, known.get(path)
        if before is not None and before.container is container:
            cut = before
        else:
            whole = orjson.dumps(_plain(container, is_row))
            if len(whole) <= CUT_FROM and (path not in UNCHANGING or not container):
                return orjson.Fragment(whole)
            cut = Cut(container, is_row, first=base)
            size = LARGE_PAGE if len(whole) > LARGE else PAGE
            del whole
        self._cuts[path] = cut
        if isinstance(container, dict):
            self._cut_keyed(known, path, cut, size)
        else:
            self._cut_places(path, cut, size, base)
        return orjson.Fragment(cut.tail)

    def _cut_keyed(self, known: dict[Path, Cut], path: Path, cut: Cut, size: int) -> None:
        values, touched = cut.container, self._keys.get(path, _NOTHING)
        if touched or cut.length != len(values):
            self._cut_anew(known, path, cut, touched, size)
        for each, nested in known.items():  # those in pages that stay as they are
            if each[:-1] == path and each not in self._cuts and values.get(each[-1]) is nested.container:
                self._cuts[each] = nested

    def _cut_anew(
        self, known: dict[Path, Cut], path: Path, cut: Cut, touched: set[str] | frozenset[str], size: int
    ) -> None:
        values = cut.container
        keys = list(values)
        still = {page.keys[0]: page for page in cut.pages if page.keys and touched.isdisjoint(page.keys)}
        pages: list[Page] = []
        fresh: list[str] = []
        place = 0
        while place < len(keys):
            page = still.get(keys[place])
            if page is None or keys[place : place + page.count] != page.keys:
                fresh.append(keys[place])
                place += 1
                continue
            self._write_keyed(known, path, cut, pages, fresh, size, is_end=False)
            fresh = []
            pages.append(page)
            place += page.count
        self._write_keyed(known, path, cut, pages, fresh, size, is_end=True)
        cut.pages, cut.length = pages, len(values)

    def _write_keyed(
        self, known: dict[Path, Cut], path: Path, cut: Cut, pages: list[Page], keys: list[str], size: int, is_end: bool
    ) -> None:
        """Write entries again, behind the pages; those at the end as tail."""
        if not keys and not is_end:
            return
        if not is_end and pages and pages[-1].size < PAGE // 2:
            keys = [*(pages.pop().keys or ()), *keys]
        written = [self._entry(known, path, cut, key) for key in keys]
        place = 0
        for count in _groups([len(each) for each in written], size, TAIL if is_end and path not in UNCHANGING else 0):
            pages.append(self._page(written[place : place + count], cut.is_row, keys[place : place + count], count))
            place += count
        if is_end:
            cut.tail = _joined(written[place:], cut.is_row)

    def _entry(self, known: dict[Path, Cut], path: Path, cut: Cut, key: str) -> bytes:
        value = cut.container[key]
        if cut.is_row:
            return orjson.dumps(value)
        if isinstance(value, list) and (len(value) > _NESTED_FROM or (*path, key) in known):
            value = self._shorten(known, (*path, key), value)
        return orjson.dumps(key) + b":" + orjson.dumps(value)

    def _cut_places(self, path: Path, cut: Cut, size: int, base: int) -> None:
        values, lowest = cut.container, self._places.get(path, NEVER)
        end = base + len(values)
        pages = cut.pages
        while pages and cut.first + pages[0].count <= base:
            cut.first += pages.pop(0).count
        if not pages:
            cut.first = base
        elif cut.first < base:  # its oldest entries are gone
            count = cut.first + pages[0].count - base
            pages[0] = self._page([orjson.dumps(values[place]) for place in range(count)], True, None, count)
            cut.first = base
        elif lowest == NEVER and cut.length == end:
            return
        reached, kept = cut.first, []
        for page in pages:
            if reached + page.count > min(base + lowest, end):
                break
            kept.append(page)
            reached += page.count
        if kept and len(kept) < len(pages) and kept[-1].size < PAGE // 2:
            reached -= kept.pop().count
        written = [orjson.dumps(value) for value in _from(values, reached - base)]
        place = 0
        for count in _groups([len(each) for each in written], size, TAIL):
            kept.append(self._page(written[place : place + count], True, None, count))
            place += count
        cut.pages, cut.tail, cut.length = kept, _joined(written[place:], True), end

    def _page(self, written: list[bytes], is_row: bool, keys: list[str] | None, count: int) -> Page:
        content = _joined(written, is_row)
        page = Page(name_of(content), len(content), keys, count)
        self._fresh[page.name] = content
        return page

    # --- what is held ---------------------------------------------------------------------------------------------

    def list_held(self) -> dict[Name, Callable[[], Any]]:
        """The pages that are in the simulation as they were cut: a function for each that returns what is in it.

        An entry that is a separately cut list is an empty one in there. The access log's are left out: it may have lost
        its oldest entries.
        """
        return {name: read for path, name, read in self._walk() if path[0] != "access_log"}

    def write(self, names: Collection[Name]) -> dict[Name, bytes]:
        """The contents of those of the parts that can be written from what is in the simulation."""
        contents: dict[Name, bytes] = {}
        for cut in self._cuts.values():
            cut.list_pages(contents)
        contents = {name: content for name, content in contents.items() if name in names}
        for _, name, read in self._walk():
            if name in names and name not in contents:
                content = orjson.dumps(read())
                if name_of(content) == name:
                    contents[name] = content
        return contents

    def _walk(self) -> Iterator[tuple[Path, Name, Callable[[], Any]]]:
        for path, cut in self._cuts.items():
            touched, end = self._keys.get(path, _NOTHING), self._places.get(path, NEVER)
            place = 0
            for page in cut.pages:
                if page.keys is None:
                    if place + page.count <= min(end, len(cut.container)):
                        yield path, page.name, _row_reader(cut.container, place, page.count)
                    place += page.count
                elif touched.isdisjoint(page.keys):
                    yield path, page.name, self._keyed_reader(path, cut, page.keys)

    def _keyed_reader(self, path: Path, cut: Cut, keys: list[str]) -> Callable[[], Any]:
        def read() -> Any:
            entries = {key: [] if (*path, key) in self._cuts else cut.container[key] for key in keys}
            return list(entries.values()) if cut.is_row else entries

        return read

    # --- joining --------------------------------------------------------------------------------------------------

    def take_over(self, cuts: Iterable[tuple[Path, Cut]], names: Iterable[Name]) -> None:
        """Know collections and parts of a checkpoint that was restored; nothing in them has changed since."""
        self._cuts = dict(cuts)
        self.names = list(dict.fromkeys(names))
        self._keys.clear()
        self._places.clear()
        self.waiting = {}


_NOTHING: frozenset[str] = frozenset()


def list_names(
    listed: Iterable[JsonObject], find: Callable[[Name], bytes | None]
) -> tuple[list[list[tuple[Name, int]]], list[Name]]:
    """The pages of each collection that a manifest lists, and the names of indexes that can't be found."""
    pages, lacking = [], []
    for each in listed:
        own: list[tuple[Name, int]] = []
        for name, _ in each["index"]:
            content = find(name)
            if content is None:
                lacking.append(name)
            else:
                own += [(str(page), int(size)) for page, size in orjson.loads(content)]
        pages.append(own + [(str(page), int(size)) for page, size in each["pages"]])
    return pages, lacking


def join(container: Any, pages: Sequence[tuple[Name, int]], read: Callable[[Name], Any]) -> tuple[Any, list[Page]]:
    """A collection from its pages and its tail, which is ``container``; and how it is cut."""
    cut: list[Page] = []
    if isinstance(container, dict):
        whole: dict[str, Any] = {}
        for name, size in pages:
            held = read(name)
            whole.update(held)
            cut.append(Page(name, size, list(held), len(held)))
        whole.update(container)
        return whole, cut
    row: list[Any] = []
    for name, size in pages:
        held = read(name)
        row += held
        cut.append(Page(name, size, None, len(held)))
    return row + container, cut


def keyed_by(pages: Iterable[Page], keys: Sequence[str]) -> list[Page]:
    """Pages of a row whose entries have keys, with these."""
    place, kept = 0, []
    for page in pages:
        kept.append(Page(page.name, page.size, list(keys[place : place + page.count]), page.count))
        place += page.count
    return kept


def lacking_of(names: Iterable[Name], *sources: Mapping[Name, Any]) -> list[Name]:
    """Those that are nowhere, each once."""
    return [name for name in dict.fromkeys(names) if not any(name in each for each in sources)]


def _groups(sizes: list[int], size: int, tail: int) -> Iterator[int]:
    """How many entries each page takes; the rest at the end is the tail, with a limited number of bytes."""
    remaining = sum(sizes)
    count = held = 0
    for each in sizes:
        if not count and remaining <= tail:
            return
        count += 1
        held += each
        remaining -= each
        if held >= size:
            yield count
            count = held = 0
    if count:
        yield count


def _plain(container: Any, is_row: bool) -> Any:
    if isinstance(container, dict):
        return list(container.values()) if is_row else container
    return container if isinstance(container, list) else list(container)


def _joined(written: Sequence[bytes], is_row: bool) -> bytes:
    return b"[%s]" % b",".join(written) if is_row else b"{%s}" % b",".join(written)


def _from(values: Any, place: int) -> list[Any]:
    return values[place:] if isinstance(values, list) else list(values)[place:]


def _row_reader(container: Any, place: int, count: int) -> Callable[[], Any]:
    return lambda: list(container)[place : place + count]
