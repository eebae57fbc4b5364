"""Entries of an archive on the screen: a list, a single entry, or two entries side by side."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from rich.console import Console
from rich.text import Text

from proctor.cli.report import print_report
from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import UsageError
from proctor.common.phrases import clean, counted, shorten
from proctor.protocol.archive import ArchiveEntry, EntrySummary
from proctor.protocol.judgements import Judgement, Shift
from proctor.protocol.parting import parting_turns
from proctor.protocol.runs import RunResults
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive
from proctor.storage.entry_table import EntryQuery
from proctor.viewer.live import Running
from proctor.viewer.pages import compared
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.protocol.terminal import TerminalResults, TrialResult, as_text, trial_as_text

SAME_IN_EVERY_TURN = "they did the same in every turn"
_SHORT_ID = 8
_SCENARIO_WIDTH = 18  # longest scenario's id that a narrow screen doesn't fold
_WIDE = 100  # width of a screen from which on the list has all columns
_LIVE_SECONDS = 2.0
_DAMAGES = 10  # the most sentences on damaged entries below a list


def print_entries(kept: Archive, config: GreenAgentConfig, query: EntryQuery, limit: int, others: str) -> None:
    """Print the entries of a query, the latest first, and running assessments, trials and campaigns.

    Args:
        limit: the largest number of entries.
        others: flags that name other deployments, for a hint.
    """
    running = _running(config) if query == EntryQuery(scenario=query.scenario, agent=query.agent) else []
    running = [assessment for assessment in running if query.scenario in (None, assessment.scenario_id)]
    everything = replace(query, without=[assessment.id for assessment in running])
    query = replace(everything, is_alone=query == EntryQuery())
    shown, (total, in_all) = kept.survey(replace(query, most=limit), everything)
    in_campaigns = in_all - total
    damages, unlisted = kept.damages(shown), kept.unlisted()
    console = make_console()
    if not shown and not running:
        hint = f"; other deployments: {others}" if others else ""
        console.print(Text(f"nothing was found in {kept.folder.place}{hint}"), soft_wrap=True)
        _tell_damages(console, damages, unlisted)
        return
    is_wide = console.width >= _WIDE
    ids = [assessment.scenario_id for assessment in running] + [entry.day for entry in shown]
    table = plain_table()
    for name in ("id", "began", "scenario", "agent"):
        longest = max(map(len, [name, *ids])) if name == "scenario" else 0
        is_short = longest <= _SCENARIO_WIDTH  # if so, a narrow screen folds only the agent
        least = None if is_short else _SCENARIO_WIDTH
        table.add_column(name, no_wrap=is_short and name != "agent", overflow="fold", min_width=least)
    for name in ("score", "turns") if is_wide else ("score",):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for assessment in running:
        cells = (
            assessment.id[:_SHORT_ID],
            _began(assessment.started_at, is_wide),
            assessment.scenario_id,
            clean(assessment.participant_url),
        )
        table.add_row(*cells, *([""] * (2 if is_wide else 1)), assessment.status)
    for entry in shown:
        *shown_cells, status = _row(entry, is_wide)
        table.add_row(*shown_cells, Text("damaged", style="red") if entry.id in damages else status)
    show(console, table)
    _tell_damages(console, damages, unlisted)
    if total > limit:
        console.print(f"{total - limit} more: --limit {total} shows all")
    if in_campaigns:
        console.print(f"{in_campaigns} more are of these campaigns: --campaign ID lists them", soft_wrap=True)
    if others:
        console.print(Text(f"this is {kept.folder.place}; other deployments: {others}", style="dim"), soft_wrap=True)


def _tell_damages(console: Console, damages: Mapping[str, str], unlisted: Sequence[str]) -> None:
    sentences = [*damages.values(), *(f"the entry {clean(name)} can't be read" for name in unlisted)]
    for sentence in sentences[:_DAMAGES]:
        console.print(Text(f"damaged: {clean(sentence)}", style="red"), soft_wrap=True)
    if len(sentences) > _DAMAGES:
        console.print(f"{len(sentences) - _DAMAGES} more are damaged", style="red")


def tell_left_out(damaged: Sequence[str]) -> None:
    for sentence in damaged:
        print(f"left out, since it is damaged: {clean(sentence)}", file=sys.stderr)


def _began(moment: datetime, is_wide: bool) -> str:
    """A local time. On a narrow screen the current year is left out."""
    local = moment.astimezone()
    is_short = not is_wide and local.year == datetime.now().astimezone().year
    return f"{local:%m-%d %H:%M}" if is_short else f"{local:%Y-%m-%d %H:%M}"


def _row(entry: EntrySummary, is_wide: bool) -> tuple[str | Text, ...]:
    score = f"{entry.score_text}/{entry.max_score}" if entry.max_score else "unscored"
    turns = str(entry.turns_taken)
    if entry.kind == "campaign":
        score = "unscored" if entry.earned is None else f"mean {entry.earned:.1%}"
        turns = f"{entry.tally.done} of {entry.tally.total}" if entry.tally else ""
    elif entry.kind == "trial":
        score, turns = "resolved" if entry.score else "not resolved" if entry.max_score else "no verdict", ""
    return (
        entry.id if entry.kind == "trial" else entry.id[:_SHORT_ID],
        _began(entry.started_at, is_wide),
        Text(clean(entry.day)),
        Text(shorten(entry.agent)),
        score,
        *([turns] if is_wide else []),
        f"{entry.status}{', partial' if entry.is_partial else ''}",
    )


def _running(config: GreenAgentConfig) -> list[Running]:
    """The running assessments, trials and campaigns; empty if Temporal doesn't answer soon."""
    from temporalio.service import RPCError

    from proctor.service.running import UnderWay
    from proctor.storage.temporal import TemporalUnreachableError

    async def ask() -> list[Running]:
        return await asyncio.wait_for(UnderWay(config).running(), _LIVE_SECONDS)

    try:
        return asyncio.run(ask())
    except (TemporalUnreachableError, RPCError, TimeoutError):
        return []


