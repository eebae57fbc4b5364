"""Commands over the archive; they need nothing that runs."""

from typing import Annotated

import typer
from typer import Argument, Option

from proctor.commands import options
from proctor.commands.options import valued

app = typer.Typer()


@app.command("list")
def list_archive(
    scenario: Annotated[str | None, valued("ID", "Of this scenario.")] = None,
    agent: Annotated[str | None, valued("WORDS", "Of agents with this in name or address.")] = None,
    status: Annotated[str | None, valued("S", "That ended so: completed, failed, timeout, canceled.")] = None,
    campaign: Annotated[str | None, valued("ID", "Of this campaign.")] = None,
    since: Annotated[str | None, valued("WHEN", "Begun then or later: a date, or 7d.")] = None,
    until: Annotated[str | None, valued("WHEN", "Begun before.")] = None,
    limit: Annotated[int, valued("N", "The largest number of entries.", min=1)] = 50,
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
    is_whole: Annotated[bool, Option("--all", help="Every criterion.")] = False,
    as_json: Annotated[bool, Option("--json", help="The exact result, as JSON.")] = False,
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Show an assessment's result, and where its points were lost."""
    from proctor.archive_commands import show_entry

    show_entry(archive, state, name, as_json, is_whole)


@app.command("compare")
def compare(
    first: Annotated[str, Argument(metavar="A", help="An assessment's id or its beginning; or an agent's name.")],
    second: Annotated[str, Argument(metavar="B", help="What it is compared with.")],
    campaign: Annotated[str | None, valued("ID", "Agents by what this campaign has played.")] = None,
    difference: Annotated[int, valued("POINTS", "Say how many runs would show this difference.", min=1, max=100)] = 5,
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Show two assessments side by side, and where they part. Or two agents, by all that both have played."""
    from proctor.archive_commands import compare

    compare(archive, state, first, second, campaign, difference)


@app.command("forks")
def forks(name: options.Id, archive: options.Archive = None, state: options.State = None) -> None:
    """Say what an assessment's forks show. How far its score was still open at each turn, and which turn decided."""
    from proctor.fork_report import compare_forks

    compare_forks(archive, state, name)


@app.command("export")
def export(
    names: Annotated[list[str], Argument(metavar="ID...", help="Assessments, or `all`.")],
    to: Annotated[str, valued("PLACE", "A folder for `proctor import`, or a file: .html, .csv, .parquet.")],
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Write assessments elsewhere. A page (.html) holds everything and opens without a network."""
    from proctor.archive_commands import export as write

    write(archive, state, names, to)


@app.command("import")
def import_archive(
    folder: Annotated[str, Argument(metavar="PLACE", help="A folder that `proctor export` wrote.")],
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Take over what was exported elsewhere."""
    from proctor.archive_commands import import_from

    import_from(archive, state, folder)


@app.command("prune")
def prune(
    older_than: Annotated[str, valued("PERIOD", "Older than this: 30d, 8w.")],
    with_results: Annotated[bool, Option("--results", help="Results, too, and not only checkpoints.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Without asking.")] = False,
    archive: options.Archive = None,
    state: options.State = None,
) -> None:
    """Remove old checkpoints. Says first what it would remove; results stay unless --results is given."""
    from proctor.archive_commands import prune as remove

    remove(archive, state, older_than, with_results, yes)


@app.command("schema")
def schema(
    name: Annotated[str | None, Argument(metavar="NAME", help="One file of an entry, or one message.")] = None,
    wire: Annotated[
        bool, Option("--wire", help="The messages between evaluator, agent and caller in place of the files.")
    ] = False,
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
