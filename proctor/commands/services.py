"""Commands that run services, and the one that looks at them."""

import typer
from typer import Option

from proctor.commands import options
from proctor.commands.options import option

app = typer.Typer()


@app.command("up")
def up(
    port: int | None = option(None, "PORT", "The gateway's port.  [default: 8000]", min=1, max=65535),
    host: str | None = option(
        None, "HOST", "Address that gateway and simulator listen on; 0.0.0.0 for all.  [default: 127.0.0.1]"
    ),
    card_url: options.CardUrl = None,
    ues_host: str | None = option(None, "HOST", "Address that the simulator listens on, if not that of --host."),
    ues_public_url: str | None = option(
        None, "URL", "Simulator's address for participants elsewhere.  [default: made from --card-url]"
    ),
    ues_port: int | None = option(None, "PORT", "The simulator's port.  [default: 8100]", min=1, max=65535),
    temporal_port: options.TemporalPort = 7233,
    ui_port: options.UiPort = 8233,
    agent_port: int | None = option(
        None, "PORT", "The baseline agent's port.  [default: 8099, or a free one]", min=1, max=65535
    ),
    with_agent: bool = Option(
        True, "--with-agent/--without-agent", help="Run the baseline agent too; the card's example request assesses it."
    ),
    scenarios_dir: options.Scenarios = None,
    state: options.State = None,
    is_open: options.Open = False,
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


@app.command("worker")
def worker(
    temporal_address: options.Temporal = None,
    ues_url: options.UesUrl = None,
    scenarios_dir: options.Scenarios = None,
    storage_url: options.Storage = None,
    state: options.State = None,
    processes: int | None = option(
        None, "N", "How many processes work.  [default: as many as there are cores]", min=1, max=256
    ),
) -> None:
    """Run a worker, which plays assessments."""
    from proctor.services import run_worker

    run_worker(
        processes,
        temporal_address=temporal_address,
        ues_url=ues_url,
        scenarios_dir=scenarios_dir,
        storage_url=storage_url,
        state=state,
    )


@app.command("gateway")
def gateway(
    host: options.Host = None,
    port: options.Port = None,
    card_url: options.CardUrl = None,
    temporal_address: options.Temporal = None,
    storage_url: options.Storage = None,
    state: options.State = None,
    is_open: options.Open = False,
) -> None:
    """Run the gateway, which callers talk to by A2A."""
    from proctor.services import run_gateway

    run_gateway(
        host=host,
        port=port,
        card_url=card_url,
        temporal_address=temporal_address,
        storage_url=storage_url,
        state=state,
        is_open=is_open,
    )


@app.command("ues")
def ues(
    host: options.Host = None,
    port: options.Port = None,
    single: bool = Option(
        False, "--single", help="One simulation at the root, as a UES server has it (UES_ADMIN_KEY)."
    ),
    public_url: str | None = option(None, "URL", "Address under which others reach it."),
    state: options.State = None,
) -> None:
    """Run the simulator."""
    from proctor.services import run_ues

    run_ues(host, port, single, public_url, state)


@app.command("codec-server")
def codec_server(
    host: options.Host = None,
    port: options.AnyPort = 8234,
    ui_origins: list[str] | None = option(
        None,
        "ORIGIN",
        "The Temporal UI's scheme, host and port; may be repeated.  [default: http://127.0.0.1:8233]",
        "--ui-origin",
    ),
    state: options.State = None,
    is_open: options.Open = False,
) -> None:
    """Decode encrypted payloads for the Temporal UI and the command temporal (--codec-endpoint)."""
    from proctor.codec_server import run_codec_server

    run_codec_server(host, port, ui_origins or [], state, is_open)


@app.command("doctor")
def doctor(
    agent: list[str] | None = option(None, "URL", "A participant that is to be assessed; may be repeated.", "--agent"),
    gateway_url: options.Gateway = None,
    temporal_address: options.Temporal = None,
    ues_url: options.UesUrl = None,
    storage_url: options.Storage = None,
    state: options.State = None,
    asks_models: bool = Option(True, "--models/--no-models", help="Ask each model of the settings for one token."),
    as_json: bool = Option(False, "--json", help="As JSON, for programs."),
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
