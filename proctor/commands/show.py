"""``proctor show``: show an assessment's result, and where its points were lost."""

from typing import Annotated

import typer

from proctor.commands.options import ArchiveOption, IdArgument, StateOption


def show(
    name: IdArgument,
    is_whole: Annotated[bool, typer.Option("--all", help="Every criterion.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The exact result, as JSON.")] = False,
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """Show an assessment's result, and where its points were lost."""
    from proctor.archive_commands import show_entry

    show_entry(archive, state, name, as_json, is_whole)
