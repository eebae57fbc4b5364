"""``proctor judge again``: judge archived runs again, keep the new verdicts beside the first, and print the shift."""

import asyncio
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from proctor.activities.models.factory import ModelSettingsError, missing_setting
from proctor.activities.scenario_code.evaluator_modules import installed_readers
from proctor.activities.scenario_code.freezing import packed
from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import UsageError
from proctor.common.interrupts import on_signals
from proctor.common.phrases import clean, counted
from proctor.local.court import Court, NotJudgeableError, is_same
from proctor.protocol.archive import ArchiveEntry
from proctor.protocol.archived_runs import runs_of_entries
from proctor.protocol.judgements import (
    NOTICED,
    CriterionShift,
    Evaluators,
    Judgement,
    MeanShift,
    NotJudged,
    RunShift,
    Shift,
)
from proctor.storage.archive import Archive, EntryDamagedError, NoSuchEntryError
from proctor.storage.blobs import blob_ref
from proctor.storage.entry_table import EntryQuery
from proctor.storage.folder import StoreUnavailableError
from purple_sdk.protocol.results import AssessmentResults, CriterionResult, OverallScore
from purple_sdk.protocol.statistics import Points

_AT_ONCE_WITH_MODEL = 8
_SHOWN, WORST = 12, 5
_A_LINE = 25  # in a log, progress is one line for this number of runs


@dataclass
class Work:
    """The entries to judge, the campaigns whose shift is stored, and the judgements so far."""

    entries: list[ArchiveEntry] = field(default_factory=list)
    campaigns: list[ArchiveEntry] = field(default_factory=list)
    refused: list[NotJudged] = field(default_factory=list)
    done: dict[str, Judgement] = field(default_factory=dict)
    judged_now: int = 0


def require_model(name: str, base_url: str | None) -> None:
    try:
        lacking = missing_setting(name, base_url)
    except ModelSettingsError as error:
        raise UsageError(f"--judge {name}: {clean(str(error))}") from None
    if lacking:
        raise UsageError(f"--judge {name}: {lacking} is not set: set it, or leave --judge out")


def choose(kept: Archive, names: Iterable[str]) -> Work:
    """The entries of the named assessments and campaigns, each once."""
    work, found = Work(), dict[str, ArchiveEntry]()
    for name in names:
        try:
            entry = kept.find(name)
        except (NoSuchEntryError, EntryDamagedError) as error:
            work.refused.append(NotJudged(assessment_id=name, reason=str(error)))
            continue
        if entry.kind == "campaign" and entry.campaign_kind != "terminal-bench":
            work.campaigns.append(entry)
            summaries = [summary for summary in kept.select(EntryQuery(campaign=entry.id)) if not summary.part_of]
            members = {member.id: member for member in kept.in_full(summaries)}
            lost = [summary.id for summary in summaries if summary.id not in members]
            work.refused += [NotJudged(assessment_id=lost_id, reason="its entry can't be read") for lost_id in lost]
            if not summaries:
                work.refused.append(NotJudged(assessment_id=entry.id, reason="the archive has no assessment of it"))
            found |= members
        elif entry.kind != "assessment":
            reason = "its tests ran in a container that is gone: only assessments can be judged again"
            work.refused.append(NotJudged(assessment_id=entry.id, reason=reason))
        else:
            found[entry.part_of or entry.id] = kept.find(entry.part_of) if entry.part_of else entry
    work.entries = list(found.values())
    return work


async def judge_all(court: Court, kept: Archive, work: Work) -> bool:
    """Judge every entry, and keep each judgement at once. Return whether Ctrl-C ended this early."""
    interrupted = asyncio.Event()
    hurry = on_signals(interrupted)
    cores = os.cpu_count() or 1
    turns = asyncio.Semaphore(max(cores, _AT_ONCE_WITH_MODEL) if court.judge_name else cores)
    watched = _Watched(make_console(sys.stderr), len(work.entries))

    async def judge(entry: ArchiveEntry) -> None:
        async with turns:
            if interrupted.is_set():
                return
            try:
                await _judge_one(court, kept, work, entry)
            except (NotJudgeableError, EntryDamagedError, StoreUnavailableError) as error:
                work.refused.append(NotJudged(assessment_id=entry.id, reason=clean(str(error))))
            watched.advance(len(work.refused))

    async with aclosing(court):
        with watched.bar:
            tasks = [asyncio.create_task(judge(entry)) for entry in work.entries]
            hurry += [partial(_cancel, task) for task in tasks]
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return interrupted.is_set() and len(work.done) + len(work.refused) < len(work.entries)


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()


