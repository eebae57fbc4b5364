"""Archived runs as a table: a row for each assessment and trial, a column for each criterion's points."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proctor.client.agent_names import agent_names
from proctor.common.errors import CommandError
from proctor.protocol.archive import OF_RESULT, ArchiveEntry, EntrySummary
from proctor.protocol.archived_runs import runs_of_entries
from proctor.storage.archive import Archive

_FIRST = (
    *("id", "kind", "campaign", "status", "scenario_id", "scenario_version", "family", "difficulty", "agent", "role"),
    *("participant", "participant_url", "instance_seed", "seed", "offline", "score", "max_score"),
    *("doubtful_points", "total_points", "earned", "turns_taken", "is_partial", "judge_warnings"),
    *("actions_taken", "seconds", "cost", "currency", "started_at", "ended_at"),
)
_LEFT_OUT = ("clock", "noise", "forked_from")

COLUMNS = (*_FIRST, *(name for name in EntrySummary.marked(OF_RESULT) if name not in (*_FIRST, *_LEFT_OUT)))
"""The first columns of the table. After them come ``percent``, ``weight``, and a column ``criterion.ID`` by criterion.

``agent`` is the agent's label, or ``LABEL=ADDRESS`` if several agents have that label. The sum of ``percent`` times
``weight`` over an agent's runs is the mean that pages and commands show.
"""

Rows = Sequence[Mapping[str, Any]]


def make_rows(archive: Archive, entries: Sequence[ArchiveEntry]) -> list[dict[str, Any]]:
    """A row for each assessment and trial. A campaign has no row, but its members do.

    Raises:
        StoreUnavailableError, EntryDamagedError: the results of an entry can't be read.
    """
    rows = []
    names = agent_names(entries)
    shares = _shares(entries, names)
    for entry in entries:
        if entry.kind == "campaign":
            continue
        row: dict[str, Any] = {name: getattr(entry, name) for name in COLUMNS}
        row["judge_warnings"] = "; ".join(entry.judge_warnings)
        row["agent"] = names[entry.id]
        row["percent"], row["weight"] = shares[entry.id]
        if entry.kind == "assessment":
            for criterion in archive.results(entry).criteria_results:
                row[f"criterion.{criterion.criterion_id}"] = criterion.score if criterion.max_score else None
        rows.append(row)
    return rows


def _shares(entries: Sequence[ArchiveEntry], names: Mapping[str, str]) -> dict[str, tuple[float | None, float | None]]:
    """Runs' ids to the counted score in percent, and to the run's share in its agent's mean over these entries.

    A run that failed because of its agent counts 0. Both values are None if another failure ended the run.
    """
    from proctor.statistics import weights

    runs = runs_of_entries(entries, called=names)
    shares: dict[str, tuple[float | None, float | None]] = dict.fromkeys((run.run_id for run in runs), (None, None))
    for agent in {run.agent for run in runs}:
        own = [run for run in runs if run.agent == agent and run.counted_percent is not None]
        sizes = weights([run.cell for run in own])
        shares |= {run.run_id: (run.counted_percent, size / sum(sizes)) for run, size in zip(own, sizes, strict=True)}
    return shares


def list_columns(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row)) or list(COLUMNS)


def write_parquet(rows: Rows, path: Path) -> None:
    """Write rows as a Parquet file."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise CommandError("a .parquet file needs pyarrow: pip install pyarrow, or write .csv") from None
    try:
        table = pyarrow.table({name: [row.get(name) for row in rows] for name in list_columns(rows)})
    except OverflowError:
        raise CommandError(f"{path}: a result has a number of more than 64 bits; write .csv") from None
    parquet.write_table(table, path)
