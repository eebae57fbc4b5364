"""``proctor up``: run everything on this machine until Ctrl-C. Assessments in progress continue at the next start."""

from typing import Annotated

import typer

from proctor.commands.options import (
    CardUrlOption,
    OpenOption,
    ScenariosOption,
    StateOption,
    TemporalPortOption,
    UiPortOption,
)


def up(
    port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="The gateway's port.  [default: 8000]")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="Address that gateway and simulator listen on; 0.0.0.0 for all.  [default: 127.0.0.1]",
        ),
    ] = None,
    card_url: CardUrlOption = None,
    ues_host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address that the simulator listens on, if not that of --host.")
    ] = None,
    ues_public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Simulator's address for participants elsewhere.  [default: made from --card-url]"
        ),
    ] = None,
    ues_port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="The simulator's port.  [default: 8100]")
    ] = None,
    temporal_port: TemporalPortOption = 7233,
    ui_port: UiPortOption = 8233,
    agent_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT", min=1, max=65535, help="The baseline agent's port.  [default: 8099, or a free one]"
        ),
    ] = None,
    with_agent: Annotated[
        bool,
        typer.Option(
            "--with-agent/--without-agent", help="Run the baseline agent too; the card's example request assesses it."
        ),
    ] = True,
    scenarios_dir: ScenariosOption = None,
    state: StateOption = None,
    is_open: OpenOption = False,
) -> None:
    """Run everything on this machine until Ctrl-C. Assessments in progress continue at the next start."""
    from proctor.up import run_up

    run_up(
        host=host,
        port=port,
        card_url=card_url,
        ues_host=ues_host,
        ues_port=ues_port,
        ues_public_url=ues_public_url,
        temporal_port=temporal_port,
        ui_port=ui_port,
        agent_port=agent_port,
        with_agent=with_agent,
        scenarios_dir=scenarios_dir,
        state=state,
        is_open=is_open,
    )