async def _judge_one(court: Court, kept: Archive, work: Work, entry: ArchiveEntry) -> None:
    key = (await court.who(entry)).key
    known = {
        past_judgement.key: past_judgement
        for past_judgement in await asyncio.to_thread(kept.judgements, entry, Judgement)
    }
    if key in known:
        await asyncio.to_thread(kept.results, entry)  # the first verdicts are needed, too
        work.done[entry.id] = known[key]
        return
    judgement = await court.judge(entry)
    await asyncio.to_thread(kept.keep_judgement, entry, judgement)
    work.done[entry.id] = judgement
    work.judged_now += 1


class _Watched:
    """The progress on stderr: a bar in a terminal, otherwise a line for some runs."""

    def __init__(self, console: Console, total: int) -> None:
        columns = (TextColumn("judged"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.bar = Progress(
            *columns, TextColumn("{task.fields[bad]}"), console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self.bar.add_task("judge", total=total, bad="")
        self._total, self._count, self._is_log = total, 0, not console.is_terminal

    def advance(self, bad: int) -> None:
        self._count += 1
        problems = f", {bad} can't be judged" if bad else ""
        self.bar.update(self._task, advance=1, bad=problems.removeprefix(", "))
        if self._is_log and self._count % _A_LINE == 0:
            print(f"judged {self._count} of {self._total} runs{problems}", file=sys.stderr, flush=True)


def compute_shift(
    court: Court,
    kept: Archive,
    work: Work,
    entries: Sequence[ArchiveEntry],
    seconds: float,
    campaign: ArchiveEntry | None,
) -> Shift:
    """The differences between the first verdicts on these entries and their new judgements."""
    pairs, equal = list[tuple[ArchiveEntry, Judgement]](), 0
    by_criterion: defaultdict[tuple[str, str], list[tuple[CriterionResult, CriterionResult]]] = defaultdict(list)
    for entry in entries:
        if (judgement := work.done.get(entry.id)) is None:
            continue
        pairs.append((entry, judgement))
        results = kept.results(entry)
        equal += is_same(results.criteria_results, judgement.criteria_results)
        for first, now in _both(results, judgement):
            by_criterion[entry.scenario_id, first.criterion_id].append((first, now))
    changed = [
        RunShift(
            assessment_id=entry.id,
            day=entry.day,
            agent=entry.agent,
            before=_percent(judgement.first.overall if judgement.first else None),
            now=_percent(judgement.scores.overall),
        )
        for entry, judgement in pairs
        if not _has_same_points(judgement)
    ]
    evaluators: Evaluators = "current" if court.is_current else "frozen"
    return Shift(
        proctor=version("proctor"),
        evaluators=evaluators,
        code=blob_ref(b"".join(map(packed, installed_readers()))).sha256 if court.is_current else None,
        judge=court.judge_name,
        judged_at=datetime.now(UTC),
        runs=len(pairs),
        judged_now=work.judged_now,
        equal=equal,
        changed=len(changed),
        seconds=round(seconds, 1),
        kept=sum(len(judgement.kept) for _, judgement in pairs),
        means=_means(kept, pairs, campaign),
        criteria=[_criterion(*key, both) for key, both in by_criterion.items()],
        changed_runs=sorted(changed, key=lambda run: -run.size),
        not_judged=list(work.refused),
        remarks=dict(Counter(judgement.remark for _, judgement in pairs if judgement.remark)),
    )


def _both(results: AssessmentResults, judgement: Judgement) -> list[tuple[CriterionResult, CriterionResult]]:
    """Pairs (first, new) of verdicts on criteria that were judged both times."""
    now = {result.criterion_id: result for result in judgement.criteria_results}
    firsts = [result for result in results.criteria_results if result.max_score and result.criterion_id in now]
    return [(first, now[first.criterion_id]) for first in firsts if now[first.criterion_id].max_score]


def _has_same_points(judgement: Judgement) -> bool:
    return judgement.first is not None and judgement.first == judgement.scores


def _percent(points: OverallScore | CriterionResult | None) -> float | None:
    return None if points is None or not points.max_score else round(100 * points.score / points.max_score, 2)


def _criterion(scenario: str, name: str, both: Sequence[tuple[CriterionResult, CriterionResult]]) -> CriterionShift:
    shares = [(first.score / first.max_score, now.score / now.max_score) for first, now in both]
    return CriterionShift(
        scenario=scenario,
        criterion_id=name,
        name=both[-1][1].name,
        runs=len(shares),
        more=sum(now > first for first, now in shares),
        less=sum(now < first for first, now in shares),
        before=round(100 * fmean(first for first, _ in shares), 2),
        now=round(100 * fmean(now for _, now in shares), 2),
    )


def _means(
    kept: Archive, pairs: Sequence[tuple[ArchiveEntry, Judgement]], campaign: ArchiveEntry | None
) -> list[MeanShift]:
    """The means of agents, as in a campaign's tables. Runs that were not judged again keep their first scores."""
    from proctor.statistics import summaries

    runs = kept.runs(campaign) if campaign is not None else []
    runs = runs or runs_of_entries(entry for entry, _ in pairs)
    judged = {entry.id: judgement.scores.overall for entry, judgement in pairs}
    now = [
        run.model_copy(update={"status": "completed", "overall": _points(judged[run.run_id])})
        if run.run_id in judged
        else run
        for run in runs
    ]
    before_and_now = [
        {
            row.agent: row.percent.mean
            for row in summaries(some)
            if row.of == "overall" and not row.scenario and row.percent
        }
        for some in (runs, now)
    ]
    before, after = before_and_now
    return [
        MeanShift(agent=agent, before=before.get(agent), now=after.get(agent))
        for agent in dict.fromkeys(run.agent for run in runs)
    ]


def _points(overall: OverallScore) -> Points:
    return Points(score=overall.score, max_score=overall.max_score)


def print_shift(console: Console, shift: Shift, named: int, *, has_judge: bool) -> None:
    def say(line: str, style: str = "") -> None:
        console.print(Text(line, style=style), soft_wrap=True)

    say(
        f"{counted(shift.runs, 'run')} of {named} judged again: {shift.judged_now} now, in {shift.seconds:.0f} s, "
        "the others before"
    )
    say(f"{shift.equal} have the same verdicts, {shift.changed} other points")
    table = plain_table("agent", numbers=("before", "now", "shift"))
    for mean in shift.means:
        change = mean.now - mean.before if mean.now is not None and mean.before is not None else None
        table.add_row(
            Text(clean(mean.agent)), _format_percent(mean.before), _format_percent(mean.now), _shown_change(change)
        )
    show(console, table)
    if moved := sorted((criterion for criterion in shift.criteria if criterion.more or criterion.less), key=_weight):
        table = plain_table("criterion", numbers=("runs", "up", "down", "before", "now", "shift"))
        for row in moved[:_SHOWN]:
            cells = (str(row.runs), str(row.more), str(row.less), _format_percent(row.before), _format_percent(row.now))
            table.add_row(Text(clean(f"{row.scenario}: {row.name}")), *cells, _shown_change(row.now - row.before))
        console.print()
        show(console, table)
        if len(moved) > _SHOWN:
            say(f"and {len(moved) - _SHOWN} more criteria: --json has all")
    if shift.changed_runs:
        say(f"\nThe largest shifts of {counted(shift.changed, 'run')}:")
        for run in shift.changed_runs[:WORST]:
            points = f"{_format_percent(run.before)} → {_format_percent(run.now)}"
            say(f"  {run.assessment_id}  {clean(run.day)}  {clean(run.agent)}: {points}")
    if shift.kept:
        hint = "" if has_judge else ": --judge MODEL asks one"
        say(f"{counted(shift.kept, 'verdict')} needed a model and stayed as before{hint}")
    for remark, count in shift.remarks.items():
        say(f"{counted(count, 'run')}: {remark}", "yellow")
    reasons = Counter(refusal.reason for refusal in shift.not_judged)
    example = {refusal.reason: refusal.assessment_id for refusal in shift.not_judged}
    for reason, count in reasons.most_common(_SHOWN):
        who = example[reason] if count == 1 else f"{count} runs (such as {example[reason]})"
        say(f"not judged: {clean(who)}: {clean(reason)}", "red")


def _weight(row: CriterionShift) -> tuple[int, float]:
    return -(row.more + row.less), -abs(row.now - row.before)


def _format_percent(percent: float | None) -> str:
    return "-" if percent is None else f"{percent:.1f} %"


def _shown_change(change: float | None) -> str:
    if change is None:
        return "-"
    return "none" if abs(change) < NOTICED else f"{change:+.1f}"
