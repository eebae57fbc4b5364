"""``proctor import``: takes over entries of an archive that may come from anywhere. It isn't believed when it says
whose they are, when they were written, or that they take the place of own ones.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.text import Text

from proctor.cli.exporting import entries_in_words, opened, require_whole
from proctor.client.opened_archive import archive_problems, open_archive
from proctor.common.console import make_console
from proctor.common.errors import UsageError
from proctor.common.phrases import clean, counted
from proctor.protocol.archive import ArchiveEntry
from proctor.storage.archive import Archive, EntryDamagedError

_NAMED = 5


@dataclass
class _Coming:
    """What is imported: entries that are new, and those that are there already, theirs with ours.

    ``changing`` has, in words by their ids, those of the new ones that change own results.
    """

    new: list[ArchiveEntry] = field(default_factory=list)
    known: list[tuple[ArchiveEntry, ArchiveEntry]] = field(default_factory=list)
    changing: dict[str, str] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)


@archive_problems()
def import_from(
    archive: str | None, state: str | None, folder: str, owner: str = "", *, is_agreed: bool = False
) -> None:
    """Take over all entries of another archive, such as ``export`` writes.

    Args:
        owner: the caller that they belong to then; none by default, so that only administrators see them.
        is_agreed: also what changes own results; otherwise the person is asked.

    Raises:
        UsageError: there is no archive, or the person doesn't agree.
    """
    kept, _ = open_archive(archive, state)
    other = opened(folder, "the archive to take over")
    coming = _look(other, kept)
    if not (coming.new or coming.known or coming.damaged):
        raise UsageError(f"{folder} holds no entry of an archive: name a folder that `proctor export` wrote")
    if coming.changing and not is_agreed:
        _ask(coming.changing)
    taken = [entry for entry in coming.new if _take(other, kept, entry, owner, coming.damaged)]
    for entry, own in coming.known:
        other.copy_judgements(entry, kept, own)
    sentence = f"{entries_in_words(taken)} taken over"
    if coming.known:
        sentence += f"; {entries_in_words([own for _, own in coming.known])} there already"
    make_console().print(Text(sentence), soft_wrap=True)
    require_whole(coming.damaged)


def _look(other: Archive, kept: Archive) -> _Coming:
    coming, ids = _Coming(), set[str]()
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


def _ask(changing: dict[str, str]) -> None:
    named = "; ".join(list(changing.values())[:_NAMED])
    more = len(changing) - _NAMED
    named += f"; and {more} more" if more > 0 else ""
    problem = f"{counted(len(changing), 'entry changes', 'entries change')} results of this archive: {clean(named)}"
    if not sys.stdin.isatty():
        raise UsageError(f"{problem}. Nothing was taken over: --replace takes all over")
    print(f"{problem}. Take all over? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was taken over")


def _take(other: Archive, kept: Archive, light: ArchiveEntry, owner: str, damaged: list[str]) -> bool:
    """Write an entry; what this deployment archives of that id later has a higher fence, and replaces it."""
    fence = max(min(light.fence, time.time_ns() // 1000), kept.newest_fence(light.id) + 1)
    found: Sequence[ArchiveEntry] = other.in_full([light], damaged)
    try:
        for entry in found:
            other.copy(entry, kept, owner=owner, fence=fence)
    except EntryDamagedError as problem:
        damaged.append(str(problem))
        return False
    return bool(found)
