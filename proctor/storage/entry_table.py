"""A reader's table of an archive's entries, in SQLite: a copy of the archive's data, safe to delete.

Entries with the same scenario, agent, status and campaign share a row of ``shared``, which counts them. A search looks
for its words in these rows. It also scans all ids for a word if each of the word's letters occurs in some id.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from proctor.protocol.archive import FORMAT, OF_MANY, EntrySummary
from proctor.protocol.roles import is_of_role
from proctor.storage.day_index import Line
from proctor.storage.entry_ids import parse_fence, parse_id

_VERSION = 6
_BUSY_SECONDS = 60.0
_SPARSE = 20_000
"""Up to this number, entries are sorted; above it, the latest ones are looked up by time."""


_SHARED = EntrySummary.marked(OF_MANY)

_SCHEMA = Path(__file__).with_suffix(".sql")

_WALKED = """
CREATE TEMP TABLE walked (
    id TEXT NOT NULL, fence INTEGER NOT NULL, folder TEXT NOT NULL, PRIMARY KEY (id, fence, folder)
) WITHOUT ROWID
"""

Order = Literal["started", "ended", "scenario", "agent", "seed", "status", "campaign", "cost", "share"]

_INDEXES: dict[Order, str] = {
    "cost": "entries_by_cost",
    "share": "entries_by_share",
    "seed": "entries_by_seed",
    "ended": "entries_by_end",
}
"""Indexes with an order's values. For the other orders the index by time suffices, and it is small."""

_COLUMNS = {"scenario": "s.scenario", "agent": "s.agent", "status": "s.status", "campaign": "s.campaign"}


@dataclass(frozen=True)
class EntryQuery:
    """A query: conditions on entries, and their order. None and empty mean no condition.

    Attributes:
        search: words that must occur in the id, kind, scenario, agent, status or campaign.
        agent: part of a name or address of its agent.
        agent_named: the agent's whole name, as on pages.
        called: names or addresses, one of which must equal the agent's.
        since, until: bounds of the start; ``until`` is exclusive.
        ended_since: the earliest end.
        origin: the id of the assessment that it is a fork of.
        cost_from: the lowest cost; entries without a cost are left out.
        judge: a model that judged it.
        owner: the caller that it belongs to.
        without: ids to leave out.
        is_alone: leave out members of an archived campaign or of one in ``campaigns``.
        order, is_rising: the sort order; ties are sorted by start.
        most: the largest number of results; None for all.
        skip: the number of first results to leave out.
    """

    search: str = ""
    kind: str | None = None
    status: str | None = None
    scenario: str | None = None
    agent: str | None = None
    agent_named: str | None = None
    called: Sequence[str] = ()
    campaign: str | None = None
    owner: str | None = None
    seed: int | None = None
    judge: str | None = None
    origin: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    ended_since: datetime | None = None
    cost_from: float | None = None
    without: Sequence[str] = ()
    is_alone: bool = False
    campaigns: Sequence[str] = ()
    order: Order = "started"
    is_rising: bool = False
    most: int | None = None
    skip: int = 0


@dataclass(frozen=True)
class MatrixCell:
    """All runs of one agent in one scenario.

    Attributes:
        scored: the number of runs with a share. A run that its agent failed has 0.
        share: the mean of these shares, 0 to 1; None if no run has one.
    """

    agent: str
    scenario: str
    runs: int
    scored: int
    share: float | None


