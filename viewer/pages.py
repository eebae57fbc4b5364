"""From an archive's entry to HTML: pages for the server, and the same as one file that needs nothing else."""

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from proctor_protocol.archive import ArchiveEntry, TurnRecord
from proctor_protocol.callers import Caller
from proctor_protocol.losses import BIGGEST, losses
from proctor_protocol.parting import parting_turn
from proctor_protocol.results import AssessmentResults, CriterionResult
from proctor_storage.archive import Archive
from viewer import words
from viewer.scores import Row, dimensions_of, row_of
from viewer.shelves import Shelf, shelves_of
from viewer.versions import Version, anchor_of, versions_of

SHOWN_AT_MOST = 500
"""How many entries the overview shows; a search by address looks through all."""

_STATIC = files("viewer") / "static"


@dataclass(frozen=True)
class Running:
    """An assessment that is under way."""

    id: str
    scenario_id: str
    participant_url: str
    status: str
    started_at: datetime
    url: str | None = None
    owner: str = ""


@dataclass(frozen=True)
class DeedView:
    """One deed, in words."""

    anchor: str
    time: str
    action: str
    target: str
    heading: str
    body: str
    about: list[tuple[str, str]]
    error: str | None


@dataclass(frozen=True)
class TurnView:
    """One turn, in words; ``summary`` alone where it isn't looked at."""

    record: TurnRecord
    label: str
    summary: str
    deeds: list[DeedView] = field(default_factory=list)
    arrived: list[tuple[str, str, str, str]] = field(default_factory=list)


def static(name: str) -> bytes:
    """One of our own style sheets or scripts."""
    return (_STATIC / name).read_bytes()