def print_assessment(kept: Archive, entry: ArchiveEntry, results: AssessmentResults, *, is_whole: bool) -> None:
    """Print one assessment's result and where its points were lost.

    Args:
        is_whole: print all criteria, not only the largest losses.
    """
    console, origin = make_console(), entry.forked_from
    for line in (
        f"{entry.id}  {entry.status}",
        f"{clean(entry.scenario_name or entry.scenario_id)}"
        f"{'' if entry.instance_seed == entry.seed is not None else f', seed {entry.seed}'}"
        f"{', without a model' if entry.offline else ''}",
        f"{clean(entry.agent)} at {clean(entry.participant_url)}",
        f"{entry.started_at.astimezone():%Y-%m-%d %H:%M}, {counted(entry.turns_taken, 'turn')}, "
        f"{counted(entry.actions_taken, 'action')}, {entry.seconds:.1f} s",
        *([f"a fork from {origin.in_words()}: {origin.inherited_in_words()}"] if origin else []),
    ):
        console.print(Text(line), soft_wrap=True)
    print_report(console, results, is_whole=is_whole)
    _tell_of_judgements(kept, entry, console)


def _tell_of_judgements(kept: Archive, entry: ArchiveEntry, console: Console) -> None:
    said = [judgement.in_words() for judgement in kept.judgements(entry, Shift)]
    said += [judgement.in_words() for judgement in kept.judgements(entry, Judgement)]
    for sentence in said:
        console.print(Text(clean(sentence), style="yellow"), soft_wrap=True)


def print_other(kept: Archive, entry: ArchiveEntry, result: RunResults | TerminalResults | TrialResult) -> None:
    """Print a campaign's tables, or a trial's tests."""
    if isinstance(result, RunResults):
        words = ""
    elif isinstance(result, TerminalResults):
        words = as_text(result)
    else:
        words = trial_as_text(result)
    console = make_console()
    began = f"{entry.started_at.astimezone():%Y-%m-%d %H:%M}"
    head = f"{entry.id}  {entry.kind}  {entry.status}\n{entry.scenario_id}, {entry.agent}, {began}"
    for line in f"{head}\n{words}".splitlines():
        console.print(Text(clean(line)), soft_wrap=True)
    if isinstance(result, RunResults):
        from proctor.cli.campaign_runs import print_run

        print_run(console, result)
    _tell_of_judgements(kept, entry, console)


def compare_entries(kept: Archive, first: str, second: str) -> None:
    one, other = kept.find(first), kept.find(second)
    require_assessments("compare", one, other)
    console = make_console()
    for letter, entry in (("A", one), ("B", other)):
        text = f"{letter}  {entry.id[:_SHORT_ID]}  {entry.day}  {entry.agent}  seed {entry.seed}  "
        console.print(Text(clean(text) + f"  {entry.score_text}/{entry.max_score}  {entry.status}"), soft_wrap=True)
    if one.scenario_id != other.scenario_id:
        console.print("these are two different scenarios", style="yellow")
    elif one.day != other.day:
        console.print("these are two different days of a family", style="yellow")
    elif one.seed != other.seed:
        console.print(f"the seeds differ ({one.seed}, {other.seed}): characters may answer differently", style="yellow")
    table = plain_table("criterion", numbers=("A", "B", "B - A"))
    for row in compared(kept.results(one), kept.results(other)):
        sides = [f"{side.score_text}/{side.max_score}" if side else "" for side in (row.one, row.other)]
        style = "" if not row.difference else "green" if row.difference > 0 else "red"
        table.add_row(
            Text(clean(row.name)), *sides, Text(f"{row.difference:+d}" if row.difference else "", style=style)
        )
    show(console, table)
    turns = parting_turns(kept.turns(one), kept.turns(other))
    named = ", ".join(map(str, turns))
    console.print(f"they part in {'turn' if len(turns) == 1 else 'turns'} {named}" if turns else SAME_IN_EVERY_TURN)


def require_assessments(what: str, *entries: ArchiveEntry) -> None:
    if wrong := next((entry for entry in entries if entry.kind != "assessment"), None):
        raise UsageError(f"{what}: {wrong.id} is a {wrong.kind}: name two assessments")


def size_in_words(size: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size = -(-size // 1000)
    return f"{size} GB"
