"""``proctor import``: take over entries of an archive that isn't trusted.

The import chooses the owner of the entries, and limits their fences to the present time. It asks before it changes
results of this archive.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from proctor.common.errors import UsageError
from proctor.common.phrases import clean, counted
from proctor.protocol.archive import ArchiveEntry
from proctor.storage.archive import Archive, EntryDamagedError

_NAMED = 5


@dataclass
class Coming:
    """The entries of an import.

    Attributes:
        new: entries that this archive doesn't have, or has in another form.
        known: pairs (theirs, ours) of entries that this archive has.
        changing: ids of new entries that change results, to sentences on the change.
    """

    new: list[ArchiveEntry] = field(default_factory=list)
    known: list[tuple[ArchiveEntry, ArchiveEntry]] = field(default_factory=list)
    changing: dict[str, str] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)


def look(other: Archive, kept: Archive) -> Coming:
    coming, ids = Coming(), set[str]()
    for entry in other.walk(coming.damaged):
        light = entry.model_copy(update={"message": {}})
        ids.add(entry.id)
        try:
            own = kept.get(entry.id)
        except EntryDamagedError:
            coming.changing[entry.id] = f"{entry.id} takes the place of a damaged one"
            own = None
        if own is not None and _is_same(own, entry):
            coming.known.append((light, own))
            continue
        if own is not None:
            coming.changing[entry.id] = f"{entry.id} takes the place of another one"
        coming.new.append(light)
    for entry in coming.new:
        origin = entry.forked_from.task_id if entry.forked_from else None
        for of in {entry.campaign, entry.part_of, origin} - {None} - ids:
            if of is not None and _is_there(kept, of):
                coming.changing.setdefault(entry.id, f"{entry.id} adds to {of}")
    return coming


def _is_same(own: ArchiveEntry, entry: ArchiveEntry) -> bool:
    return own == entry.model_copy(update={"owner": own.owner, "fence": own.fence})


def _is_there(kept: Archive, entry_id: str) -> bool:
    try:
        return kept.get(entry_id) is not None
    except EntryDamagedError:
        return True


def ask(changing: dict[str, str]) -> None:
    named = "; ".join(list(changing.values())[:_NAMED])
    more = len(changing) - _NAMED
    named += f"; and {more} more" if more > 0 else ""
    problem = f"{counted(len(changing), 'entry changes', 'entries change')} results of this archive: {clean(named)}"
    if not sys.stdin.isatty():
        raise UsageError(f"{problem}. Nothing was taken over: --replace takes all over")
    print(f"{problem}. Take all over? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was taken over")


def take(other: Archive, kept: Archive, light: ArchiveEntry, owner: str, damaged: list[str]) -> bool:
    """Write an entry; return whether it could be read.

    If this deployment archives the same id later, the later entry has a higher fence and replaces this one.
    """
    fence = max(min(light.fence, time.time_ns() // 1000), kept.newest_fence(light.id) + 1)
    found: Sequence[ArchiveEntry] = other.in_full([light], damaged)
    try:
        for entry in found:
            other.copy(entry, kept, owner=owner, fence=fence)
    except EntryDamagedError as error:
        damaged.append(str(error))
        return False
    return bool(found)
