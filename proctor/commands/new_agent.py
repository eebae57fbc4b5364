"""``proctor new-agent``: write a project for an agent of your own: agent, tests, Dockerfile, README."""

from typing import Annotated

import typer


def new_agent(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project's name, such as mail-clerk.")],
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Where to make the project's folder.")] = ".",
) -> None:
    """Write a project for an agent of your own: agent, tests, Dockerfile, README."""
    from pathlib import Path

    from proctor.new_projects import new_agent

    raise typer.Exit(new_agent(name, Path(folder)))
