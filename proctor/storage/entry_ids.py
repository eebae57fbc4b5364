"""The index from ids to the folders of entries, without a search through the archive.

    index/ids/ab/ID                 the folder of an id's first writer, as text; ab is from the hash of the id
    index/again/ab/ID/DATE.FENCE    one for each later writer
    index/earlier/ab.gz             the folders that existed before this index, as lines
    index/complete.json             its presence means that every entry is in one of these

The first writer of an id creates the file under ``ids`` with a conditional write, which fails if the file exists. This
takes one request and no listing. A later writer, whose write fails, adds itself under ``again`` and lists the other
writers of its id. Some stores ignore the condition; in these, every writer adds itself under ``again``. The field
``conditions`` of complete.json records the result of a test for this.

An archive may come from elsewhere. Texts in these files are ignored unless they are the folder of an entry
(``is_folder``).
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
"""Unpacked size limit, in bytes, of a file of the index."""

_FOLDER = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}/(.+)\.(?:0|[1-9][0-9]{0,15})", re.DOTALL)
_LONGEST_FENCE = 16
"""The largest number of digits of a fence. A fence is a time in microseconds, so 16 digits suffice until 2286."""

_LONGEST_ID = 217
"""Bytes of an id in a file's name; the rest is for the suffix of a file that is being written."""

_COMPLETE = f"{INDEX}/complete.json"
_LONGEST_NAME = 255
"""Largest size in bytes of a file's name. A file system would refuse to look for a longer id."""


class EntryIds:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._has_earlier: bool | None = None
        self._has_conditions = True
        self.name = ""
        """A random id of this index: if the archive is removed, the next index has another one."""

    def is_complete(self, *, look: bool = False) -> bool:
        """Tell whether every entry is indexed. A positive answer is cached; ``look`` checks again."""
        if self._has_earlier is None or look:
            try:
                note = from_json(self._folder.read(_COMPLETE))
                self._has_earlier, self.name = bool(note.get("earlier", True)), str(note.get("name", ""))
                self._has_conditions = bool(note.get("conditions", True))
            except (FileNotFoundError, ValueError, AttributeError):
                self._has_earlier = None
        return self._has_earlier is not None

    def complete(self, earlier: Iterable[str]) -> None:
        """Record that every entry is indexed from now on; ``earlier`` are the existing folders."""
        shards: dict[str, list[str]] = {}
        for folder in earlier:
            shards.setdefault(_shard(parse_id(folder)), []).append(folder)
        for shard, folders in shards.items():
            self._folder.write(f"{INDEX}/earlier/{shard}.gz", gzip.compress("\n".join(folders).encode(), 1, mtime=0))
        about: dict[str, Any] = {"format": 1, "earlier": bool(shards), "name": uuid.uuid4().hex, "conditions": False}
        self._folder.write(_COMPLETE, json.dumps(about).encode())
        if not self._folder.write_first(_COMPLETE, json.dumps(about).encode()):
            about["conditions"] = True
            self._folder.write(_COMPLETE, json.dumps(about).encode())
        self._has_earlier, self.name, self._has_conditions = bool(shards), about["name"], about["conditions"]

    def add(self, folder: str) -> list[str]:
        """Add a folder before it is written; return the other folders of its id."""
        entry_id = parse_id(folder)
        if self._has_conditions and self._folder.write_first(_first(entry_id), folder.encode()):
            return self._earlier(entry_id)
        if self._find_first(entry_id) != folder:
            date, name = posixpath.split(folder)
            self._folder.write(f"{_again(entry_id)}/{date}.{parse_fence(name)}", b"")
        return [other for other in self.of(entry_id) if other != folder]

    def of(self, entry_id: str) -> list[str]:
        if len(quote(entry_id, safe="")) > _LONGEST_NAME:
            return []
        first = self._find_first(entry_id)
        again = [_folder_again(entry_id, name) for name in self._folder.names(_again(entry_id))]
        folders = [*([first] if first else []), *filter(is_folder, again), *self._earlier(entry_id)]
        return list(dict.fromkeys(folders))

    def remove(self, entry_id: str) -> None:
        self._folder.remove(_first(entry_id))
        self._folder.remove(_again(entry_id))

    def _find_first(self, entry_id: str) -> str | None:
        try:
            folder = self._folder.read(_first(entry_id)).decode(errors="replace")
        except (FileNotFoundError, RefusedFileError):
            return None
        return folder if is_folder(folder) and parse_id(folder) == entry_id else None

    def _earlier(self, entry_id: str) -> list[str]:
        if self._has_earlier is False:
            return []
        try:
            lines = unpacked(self._folder.read(f"{INDEX}/earlier/{_shard(entry_id)}.gz")).decode().splitlines()
        except FileNotFoundError:
            return []
        except ValueError:
            with suppress(StoreUnavailableError):
                self._folder.remove(_COMPLETE)  # the next reader rebuilds it
            self._has_earlier = None
            return []
        return [line for line in lines if is_folder(line) and parse_id(line) == entry_id]


def is_folder(text: str) -> bool:
    """Tell whether a text is the folder of an entry, ``DATE/ID.FENCE``, and inside the archive for any id."""
    match = _FOLDER.fullmatch(text)
    if match is None or not match[1].isascii() or len(match[1]) > _LONGEST_ID:
        return False
    entry_id = unquote(match[1])
    return entry_id not in (".", "..") and quote(entry_id, safe="") == match[1]


def unpacked(content: bytes) -> bytes:
    """Unpack a gzip file of the index. Raises ``ValueError`` if it is damaged or too large."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        whole = unpacker.decompress(content, UNPACKED_AT_MOST)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unpacker.eof:
        raise ValueError(f"it is cut short, or has more than {UNPACKED_AT_MOST} bytes")
    return whole


def parse_id(folder: str) -> str:
    return unquote(folder.rpartition("/")[2].rpartition(".")[0])


def parse_fence(folder: str) -> int:
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
