"""``proctor import``: take over what was exported elsewhere."""

from typing import Annotated

import typer

from proctor.commands.options import ArchiveOption, StateOption


def import_archive(
    folder: Annotated[str, typer.Argument(metavar="PLACE", help="A folder that `proctor export` wrote.")],
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """Take over what was exported elsewhere."""
    from proctor.archive_commands import import_from

    import_from(archive, state, folder)
