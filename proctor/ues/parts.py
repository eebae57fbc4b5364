"""Cut the large collections of a simulation into parts of a checkpoint, named by the SHA-256 of their content.

A *collection* is a mailbox, a folder's list, the events, the history or the access log. If it takes more than
``CUT_FROM`` bytes of JSON, it becomes a row of pages and a tail. The checkpoint's manifest names the pages and contains
the tail and all small data. The places that operations write to are noted (``touch…``). The next checkpoint writes only
pages with such places and reads no others. Its cost therefore depends on the changes, not on the size.

In a manifest, ``parts`` lists the collections; nested collections follow the ones that contain them::

    {"path": ["states", "email", "emails"], "index": [[NAME, SIZE], …], "pages": [[NAME, SIZE], …]}

A page is a JSON object or list, like its collection. To keep a manifest short, the first pages may be listed in further
parts, which ``index`` names. Each of these is a JSON list of ``INDEXED`` entries ``[NAME, SIZE]``.
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
"""The approximate bytes of a page. The second value applies when more than ``LARGE`` bytes are cut for the first time.
Content that doesn't change then needs few files; changed content is cut finer later."""

LARGE = 4 * 1024 * 1024

TAIL = 8 * 1024
"""The most bytes of a collection's end that are in the manifest, to avoid a page for each new email."""

UNCHANGING = frozenset({("states", "email", "files")})
"""Collections that are cut at any size, and without a tail: they never change, so they are stored once."""

INDEXED = 64
"""The number of pages that an index names."""

_NESTED_FROM = 500
"""The fewest entries of a nested list for which its size is checked, to cut it separately."""

Path = tuple[str, ...]
Name = str

NEVER = 1 << 62
"""The place of a list's first change if it hasn't changed."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its name, its size in bytes, the keys of its entries (None for a list), and the number of entries."""

    name: Name
    size: int
    keys: list[str] | None
    count: int


@dataclass(slots=True)
class Cut:
    """A collection's cut into pages and a tail.

    Attributes:
        container: the collection; another object at its path needs a new cut.
        is_row: whether the collection's JSON is a list.
        pages, tail: its pages, and its last entries as JSON.
        first: the number of the first page's first entry, counted with the oldest entries that the list has lost.
        length: the number of entries when it was cut.
    """

    container: Any
    is_row: bool
    pages: list[Page] = field(default_factory=list)
    tail: bytes = b""
    first: int = 0
    length: int = -1

    def list_pages(self, blocks: dict[Name, bytes]) -> JsonObject:
        """Return the manifest's entry for the pages; adds indexes to ``blocks``."""
        entries = [[page.name, page.size] for page in self.pages]
        covered = len(entries) // INDEXED * INDEXED if len(entries) >= 2 * INDEXED else 0
        index = []
        for place in range(0, covered, INDEXED):
            content = orjson.dumps(entries[place : place + INDEXED])
            name = name_content(content)
            blocks[name] = content
            index.append([name, len(content)])
        return {"index": index, "pages": entries[covered:]}


def name_content(content: bytes) -> Name:
    return sha256(content).hexdigest()


