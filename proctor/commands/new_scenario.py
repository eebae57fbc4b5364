"""``proctor new-scenario``: write a scenario of your own."""

from typing import Annotated

import typer


def new_scenario(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The scenario's id, such as team-lunch.")],
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Where to make the scenario's folder.")] = ".",
) -> None:
    """Write a scenario of your own: people, mails, criteria, calibration cases, participants that test it."""
    from pathlib import Path

    from proctor.new_projects import new_scenario

    raise typer.Exit(new_scenario(name, Path(folder)))
