"""Where the entries of an id are, without a look through the archive.

    index/ids/ab/ID                 the folder of the first writer of an id, as text; ab is of the hash of the id
    index/again/ab/ID/DATE.FENCE    one for each later writer
    index/earlier/ab.gz             the folders that were there before this index, as lines
    index/complete.json             every entry is in one of these, or was written by a writer that adds it

A first writer creates its file under the condition that it is not there, which takes one request and no listing. A
writer that is refused adds itself, and lists the others of its id alone.
"""

import gzip
import hashlib
import json
import posixpath
import uuid
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

from proctor_storage.folder import Folder, StoreUnavailableError

INDEX = "index"
_COMPLETE = f"{INDEX}/complete.json"
_LONGEST_NAME = 255
"""Bytes of a file's name: no entry has a longer id, and a file system would not look for it."""


class EntryIds:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._has_earlier: bool | None = None
        self.name = ""
        """A random id of this index: an index made after the archive was removed has another one."""

    def is_complete(self, *, look: bool = False) -> bool:
        """Whether every entry is known here; it is remembered once it is so, unless one is to ``look`` again."""
        if self._has_earlier is None or look:
            try:
                note = json.loads(self._folder.read(_COMPLETE))
                self._has_earlier, self.name = bool(note.get("earlier", True)), str(note.get("name", ""))
            except (FileNotFoundError, ValueError, AttributeError):
                self._has_earlier = None
        return self._has_earlier is not None

    def complete(self, earlier: Iterable[str]) -> None:
        """Note that every entry is known here from now on; ``earlier`` are the folders that there are."""
        shards: dict[str, list[str]] = {}
        for folder in earlier:
            shards.setdefault(_shard(id_of(folder)), []).append(folder)
        for shard, folders in shards.items():
            self._folder.write(f"{INDEX}/earlier/{shard}.gz", gzip.compress("\n".join(folders).encode(), 1, mtime=0))
        about: dict[str, Any] = {"format": 1, "earlier": bool(shards), "name": uuid.uuid4().hex}
        self._folder.write(_COMPLETE, json.dumps(about).encode())
        self._has_earlier, self.name = bool(shards), about["name"]

    def add(self, folder: str) -> list[str]:
        """Add a folder that is about to be written; returns the others of its id."""
        entry_id = id_of(folder)
        if self._folder.write_first(_first(entry_id), folder.encode()):
            return self._earlier(entry_id)
        if self._first_of(entry_id) != folder:
            date, name = posixpath.split(folder)
            self._folder.write(f"{_again(entry_id)}/{date}.{fence_of(name)}", b"")
        return [each for each in self.of(entry_id) if each != folder]

    def of(self, entry_id: str) -> list[str]:
        if len(quote(entry_id, safe="")) > _LONGEST_NAME:
            return []
        first = self._first_of(entry_id)
        again = [_folder_again(entry_id, name) for name in self._folder.names(_again(entry_id))]
        folders = [*([first] if first else []), *again, *self._earlier(entry_id)]
        return list(dict.fromkeys(folders))

    def remove(self, entry_id: str) -> None:
        self._folder.remove(_first(entry_id))
        self._folder.remove(_again(entry_id))

    def _first_of(self, entry_id: str) -> str | None:
        try:
            folder = self._folder.read(_first(entry_id)).decode(errors="replace")
        except FileNotFoundError:
            return None
        return folder if id_of(folder) == entry_id else None

    def _earlier(self, entry_id: str) -> list[str]:
        if self._has_earlier is False:
            return []
        try:
            lines = gzip.decompress(self._folder.read(f"{INDEX}/earlier/{_shard(entry_id)}.gz")).decode().splitlines()
        except FileNotFoundError:
            return []
        except (OSError, EOFError, zlib.error, ValueError):
            with suppress(StoreUnavailableError):
                self._folder.remove(_COMPLETE)  # so that the next reader makes it again
            self._has_earlier = None
            return []
        return [line for line in lines if id_of(line) == entry_id]


def id_of(folder: str) -> str:
    return unquote(folder.rpartition("/")[2].rpartition(".")[0])


def fence_of(folder: str) -> int:
    number = folder.rpartition(".")[2]
    return int(number) if number.isdecimal() else -1


def _shard(entry_id: str) -> str:
    return hashlib.sha256(entry_id.encode()).hexdigest()[:2]


def _first(entry_id: str) -> str:
    return f"{INDEX}/ids/{_shard(entry_id)}/{quote(entry_id, safe='')}"


def _again(entry_id: str) -> str:
    return f"{INDEX}/again/{_shard(entry_id)}/{quote(entry_id, safe='')}"


def _folder_again(entry_id: str, name: str) -> str:
    date, _, fence = name.rpartition(".")
    return f"{date}/{quote(entry_id, safe='')}.{fence}"
