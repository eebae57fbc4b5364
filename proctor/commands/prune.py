"""``proctor prune``: remove old checkpoints."""

from typing import Annotated

import typer

from proctor.commands.options import ArchiveOption, StateOption


def prune(
    older_than: Annotated[str, typer.Option(metavar="PERIOD", help="Older than this: 30d, 8w.")],
    with_results: Annotated[bool, typer.Option("--results", help="Results, too, and not only checkpoints.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without asking.")] = False,
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """Remove old checkpoints. Says first what it would remove; results stay unless --results is given."""
    from proctor.archive_commands import prune as remove

    raise typer.Exit(remove(archive, state, older_than, with_results, yes))
