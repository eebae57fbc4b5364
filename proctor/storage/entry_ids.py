"""Where the entries of an id are, without a look through the archive.

    index/ids/ab/ID                 the folder of the first writer of an id, as text; ab is of the hash of the id
    index/again/ab/ID/DATE.FENCE    one for each later writer
    index/earlier/ab.gz             the folders that were there before this index, as lines
    index/complete.json             every entry is in one of these, or was written by a writer that adds it

A first writer creates its file under the condition that it is not there, which takes one request and no listing. A
writer that is refused adds itself, and lists the others of its id alone. Some stores ignore the condition, which is
tried when the index is made (``conditions`` of complete.json). There, each writer adds itself.

Text of these files counts only as the folder of an entry (``is_folder``): an archive may come from elsewhere.
"""

import gzip
import hashlib
import json
import posixpath
import re
import uuid
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

from pydantic_core import from_json

from proctor.storage.folder import Folder, RefusedFileError, StoreUnavailableError

INDEX = "index"
UNPACKED_AT_MOST = 32 * 2**20
"""Bytes of a file of the index that gzip has packed."""

_FOLDER = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}/(.+)\.(?:0|[1-9][0-9]{0,15})", re.DOTALL)
_LONGEST_FENCE = 16
"""Digits: a fence is a moment in microseconds, so they last until 2286."""

_LONGEST_ID = 217
"""Bytes of an id in a file's name, beside what the name of a file in writing has."""

_COMPLETE = f"{INDEX}/complete.json"
_LONGEST_NAME = 255
"""Bytes of a file's name: no entry has a longer id, and a file system would not look for it."""


class EntryIds:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._has_earlier: bool | None = None
        self._has_conditions = True
        self.name = ""
        """A random id of this index: an index made after the archive was removed has another one."""

    def is_complete(self, *, look: bool = False) -> bool:
        """Whether every entry is known here; it is remembered once it is so, unless one is to ``look`` again."""
        if self._has_earlier is None or look:
            try:
                note = from_json(self._folder.read(_COMPLETE))
                self._has_earlier, self.name = bool(note.get("earlier", True)), str(note.get("name", ""))
                self._has_conditions = bool(note.get("conditions", True))
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
        about: dict[str, Any] = {"format": 1, "earlier": bool(shards), "name": uuid.uuid4().hex, "conditions": False}
        self._folder.write(_COMPLETE, json.dumps(about).encode())
        if not self._folder.write_first(_COMPLETE, json.dumps(about).encode()):
            about["conditions"] = True
            self._folder.write(_COMPLETE, json.dumps(about).encode())
        self._has_earlier, self.name, self._has_conditions = bool(shards), about["name"], about["conditions"]

    def add(self, folder: str) -> list[str]:
        """Add a folder that is about to be written; returns the others of its id."""
        entry_id = id_of(folder)
        if self._has_conditions and self._folder.write_first(_first(entry_id), folder.encode()):
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
        folders = [*([first] if first else []), *filter(is_folder, again), *self._earlier(entry_id)]
        return list(dict.fromkeys(folders))

    def remove(self, entry_id: str) -> None:
        self._folder.remove(_first(entry_id))
        self._folder.remove(_again(entry_id))

    def _first_of(self, entry_id: str) -> str | None:
        try:
            folder = self._folder.read(_first(entry_id)).decode(errors="replace")
        except (FileNotFoundError, RefusedFileError):
            return None
        return folder if is_folder(folder) and id_of(folder) == entry_id else None

    def _earlier(self, entry_id: str) -> list[str]:
        if self._has_earlier is False:
            return []
        try:
            lines = unpacked(self._folder.read(f"{INDEX}/earlier/{_shard(entry_id)}.gz")).decode().splitlines()
        except FileNotFoundError:
            return []
        except ValueError:
            with suppress(StoreUnavailableError):
                self._folder.remove(_COMPLETE)  # so that the next reader makes it again
            self._has_earlier = None
            return []
        return [line for line in lines if is_folder(line) and id_of(line) == entry_id]


def is_folder(text: str) -> bool:
    """Whether a text is the folder of an entry, ``DATE/ID.FENCE``, which lies in its archive for any id."""
    match = _FOLDER.fullmatch(text)
    if match is None or not match[1].isascii() or len(match[1]) > _LONGEST_ID:
        return False
    entry_id = unquote(match[1])
    return entry_id not in (".", "..") and quote(entry_id, safe="") == match[1]


def unpacked(content: bytes) -> bytes:
    """A file of the index that gzip has packed. Raises ``ValueError``: it is damaged, or larger than any is."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        whole = unpacker.decompress(content, UNPACKED_AT_MOST)
    except zlib.error as problem:
        raise ValueError(str(problem)) from None
    if not unpacker.eof:
        raise ValueError(f"it is cut short, or has more than {UNPACKED_AT_MOST} bytes")
    return whole


def id_of(folder: str) -> str:
    return unquote(folder.rpartition("/")[2].rpartition(".")[0])


def fence_of(folder: str) -> int:
    number = folder.rpartition(".")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) <= _LONGEST_FENCE else -1


def _shard(entry_id: str) -> str:
    return hashlib.sha256(entry_id.encode()).hexdigest()[:2]


def _first(entry_id: str) -> str:
    return f"{INDEX}/ids/{_shard(entry_id)}/{quote(entry_id, safe='')}"


def _again(entry_id: str) -> str:
    return f"{INDEX}/again/{_shard(entry_id)}/{quote(entry_id, safe='')}"


def _folder_again(entry_id: str, name: str) -> str:
    date, _, fence = name.rpartition(".")
    return f"{date}/{quote(entry_id, safe='')}.{fence}"
