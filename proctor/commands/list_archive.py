"""``proctor list``: list what was assessed, the latest first. Needs nothing that runs."""

from typing import Annotated

import typer

from proctor.commands.options import ArchiveOption, AsJsonOption, StateOption


def list_archive(
    scenario: Annotated[str | None, typer.Option(metavar="ID", help="Of this scenario.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="WORDS", help="Of agents with this in name or address.")] = None,
    status: Annotated[
        str | None, typer.Option(metavar="S", help="That ended so: completed, failed, timeout, canceled.")
    ] = None,
    campaign: Annotated[str | None, typer.Option(metavar="ID", help="Of this campaign.")] = None,
    since: Annotated[str | None, typer.Option(metavar="WHEN", help="Begun then or later: a date, or 7d.")] = None,
    until: Annotated[str | None, typer.Option(metavar="WHEN", help="Begun before.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="The largest number of entries.")] = 50,
    as_json: AsJsonOption = False,
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """List what was assessed, the latest first. Needs nothing that runs."""
    from proctor.archive_commands import list_entries
    from proctor.opened_archive import Filters

    list_entries(archive, state, Filters(scenario, agent, status, campaign, since, until), limit, as_json)
