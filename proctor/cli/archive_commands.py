"""The commands over the archive: list, show, compare, prune, view. They need nothing that runs."""

import asyncio
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

from pydantic_core import to_json
from rich.console import Console
from rich.text import Text

from proctor.cli.agents_compared import compare_agents
from proctor.cli.report import print_report
from proctor.client.agent_names import chosen_agent, runs_of_agents
from proctor.client.opened_archive import archive_problems, open_archive, other_deployments, period
from proctor.common.console import make_console, plain_table, show
from proctor.common.errors import CommandError, UsageError, ending_as
from proctor.common.phrases import clean, counted, shorten
from proctor.common.settings import LOOPBACK, require_guarded
from proctor.common.state import with_secret
from proctor.protocol.archive import ArchiveEntry, EntrySummary, schemas
from proctor.protocol.judgements import Judgement, Shift
from proctor.protocol.parting import parting_turns
from proctor.protocol.runs import RunResults
from proctor.protocol.wire_schemas import wire_schemas
from proctor.settings.config import GreenAgentConfig
from proctor.storage.archive import Archive, table_of
from proctor.storage.blobs import RENEWED_AFTER, path_of
from proctor.storage.entry_table import EntryQuery
from proctor.storage.folder import Folder
from proctor.viewer.live import Running
from proctor.viewer.pages import compared
from purple_sdk.protocol.durations import parse_iso8601_duration
from purple_sdk.protocol.statistics import GroupedBy
from purple_sdk.protocol.terminal import TerminalResults, as_text, trial_as_text

SAME_IN_EVERY_TURN = "they did the same in every turn"
_SHORT_ID = 8
_SCENARIO_WIDTH = 18  # columns that a scenario's id has on a narrow screen before it is folded
_WIDE = 100  # columns from which on a list has all of its columns
_LIVE_SECONDS = 2.0
_OF_STORE = re.compile(r"([0-9a-f]{2}/[0-9a-f]{62}|trying-[0-9a-f]{32})(\.[0-9a-f]{32})*(\.part)?")
"""Paths of a store's files: blobs, and what a writer that died has left. Others in its folder are someone else's."""

_DAMAGES = 10  # sentences on damaged entries that a list ends with


@archive_problems()
def list_entries(archive: str | None, state: str | None, query: EntryQuery, limit: int, as_json: bool) -> None:
    """Print what was assessed, the latest first, and what is under way.

    Args:
        archive: a folder or URL; None for the settings' one.
        state: the state folder; None for the settings' one.
    """
    kept, config = open_archive(archive, state)
    if as_json:
        damaged = list[str]()
        entries = kept.in_full(kept.select(replace(query, most=limit)), damaged)
        sys.stdout.buffer.write(to_json([entry.model_dump(mode="json") for entry in entries]) + b"\n")
        tell_left_out(damaged)
        return
    running = _running(config) if query == EntryQuery(scenario=query.scenario, agent=query.agent) else []
    running = [each for each in running if query.scenario in (None, each.scenario_id)]
    everything = replace(query, without=[each.id for each in running])
    query = replace(everything, is_alone=query == EntryQuery())
    shown, (total, in_all) = kept.survey(replace(query, most=limit), everything)
    in_campaigns = in_all - total
    damages, unlisted = kept.damages(shown), kept.unlisted()
    console = make_console()
    others = other_deployments(config) if archive is None and state is None else ""
    if not shown and not running:
        hint = f"; other deployments: {others}" if others else ""
        console.print(Text(f"nothing was found in {kept.folder.place}{hint}"), soft_wrap=True)
        _tell_damages(console, damages, unlisted)
        return
    is_wide = console.width >= _WIDE
    ids = [each.scenario_id for each in running] + [entry.day for entry in shown]
    table = plain_table()
    for name in ("id", "began", "scenario", "agent"):
        longest = max(map(len, [name, *ids])) if name == "scenario" else 0
        is_short = longest <= _SCENARIO_WIDTH  # then a narrow screen folds the agent alone
        least = None if is_short else _SCENARIO_WIDTH
        table.add_column(name, no_wrap=is_short and name != "agent", overflow="fold", min_width=least)
    for name in ("score", "turns") if is_wide else ("score",):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for each in running:
        cells = (each.id[:_SHORT_ID], _began(each.started_at, is_wide), each.scenario_id, clean(each.participant_url))
        table.add_row(*cells, *([""] * (2 if is_wide else 1)), each.status)
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
    sentences = [*damages.values(), *(f"the entry {clean(each)} can't be read" for each in unlisted)]
    for sentence in sentences[:_DAMAGES]:
        console.print(Text(f"damaged: {clean(sentence)}", style="red"), soft_wrap=True)
    if len(sentences) > _DAMAGES:
        console.print(f"{len(sentences) - _DAMAGES} more are damaged", style="red")


