"""Commands that show and compare results; they need nothing that runs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from typer import Argument, Option

from proctor.cli import options
from proctor.cli.options import option

app = typer.Typer()


@contextmanager
def archive_problems() -> Iterator[None]:
    """Convert an archive's errors to errors of a command. The archive's module is imported when the command runs."""
    from proctor.client import opened_archive

    with opened_archive.archive_problems():
        yield


@app.command("list")
@archive_problems()
def list_archive(
    scenario: str | None = option(None, "ID", "Of this scenario."),
    agent: str | None = option(None, "WORDS", "Of agents with this in name or address."),
    status: str | None = option(None, "S", "That ended so: completed, failed, timeout, canceled."),
    campaign: str | None = option(None, "ID", "Of this campaign."),
    since: str | None = option(None, "WHEN", "Begun then or later: a date, or 7d."),
    until: str | None = option(None, "WHEN", "Begun before."),
    limit: int = option(50, "N", "The largest number of entries.", min=1),
    as_json: options.AsJson = False,
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """List what was assessed, the latest first. Needs nothing that runs."""
    from dataclasses import replace

    from pydantic_core import to_json

    from proctor.cli.entries import print_entries, tell_left_out
    from proctor.client.opened_archive import make_query, open_archive, other_deployments

    query = make_query(scenario, agent, status, campaign, since, until)
    kept, config = open_archive(archive, state)
    if as_json:
        damaged = list[str]()
        entries = kept.in_full(kept.select(replace(query, most=limit)), damaged)
        sys.stdout.buffer.write(to_json([entry.model_dump(mode="json") for entry in entries]) + b"\n")
        tell_left_out(damaged)
        return
    others = other_deployments(config) if archive is None and state is None else ""
    print_entries(kept, config, query, limit, others)


@app.command("show")
@archive_problems()
def show(
    name: options.Id,
    is_whole: bool = Option(False, "--all", help="Every criterion."),
    as_json: bool = Option(False, "--json", help="The exact result, as JSON."),
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Show an assessment's result, and where its points were lost."""
    from proctor.cli.entries import print_assessment, print_other
    from proctor.client.opened_archive import open_archive
    from proctor.common.phrases import clean
    from proctor.protocol.runs import RunResults
    from purple_sdk.protocol.results import AssessmentResults
    from purple_sdk.protocol.terminal import TerminalResults, TrialResult

    kept, _ = open_archive(archive, state, name)
    entry = kept.find(name)
    if damage := kept.damage(entry):
        print(f"{entry.id} is damaged: {clean(damage)}", file=sys.stderr)
    result: AssessmentResults | RunResults | TerminalResults | TrialResult
    if entry.kind == "assessment":
        result = kept.results(entry)
    else:
        result = kept.campaign_results(entry) if entry.kind == "campaign" else kept.trial_result(entry)
    if as_json:
        sys.stdout.buffer.write(result.model_dump_json(indent=1).encode() + b"\n")
    elif isinstance(result, AssessmentResults):
        print_assessment(kept, entry, result, is_whole=is_whole)
    else:
        print_other(kept, entry, result)


@app.command("compare")
@archive_problems()
def compare(
    first: Annotated[
        str, Argument(metavar="A", help="An assessment's id or its beginning; or an agent: LABEL, or LABEL=ADDRESS.")
    ],
    second: Annotated[str, Argument(metavar="B", help="What it is compared with.")],
    by: str = option("scenario", "GROUP", "Agents by scenario, difficulty, dimension or criterion."),
    campaign: str | None = option(None, "ID", "Agents by what this campaign has played."),
    difference: int = option(5, "POINTS", "Say how many runs would show this difference.", min=1, max=100),
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Show two assessments side by side, and their differences. Or two agents, by all that both have played."""
    from typing import get_args

    from proctor.cli.agents_compared import compare_agents
    from proctor.cli.entries import compare_entries, tell_left_out
    from proctor.client.agent_names import chosen_agent, runs_of_agents
    from proctor.client.opened_archive import find_campaign, open_archive
    from proctor.common.console import make_console
    from proctor.common.errors import UsageError
    from proctor.storage.entry_table import EntryQuery
    from purple_sdk.protocol.statistics import GroupedBy

    groups: dict[str, GroupedBy] = {grouping: grouping for grouping in get_args(GroupedBy)}
    if by not in groups:
        raise UsageError(f"--by {by}: agents are grouped by {', '.join(groups)}")
    kept, _ = open_archive(archive, state, *filter(None, [campaign, first]))
    ended = None if campaign is None else find_campaign(kept, campaign)
    if ended is not None:
        runs = kept.runs(ended)
        agents = list(dict.fromkeys(run.agent for run in runs))
        if unknown := [name for name in (first, second) if name not in agents]:
            raise UsageError(
                f"nothing of the campaign {ended.id} is of an agent {unknown[0]!r}: its agents are {', '.join(agents)}"
            )
        compare_agents(make_console(), runs, first, second, difference, groups[by])
        return
    names = dict.fromkeys(part for name in (first, second) for part in (name, name.partition("=")[0]))
    damaged = list[str]()
    entries = kept.in_full(kept.select(EntryQuery(campaign=campaign, called=tuple(names))), damaged)
    tell_left_out(damaged)
    known = [bool(chosen_agent(name, entries)) for name in (first, second)]
    if not any(known) and campaign is None:
        compare_entries(kept, first, second)
    else:
        runs = runs_of_agents(kept, entries, (first, second), campaign)
        compare_agents(make_console(), runs, first, second, difference, groups[by])


@app.command("forks")
@archive_problems()
def forks(name: options.Id, archive: options.Archive = None, state: options.State = None) -> None:
    """Say what an assessment's forks show. How far its score was still open at each turn, and which turn decided."""
    from collections import defaultdict

    from rich.text import Text

    from proctor.cli.fork_report import print_forks
    from proctor.client.opened_archive import open_archive
    from proctor.common.console import make_console
    from proctor.common.errors import UsageError
    from proctor.common.phrases import clean, counted
    from proctor.statistics import forks_compared

    kept, _ = open_archive(archive, state, name)
    original = kept.find(name)
    forks = kept.find_forks(original.id)
    judged = [e for e in forks if e.status == "completed" and e.share is not None]
    if not judged:
        raise UsageError(
            f"no fork of {original.id} has come to a score: `proctor fork {original.id} --every-turn --repeats 3` "
            "plays some"
        )
    console = make_console()
    heading = f"{original.id}  {original.day}  {clean(original.agent)}  seed {original.seed}"
    console.print(Text(f"{heading}  {original.score_text}/{original.max_score}"), soft_wrap=True)
    if len(forks) > len(judged):
        console.print(f"{counted(len(forks) - len(judged), 'fork')} failed or weren't judged: left out")
    by_seed = defaultdict(set)
    for entry in judged:
        by_seed[entry.agent].add(entry.seed)
    for agent, seeds in by_seed.items():
        if len(seeds) > 1:
            console.print(Text(f"{clean(agent)}: of {len(seeds)} seeds, whose characters differ, too"), soft_wrap=True)
    percents = [(e.agent, e.forked_from.turn, 100 * (e.share or 0)) for e in judged if e.forked_from]
    print_forks(console, forks_compared(percents))
