"""``proctor run``: play a campaign of assessments, and write its results into a folder."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from rich.console import Console
from rich.table import Table
from rich.text import Text

from proctor.cli.campaign_display import CampaignDisplay
from proctor.cli.fork_report import print_forks
from proctor.client.caller import Accepted, AssessmentCall, Ended
from proctor.client.following import followed, new_folder, read_results, require_completed
from proctor.client.run_settings import as_toml
from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import CommandError
from proctor.common.interrupts import on_signals
from proctor.common.phrases import clean, comparison_in_words, interval_in_words
from proctor.local.harness_runs import HarnessChoice, serving_harness
from proctor.protocol.runs import RunRequest, RunResults
from purple_sdk.protocol.instances import instance_title
from purple_sdk.protocol.statistics import Summary

_FAILURES_SHOWN = 5


async def run_campaign(
    request: RunRequest,
    gateway_url: str,
    output: str,
    harnesses: Mapping[str, HarnessChoice] = MappingProxyType({}),
    *,
    detach: bool = False,
    quiet: bool = False,
) -> None:
    """Play a campaign; Ctrl-C cancels it as a whole.

    Args:
        output: the folder in which the campaign's folder of results is made.
        harnesses: names of participants in the request to the CLI agents that play them; they are started here.
    """
    async with AsyncExitStack() as started:
        agents = dict(request.participants)
        for name, choice in harnesses.items():
            agents[name] = await started.enter_async_context(serving_harness(choice, gateway_url))
        request = request.model_copy(update={"participants": agents})
        interrupted = asyncio.Event()
        on_signals(interrupted)
        console, began_at = make_console(), datetime.now()
        call = AssessmentCall(gateway_url, request.model_dump_json(exclude_unset=True))
        await started.enter_async_context(call)
        if detach:
            await _detach(call, console)
            return
        with CampaignDisplay(console, quiet) as display:
            _, ended = await followed(call, display, interrupted, "campaign")
        if ended.results is not None:
            conclude_run(console, ended.results, output, began_at, gateway_url, quiet)
        require_completed(ended, "campaign")


async def _detach(call: AssessmentCall, console: Console) -> None:
    async for event in call.events():
        match event:
            case Accepted(task_id=task_id):
                follow = f"proctor follow {task_id}"
                console.print(
                    Text(f"{task_id} is under way: `{follow}` joins it, with --output its results are written"),
                    soft_wrap=True,
                )
                return
            case Ended():
                require_completed(event, "campaign")
    raise CommandError("the gateway's stream ended without an answer")


def conclude_run(
    console: Console, exact: bytes, output: str | None, began_at: datetime, gateway_url: str, quiet: bool = False
) -> None:
    """Show a campaign's results and its page's address; write the results, and a file that plays it again.

    Args:
        output: the folder in which the campaign's folder is made; None writes nothing.
        began_at: the local time of the beginning, for the folder's name.

    Raises:
        CommandError: ``exact`` isn't a campaign's results, or they can't be written.
    """
    results = read_results(RunResults, exact, "one of a campaign")
    if not quiet:
        print_run(console, results)
    if output is not None:
        _write(console, results, exact, output, began_at, quiet)
    if not quiet:
        page = f"{gateway_url.rstrip('/')}/view/{results.campaign_id}"
        console.print(Text(f"page      {page}"), soft_wrap=True)


def _write(console: Console, results: RunResults, exact: bytes, output: str, began_at: datetime, quiet: bool) -> None:
    folder = new_folder(Path(output), f"{began_at:%Y-%m-%d_%H-%M-%S}", "--output")
    request = RunRequest.model_validate({"participants": results.agents, "config": results.config})
    try:
        (folder / "campaign.toml").write_text(as_toml(request))
        (folder / "results.json").write_bytes(exact)
    except OSError as error:
        raise CommandError(f"the results can't be written into {folder}: {error.strerror}") from None
    if not quiet:
        console.print(Text(f"results   {folder}"), soft_wrap=True)


def print_run(console: Console, results: RunResults) -> None:
    """Print a campaign's results as tables of at most 80 columns: agents by scenario, and pairs of agents compared."""
    rows = [row for row in results.summaries if row.of == "overall"]
    console.print()
    show(console, _summaries(rows))
    console.print()
    for warning in results.judge_warnings:
        show(console, Text(f"warning: {clean(warning)}", style="yellow"))
    for note in _notes(rows):
        show(console, Text(note, style="dim"))
    if results.drafts is not None:
        show(console, Text(results.drafts.sentence(), style="dim"))
    for comparison in results.comparisons:
        for line in comparison_in_words(comparison):
            show(console, Text(line))
    print_forks(console, results.forks)
    failed = [cell for cell in results.cells if cell.failure]
    for cell in failed[:_FAILURES_SHOWN]:
        about = f"{clean(cell.agent)} · {instance_title(cell.scenario_id, cell.difficulty, None)} · seed {cell.seed}"
        show(console, Text(f"failed    {about}: {clean(cell.failure or '')}", style="red"))
    if len(failed) > _FAILURES_SHOWN:
        console.print(f"          and {len(failed) - _FAILURES_SHOWN} more")
    if results.missing or results.stopped:
        missing = f"{results.missing} were never played. " if results.missing else ""
        console.print(Text(f"{missing}{results.stopped or ''}".strip(), style="yellow"))