def tell_left_out(damaged: Sequence[str]) -> None:
    for sentence in damaged:
        print(f"left out, since it is damaged: {clean(sentence)}", file=sys.stderr)


def _began(moment: datetime, is_wide: bool) -> str:
    """A local time; on a narrow screen without the year, if that is this one."""
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
    """What is under way; nothing where Temporal doesn't say so soon."""
    from temporalio.service import RPCError

    from proctor.service.running import UnderWay
    from proctor.storage.temporal import TemporalUnreachableError

    async def ask() -> list[Running]:
        return await asyncio.wait_for(UnderWay(config).running(), _LIVE_SECONDS)

    try:
        return asyncio.run(ask())
    except (TemporalUnreachableError, RPCError, TimeoutError):
        return []


@archive_problems()
def show_entry(archive: str | None, state: str | None, name: str, as_json: bool, is_whole: bool) -> None:
    """Print one assessment's result and where its points were lost; of a campaign its tables, of a trial its tests.

    Args:
        is_whole: all criteria, not only the largest losses.

    Raises:
        UsageError: no entry has that id, or several begin with it.
    """
    kept, _ = open_archive(archive, state, name)
    entry = kept.find(name)
    if damage := kept.damage(entry):
        print(f"{entry.id} is damaged: {clean(damage)}", file=sys.stderr)
    if entry.kind != "assessment":
        _show_other(kept, entry, as_json)
        return
    results = kept.results(entry)
    if as_json:
        sys.stdout.buffer.write(results.model_dump_json(indent=1).encode() + b"\n")
        return
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
    said = [each.in_words() for each in kept.judgements(entry, Shift)]
    said += [each.in_words() for each in kept.judgements(entry, Judgement)]
    for sentence in said:
        console.print(Text(clean(sentence), style="yellow"), soft_wrap=True)


GROUPS: dict[str, GroupedBy] = {each: each for each in get_args(GroupedBy)}
"""The groups by which agents can be compared."""


@archive_problems()
def compare(
    archive: str | None,
    state: str | None,
    first: str,
    second: str,
    campaign: str | None = None,
    difference: int = 5,
    by: str = "scenario",
) -> None:
    """Print two assessments side by side, or two agents over all that both have played.

    Args:
        first, second: ids of assessments, or names of agents (``agent_names.chosen_agent``).
        campaign: a campaign's id, to compare agents within it alone.
        difference: in points; how many more runs would show one of this size.
        by: how the table of two agents is grouped.

    Raises:
        UsageError: there is nothing of that name, or several agents have it; or no such group.
    """
    if by not in GROUPS:
        raise UsageError(f"--by {by}: agents are grouped by {', '.join(GROUPS)}")
    kept, _ = open_archive(archive, state, *filter(None, [campaign, first]))
    ended = None if campaign is None else _ended_campaign(kept, campaign)
    if ended is not None:
        runs = kept.runs(ended)
        agents = list(dict.fromkeys(run.agent for run in runs))
        if unknown := [name for name in (first, second) if name not in agents]:
            raise UsageError(
                f"nothing of the campaign {ended.id} is of an agent {unknown[0]!r}: its agents are {', '.join(agents)}"
            )
        compare_agents(make_console(), runs, first, second, difference, GROUPS[by])
        return
    names = dict.fromkeys(part for name in (first, second) for part in (name, name.partition("=")[0]))
    damaged = list[str]()
    entries = kept.in_full(kept.select(EntryQuery(campaign=campaign, called=tuple(names))), damaged)
    tell_left_out(damaged)
    known = [bool(chosen_agent(name, entries)) for name in (first, second)]
    if not any(known) and campaign is None:
        _compare_entries(kept, first, second)
    else:
        runs = runs_of_agents(kept, entries, (first, second), campaign)
        compare_agents(make_console(), runs, first, second, difference, GROUPS[by])


def _ended_campaign(kept: Archive, name: str) -> ArchiveEntry | None:
    """The campaign whose id is ``name``, or alone begins so; None where none has ended."""
    ids = [each.id for each in kept.select(EntryQuery(kind="campaign")) if each.id.startswith(name)]
    if len(ids) > 1 and name not in ids:
        raise UsageError(
            f"--campaign {name}: {len(ids)} campaigns begin so: {', '.join(ids[:5])}; write more of the id"
        )
    return kept.get(name if name in ids else ids[0]) if ids else None


def _show_other(kept: Archive, entry: ArchiveEntry, as_json: bool) -> None:
    result = kept.campaign_results(entry) if entry.kind == "campaign" else kept.trial_result(entry)
    if as_json:
        sys.stdout.buffer.write(result.model_dump_json(indent=1).encode() + b"\n")
        return
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


def _compare_entries(kept: Archive, first: str, second: str) -> None:
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


