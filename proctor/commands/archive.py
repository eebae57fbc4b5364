"""Commands over the archive; they need nothing that runs."""

from typing import Annotated

import typer
from typer import Argument, Option

from proctor.commands import options
from proctor.commands.options import option

app = typer.Typer()


@app.command("list")
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
    from proctor.archive_commands import list_entries
    from proctor.opened_archive import query_of

    list_entries(archive, state, query_of(scenario, agent, status, campaign, since, until), limit, as_json)


@app.command("show")
def show(
    name: options.Id,
    is_whole: bool = Option(False, "--all", help="Every criterion."),
    as_json: bool = Option(False, "--json", help="The exact result, as JSON."),
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Show an assessment's result, and where its points were lost."""
    from proctor.archive_commands import show_entry

    show_entry(archive, state, name, as_json, is_whole)


@app.command("compare")
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
    from proctor.archive_commands import compare

    compare(archive, state, first, second, campaign, difference, by)


@app.command("forks")
def forks(name: options.Id, archive: options.Archive = None, state: options.State = None) -> None:
    """Say what an assessment's forks show. How far its score was still open at each turn, and which turn decided."""
    from proctor.fork_report import compare_forks

    compare_forks(archive, state, name)


@app.command("export")
def export(
    names: Annotated[list[str], Argument(metavar="ID...", help="Assessments, or `all`.")],
    to: str = option(..., "PLACE", "A folder for `proctor import`, or a file: .html, .csv, .parquet."),
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Write assessments elsewhere. A page (.html) holds everything and opens without a network."""
    from proctor.exporting import export as write

    write(archive, state, names, to)


@app.command("import")
def import_archive(
    folder: Annotated[str, Argument(metavar="PLACE", help="A folder that `proctor export` wrote.")],
    owner: str | None = option(None, "NAME", "Their owner, a caller. Without it, only administrators see them."),
    replace: bool = Option(False, "--replace", help="Without asking, also what changes results that are there."),
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Take over what was exported elsewhere. Asks before it changes results that are there."""
    from proctor.importing import import_from

    import_from(archive, state, folder, owner or "", is_agreed=replace)


@app.command("prune")
def prune(
    older_than: str = option(..., "PERIOD", "Older than this: 30d, 8w."),
    with_results: bool = Option(False, "--results", help="Results, too, and not only checkpoints."),
    yes: bool = Option(False, "--yes", "-y", help="Without asking."),
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Remove old checkpoints. Says first what it would remove; results stay unless --results is given."""
    from proctor.archive_commands import prune as remove

    remove(archive, state, older_than, with_results, yes)


@app.command("schema")
def schema(
    name: Annotated[str | None, Argument(metavar="NAME", help="One file of an entry, or one message.")] = None,
    wire: bool = Option(
        False, "--wire", help="The messages between evaluator, agent and caller in place of the files."
    ),
) -> None:
    """Print the JSON schemas of the files in the archive, or of all that crosses the wire."""
    from proctor.archive_commands import print_schemas

    print_schemas(name, wire=wire)


@app.command("view")
def view(
    name: Annotated[str | None, Argument(metavar="[ID]", help="Open the page of this assessment or campaign.")] = None,
    host: options.Host = None,
    port: options.AnyPort = 8010,
    archive: options.Archive = None,
    state: options.State = None,
    is_open: options.Open = False,
) -> None:
    """Serve pages over what was assessed, until Ctrl-C. `proctor up` has them at the gateway's address, too."""
    from proctor.archive_commands import view as serve

    serve(archive, state, host, port, is_open=is_open, name=name)
