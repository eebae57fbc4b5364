"""Keep the access log of a simulation: its latest authenticated requests, oldest first."""

from collections import deque
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from proctor.ues.schema import Int, JsonObject, Request
from proctor.ues.times import Instant

KEPT = 10_000
"""Entries kept per simulation; the counts of ``stats`` include older ones."""

LONGEST_PATH = 200
"""The most characters of a path that are kept."""

Entry = tuple[str, str, str, str, str, int, float]
"""timestamp (wall, canonical text), key_id, key_name, method, path, status code, duration in milliseconds."""


class AccessLogParams(Request):
    """Filters for log entries; all given filters must match."""

    limit: Annotated[Int, Field(ge=1, le=1000)] = 100
    offset: Annotated[Int, Field(ge=0)] = 0
    key_id: str | None = None
    key_name: str | None = None
    path_prefix: str | None = None
    method: str | None = None
    status_code_min: Int | None = None
    status_code_max: Int | None = None
    errors_only: bool = False
    since: Instant | None = None
    until: Instant | None = None


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
        """Record one request; a path longer than any real one is cut."""
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
        """The number of requests before the oldest one that is kept."""
        return self._total - len(self.entries)

    def summarise(self) -> JsonObject:
        """Return the counts since the start or the last ``clear``."""
        return {
            "total_requests": self._total,
            "successful_requests": self._total - self._failed,
            "failed_requests": self._failed,
            "unique_keys": len(self._keys),
            "first_request": self._first,
            "last_request": self._last,
        }

    def search(self, wanted: AccessLogParams) -> Iterator[JsonObject]:
        """Yield the entries that match every filter, newest first. A filter that is None matches all.

        ``method`` is compared without regard to case. The bounds of statuses and of times (canonical text) are
        inclusive. ``errors_only`` keeps statuses from 400 on.
        """
        for when, key_id, name, method, path, status, duration in reversed(self.entries):
            if (
                (wanted.key_id is None or key_id == wanted.key_id)
                and (wanted.key_name is None or name == wanted.key_name)
                and (wanted.path_prefix is None or path.startswith(wanted.path_prefix))
                and (wanted.method is None or method == wanted.method.upper())
                and (wanted.status_code_min is None or status >= wanted.status_code_min)
                and (wanted.status_code_max is None or status <= wanted.status_code_max)
                and (not wanted.errors_only or status >= 400)
                and (wanted.since is None or when >= wanted.since)
                and (wanted.until is None or when <= wanted.until)
            ):
                yield {
                    "timestamp": when,
                    "key_id": key_id,
                    "key_name": name,
                    "method": method,
                    "path": path,
                    "status_code": status,
                    "duration_ms": duration,
                }

    def clear(self) -> int:
        """Clear the log and return the number of entries that it held."""
        cleared = len(self.entries)
        self.__init__()  # type: ignore[misc]
        return cleared

    def dump(self) -> JsonObject:
        return {
            "entries": list(self.entries),
            "total": self._total,
            "failed": self._failed,
            "first": self._first,
            "last": self._last,
            "keys": list(self._keys),
        }

    def load(self, stored: JsonObject) -> None:
        entries: list[Any] = stored["entries"]
        self.entries = deque((tuple(entry) for entry in entries), maxlen=KEPT)
        self._total, self._failed = stored["total"], stored["failed"]
        self._first, self._last = stored["first"], stored["last"]
        self._keys = dict.fromkeys(stored["keys"])
