"""The access log: every authenticated request, newest last, the oldest dropped beyond a limit."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from ues_sim.schema import JsonObject

KEPT = 10_000
"""Entries kept per simulation; the counts of ``stats`` include older ones."""

LONGEST_PATH = 200
"""Characters of a path that are kept."""

Entry = tuple[str, str, str, str, str, int, float]
"""timestamp (wall, canonical text), key_id, key_name, method, path, status code, duration in milliseconds."""


class AccessLog:
    """The log of one simulation."""

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=KEPT)
        self._total = 0
        self._failed = 0
        self._first: str | None = None
        self._last: str | None = None
        self._keys: dict[str, None] = {}

    def record(self, entry: Entry) -> None:
        """Enter one request; a path that is too long to be any is cut."""
        if len(entry[4]) > LONGEST_PATH:
            entry = (*entry[:4], entry[4][:LONGEST_PATH] + "…", *entry[5:])
        self.entries.append(entry)
        self._total += 1
        self._failed += entry[5] >= 400
        self._first = self._first or entry[0]
        self._last = entry[0]
        self._keys[entry[1]] = None

    @property
    def oldest(self) -> int:
        """How many requests came before the oldest one that is kept."""
        return self._total - len(self.entries)

    def summarise(self) -> JsonObject:
        """Counts since the start or the last ``clear``."""
        return {
            "total_requests": self._total,
            "successful_requests": self._total - self._failed,
            "failed_requests": self._failed,
            "unique_keys": len(self._keys),
            "first_request": self._first,
            "last_request": self._last,
        }

    def search(
        self,
        *,
        key_id: str | None,
        key_name: str | None,
        path_prefix: str | None,
        method: str | None,
        status_code_min: int | None,
        status_code_max: int | None,
        errors_only: bool,
        since: str | None,
        until: str | None,
    ) -> Iterator[JsonObject]:
        """The entries that match every filter, newest first. A filter that is None matches all.

        ``method`` is in any case; the bounds of statuses and of times (canonical text) are included; ``errors_only``
        keeps statuses from 400 on.
        """
        for when, entry_key, name, entry_method, path, status, duration in reversed(self.entries):
            if (
                (key_id is None or entry_key == key_id)
                and (key_name is None or name == key_name)
                and (path_prefix is None or path.startswith(path_prefix))
                and (method is None or entry_method == method.upper())
                and (status_code_min is None or status >= status_code_min)
                and (status_code_max is None or status <= status_code_max)
                and (not errors_only or status >= 400)
                and (since is None or when >= since)
                and (until is None or when <= until)
            ):
                yield {
                    "timestamp": when,
                    "key_id": entry_key,
                    "key_name": name,
                    "method": entry_method,
                    "path": path,
                    "status_code": status,
                    "duration_ms": duration,
                }

    def clear(self) -> int:
        """Forget everything. Returns how many entries were kept."""
        cleared = len(self.entries)
        self.__init__()  # type: ignore[misc]
        return cleared

    def dump(self) -> JsonObject:
        """What a checkpoint stores."""
        return {
            "entries": list(self.entries),
            "total": self._total,
            "failed": self._failed,
            "first": self._first,
            "last": self._last,
            "keys": list(self._keys),
        }

    def load(self, stored: JsonObject) -> None:
        """Take over what a checkpoint stored."""
        entries: list[Any] = stored["entries"]
        self.entries = deque((tuple(entry) for entry in entries), maxlen=KEPT)
        self._total, self._failed = stored["total"], stored["failed"]
        self._first, self._last = stored["first"], stored["last"]
        self._keys = dict.fromkeys(stored["keys"])
