"""``proctor export``: writes entries elsewhere, as an archive, a page or a table."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from proctor.cli.entries import require_assessments, size_in_words, tell_left_out
from proctor.client.tables import list_columns, make_rows, write_parquet
from proctor.common.errors import CommandError, UsageError
from proctor.common.phrases import counted
from proctor.protocol.archive import ArchiveEntry
from proctor.protocol.roles import name_of_role
from proctor.storage.archive import Archive
from proctor.storage.entry_table import EntryQuery
from proctor.storage.object_stores import StoreSettingsError
from proctor.viewer.pages import Pages


def require_whole(damaged: Sequence[str]) -> None:
    """Raise ``CommandError`` if a command has left out damaged entries, and name them on stderr."""
    if damaged:
        tell_left_out(damaged)
        raise CommandError(f"{counted(len(damaged), 'damaged entry was', 'damaged entries were')} left out")


def with_members(kept: Archive, entries: Sequence[ArchiveEntry], damaged: list[str]) -> list[ArchiveEntry]:
    """The entries, and the members of the campaigns among them."""
    campaigns = {entry.id for entry in entries if entry.kind == "campaign"}
    named = {entry.id for entry in entries}
    members = [kept.in_full(kept.select(EntryQuery(campaign=of)), damaged) for of in campaigns]
    return [*entries, *(member for some in members for member in some if member.id not in named)]


def find_parts(kept: Archive, entries: Sequence[ArchiveEntry]) -> list[ArchiveEntry]:
    """The entries of single participants, for assessments with several participants."""
    names = [name_of_role(entry.id, role) for entry in entries for role in entry.roles]
    return [part for name in names if (part := kept.get(name)) is not None]


def entries_in_words(entries: Sequence[ArchiveEntry]) -> str:
    """The number of entries of each kind: ``1 campaign and 4 assessments``. Parts of a counted entry don't count."""
    names = {entry.id for entry in entries}
    kinds = Counter(entry.kind for entry in entries if entry.part_of not in names)
    counts = [counted(kinds[kind], kind) for kind in ("campaign", "assessment", "trial") if kinds[kind]]
    return " and ".join(filter(None, [", ".join(counts[:-1]), *counts[-1:]])) or "nothing"


def _write_page(kept: Archive, entries: Sequence[ArchiveEntry], path: Path) -> str:
    pages = Pages(kept)
    if len(entries) == 1:
        page = pages.entry(entries[0], as_file=True)
    elif len(entries) == 2:
        require_assessments(f"--to {path}", *entries)
        page = pages.comparison(entries[0], entries[1], as_file=True)
    else:
        raise UsageError(
            f"--to {path}: a page shows one assessment, trial or campaign, or two assessments side by side"
        )
    path.write_text(page, encoding="utf-8")
    return f"a page of {entries_in_words(entries)} ({size_in_words(path.stat().st_size)})"


def _write_csv(kept: Archive, entries: Sequence[ArchiveEntry], path: Path) -> str:
    import csv

    rows = make_rows(kept, entries)
    columns = list_columns(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return _count_rows(rows, columns)


def _count_rows(rows: Sequence[object], columns: Sequence[str]) -> str:
    return f"{counted(len(rows), 'row')} of {counted(len(columns), 'column')}"


def _cell(value: object) -> object:
    """A cell that a spreadsheet doesn't take for a formula. Agents choose their own names, so texts aren't trusted."""
    if isinstance(value, datetime):
        return value.isoformat()
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _write_parquet(kept: Archive, entries: Sequence[ArchiveEntry], path: Path) -> str:
    rows = make_rows(kept, entries)
    write_parquet(rows, path)
    return _count_rows(rows, list_columns(rows))


WRITERS: dict[str, Callable[[Archive, Sequence[ArchiveEntry], Path], str]] = {
    ".html": _write_page,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}


def opened(place: str, what: str) -> Archive:
    """The archive at a place that a person has named.

    Raises:
        UsageError: the place can't be an archive.
    """
    try:
        return Archive(place)
    except StoreSettingsError as error:
        raise UsageError(f"{what} is {place}: {error}") from None
