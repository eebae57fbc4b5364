"""``proctor new-family``: write a family of your own."""

from typing import Annotated

import typer


def new_family(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The family's name, such as barn_sale.")],
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="The scenarios folder that gets it.")] = ".",
) -> None:
    """Write a family of your own. It makes days from seeds, and its audit passes as it is."""
    from pathlib import Path

    from proctor.new_projects import new_family

    raise typer.Exit(new_family(name, Path(folder)))
