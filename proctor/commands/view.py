"""``proctor view``: serve pages over what was assessed."""

from typing import Annotated

import typer

from proctor.commands.options import AnyPortOption, ArchiveOption, HostOption, OpenOption, StateOption


def view(
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Open the page of this assessment or campaign.")
    ] = None,
    host: HostOption = None,
    port: AnyPortOption = 8010,
    archive: ArchiveOption = None,
    state: StateOption = None,
    is_open: OpenOption = False,
) -> None:
    """Serve pages over what was assessed, until Ctrl-C. `proctor up` has them at the gateway's address, too."""
    from proctor.archive_commands import view as serve

    serve(archive, state, host, port, is_open=is_open, name=name)
