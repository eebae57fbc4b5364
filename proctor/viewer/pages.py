"""From an archive's entry to HTML: pages for the server, and the same pages as self-contained files."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, tzinfo
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from proctor.protocol.action_words import find_heading, find_targets, find_text, list_ids
from proctor.protocol.archive import LOGS, RECORDING, ArchiveEntry, EntrySummary, Items, TurnRecord
from proctor.protocol.callers import Caller
from proctor.protocol.campaigns import CampaignResults
from proctor.protocol.judgements import Judgement, Shift
from proctor.protocol.losses import BIGGEST, losses
from proctor.protocol.parting import parting_turns
from proctor.protocol.runs import RunResults
from proctor.storage.archive import Archive, ArchiveBeingReadError, EntryDamagedError, NoSuchEntryError
from proctor.storage.entry_table import EntryQuery, MatrixCell
from proctor.viewer import words
from proctor.viewer.actions import Action, ActionRequest
from proctor.viewer.bounds import Look, Shelf, build_shelves, shelves_in_file
from proctor.viewer.campaigns import CampaignView, needed, of_entries, of_results
from proctor.viewer.live import Running, RunningDetails
from proctor.viewer.modalities import modality_views
from proctor.viewer.overviews import PAGE, STATUSES, Overview
from proctor.viewer.progress import collect_progress
from proctor.viewer.scores import build_row, group_rows
from proctor.viewer.trajectories import read_trajectory
from proctor.viewer.trials import list_steps
from proctor.viewer.versions import Version, list_versions, make_anchor
from purple_sdk.protocol.results import AssessmentResults, CriterionResult
from purple_sdk.protocol.statistics import Run, cost_in_words
from purple_sdk.protocol.terminal import TerminalResults

_SCENARIOS_NAMED = 50
"""Scenarios of a campaign whose criteria are shown by name; other scenarios' criteria are shown by id."""

_FILES = "email/files/"

SIDES_AT_MOST = 50
"""The largest number of turns in which two assessments are shown side by side."""

_STATIC = files("proctor.viewer") / "static"


def static(name: str) -> bytes:
    return (_STATIC / name).read_bytes()


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("proctor.viewer"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        clip=words.clip,
        when=words.when,
        took=words.took,
        address=lambda entry: build_address(entry.id),
        anchor=make_anchor,
        at=build_address,
        body=find_text,
        heading=find_heading,
        ids=list_ids,
        in_short=_in_short,
        needed=needed,
        plain=words.plain,
        target=find_targets,
    )
    return environment