class Pages:
    """Makes pages of an archive's entries.

    Args:
        archive: whose entries.
        ui_url: the Temporal UI, while there is one.
    """

    def __init__(self, archive: Archive, ui_url: str | None = None) -> None:
        self.archive = archive
        self._ui_url = ui_url

    def seen_by(self, caller: Caller) -> "Pages":
        """The same pages, of nothing but what is there for a caller."""
        seen = Pages(self.archive.seen_by(caller), self._ui_url if caller.is_admin else None)
        seen.__dict__["_templates"] = self._templates
        return seen

    @cached_property
    def _templates(self) -> Environment:
        environment = Environment(
            loader=PackageLoader("viewer"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters.update(clip=words.clip, when=words.when, took=words.took, address=_address)
        return environment

    def overview(self, running: Sequence[Running], search: str = "") -> str:
        """All that there is, newest first.

        Args:
            running: what is under way.
            search: words that have to stand in an entry's id, scenario, participant, status or campaign.
        """
        under_way = {each.id for each in running}
        entries = [e for e in self.archive.entries() if e.id not in under_way and _is_found(e, search)]
        return self._render(
            "overview.html",
            None,
            running=[each for each in running if not search or search.lower() in f"{each}".lower()],
            entries=entries[:SHOWN_AT_MOST],
            left_out=max(0, len(entries) - SHOWN_AT_MOST),
            search=search,
        )

    def assessment(self, entry: ArchiveEntry, turn: int | None = None, *, as_file: bool = False) -> str:
        """One assessment.

        Args:
            entry: the assessment.
            turn: the turn to look at first, 0 for the beginning; the first one where it isn't said.
            as_file: everything in one file, all turns with it.

        Raises:
            EntryDamagedError: the archive's files are not as they were written.
        """
        results, turns = self.archive.results(entry), self.archive.turns(entry)
        zone, records = _zone(turns), self.archive.state_records(entry)
        versions = versions_of(self.archive.initial_state(entry), records)
        names = _names_in(versions)
        last = max([t.turn for t in turns], default=0)
        chosen = min(max(1 if turn is None else turn, 0), last)
        shown = {t.turn for t in turns} if as_file else {chosen}
        return self._render(
            "assessment.html",
            "file" if as_file else None,
            entry=entry,
            results=results,
            turn=chosen,
            last=last,
            turns=[_turn_view(t, zone, names, is_whole=t.turn in shown) for t in turns],
            shelves=_shelves(versions, zone, None if as_file else chosen),
            losses=[row_of(loss.criterion, turns, results) for loss in losses(results)[:BIGGEST]],
            dimensions=dimensions_of(results, turns),
            lacking={r.turn: r.lacking for r in records if r.lacking},
            workflow_url=None if as_file else self._workflow_url(entry),
            zone=zone,
        )

    def comparison(self, one: ArchiveEntry, other: ArchiveEntry, *, as_file: bool = False) -> str:
        """Two assessments side by side; raises as ``assessment``."""
        results = [self.archive.results(each) for each in (one, other)]
        turns = [self.archive.turns(each) for each in (one, other)]
        parting = parting_turn(*turns)
        sides = [
            next((_turn_view(t, _zone(side), self._names(of), is_whole=True) for t in side if t.turn == parting), None)
            for of, side in zip((one, other), turns, strict=True)
        ]
        return self._render(
            "comparison.html",
            "file" if as_file else None,
            entries=(one, other),
            results=results,
            rows=compared(*results),
            parting=parting,
            sides=sides,
        )

    def problem(self, sentence: str) -> str:
        """A page that says what is wrong."""
        return self._render("problem.html", None, sentence=sentence)

    def _names(self, entry: ArchiveEntry) -> dict[str, tuple[str, str]]:
        return _names_in(versions_of(self.archive.initial_state(entry), self.archive.state_records(entry)))

    def _workflow_url(self, entry: ArchiveEntry) -> str | None:
        if not self._ui_url or not entry.temporal_namespace:
            return None
        namespace = quote(entry.temporal_namespace, safe="")
        return f"{self._ui_url.rstrip('/')}/namespaces/{namespace}/workflows/{quote(entry.id, safe='')}"

    def _render(self, name: str, kind: str | None, **known: Any) -> str:
        inline = None
        if kind == "file":
            style, script = static("viewer.css").decode(), static("viewer.js").decode()
            inline = {"style": style, "script": script, "policy": _policy_of_file(style, script)}
        return self._templates.get_template(name).render(inline=inline, as_file=kind == "file", **known)


@dataclass(frozen=True)
class ComparedRow:
    """One criterion in two assessments; None where one of them hasn't got it."""

    name: str
    dimension: str
    one: CriterionResult | None
    other: CriterionResult | None

    @property
    def difference(self) -> int | None:
        """Points that the other has more."""
        return None if self.one is None or self.other is None else self.other.score - self.one.score


def compared(one: AssessmentResults, other: AssessmentResults) -> list[ComparedRow]:
    """Criterion by criterion, the greatest difference first."""
    first = {c.criterion_id: c for c in one.criteria_results}
    second = {c.criterion_id: c for c in other.criteria_results}
    rows = [
        ComparedRow(either.name, either.dimension, first.get(key), second.get(key))
        for key, either in {**second, **first}.items()
    ]
    return sorted(rows, key=lambda row: (-abs(row.difference or 0), row.name))


def _is_found(entry: ArchiveEntry, search: str) -> bool:
    text = " ".join(
        [entry.id, entry.scenario_id, entry.scenario_name, entry.participant, entry.participant_url, entry.status]
        + ([entry.campaign] if entry.campaign else [])
    ).lower()
    return all(word in text for word in search.lower().split())


def _shelves(versions: Sequence[Version], zone: tzinfo | None, turn: int | None) -> list[Shelf]:
    return shelves_of([v for v in versions if turn is None or v.is_at(turn)], zone)


def _zone(turns: Sequence[TurnRecord]) -> tzinfo | None:
    return next((t.began_at.tzinfo for t in turns if t.began_at), UTC)


def _names_in(versions: Sequence[Version]) -> dict[str, tuple[str, str]]:
    """What each item is called: its id to its path and its name."""
    return {v.path.rpartition("/")[2]: (v.path, _name_of(v.item)) for v in versions if isinstance(v.item, dict)}


def _name_of(item: dict[str, Any]) -> str:
    return words.clip(item.get("subject") or item.get("title") or item.get("body") or item.get("name") or "", 160)


def _turn_view(
    record: TurnRecord, zone: tzinfo | None, names: dict[str, tuple[str, str]], *, is_whole: bool
) -> TurnView:
    counts = Counter(deed.action for deed in record.deeds)
    summary = " · ".join(f"{action} {count}" if count > 1 else action for action, count in counts.items())
    summary = words.clip(summary, 200)
    label = words.when(record.began_at, zone, "%a %H:%M")
    if not is_whole:
        return TurnView(record, label, summary)
    deeds = [
        DeedView(
            anchor=f"d{record.turn}-{number}",
            time=words.when(deed.timestamp, zone, "%H:%M"),
            action=words.clip(deed.action, 60),
            target=words.target(deed.parameters),
            heading=words.heading(deed.parameters),
            body=words.body(deed.parameters),
            about=[(anchor_of(names[i][0]), names[i][1] or i) for i in words.ids_in(deed.parameters) if i in names],
            error=None if deed.success else words.clip(deed.error_message or "no reason given"),
        )
        for number, deed in enumerate(record.deeds)
    ]
    arrived = [
        (anchor_of(a.path), words.when(a.at, zone, "%a %H:%M"), words.clip(a.who, 120), words.clip(a.what))
        for a in record.arrived
    ]
    return TurnView(record, label, summary, deeds, arrived)


def _address(entry: ArchiveEntry) -> str:
    return f"/view/{quote(entry.id, safe='')}"


def _policy_of_file(style: str, script: str) -> str:
    """A file's content security policy: nothing but this style and this script, and nothing from anywhere."""

    def named(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; style-src 'sha256-{named(style)}'; script-src 'sha256-{named(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


__all__ = ["ComparedRow", "DeedView", "Pages", "Row", "Running", "TurnView", "compared", "static"]
