"""``proctor schema``: print the JSON schemas of the files in the archive, or of all that crosses the wire."""

from typing import Annotated

import typer


def schema(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One file of an entry, or one message.")] = None,
    wire: Annotated[
        bool, typer.Option("--wire", help="The messages between evaluator, agent and caller in place of the files.")
    ] = False,
) -> None:
    """Print the JSON schemas of the files in the archive, or of all that crosses the wire."""
    from proctor.archive_commands import print_schemas

    print_schemas(name, wire=wire)