class Pages:
    """The pages of an archive's entries; ``ui_url`` is the Temporal UI's address, if there is one."""

    def __init__(self, archive: Archive, ui_url: str | None = None) -> None:
        self.archive = archive
        self._ui_url = ui_url

    def restrict_view(self, caller: Caller) -> "Pages":
        """Return the same pages, limited to the entries that a caller may see."""
        return Pages(self.archive.restrict_view(caller), self._ui_url if caller.is_admin else None)

    def overview(self, running: Sequence[Running], filters: Overview = Overview()) -> str:  # noqa: B008
        """Return the overview, newest first unless sorted otherwise. A campaign's runs are on the campaign's page.

        Args:
            filters: filters and order. With a search or filter, runs of campaigns are also found.
        """
        under_way = {work.id for work in running}
        everything = replace(filters.query(), without=sorted(under_way))
        query = everything
        if not filters.search and not filters.active and not filters.all:
            query = replace(everything, is_alone=True, campaigns=sorted(under_way))
            running = [work for work in running if work.campaign not in under_way]
        entries, (total, in_all) = self.archive.survey(query, everything)
        last = max(1, -(-total // PAGE))
        if filters.number > last:
            filters, query = replace(filters, page=str(last)), replace(query, skip=(last - 1) * PAGE)
            entries = self.archive.select(query)
        return self._render(
            "overview.html",
            running=[]
            if filters.active or filters.number > 1
            else [work for work in running if _matches(work, filters.search)],
            entries=entries,
            damages=self.archive.damages(entries),
            unlisted=self.archive.unlisted(),
            matrix=_matrix(self.archive.matrix(everything)),
            total=total,
            last=last,
            in_campaigns=in_all - total,
            filters=filters,
            statuses=STATUSES,
        )

    def entry(
        self,
        entry: ArchiveEntry,
        turn: int | None = None,
        *,
        as_file: bool = False,
        offered: Sequence[Action] = (),
        look: Look = Look(),  # noqa: B008
    ) -> str:
        """Return the page of any archived entry; raises the errors of ``assessment``."""
        if entry.kind == "campaign":
            return self.campaign(entry, as_file=as_file)
        if entry.kind == "trial":
            return self.trial(entry, as_file=as_file)
        return self.assessment(entry, turn, as_file=as_file, offered=offered, look=look)

    def campaign(self, entry: ArchiveEntry, *, as_file: bool = False) -> str:
        """Return a campaign's page; raises the errors of ``assessment``."""
        results = self.archive.campaign_results(entry)
        runs = self.archive.runs(entry, results)
        view = of_results(results, runs, self._name_criteria(results, runs))
        of_trials = results if isinstance(results, TerminalResults) else None
        accuracy = None
        if of_trials and of_trials.n_trials:
            share = of_trials.accuracy_interval
            accuracy = share.in_words() if share else f"{of_trials.accuracy:.1%}"
        return self._campaign(
            view,
            "file" if as_file else None,
            entry=entry,
            id=entry.id,
            title=entry.scenario_id,
            kind=entry.campaign_kind,
            noun="trial" if of_trials else "assessment",
            status=entry.status,
            results=results,
            tally=entry.tally,
            missing=results.n_missing if isinstance(results, TerminalResults) else results.missing,
            stopped=results.stopped,
            accuracy=accuracy,
            doubts=of_trials.doubts_in_words() if of_trials else "",
            pass_at=[(k, share.in_words()) for k, share in of_trials.pass_at_k.items() if k > 1] if of_trials else [],
            started_at=entry.started_at,
            seconds=entry.seconds,
            cost=results.cost_text,
            tokens=results.tokens,
            url=None if as_file else self._workflow_url(entry),
            judgements=self.archive.judgements(entry, Shift),
            damage=self.archive.damage(entry, ()),
        )

    def _campaign(self, view: CampaignView, form: str | None, **known: Any) -> str:
        """Return a campaign's page; without ``results`` it is under way."""
        unknown = dict.fromkeys(
            ("damage", "entry", "results", "stopped", "wait_reason", "accuracy", "seconds", "tokens")
        )
        lists: dict[str, Any] = {"cells": (), "pass_at": (), "missing": 0, "doubts": "", "judgements": ()}
        is_running = known.get("results") is None
        return self._render("campaign.html", form, view=view, is_running=is_running, **{**unknown, **lists, **known})

    def trial(self, entry: ArchiveEntry, *, as_file: bool = False) -> str:
        """Return the page of a trial in a terminal; raises the errors of ``assessment``."""
        result = self.archive.trial_result(entry)
        steps, left_out = list_steps(self.archive.transcript(entry))
        has_recording = RECORDING in entry.files
        messages = [update.data.get("error_message") for update in self.archive.updates(entry)]
        tests = sorted((result.parser_results or {}).items(), key=lambda test: test[1] == "passed")
        return self._render(
            "trial.html",
            "recording" if as_file and has_recording else "file" if as_file else None,
            entry=entry,
            result=result,
            damage=self.archive.damage(entry, ()),
            tests=tests,
            passed=sum(status == "passed" for _, status in tests),
            steps=steps,
            left_out=left_out,
            has_recording=has_recording,
            cast=self.recording(entry) if as_file and has_recording else "",
            logs=self._logs(entry),
            phases=[(name, words.took(seconds)) for name, seconds in result.phases.items()],
            troubles=[str(message) for message in messages if message],
            workflow_url=None if as_file else self._workflow_url(entry),
        )

    def recording(self, entry: ArchiveEntry) -> str:
        """Return a trial's recording, as asciicast; raises the errors of ``assessment``."""
        if RECORDING not in entry.files:
            raise NoSuchEntryError(f"{entry.id} has no recording: only agents in a terminal have one")
        return self.archive.read(entry, RECORDING).decode(errors="replace")

    def _logs(self, entry: ArchiveEntry) -> list[tuple[str, str, str]]:
        names = sorted(name for name in entry.files if name.startswith(LOGS))
        return [
            (
                name.removeprefix(LOGS),
                f"{entry.files[name].size:,} bytes",
                words.clip(words.plain(self.archive.read(entry, name).decode(errors="replace")), words.LONGEST_TEXT),
            )
            for name in names
        ]

    def _name_criteria(self, results: CampaignResults, runs: Sequence[Run]) -> dict[tuple[str, str], str]:
        """Return names of criteria, by scenario (as in tables) and id, read from one assessment of each scenario."""
        names: dict[tuple[str, str], str] = {}
        known: set[str] = set()
        named = {run.run_id: run.scenario for run in runs}
        for cell in results.cells if isinstance(results, RunResults) else []:
            scenario = named.get(cell.task_id, cell.scenario_id)
            if scenario in known or not cell.max_score or len(known) >= _SCENARIOS_NAMED:
                continue
            try:
                entry = self.archive.get(cell.task_id)
                judged = self.archive.results(entry).criteria_results if entry else None
            except EntryDamagedError:
                continue
            if judged is None:
                continue
            known.add(scenario)
            names.update({(scenario, criterion.criterion_id): criterion.name for criterion in judged})
        return names

    def running(self, details: RunningDetails) -> str:
        running, terminal = details.running, details.terminal
        if running.kind == "campaign":
            return self._running_campaign(details)
        url = running.url if self._ui_url else None
        common: dict[str, Any] = {"running": running, "url": url, "wait_reason": details.wait_reason}
        if running.kind != "trial":
            return self._render("running.html", progress=collect_progress(details.updates), **common)
        steps, left_out = list_steps(terminal.records if terminal else ())
        return self._render(
            "running_trial.html",
            step=details.step,
            terminal=terminal,
            shown=words.plain(terminal.shown) if terminal else "",
            steps=steps,
            left_out=left_out,
            **common,
        )

    def _running_campaign(self, details: RunningDetails) -> str:
        running = details.running
        ended = self.archive.select(EntryQuery(campaign=running.id))
        of_trials = any(entry.kind == "trial" for entry in ended) or running.scenario_id.startswith("terminal-bench ")
        costs = [entry.cost for entry in ended if entry.cost is not None]
        return self._campaign(
            of_entries(ended),
            None,
            id=running.id,
            title=running.scenario_id or "A campaign",
            kind="terminal-bench" if of_trials else "assessments",
            noun="trial" if of_trials else "assessment",
            status=running.status,
            cells=details.cells,
            tally=running.tally,
            wait_reason=details.wait_reason,
            started_at=running.started_at,
            cost=cost_in_words(sum(costs) if costs else None, len(costs), len(ended)),
            url=running.url if self._ui_url else None,
        )

    def question(self, action: Action, action_request: ActionRequest, token: str, refusal: str | None = None) -> str:
        """Return the page that asks for confirmation of an action.

        Args:
            refusal: why the action failed before, if it did.
        """
        return self._render(
            "question.html",
            action=action,
            entry=action_request.entry,
            turn=action_request.turn,
            token=token,
            refusal=refusal,
            question=action.question(action_request.entry, action_request.turn),
            fields=[
                (field, action_request.fields.get(field.name) or field.value(action_request.entry))
                for field in action.fields
            ],
        )

    def assessment(
        self,
        entry: ArchiveEntry,
        turn: int | None = None,
        *,
        as_file: bool = False,
        offered: Sequence[Action] = (),
        look: Look = Look(),  # noqa: B008
    ) -> str:
        """Return an assessment's page.

        Args:
            turn: the turn to show first, 0 for the beginning; by default the first one.
            as_file: all turns in one file.
            look: which cards of the state are on the page; see ``proctor.viewer.bounds``.

        Raises:
            EntryDamagedError: the archive's files have been changed or lost.
        """
        results, turns = self.archive.results(entry), self.archive.turns(entry)
        zone, records = _zone(turns), self.archive.state_records(entry)
        # If there are several participants, their own entries have the states.
        initial = {} if entry.roles else self.archive.initial_state(entry)
        versions = list_versions(initial, records)
        names = _collect_names(versions)
        last = max([t.turn for t in turns], default=0)
        chosen = min(max(1 if turn is None else turn, 0), last)
        shown = {t.turn for t in turns} if as_file else {chosen}
        views = modality_views([v for v in versions if as_file or v.covers(chosen)], zone)
        shelves = shelves_in_file(views, chosen, last) if as_file else build_shelves(views, chosen, look)
        return self._render(
            "assessment.html",
            "file" if as_file else None,
            entry=entry,
            results=results,
            part_of={criterion: role for role in results.roles for criterion in role.criteria},
            turn=chosen,
            last=last,
            turns=turns,
            days=_day_headings(turns, zone),
            names=names,
            shelves=shelves,
            address="" if as_file else build_address(entry.id),
            files={
                sha256: f"data:application/octet-stream;base64,{content}"
                if as_file
                else f"{build_address(entry.id)}/files/{sha256}"
                for sha256, content in _collect_files(initial, shelves).items()
            },
            losses=[build_row(loss.criterion, turns, results) for loss in losses(results)[:BIGGEST]],
            dimensions=group_rows(results, turns),
            lacking={r.turn: r.lacking for r in records if r.lacking},
            trajectories={number: read_trajectory(self.archive, entry, number) for number in shown},
            offered=offered,
            forks=[] if as_file else self._find_forks(entry),
            judgements=self.archive.judgements(entry, Judgement),
            damage=self.archive.damage(entry, ()),
            workflow_url=None if as_file else self._workflow_url(entry),
            zone=zone,
        )

    def _find_forks(self, entry: ArchiveEntry) -> Sequence[EntrySummary]:
        """Return an assessment's forks; none while the archive's table is being built, to keep the page readable."""
        with suppress(ArchiveBeingReadError):
            return self.archive.find_forks(entry.id)
        return []

    def file(self, entry: ArchiveEntry, sha256: str) -> bytes | None:
        """Return the content of an assessment's attached file; None if no file has this hash."""
        item = self.archive.initial_state(entry).get(f"{_FILES}{sha256}")
        return base64.b64decode(str(item["content"])) if isinstance(item, dict) else None

    def text(self, entry: ArchiveEntry, name: str, turn: int) -> str | None:
        """Return the whole of a long text; None if there is none.

        Args:
            name: the anchor of a card, or ``dTURN-NUMBER`` for the text of one of the participant's actions.
            turn: the turn after which the card is read.
        """
        turns = self.archive.turns(entry)
        if of_action := re.fullmatch(r"d(\d{1,6})-(\d{1,6})", name):
            numbers = {record.turn: record.actions for record in turns}
            actions = numbers.get(int(of_action[1]), [])[int(of_action[2]) :][:1]
            return next((find_text(action.parameters) for action in actions), None)
        versions = list_versions(self.archive.initial_state(entry), self.archive.state_records(entry))
        views = modality_views([v for v in versions if v.anchor == name and v.covers(turn)], _zone(turns))
        return next((card.text for view in views for card in view.cards), None)

    def comparison(self, one: ArchiveEntry, other: ArchiveEntry, *, as_file: bool = False) -> str:
        """Return a page with two assessments side by side; raises the errors of ``assessment``."""
        results = [self.archive.results(entry) for entry in (one, other)]
        turns = [self.archive.turns(entry) for entry in (one, other)]
        parting = parting_turns(*turns)
        return self._render(
            "comparison.html",
            "file" if as_file else None,
            entries=(one, other),
            results=results,
            rows=compared(*results),
            parting=parting,
            shown=parting[:SIDES_AT_MOST],
            sides=[{t.turn: t for t in side} for side in turns],
            zones=[_zone(side) for side in turns],
            names=[self._names(one), self._names(other)],
        )

    def problem(self, sentence: str) -> str:
        return self._render("problem.html", sentence=sentence)

    def _names(self, entry: ArchiveEntry) -> dict[str, tuple[str, str]]:
        return _collect_names(list_versions(self.archive.initial_state(entry), self.archive.state_records(entry)))

    def _workflow_url(self, entry: ArchiveEntry) -> str | None:
        if not self._ui_url or not entry.temporal_namespace:
            return None
        namespace = quote(entry.temporal_namespace, safe="")
        return f"{self._ui_url.rstrip('/')}/namespaces/{namespace}/workflows/{quote(entry.id, safe='')}"

    def _render(self, name: str, form: str | None = None, **known: Any) -> str:
        inline = None
        if form is not None:
            styles, scripts = ["viewer.css"], ["viewer.js"]
            if form == "recording":
                styles, scripts = ["asciinema-player.css", *styles], [*scripts, "asciinema-player.min.js"]
            style, script = ([static(file).decode() for file in names] for names in (styles, scripts))
            inline = {
                "styles": style,
                "script": script[0],
                "player": script[-1],
                "policy": _policy_of_file(style, script, may_compile=form == "recording"),
            }
        return _templates().get_template(name).render(inline=inline, as_file=form is not None, **known)


@dataclass(frozen=True)
class ComparedRow:
    """One criterion in two assessments; None for an assessment that lacks it."""

    name: str
    dimension: str
    one: CriterionResult | None
    other: CriterionResult | None

    @property
    def difference(self) -> int | None:
        """The points of the second assessment minus those of the first."""
        return None if self.one is None or self.other is None else self.other.score - self.one.score


def compared(one: AssessmentResults, other: AssessmentResults) -> list[ComparedRow]:
    """Compare two results criterion by criterion, the greatest difference first."""
    first = {c.criterion_id: c for c in one.criteria_results}
    second = {c.criterion_id: c for c in other.criteria_results}
    rows = [
        ComparedRow(either.name, either.dimension, first.get(key), second.get(key))
        for key, either in {**second, **first}.items()
    ]
    return sorted(rows, key=lambda row: (-abs(row.difference or 0), row.name))


_MATRIX_AT_MOST = 20  # agents, and scenarios, in the overview's matrix: those with the most runs


@dataclass(frozen=True)
class Matrix:
    """Means by agent (rows) and scenario (columns); ``left_out`` counts agents and scenarios with fewer runs."""

    agents: Sequence[str]
    scenarios: Sequence[str]
    cells: Mapping[tuple[str, str], MatrixCell]
    left_out: int


def _matrix(cells: Sequence[MatrixCell]) -> Matrix | None:
    """Return the overview's matrix; None for fewer than two cells."""
    if len(cells) < 2:
        return None
    agents, scenarios = Counter[str](), Counter[str]()
    for cell in cells:
        agents[cell.agent] += cell.runs
        scenarios[cell.scenario] += cell.runs
    shown = [sorted(name for name, _ in counter.most_common(_MATRIX_AT_MOST)) for counter in (agents, scenarios)]
    left_out = len(agents) + len(scenarios) - len(shown[0]) - len(shown[1])
    return Matrix(shown[0], shown[1], {(cell.agent, cell.scenario): cell for cell in cells}, left_out)


def _matches(work: Running, search: str) -> bool:
    text = " ".join([work.id, work.kind, work.scenario_id, work.participant_url, work.status, work.campaign or ""])
    return all(word in text.lower() for word in search.lower().split())


def _zone(turns: Sequence[TurnRecord]) -> tzinfo | None:
    return next((t.began_at.tzinfo for t in turns if t.began_at), UTC)


def _collect_files(initial: Items, shelves: Sequence[Shelf]) -> dict[str, str]:
    """Return the contents of files attached to shown mails, in Base64, by their SHA-256."""
    cards = [card for shelf in shelves for group in shelf.groups for card in group.cards]
    items = {file.sha256: initial.get(f"{_FILES}{file.sha256}") for card in cards for file in card.files if file.sha256}
    return {sha256: str(item["content"]) for sha256, item in items.items() if isinstance(item, dict)}


def _collect_names(versions: Sequence[Version]) -> dict[str, tuple[str, str]]:
    return {v.path.rpartition("/")[2]: (v.path, _get_title(v.item)) for v in versions if isinstance(v.item, dict)}


def _get_title(item: dict[str, Any]) -> str:
    return words.clip(item.get("subject") or item.get("title") or item.get("body") or item.get("name") or "", 160)


def _in_short(record: TurnRecord) -> str:
    """Summarize a turn's actions, each kind with its count."""
    counts = Counter(action.action for action in record.actions)
    return words.clip(" · ".join(f"{name} {count}" if count > 1 else name for name, count in counts.items()), 200)


def _day_headings(turns: Sequence[TurnRecord], zone: tzinfo | None) -> dict[int, str]:
    """Return the heading of each day, by its first turn; a single day has none."""
    first_turns: dict[date, int] = {}
    for turn in turns:
        if turn.began_at:
            first_turns.setdefault(turn.began_at.astimezone(zone).date(), turn.turn)
    days = enumerate(first_turns.items(), start=1) if len(first_turns) > 1 else ()
    return {turn: f"Day {number}, {day:%A %d %B}" for number, (day, turn) in days}


def build_address(name: str) -> str:
    return f"/view/{quote(name, safe='')}"


def _policy_of_file(styles: Sequence[str], scripts: Sequence[str], *, may_compile: bool) -> str:
    """Return a file's content security policy: it allows only these styles and scripts, and no other sources."""

    def named(texts: Sequence[str]) -> str:
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        return " ".join(f"'sha256-{digest}'" for digest in digests)

    compiling = " 'wasm-unsafe-eval'" if may_compile else ""
    return (
        f"default-src 'none'; style-src {named(styles)}; script-src {named(scripts)}{compiling}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
