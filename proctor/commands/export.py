"""``proctor export``: write assessments elsewhere. A page (.html) holds everything and opens without a network."""

from typing import Annotated

import typer

from proctor.commands.options import ArchiveOption, StateOption


def export(
    names: Annotated[list[str], typer.Argument(metavar="ID...", help="Assessments, or `all`.")],
    to: Annotated[
        str, typer.Option(metavar="PLACE", help="A folder for `proctor import`, or a file: .html, .csv, .parquet.")
    ],
    archive: ArchiveOption = None,
    state: StateOption = None,
) -> None:
    """Write assessments elsewhere. A page (.html) holds everything and opens without a network."""
    from proctor.archive_commands import export as write

    write(archive, state, names, to)