class EntryTable:
    """The table in a file, or in a temporary file if ``path`` is empty. Only one thread may use it at a time.

    If an assessment has several participants, the table has only the entry of the whole.

    Raises:
        sqlite3.OperationalError: the file can't be written.
        sqlite3.DatabaseError: it is damaged or of another version: delete it.
    """

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._db = self._open()
        self._letters: set[str] = set()
        self._writes = 0
        self._searched: object = None
        self._counts: dict[tuple[str, int, int], int] = {}

    def close_connection(self) -> None:
        self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run a transaction; other processes wait."""
        self._db.execute("BEGIN IMMEDIATE")
        self._writes += 1
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def learn(self, lines: Iterable[Line], *, is_indexed: bool = True) -> None:
        """Add lines of the index, in any order. Of each id, the latest line with the highest fence counts."""
        for line in lines:
            if is_of_role(parse_id(line.folder)):
                continue
            if line.summary is None:
                self._forget(line)
            elif not line.is_written:
                self._await(line)
            else:
                self._learn(line, is_indexed)

    def drop_walked(self) -> None:
        self._db.execute("DELETE FROM walked")

    def walk(self, folders: Iterable[str]) -> None:
        ids = ((parse_id(folder), folder) for folder in folders)
        rows = ((entry_id, parse_fence(folder), folder) for entry_id, folder in ids if not is_of_role(entry_id))
        self._db.executemany("INSERT OR REPLACE INTO walked VALUES (?, ?, ?)", rows)

    def walked(self) -> Iterator[str]:
        yield from (row[0] for row in self._db.execute("SELECT folder FROM walked"))

    def unknown(self) -> list[str]:
        """Return the walked folders whose fence is higher than the table's, the highest fence of each id first."""
        rows = self._db.execute(
            "SELECT w.folder FROM walked w LEFT JOIN entries e ON e.id = w.id "
            "WHERE e.id IS NULL OR e.fence < w.fence ORDER BY w.id, w.fence DESC"
        )
        return [row[0] for row in rows]

    def remove_missing(self, before: int) -> None:
        """Remove entries that the walk missed, except those with lines after ``before`` (microseconds since 1970)."""
        self._db.execute(
            "DELETE FROM entries WHERE at < ? AND NOT EXISTS (SELECT 1 FROM walked w WHERE w.id = entries.id "
            "AND w.fence = entries.fence AND substr(w.folder, 1, 10) = entries.date)",
            (before,),
        )

    def unindexed(self) -> Iterator[tuple[EntrySummary, str]]:
        for row in self._db.execute(f"{_SELECT.format('entries e')} WHERE e.is_indexed = 0"):
            if (summary := _summary(row)) is not None:
                yield summary, f"{row[4]}/{quote(row[2], safe='')}.{row[3]}"

    def mark_indexed(self, is_indexed: bool) -> None:
        """Record for all entries whether the index has a line for them."""
        self._db.execute("UPDATE entries SET is_indexed = ? WHERE is_indexed != ?", (is_indexed, is_indexed))

    def pending(self) -> list[str]:
        """Return folders whose entries may have been written since their lines were."""
        return [row[0] for row in self._db.execute("SELECT folder FROM pending")]

    def damaged(self) -> list[str]:
        """Return folders whose entries are unreadable and missing in the index."""
        return [row[0] for row in self._db.execute("SELECT folder FROM damaged ORDER BY folder DESC")]

    def set_damaged(self, folder: str, is_damaged: bool) -> None:
        statement = "INSERT OR IGNORE INTO damaged VALUES (?)" if is_damaged else "DELETE FROM damaged WHERE folder = ?"
        self._db.execute(statement, (folder,))

    def forget_pending(self, before: int) -> None:
        """Forget pending folders, still incomplete, with lines older than ``before`` (microseconds since 1970)."""
        self._db.execute("DELETE FROM pending WHERE at < ?", (before,))

    def version(self, path: str) -> str | None:
        row = self._db.execute("SELECT version FROM files WHERE path = ?", (path,)).fetchone()
        return row and str(row[0])

    def set_version(self, path: str, version: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO files VALUES (?, ?)", (path, version))

    def is_closed(self, day: str) -> bool:
        return self._db.execute("SELECT 1 FROM closed WHERE day = ?", (day,)).fetchone() is not None

    def close(self, day: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO closed VALUES (?)", (day,))
        self._db.execute("DELETE FROM files WHERE path LIKE ?", (f"%/{day}/%",))

    def reopen(self) -> None:
        """Forget which files of the index were read, to read them all again."""
        self._db.execute("DELETE FROM closed")
        self._db.execute("DELETE FROM files")

    def forget_all(self) -> None:
        for name in ("entries", "shared", "contents", "pending", "damaged", "removed", "files", "closed", "notes"):
            self._db.execute(f"DELETE FROM {name}")

    def has(self, note: str) -> bool:
        return self._db.execute("SELECT 1 FROM notes WHERE name = ?", (note,)).fetchone() is not None

    def note(self, note: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?)", (note,))

    def select(self, query: EntryQuery) -> list[EntrySummary]:
        where, parameters = self._where(query)
        order = _ordered(query)
        limit = f"LIMIT {-1 if query.most is None else int(query.most)} OFFSET {int(query.skip)}"
        # First select only numbers, which an index can answer without the rows. Then select the rows of these numbers.
        shared = "CROSS JOIN shared s ON s.number = e.shared" if query.order in _COLUMNS else ""
        numbers = f"SELECT e.rowid number FROM entries e {self._choose_index(query)} {shared}"
        source = f"({numbers} {where} {order} {limit}) matching CROSS JOIN entries e ON e.rowid = matching.number"
        rows = self._db.execute(f"{_SELECT.format(source)} {order}", parameters).fetchall()
        return [summary for row in rows if (summary := _summary(row)) is not None]

    def matrix(self, query: EntryQuery) -> list[MatrixCell]:
        """Return the matching assessments and trials by agent and scenario, in the order of their names."""
        if query.search or query.without or _own_conditions(query)[0]:
            where, parameters = self._where(query)
            totals = "e.shared, count(*) runs, count(e.share) scored, sum(e.share) total"
            by_shared = f"SELECT {totals} FROM entries e {where} GROUP BY e.shared"
        else:
            sets, parameters = _sets(query)
            where = " AND ".join(["entries > 0", *sets])
            by_shared = f"SELECT number shared, entries runs, scored, shares total FROM shared WHERE {where}"
        rows = self._db.execute(
            f"SELECT s.agent, s.scenario, sum(g.runs), sum(CASE WHEN s.has_failed THEN g.runs ELSE g.scored END), "
            f"sum(CASE WHEN s.has_failed THEN 0 ELSE g.total END) FROM ({by_shared}) g "
            "JOIN shared s ON s.number = g.shared WHERE s.kind != 'campaign' "
            "GROUP BY s.agent, s.scenario ORDER BY s.agent, s.scenario",
            parameters,
        )
        return [
            MatrixCell(agent, scenario, runs, scored, (total or 0.0) / scored if scored else None)
            for agent, scenario, runs, scored, total in rows
        ]

    def count(self, query: EntryQuery) -> int:
        """Return the number of matching entries, regardless of ``most``."""
        key = (repr(replace(query, most=None, skip=0, order="started")), *self._state())
        if key not in self._counts:
            self._counts = {cached: count for cached, count in self._counts.items() if cached[1:] == key[1:]}
            self._counts[key] = self._count(query)
        return self._counts[key]

    def _count(self, query: EntryQuery) -> int:
        if _own_conditions(query)[0]:
            return self._count_rows(query)
        sets, parameters = _sets(query)
        words, terms = _word_conditions(query.search)
        sets += words.values()
        total = f"SELECT coalesce(sum(entries), 0) FROM shared {'WHERE ' if sets else ''}{' AND '.join(sets)}"
        (in_all,) = self._db.execute(total, {**parameters, **terms}).fetchone()
        if words:
            self._find_by_ids(query)
            in_all += self._db.execute("SELECT count(*) FROM id_matches").fetchone()[0]
        if query.without:
            in_all -= self._count_rows(replace(query, without=()), among=query.without)
        return int(in_all)

    def _choose_index(self, query: EntryQuery) -> str:
        """Return the index by which the fewest rows are examined; SQLite can't know it."""
        if query.origin is not None:
            return "INDEXED BY entries_by_origin"
        if query.ended_since is not None:
            return "INDEXED BY entries_by_end"
        if query.most is None:
            return ""
        if _own_conditions(query)[0]:
            return "INDEXED BY entries_by_time" if query.order == "started" else ""
        return "" if self.count(query) <= _SPARSE else f"INDEXED BY {_INDEXES.get(query.order, 'entries_by_time')}"

    def _count_rows(self, query: EntryQuery, among: Sequence[str] = ()) -> int:
        where, parameters = self._where(query)
        if among:
            where += (" AND " if where else "WHERE ") + "e.id IN (SELECT value FROM json_each(:among))"
            parameters["among"] = json.dumps(list(among))
        return int(self._db.execute(f"SELECT count(*) FROM entries e {where}", parameters).fetchone()[0])

    def _where(self, query: EntryQuery) -> tuple[str, dict[str, Any]]:
        sets, parameters = _sets(query)
        words, terms = _word_conditions(query.search)
        own, times = _own_conditions(query)
        parameters |= {**terms, **times}
        sets += words.values()
        where = [_among(sets)] if sets else []
        if words:
            self._find_by_ids(query)
            where = [f"({where[0]} OR e.rowid IN (SELECT number FROM id_matches))"]
        where += own
        if query.without:
            where.append("e.id NOT IN (SELECT value FROM json_each(:without))")
            parameters["without"] = json.dumps(list(query.without))
        return (f"WHERE {' AND '.join(where)}" if where else ""), parameters

    def _state(self) -> tuple[int, int]:
        """Return a value that changes with every change of the table, by this process or by others."""
        return self._writes, int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def _find_by_ids(self, query: EntryQuery) -> None:
        """Fill ``id_matches`` with entries that have all words of a search, at least one of them only in their id."""
        key = (replace(query, most=None, skip=0, without=()), *self._state())
        if key == self._searched:
            return
        self._db.execute("DELETE FROM id_matches")
        sets, parameters = _sets(query)
        words, terms = _word_conditions(query.search)
        letters = {row[0] for row in self._db.execute("SELECT letter FROM letters")}
        in_ids = [name for name in words if letters.issuperset(terms[name])]
        sets += [test for name, test in words.items() if name not in in_ids]
        if in_ids:
            ids = {name: f"e.id LIKE :{name}_id ESCAPE '!'" for name in in_ids}
            terms |= {f"{name}_id": f"%{_escaped(terms[name])}%" for name in in_ids}
            where = [f"({' OR '.join(ids.values())})", *([_among(sets)] if sets else [])]
            where += [f"({ids[name]} OR {_among([words[name]])})" for name in in_ids]
            where.append(f"NOT {_among([*sets, *words.values()])}")
            scan = "FROM entries e INDEXED BY entries_by_time"
            into = f"INSERT INTO id_matches SELECT e.rowid {scan} WHERE {' AND '.join(where)}"
            self._db.execute(into, {**parameters, **terms})
        self._searched = key

    def find_ids(self, prefix: str, owner: str | None, most: int) -> tuple[int, list[str]]:
        """Return how many ids begin with a prefix, and the first ``most`` of these ids.

        The list leaves out members (``ID.…``) of the shortest id. If only the shortest id remains, the number is 1;
        otherwise it includes the members. ``owner`` limits the entries to an owner's; None means all.
        """
        of_owner = "" if owner is None else "AND shared IN (SELECT number FROM shared WHERE owner = :owner)"
        parameters = {"prefix": prefix, "end": prefix + "\U0010ffff", "owner": owner, "most": most}
        within = f"FROM entries WHERE id >= :prefix AND id < :end {of_owner}"
        shortest = self._db.execute(f"SELECT id {within} ORDER BY length(id), id LIMIT 1", parameters).fetchone()
        if shortest is None:
            return 0, []
        others = f"{within} AND id NOT BETWEEN :own AND :last"
        bounds = {**parameters, "own": f"{shortest[0]}.", "last": f"{shortest[0]}.\U0010ffff"}
        rows = self._db.execute(f"SELECT id {others} ORDER BY id LIMIT :most", bounds).fetchall()
        total = self._db.execute(f"SELECT count(*) {within}", parameters).fetchone()[0] if len(rows) > 1 else 1
        return int(total), [row[0] for row in rows]

    def _open(self) -> sqlite3.Connection:
        if self._path:
            try:
                os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            except OSError as error:
                raise sqlite3.OperationalError(str(error)) from None
        db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL" if self._path else "PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA temp_store = FILE")
        db.execute("BEGIN IMMEDIATE")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in (0, _VERSION):
            db.execute("ROLLBACK")
            db.close()
            raise sqlite3.DatabaseError("it is of another version")
        if not version:
            for statement in _SCHEMA.read_text().split(";\nCREATE "):
                db.execute(f"CREATE {statement.strip().removeprefix('CREATE ')}")
            db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("COMMIT")
        db.execute(_WALKED)  # private to the connection: two processes may walk at the same time
        db.execute("CREATE TEMP TABLE id_matches (number INTEGER PRIMARY KEY)")
        return db

    def _forget(self, line: Line) -> None:
        self._db.execute(
            "INSERT INTO removed VALUES (?, ?) ON CONFLICT (folder) DO UPDATE SET at = max(at, excluded.at)",
            (line.folder, line.at),
        )
        which = (*_parse_folder(line.folder), line.at)
        self._db.execute("DELETE FROM entries WHERE id = ? AND fence = ? AND date = ? AND at <= ?", which)
        self._db.execute("DELETE FROM pending WHERE folder = ? AND at <= ?", (line.folder, line.at))

    def _is_removed(self, line: Line) -> bool:
        row = self._db.execute("SELECT at FROM removed WHERE folder = ?", (line.folder,)).fetchone()
        return row is not None and row[0] >= line.at

    def _await(self, line: Line) -> None:
        is_known = self._db.execute(
            "SELECT 1 FROM entries WHERE id = ? AND fence = ? AND date = ?", _parse_folder(line.folder)
        ).fetchone()
        if not is_known and not self._is_removed(line):
            self._db.execute(
                "INSERT INTO pending VALUES (?, ?) ON CONFLICT (folder) DO UPDATE SET at = max(at, excluded.at)",
                (line.folder, line.at),
            )

    def _learn(self, line: Line, is_indexed: bool) -> None:
        own = dict(line.summary or {})
        try:
            summary = EntrySummary.model_validate(own)
            times = summary.started_at.timestamp(), summary.ended_at.timestamp()
            share = summary.share
        except (ValueError, ArithmeticError):
            return  # the entry itself has more information
        if summary.format > FORMAT or self._is_removed(line):
            return
        common = {name: own.pop(name) for name in _SHARED if name in own}
        entry_id, fence, date = _parse_folder(line.folder)
        if (own.pop("id", None), own.pop("fence", 0)) != (entry_id, fence):
            return
        self._db.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "fence = excluded.fence, at = excluded.at, date = excluded.date, shared = excluded.shared, "
            "started = excluded.started, ended = excluded.ended, seed = excluded.seed, cost = excluded.cost, "
            "share = excluded.share, origin = excluded.origin, is_indexed = excluded.is_indexed, own = excluded.own "
            "WHERE excluded.fence > fence OR (excluded.fence = fence AND excluded.at >= at)",
            (
                *(entry_id, fence, line.at, date, self._shared_number(common), *times),
                *(summary.seed if abs(summary.seed or 0) < 2**63 else None, summary.cost, share),
                *(summary.forked_from and summary.forked_from.task_id,),
                *(is_indexed, json.dumps(own, separators=(",", ":"))),
            ),
        )
        self._db.execute("DELETE FROM pending WHERE folder = ?", (line.folder,))
        if not self._letters.issuperset(letters := entry_id.lower()):
            self._letters.update(letters)
            self._db.executemany("INSERT OR IGNORE INTO letters VALUES (?)", list(letters))

    def _shared_number(self, common: dict[str, Any]) -> int:
        text = json.dumps(common, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).digest()[:16]
        row = self._db.execute("SELECT number FROM contents WHERE digest = ?", (digest,)).fetchone()
        if row:
            return int(row[0])
        names = ("role", "participant", "participant_url")
        role, participant, url = (str(common.get(name) or "") for name in names)
        campaign = str(common.get("campaign") or "")
        agent = (campaign and role) or participant or url
        kind, status, scenario = (
            str(common.get(n) or d) for n, d in (("kind", "assessment"), ("status", ""), ("scenario_id", ""))
        )
        words = [kind, scenario, str(common.get("scenario_name") or ""), agent, participant, url, status, campaign]
        made = self._db.execute("INSERT INTO contents VALUES (NULL, ?, ?)", (digest, text))
        self._db.execute(
            "INSERT INTO shared VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?, ?, ?)",
            (
                *(made.lastrowid, kind, status, scenario, agent, campaign, str(common.get("owner") or "")),
                *(bool(common.get("failed_by_participant")), json.dumps(common.get("judges") or [])),
                *(f"{agent} {participant} {url}".lower(), " ".join(words).lower()),
            ),
        )
        return int(made.lastrowid or 0)


_SELECT = (
    "SELECT t.content, e.own, e.id, e.fence, e.date FROM {} CROSS JOIN shared s ON s.number = e.shared "
    "CROSS JOIN contents t ON t.number = e.shared"
)


def delete_table(path: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            os.unlink(f"{path}{suffix}")


def _sets(query: EntryQuery) -> tuple[list[str], dict[str, Any]]:
    """Return a query's conditions on ``shared``, without those of its search, and their parameters."""
    alike = {
        "kind": query.kind,
        "status": query.status,
        "scenario": query.scenario,
        "agent": query.agent_named,
        "campaign": query.campaign,
        "owner": query.owner,
    }
    sets = [f"{name} = :{name}" for name, value in alike.items() if value is not None]
    parameters: dict[str, Any] = {name: value for name, value in alike.items() if value is not None}
    if query.agent:
        sets.append("instr(agents, :part)")
        parameters["part"] = query.agent.lower()
    if query.called:
        among = "(SELECT value FROM json_each(:called))"
        any_of = " OR ".join(f"content ->> '{name}' IN {among}" for name in ("role", "participant", "participant_url"))
        sets.append(f"number IN (SELECT number FROM contents WHERE {any_of})")
        parameters["called"] = json.dumps(list(query.called))
    if query.judge is not None:
        sets.append("EXISTS (SELECT 1 FROM json_each(judges) WHERE value = :judge)")
        parameters["judge"] = query.judge
    if query.is_alone:
        sets.append(
            "(campaign = '' OR campaign NOT IN (SELECT id FROM entries WHERE shared IN "
            "(SELECT number FROM shared WHERE kind = 'campaign') UNION ALL SELECT value FROM json_each(:campaigns)))"
        )
        parameters["campaigns"] = json.dumps(list(query.campaigns))
    return sets, parameters


def _word_conditions(search: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the condition on ``shared`` for each word of a search, and its parameters, both by parameter name."""
    terms = {f"word{number}": word for number, word in enumerate(search.lower().split())}
    return {name: f"instr(words, :{name})" for name in terms}, terms


def _escaped(word: str) -> str:
    """Escape a word for LIKE."""
    return "".join(f"!{letter}" if letter in "!%_" else letter for letter in word)


def _own_conditions(query: EntryQuery) -> tuple[list[str], dict[str, Any]]:
    """Return a query's conditions on single entries, except ``without``, and their parameters."""
    named = (
        ("since", query.since, "e.started >= :since"),
        ("until", query.until, "e.started < :until"),
        ("ended_since", query.ended_since, "e.ended >= :ended_since"),
        ("seed", query.seed, "e.seed = :seed"),
        ("cost_from", query.cost_from, "e.cost >= :cost_from"),
        ("origin", query.origin, "e.origin = :origin"),
    )
    conditions = [(name, value, test) for name, value, test in named if value is not None]
    parameters = {name: value.timestamp() if isinstance(value, datetime) else value for name, value, _ in conditions}
    return [test for _, _, test in conditions], parameters


def _among(sets: Sequence[str]) -> str:
    return f"e.shared IN (SELECT number FROM shared WHERE {' AND '.join(sets)})"


def _ordered(query: EntryQuery) -> str:
    column = _COLUMNS.get(query.order, f"e.{query.order}")
    direction = "ASC" if query.is_rising else "DESC"
    nulls = f"{column} IS NULL, " if query.is_rising else ""  # among falling values, nulls are the last ones
    by = "" if query.order == "started" else f"{nulls}{column} {direction}, "
    latest = direction if query.order == "started" else "DESC"
    return f"ORDER BY {by}e.started {latest}, e.id {latest}"


def _summary(row: Sequence[Any]) -> EntrySummary | None:
    try:
        content = {**json.loads(row[0]), **json.loads(row[1]), "id": row[2], "fence": row[3]}
        return EntrySummary.model_validate(content)
    except ValueError:
        return None


def _parse_folder(folder: str) -> tuple[str, int, str]:
    return parse_id(folder), parse_fence(folder), folder.partition("/")[0]
