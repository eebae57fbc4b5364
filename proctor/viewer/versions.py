"""The versions of a simulation's items: one for every change, with the turns in which it existed."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proctor.protocol.archive import Items, StateRecord, merged


@dataclass(frozen=True)
class Version:
    """One item as it was after the turns from ``since`` to ``until`` (both included; turn 0 is the beginning).

    ``is_first`` says that the item did not exist before.
    """

    path: str
    item: Any
    since: int
    until: int
    is_first: bool

    @property
    def anchor(self) -> str:
        return make_anchor(self.path)

    def covers(self, turn: int) -> bool:
        return self.since <= turn <= self.until

    @property
    def modality(self) -> str:
        return self.path.partition("/")[0]

    @property
    def section(self) -> str:
        """The collection of its modality that it belongs to."""
        return self.path.split("/")[1] if "/" in self.path else ""


def make_anchor(path: str) -> str:
    return "i" + hashlib.sha256(path.encode()).hexdigest()[:10]


def list_versions(initial: Items, records: Sequence[StateRecord]) -> list[Version]:
    """Return every version of every item, in order of the items' first appearance."""
    last = records[-1].turn if records else 0
    by_path: dict[str, list[Version]] = {path: [Version(path, item, 0, last, True)] for path, item in initial.items()}
    items: Items = dict(initial)
    for record in records:
        after = merged({path: items[path] for path in record.patch if path in items}, record.patch)
        for path in record.patch:
            versions = by_path.setdefault(path, [])
            if versions and versions[-1].until >= record.turn:
                was = versions.pop()
                if was.since < record.turn:
                    versions.append(Version(path, was.item, was.since, record.turn - 1, was.is_first))
            items.pop(path, None)
            if path in after:
                items[path] = after[path]
                versions.append(Version(path, after[path], record.turn, last, not versions))
    return [version for versions in by_path.values() for version in versions]
