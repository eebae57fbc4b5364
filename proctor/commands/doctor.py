"""``proctor doctor``: look at every part of a deployment, and say what to mend."""

from typing import Annotated

import typer

from proctor.commands.options import GatewayOption, StateOption, StorageOption, TemporalOption, UesUrlOption


def doctor(
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="URL", help="A participant that is to be assessed; may be repeated."),
    ] = None,
    gateway_url: GatewayOption = None,
    temporal_address: TemporalOption = None,
    ues_url: UesUrlOption = None,
    storage_url: StorageOption = None,
    state: StateOption = None,
    asks_models: Annotated[
        bool, typer.Option("--models/--no-models", help="Ask each model of the settings for one token.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Look at every part of a deployment, and say what to mend."""
    from proctor.doctor.command import run_doctor

    ended = run_doctor(
        agents=agent or [],
        gateway_url=gateway_url,
        temporal_address=temporal_address,
        ues_url=ues_url,
        storage_url=storage_url,
        state=state,
        asks_models=asks_models,
        as_json=as_json,
    )
    raise typer.Exit(ended)
