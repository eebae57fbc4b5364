"""``proctor ues``: run the simulator."""

from typing import Annotated

import typer

from proctor.commands.options import HostOption, PortOption, StateOption


def ues(
    host: HostOption = None,
    port: PortOption = None,
    single: Annotated[
        bool, typer.Option("--single", help="One simulation at the root, as a UES server has it (UES_ADMIN_KEY).")
    ] = False,
    public_url: Annotated[str | None, typer.Option(metavar="URL", help="Address under which others reach it.")] = None,
    state: StateOption = None,
) -> None:
    """Run the simulator."""
    from proctor.services import run_ues

    run_ues(host, port, single, public_url, state)
