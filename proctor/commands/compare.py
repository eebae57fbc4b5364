"""``proctor compare``: show two assessments side by side."""

from typing import Annotated

import typer

from proctor.commands.options import ArchiveOption, StateOption


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="An assessment's id or its beginning; or an agent's name.")],
    second: Annotated[str, typer.Argument(metavar="B", help="What it is compared with.")],
    campaign: Annotated[str | None, typer.Option(metavar="ID", help="Agents by what this campaign has played.")] = None,
    difference: Annotated[
        int, typer.Option(metavar="POINTS", min=1, max=100, help="Say how many runs would show this difference.")
    ] = 5,
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """Show two assessments side by side, and where they part. Or two agents, by all that both have played."""
    from proctor.archive_commands import compare

    compare(archive, state, first, second, campaign, difference)