@archive_problems()
def prune(archive: str | None, state: str | None, older_than: str, with_results: bool, is_agreed: bool) -> None:
    """Remove old checkpoints, and with ``with_results`` old entries; says first what it would remove.

    Args:
        is_agreed: don't ask the person.

    Raises:
        UsageError: the period is too short, or the person doesn't agree.
    """
    kept, config = open_archive(archive, state)
    age = period(older_than, "--older-than")
    least = RENEWED_AFTER + parse_iso8601_duration(config.assessment_timeout)
    if age < least:
        raise UsageError(
            f"--older-than {older_than}: entries younger than {least.days} days may be of an assessment under way; "
            f"write {least.days}d or more"
        )
    before = datetime.now(UTC) - age
    store = Folder(config.storage_url, "store")
    blobs = {
        path: size
        for path, (size, at) in store.sizes().items()
        if at is not None and at < before and _OF_STORE.fullmatch(path)
    }
    damaged = list[str]()
    everything = kept.entries(damaged)
    entries = [e for e in everything if with_results and e.ended_at < before]
    needed = {path_of(e.package) for e in everything if e.package and not (with_results and e.ended_at < before)}
    packages = needed & blobs.keys()
    blobs = {path: size for path, size in blobs.items() if path not in packages}
    console = make_console()
    checkpoints = counted(len(blobs), "checkpoint or payload", "checkpoints and payloads")
    lines = [
        f"{checkpoints}, {size_in_words(sum(blobs.values()))}, in {store.place}: assessments that ended before "
        f"{before:%Y-%m-%d} can't be reset then"
    ]
    if with_results:
        size = size_in_words(sum(map(kept.size, entries)))
        lines.append(f"{counted(len(entries), 'entry', 'entries')}, {size}, in {kept.folder.place}")
    else:
        lines.append("no results: --results removes those, too")
    if damaged:
        lines.append(
            f"damaged entries stay, {len(damaged)}, and with them all scenarios and initial states of the archive"
        )
    if packages:
        lines.append(f"frozen scenarios of results that stay are kept, {len(packages)}: `judge again` needs them")
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    if not blobs and not entries:
        return
    if not is_agreed:
        if not sys.stdin.isatty():
            raise UsageError("nothing was removed: --yes removes it")
        print("Remove that? [y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise UsageError("nothing was removed")
    for path in blobs:
        store.remove(path)
    kept.remove(entries)
    console.print("removed")


def size_in_words(size: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size = -(-size // 1000)
    return f"{size} GB"


def print_schemas(name: str | None, *, wire: bool = False) -> None:
    """Print the schema of one of an entry's files, or of one message on the ``wire``; or of all."""
    known = wire_schemas() if wire else schemas()
    if name is not None and name not in known:
        raise UsageError(
            f"{name!r} isn't a {'message' if wire else 'file of an entry'}: there are {', '.join(known)}"
            + ("" if wire or name not in wire_schemas() else "; it is a message: add --wire")
        )
    print(to_json(known if name is None else known[name], indent=1).decode())


def view(
    archive: str | None, state: str | None, host: str | None, port: int, *, is_open: bool, name: str | None = None
) -> None:
    """Serve the pages until Ctrl-C, with the same authentication as the gateway's.

    Args:
        host: where to listen; None for the loopback.
        port: 0 to 65535; 0 takes a free one.
        name: an entry's id or its beginning: print its page's address, and open it in a browser where there is a
            desktop.

    Raises:
        UsageError: others would reach them without authentication; or no entry has that id.
    """
    from proctor.a2a_gateway.auth.middleware import guarded
    from proctor.processes.slow_senders import settings_for
    from proctor.service.page_actions import page_actions
    from proctor.service.running import UnderWay
    from proctor.viewer.app import create_app
    from purple_sdk.processes.serving import Server, address_of, listen

    kept, config = open_archive(archive, state, *([name] if name else []))
    config = with_secret(config.model_copy(update={"host": host or LOOPBACK, "open": config.open or is_open}))
    require_guarded(config)
    with archive_problems():
        chosen = kept.find(name) if name else None
    with ending_as(CommandError, OSError):
        listener = listen(config.host, port, "the pages")
    live = UnderWay(config)
    actions = page_actions(config, live.connected)
    app = guarded(
        config,
        create_app(
            config.archive_url, config.temporal_ui_url, live, actions, table_of(config.state, config.archive_url)
        ),
    )
    settings = settings_for(app, timeout_graceful_shutdown=2)
    print(f"{kept.folder.place}", flush=True)
    ready = f"proctor view listening on {address_of(listener)}"
    if chosen:
        page = f"{address_of(listener)}/view/{chosen.id}"
        ready += f"\npage: {page}  (Ctrl-C ends it)"
        _open_in_browser(page)
    asyncio.run(Server(settings, ready=ready).serve(sockets=[listener]))


def _open_in_browser(page: str) -> None:
    """Open a page where a person sits at a desktop; its requests wait until the pages are served."""
    import webbrowser

    has_desktop = sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if has_desktop and sys.stdout.isatty():
        webbrowser.open(page)
