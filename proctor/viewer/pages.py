"""From an archive's entry to HTML: pages for the server, and the same as one file that needs nothing else."""

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

from proctor.protocol.action_words import heading_of, ids_in, target_of, text_of
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
from proctor.viewer.bounds import Look, Shelf, shelves_in_file, shelves_of
from proctor.viewer.campaigns import CampaignView, needed, of_entries, of_results
from proctor.viewer.live import Running, RunningDetails
from proctor.viewer.modalities import modality_views
from proctor.viewer.overviews import PAGE, STATUSES, Overview
from proctor.viewer.progress import progress_of
from proctor.viewer.scores import dimensions_of, row_of
from proctor.viewer.trajectories import trajectory_of
from proctor.viewer.trials import steps_of
from proctor.viewer.versions import Version, anchor_of, versions_of
from purple_sdk.protocol.results import AssessmentResults, CriterionResult
from purple_sdk.protocol.statistics import Run, cost_in_words
from purple_sdk.protocol.terminal import TerminalResults

_SCENARIOS_NAMED = 50
"""Scenarios of a campaign whose criteria are called by their names, and not by their ids."""

_FILES = "email/files/"

SIDES_AT_MOST = 50
"""How many turns two assessments are shown side by side in."""

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
        address=lambda entry: address_of(entry.id),
        anchor=anchor_of,
        at=address_of,
        body=text_of,
        heading=heading_of,
        ids=ids_in,
        in_short=_in_short,
        needed=needed,
        plain=words.plain,
        target=target_of,
    )
    return environment


