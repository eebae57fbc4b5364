"""``proctor run``: a campaign of assessments, followed to its end, and its results in a folder."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from proctor.caller import Accepted, AssessmentCall, Ended
from proctor.campaign_display import CampaignDisplay
from proctor.comparison_words import comparison_in_words, interval_in_words
from proctor.console import make_console, show
from proctor.errors import CommandError, ExitCode
from proctor.following import followed, require_completed
from proctor.fork_report import print_forks
from proctor.interrupts import on_signals
from proctor.phrases import clean
from proctor.run_folders import new_folder
from proctor.run_settings import as_toml
from proctor_protocol.problems import describe
from proctor_protocol.runs import RunRequest, RunResults
from proctor_protocol.statistics import Summary

_FAILURES_SHOWN = 5


@dataclass(frozen=True)
class RunOptions:
    """What the person asked for.

    Attributes:
        output: the folder that gets one for this campaign.
        detach: end once the campaign is under way.
    """

    request: RunRequest
    gateway_url: str
    output: str
    detach: bool = False
    quiet: bool = False


def run_campaign(options: RunOptions) -> ExitCode:
    """Play a campaign; Ctrl-C cancels it as a whole.

    Raises:
        CommandError: of the kind that says why it came to no good end.
    """
    return asyncio.run(_run(options))


async def _run(options: RunOptions) -> ExitCode:
    interrupted = asyncio.Event()
    on_signals(interrupted)
    console = make_console()
    began_at = datetime.now()
    call = AssessmentCall(options.gateway_url, options.request.model_dump_json(exclude_unset=True))
    if options.detach:
        return await _detach(call, console)
    async with call:
        with CampaignDisplay(console, options.quiet) as display:
            _, ended = await followed(call, display, interrupted, "campaign")
    if ended.results is not None:
        conclude_run(console, ended.results, options.output, began_at, options.quiet)
    require_completed(ended, "campaign")
    return ExitCode.DONE


async def _detach(call: AssessmentCall, console: Console) -> ExitCode:
    async with call:
        async for event in call.events():
            match event:
                case Accepted(task_id=task_id):
                    follow = f"proctor follow {task_id}"
                    console.print(
                        Text(f"{task_id} is under way: `{follow}` joins it, with --output its results are written"),
                        soft_wrap=True,
                    )
                    return ExitCode.DONE
                case Ended():
                    require_completed(event, "campaign")
    raise CommandError("the gateway's stream ended without an answer")


def conclude_run(console: Console, exact: bytes, output: str | None, began_at: datetime, quiet: bool = False) -> None:
    """Show the results of a campaign, and write them and what plays it again into a new folder below ``output``.

    Raises:
        CommandError: they are none, or can't be written.
    """
    results = read_run(exact)
    if not quiet:
        print_run(console, results)
    if output is None:
        return
    folder = new_folder(Path(output), f"{began_at:%Y-%m-%d_%H-%M-%S}", "--output")
    request = RunRequest.model_validate({"participants": results.agents, "config": results.config})
    try:
        (folder / "campaign.toml").write_text(as_toml(request))
        (folder / "results.json").write_bytes(exact)
    except OSError as problem:
        raise CommandError(f"the results can't be written into {folder}: {problem.strerror}") from None
    if not quiet:
        console.print(Text(f"results   {folder}"), soft_wrap=True)


def read_run(exact: bytes) -> RunResults:
    """The results of a campaign from its artifact.

    Raises:
        CommandError: they are none.
    """
    try:
        return RunResults.model_validate_json(exact)
    except ValidationError as problem:
        raise CommandError(f"the gateway's result is not one of a campaign: {describe(problem)}") from None


def print_run(console: Console, results: RunResults) -> None:
    """A campaign's results as tables: agents on scenarios, and agents side by side."""
    table = Table(box=None, padding=(0, 2), pad_edge=False)
    table.add_column("agent")
    table.add_column("scenario")
    for heading in ("mean", "95 % interval", "passed", "pass^k", "judged", "failed", "cost"):
        table.add_column(heading, justify="right")
    rows = [row for row in results.summaries if row.of == "overall"]
    has_one_scenario = len({row.scenario for row in rows}) == 2
    for row in rows:
        if row.scenario or not has_one_scenario:
            table.add_row(*_cells(row), style="" if row.scenario else "bold")
    console.print()
    show(console, table)
    console.print()
    for warning in results.judge_warnings:
        console.print(Text(f"warning: {clean(warning)}", style="yellow"), soft_wrap=True)
    for note in _notes(rows):
        console.print(Text(note, style="dim"), soft_wrap=True)
    for comparison in results.comparisons:
        for line in comparison_in_words(comparison):
            console.print(Text(line), soft_wrap=True)
    print_forks(console, results.forks)
    failed = [cell for cell in results.cells if cell.failure]
    for cell in failed[:_FAILURES_SHOWN]:
        about = f"{clean(cell.agent)} · {cell.scenario_id} · seed {cell.seed}"
        console.print(Text(f"failed    {about}: {clean(cell.failure or '')}", style="red"), soft_wrap=True)
    if len(failed) > _FAILURES_SHOWN:
        console.print(f"          and {len(failed) - _FAILURES_SHOWN} more")
    if results.missing or results.stopped:
        missing = f"{results.missing} were never played. " if results.missing else ""
        console.print(Text(f"{missing}{results.stopped or ''}".strip(), style="yellow"))


def _notes(rows: Sequence[Summary]) -> list[str]:
    """What the table of means leaves out: the pass mark, why an interval is absent, errors, judged runs alone."""
    marks = sorted({row.passes.threshold for row in rows if row.passes})
    notes = [f"passed: {mark:g} % of the judged points or more; a run that its agent failed counts 0" for mark in marks]
    why: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        where = f"{clean(row.agent)} on {clean(row.scenario or 'all')}"
        if row.percent and row.percent.why:
            why[row.percent.why].append(where)
        if row.by_scenario_error is not None:
            notes.append(f"{where}: standard error across scenarios {row.by_scenario_error:.1f} points")
        if row.counts.failed_by_participant and row.percent_judged is not None:
            notes.append(f"{where}: {row.percent_judged:.1f}% over the {row.counts.judged} judged runs alone")
    return [*notes, *(f"no interval for {', '.join(which)}: {reason}" for reason, which in why.items())]


def _cells(row: Summary) -> tuple[str, ...]:
    passes, counts = row.passes, row.counts
    most = max(passes.hat, default=0) if passes else 0
    failed = counts.failed_by_participant + counts.failed_otherwise
    return (
        clean(row.agent),
        row.scenario or "all",
        f"{row.percent.mean:.1f}%" if row.percent else "",
        interval_in_words(row.percent),
        f"{passes.passed}/{passes.runs}" if passes else "",
        f"{passes.hat[most]:.2f} (k={most})" if passes and most > 1 else "",
        f"{counts.judged}/{counts.runs}",
        str(failed) if failed else "",
        "" if row.cost is None else f"{row.cost:.4g}",
    )