def _notes(rows: Sequence[Summary]) -> list[str]:
    """Notes below the table of means: the pass mark, lost cells, missing intervals, errors, and judged runs alone."""
    marks = sorted({row.passes.threshold for row in rows if row.passes})
    notes = [f"passed: {mark:g} % of the judged points or more; a run that its agent failed counts 0" for mark in marks]
    if any(row.groups for row in rows):
        notes.append("groups: those of which each day was passed, of those that were played as a whole")
    why: dict[str, list[str]] = defaultdict(list)
    if any(row.left_out for row in rows):
        notes.append("*: a mean of easier or harder cells than planned, since all runs of others are lost")
    scenarios = {row.scenario for row in rows if row.scenario}
    for row in rows:
        if row.scenario is None and len(scenarios) == 1:
            continue
        where = f"{clean(row.agent)} on {clean(row.scenario or 'all')}"
        if row.lost:
            notes.append(f"{where}: {clean(row.lost_in_words())}")
        if " " in row.cost_text and (row.scenario is None or len(scenarios) == 1):
            notes.append(f"{where}: cost {row.cost_text}")
        if row.percent and row.percent.why:
            why[row.percent.why].append(where)
        if row.by_scenario_error is not None:
            notes.append(f"{where}: standard error across scenarios {row.by_scenario_error:.1f} points")
        if row.counts.failed_by_participant and row.percent_judged is not None:
            notes.append(f"{where}: {row.percent_judged:.1f}% over the {row.counts.judged} judged runs alone")
    return [*notes, *(f"no interval for {', '.join(which)}: {reason}" for reason, which in why.items())]


def _summaries(rows: Sequence[Summary]) -> Table:
    """A row for each agent over all scenarios, and below it a row for each scenario. Empty columns are left out.

    If there is a single scenario, each agent has only the row for that scenario.
    """
    scenarios = {row.scenario for row in rows if row.scenario}
    repeats = {max(row.passes.hat, default=0) for row in rows if row.passes}
    most = max(repeats, default=0)
    first = next(iter(scenarios)) if len(scenarios) == 1 else "agent and scenario"
    headings = ("mean", "95 % interval", "passed", "groups", f"pass^{most}", "judged", "failed", "cost")
    shown = [row for row in rows if row.scenario or len(scenarios) != 1]
    columns = list(zip(*[_cells(row, most) for row in shown], strict=True))
    kept = [number for number, column in enumerate(columns) if any(column)]
    table = plain_table(first, numbers=[headings[number] for number in kept], header_style=None)
    for agent in dict.fromkeys(row.agent for row in shown):
        for row in sorted((row for row in shown if row.agent == agent), key=lambda row: row.scenario is not None):
            is_whole = row.scenario is None or len(scenarios) == 1
            name = clean(agent) if is_whole else f"  {clean(row.scenario or '')}"
            cells = _cells(row, most)
            table.add_row(Text(name), *(cells[number] for number in kept), style="bold" if is_whole else "")
    return table


def _cells(row: Summary, most: int) -> tuple[str, ...]:
    passes, counts = row.passes, row.counts
    failed = counts.failed_by_participant + counts.failed_otherwise
    return (
        f"{row.percent.mean:.1f}%{'*' if row.left_out else ''}" if row.percent else "",
        interval_in_words(row.percent),
        f"{passes.passed}/{passes.runs}" if passes else "",
        f"{row.groups.passed}/{row.groups.groups}" if row.groups else "",
        f"{passes.hat[most]:.2f}" if passes and most > 1 and most in passes.hat else "",
        f"{counts.judged}/{counts.runs}",
        str(failed) if failed else "",
        row.cost_text.partition(" ")[0],
    )