class Parts:
    """The cuts, changes and parts of a simulation since its last checkpoint."""

    def __init__(self) -> None:
        self._cuts: dict[Path, Cut] = {}
        self._keys: dict[Path, set[str]] = {}
        self._places: dict[Path, int] = {}
        self._fresh: dict[Name, bytes] = {}
        self.names: list[Name] = []
        """The parts of the last taken or restored checkpoint, indexes first."""
        self.stored: frozenset[Name] = frozenset()
        """The names of the parts in the evaluator's store: those of the last checkpoint that the evaluator named."""
        self.waiting: dict[Name, bytes] = {}
        """The parts that the evaluator may still fetch: parts of the last checkpoint that are not in its store."""

    # --- what changes ---------------------------------------------------------------------------------------------

    def touch_state(self, modality: str, patch: Iterable[Sequence[Any]]) -> None:
        """Note the entries that the steps of a patch write to."""
        for step in patch:
            path = step[1]
            if len(path) < 2:
                continue  # a replaced collection is a new object, which is cut again
            self._touch(("states", modality, path[0]), path[1])
            if len(path) > 2 and isinstance(path[2], int):
                self._touch(("states", modality, path[0], str(path[1])), path[2])

    def touch_place(self, name: str, place: int) -> None:
        """Note that a list has changed from a place onwards."""
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

        Returns the data with tails instead of cut collections, the manifest's entries for these, and the contents of
        the newly written parts, including indexes.
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
        self.names = [name for part in listed for name, _ in part["index"]]
        self.names += dict.fromkeys(page.name for cut in self._cuts.values() for page in cut.pages)
        return short, listed, fresh

    def shorten_shown(self, shown: Mapping[str, JsonObject]) -> tuple[JsonObject, list[JsonObject]]:
        """Replace the cut collections of shown modalities by their tails, and list these collections.

        The list is like a manifest's ``parts``, but each ``path`` begins with the modality's name. The simulation must
        not have changed since the cut.
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
            for cut_path, cut in self._cuts.items():
                if cut_path[: len(place)] == place and cut.pages:
                    listed.append({"path": [*path, *cut_path[len(place) :]], **cut.list_pages({})})
            return orjson.Fragment(self._cuts[place].tail)

        short = {
            name: {field: tail(value, name, field) for field, value in state.items()} for name, state in shown.items()
        }
        return short, sorted(listed, key=lambda each: len(each["path"]))

    def _shorten(
        self, known: dict[Path, Cut], path: Path, container: Any, *, is_row: bool | None = None, base: int = 0
    ) -> orjson.Fragment:
        """Return a collection's JSON, or its tail's if it is cut."""
        is_row = not isinstance(container, dict) if is_row is None else is_row
        size, before = PAGE, known.get(path)
        if before is not None and before.container is container:
            cut = before
        else:
            whole = orjson.dumps(_to_container(container, is_row))
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
        for place, nested in known.items():  # nested collections in unchanged pages
            if place[:-1] == path and place not in self._cuts and values.get(place[-1]) is nested.container:
                self._cuts[place] = nested

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
        """Write entries to new pages at the end of ``pages``. With ``is_end``, the last entries become the tail."""
        if not keys and not is_end:
            return
        if not is_end and pages and pages[-1].size < PAGE // 2:
            keys = [*(pages.pop().keys or ()), *keys]
        written = [self._entry(known, path, cut, key) for key in keys]
        place = 0
        for count in _groups([len(text) for text in written], size, TAIL if is_end and path not in UNCHANGING else 0):
            pages.append(self._page(written[place : place + count], cut.is_row, keys[place : place + count], count))
            place += count
        if is_end:
            cut.tail = _join_entries(written[place:], cut.is_row)

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
        written = [orjson.dumps(value) for value in _take_rest(values, reached - base)]
        place = 0
        for count in _groups([len(text) for text in written], size, TAIL):
            kept.append(self._page(written[place : place + count], True, None, count))
            place += count
        cut.pages, cut.tail, cut.length = kept, _join_entries(written[place:], True), end

    def _page(self, written: list[bytes], is_row: bool, keys: list[str] | None, count: int) -> Page:
        content = _join_entries(written, is_row)
        page = Page(name_content(content), len(content), keys, count)
        self._fresh[page.name] = content
        return page

    # --- held pages ---------------------------------------------------------------------------------------------

    def list_held(self) -> dict[Name, Callable[[], Any]]:
        """Return a reader for each page whose entries haven't changed since the cut, by the page's name.

        An entry that is cut separately is an empty list in its page. Pages of the access log are left out, because the
        log may have lost its oldest entries.
        """
        return {name: read for path, name, read in self._walk() if path[0] != "access_log"}

    def write(self, names: Collection[Name]) -> dict[Name, bytes]:
        """Return the contents of those named parts that can be written from the simulation's data."""
        contents: dict[Name, bytes] = {}
        for cut in self._cuts.values():
            cut.list_pages(contents)
        contents = {name: content for name, content in contents.items() if name in names}
        for _, name, read in self._walk():
            if name in names and name not in contents:
                content = orjson.dumps(read())
                if name_content(content) == name:
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
        """Take over the collections and parts of a restored checkpoint; nothing in them has changed since."""
        self._cuts = dict(cuts)
        self.names = list(dict.fromkeys(names))
        self._keys.clear()
        self._places.clear()
        self.waiting = {}


_NOTHING: frozenset[str] = frozenset()


def list_names(
    listed: Iterable[JsonObject], find: Callable[[Name], bytes | None]
) -> tuple[list[list[tuple[Name, int]]], list[Name]]:
    """Return the pages of each collection that a manifest lists, and the names of the missing indexes."""
    pages, lacking = [], []
    for part in listed:
        own: list[tuple[Name, int]] = []
        for name, _ in part["index"]:
            content = find(name)
            if content is None:
                lacking.append(name)
            else:
                own += [(str(page), int(size)) for page, size in orjson.loads(content)]
        pages.append(own + [(str(page), int(size)) for page, size in part["pages"]])
    return pages, lacking


def join(container: Any, pages: Sequence[tuple[Name, int]], read: Callable[[Name], Any]) -> tuple[Any, list[Page]]:
    """Join a collection from its pages and its tail (``container``). Returns the collection and its pages."""
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


def add_keys(pages: Iterable[Page], keys: Sequence[str]) -> list[Page]:
    """Return the pages of a row with the keys of their entries."""
    place, kept = 0, []
    for page in pages:
        kept.append(Page(page.name, page.size, list(keys[place : place + page.count]), page.count))
        place += page.count
    return kept


def list_lacking(names: Iterable[Name], *sources: Mapping[Name, Any]) -> list[Name]:
    """Return the names that are in none of the sources, each once."""
    return [name for name in dict.fromkeys(names) if not any(name in source for source in sources)]


def _groups(sizes: list[int], size: int, tail: int) -> Iterator[int]:
    """Yield the number of entries of each page; the rest is the tail, with a limited number of bytes."""
    remaining = sum(sizes)
    count = held = 0
    for length in sizes:
        if not count and remaining <= tail:
            return
        count += 1
        held += length
        remaining -= length
        if held >= size:
            yield count
            count = held = 0
    if count:
        yield count


def _to_container(container: Any, is_row: bool) -> Any:
    if isinstance(container, dict):
        return list(container.values()) if is_row else container
    return container if isinstance(container, list) else list(container)


def _join_entries(written: Sequence[bytes], is_row: bool) -> bytes:
    return b"[%s]" % b",".join(written) if is_row else b"{%s}" % b",".join(written)


def _take_rest(values: Any, place: int) -> list[Any]:
    return values[place:] if isinstance(values, list) else list(values)[place:]


def _row_reader(container: Any, place: int, count: int) -> Callable[[], Any]:
    return lambda: list(container)[place : place + count]