class Pages:
    """Makes pages of an archive's entries; ``ui_url`` is the Temporal UI, while there is one."""

    def __init__(self, archive: Archive, ui_url: str | None = None) -> None:
        self.archive = archive
        self._ui_url = ui_url

    def seen_by(self, caller: Caller) -> "Pages":
        """The same pages, of nothing but what is there for a caller."""
        return Pages(self.archive.seen_by(caller), self._ui_url if caller.is_admin else None)

    def overview(self, running: Sequence[Running], filters: Overview = Overview()) -> str:  # noqa: B008
        """What was assessed, the newest first unless sorted otherwise; a campaign's runs are on the campaign's page.

        Args:
            filters: filters and order. With a search or filter, runs of campaigns are found, too.
        """
        under_way = {each.id for each in running}
        everything = replace(filters.query(), without=sorted(under_way))
        query = everything
        if not filters.search and not filters.active and not filters.all:
            query = replace(everything, is_alone=True, campaigns=sorted(under_way))
            running = [each for each in running if each.campaign not in under_way]
        entries, (total, in_all) = self.archive.survey(query, everything)
        last = max(1, -(-total // PAGE))
        if filters.number > last:
            filters, query = replace(filters, page=str(last)), replace(query, skip=(last - 1) * PAGE)
            entries = self.archive.select(query)
        return self._render(
            "overview.html",
            running=[]
            if filters.active or filters.number > 1
            else [each for each in running if _matches(each, filters.search)],
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
        """The page of any archived entry; raises as ``assessment``."""
        if entry.kind == "campaign":
            return self.campaign(entry, as_file=as_file)
        if entry.kind == "trial":
            return self.trial(entry, as_file=as_file)
        return self.assessment(entry, turn, as_file=as_file, offered=offered, look=look)

    def campaign(self, entry: ArchiveEntry, *, as_file: bool = False) -> str:
        """One campaign; raises as ``assessment``."""
        results = self.archive.campaign_results(entry)
        runs = self.archive.runs(entry, results)
        view = of_results(results, runs, self._criteria_in(results, runs))
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
        """The page of a campaign; without ``results`` it is under way."""
        unknown = dict.fromkeys(
            ("damage", "entry", "results", "stopped", "wait_reason", "accuracy", "seconds", "tokens")
        )
        lists: dict[str, Any] = {"cells": (), "pass_at": (), "missing": 0, "doubts": "", "judgements": ()}
        is_running = known.get("results") is None
        return self._render("campaign.html", form, view=view, is_running=is_running, **{**unknown, **lists, **known})

    def trial(self, entry: ArchiveEntry, *, as_file: bool = False) -> str:
        """One trial in a terminal; raises as ``assessment``."""
        result = self.archive.trial_result(entry)
        steps, left_out = steps_of(self.archive.transcript(entry))
        has_recording = RECORDING in entry.files
        messages = [each.data.get("error_message") for each in self.archive.updates(entry)]
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
        """A trial's recording, as asciicast; raises as ``assessment``."""
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

    def _criteria_in(self, results: CampaignResults, runs: Sequence[Run]) -> dict[tuple[str, str], str]:
        """What criteria are called, by scenario (as tables name it) and id: one assessment of each scenario knows."""
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
            names.update({(scenario, each.criterion_id): each.name for each in judged})
        return names

    def running(self, details: RunningDetails) -> str:
        running, terminal = details.running, details.terminal
        if running.kind == "campaign":
            return self._running_campaign(details)
        url = running.url if self._ui_url else None
        common: dict[str, Any] = {"running": running, "url": url, "wait_reason": details.wait_reason}
        if running.kind != "trial":
            return self._render("running.html", progress=progress_of(details.updates), **common)
        steps, left_out = steps_of(terminal.records if terminal else ())
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
        """The page that asks for confirmation of an action.

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
                (each, action_request.fields.get(each.name) or each.value(action_request.entry))
                for each in action.fields
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
        """One assessment.

        Args:
            turn: the turn to look at first, 0 for the beginning; the first one where it isn't said.
            as_file: all turns in one file.
            look: which cards of the state are on the page; see ``proctor.viewer.bounds``.

        Raises:
            EntryDamagedError: the archive's files are not as they were written.
        """
        results, turns = self.archive.results(entry), self.archive.turns(entry)
        zone, records = _zone(turns), self.archive.state_records(entry)
        # Of several participants, each one's own entry has the states.
        initial = {} if entry.roles else self.archive.initial_state(entry)
        versions = versions_of(initial, records)
        names = _names_in(versions)
        last = max([t.turn for t in turns], default=0)
        chosen = min(max(1 if turn is None else turn, 0), last)
        shown = {t.turn for t in turns} if as_file else {chosen}
        views = modality_views([v for v in versions if as_file or v.is_at(chosen)], zone)
        shelves = shelves_in_file(views, chosen, last) if as_file else shelves_of(views, chosen, look)
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
            address="" if as_file else address_of(entry.id),
            files={
                sha256: f"data:application/octet-stream;base64,{content}"
                if as_file
                else f"{address_of(entry.id)}/files/{sha256}"
                for sha256, content in _files_in(initial, shelves).items()
            },
            losses=[row_of(loss.criterion, turns, results) for loss in losses(results)[:BIGGEST]],
            dimensions=dimensions_of(results, turns),
            lacking={r.turn: r.lacking for r in records if r.lacking},
            trajectories={number: trajectory_of(self.archive, entry, number) for number in shown},
            offered=offered,
            forks=[] if as_file else self._forks_of(entry),
            judgements=self.archive.judgements(entry, Judgement),
            damage=self.archive.damage(entry, ()),
            workflow_url=None if as_file else self._workflow_url(entry),
            zone=zone,
        )

    def _forks_of(self, entry: ArchiveEntry) -> Sequence[EntrySummary]:
        """Its forks; none while the archive's table is being made, so that the page can be read meanwhile."""
        with suppress(ArchiveBeingReadError):
            return self.archive.forks_of(entry.id)
        return []

    def file(self, entry: ArchiveEntry, sha256: str) -> bytes | None:
        """The content of an attached file of an assessment; None where there is none of that hash."""
        item = self.archive.initial_state(entry).get(f"{_FILES}{sha256}")
        return base64.b64decode(str(item["content"])) if isinstance(item, dict) else None

    def text(self, entry: ArchiveEntry, name: str, turn: int) -> str | None:
        """The whole of a long text: that of the card with an anchor as it was after a turn, or what the participant
        wrote with an action (``dTURN-NUMBER``); None where there is none.
        """
        turns = self.archive.turns(entry)
        if of_action := re.fullmatch(r"d(\d{1,6})-(\d{1,6})", name):
            numbers = {record.turn: record.actions for record in turns}
            actions = numbers.get(int(of_action[1]), [])[int(of_action[2]) :][:1]
            return next((text_of(action.parameters) for action in actions), None)
        versions = versions_of(self.archive.initial_state(entry), self.archive.state_records(entry))
        views = modality_views([v for v in versions if v.anchor == name and v.is_at(turn)], _zone(turns))
        return next((card.text for view in views for card in view.cards), None)

    def comparison(self, one: ArchiveEntry, other: ArchiveEntry, *, as_file: bool = False) -> str:
        """Two assessments side by side; raises as ``assessment``."""
        results = [self.archive.results(each) for each in (one, other)]
        turns = [self.archive.turns(each) for each in (one, other)]
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
        return _names_in(versions_of(self.archive.initial_state(entry), self.archive.state_records(entry)))

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
            style, script = ([static(each).decode() for each in names] for names in (styles, scripts))
            inline = {
                "styles": style,
                "script": script[0],
                "player": script[-1],
                "policy": _policy_of_file(style, script, may_compile=form == "recording"),
            }
        return _templates().get_template(name).render(inline=inline, as_file=form is not None, **known)


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


_MATRIX_AT_MOST = 20  # agents, and scenarios, of the overview's matrix: those with the most runs


@dataclass(frozen=True)
class Matrix:
    """Means by agent (rows) and scenario (columns); ``left_out`` agents and scenarios have fewer runs than these."""

    agents: Sequence[str]
    scenarios: Sequence[str]
    cells: Mapping[tuple[str, str], MatrixCell]
    left_out: int


def _matrix(cells: Sequence[MatrixCell]) -> Matrix | None:
    """The matrix of the overview; None where there is only one cell."""
    if len(cells) < 2:
        return None
    agents, scenarios = Counter[str](), Counter[str]()
    for cell in cells:
        agents[cell.agent] += cell.runs
        scenarios[cell.scenario] += cell.runs
    shown = [sorted(name for name, _ in each.most_common(_MATRIX_AT_MOST)) for each in (agents, scenarios)]
    left_out = len(agents) + len(scenarios) - len(shown[0]) - len(shown[1])
    return Matrix(shown[0], shown[1], {(each.agent, each.scenario): each for each in cells}, left_out)


def _matches(each: Running, search: str) -> bool:
    text = " ".join([each.id, each.kind, each.scenario_id, each.participant_url, each.status, each.campaign or ""])
    return all(word in text.lower() for word in search.lower().split())


def _zone(turns: Sequence[TurnRecord]) -> tzinfo | None:
    return next((t.began_at.tzinfo for t in turns if t.began_at), UTC)


def _files_in(initial: Items, shelves: Sequence[Shelf]) -> dict[str, str]:
    """The contents of files that shown mails have attached, in Base64, by their SHA-256."""
    cards = [card for shelf in shelves for group in shelf.groups for card in group.cards]
    items = {file.sha256: initial.get(f"{_FILES}{file.sha256}") for card in cards for file in card.files if file.sha256}
    return {sha256: str(item["content"]) for sha256, item in items.items() if isinstance(item, dict)}


def _names_in(versions: Sequence[Version]) -> dict[str, tuple[str, str]]:
    return {v.path.rpartition("/")[2]: (v.path, _name_of(v.item)) for v in versions if isinstance(v.item, dict)}


def _name_of(item: dict[str, Any]) -> str:
    return words.clip(item.get("subject") or item.get("title") or item.get("body") or item.get("name") or "", 160)


def _in_short(record: TurnRecord) -> str:
    """A turn's actions, each kind with its count."""
    counts = Counter(action.action for action in record.actions)
    return words.clip(" · ".join(f"{name} {count}" if count > 1 else name for name, count in counts.items()), 200)


def _day_headings(turns: Sequence[TurnRecord], zone: tzinfo | None) -> dict[int, str]:
    """The heading of each day, by its first turn; one day alone has none."""
    first_turns: dict[date, int] = {}
    for turn in turns:
        if turn.began_at:
            first_turns.setdefault(turn.began_at.astimezone(zone).date(), turn.turn)
    days = enumerate(first_turns.items(), start=1) if len(first_turns) > 1 else ()
    return {turn: f"Day {number}, {day:%A %d %B}" for number, (day, turn) in days}


def address_of(name: str) -> str:
    return f"/view/{quote(name, safe='')}"


def _policy_of_file(styles: Sequence[str], scripts: Sequence[str], *, may_compile: bool) -> str:
    """A file's content security policy: nothing but these styles and scripts, and nothing from anywhere."""

    def named(texts: Sequence[str]) -> str:
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        return " ".join(f"'sha256-{digest}'" for digest in digests)

    compiling = " 'wasm-unsafe-eval'" if may_compile else ""
    return (
        f"default-src 'none'; style-src {named(styles)}; script-src {named(scripts)}{compiling}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
