"""Commands that run services, and the one that looks at them."""

import os

import typer
from typer import Option

from proctor.cli import options
from proctor.cli.options import option

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
    from proctor.local.up import run_up

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
    import asyncio

    from proctor.common.settings import count_worker_processes, warn_of_settings
    from proctor.service.services import read_worker_settings, work
    from proctor.service.worker_processes import run_processes

    flags = {"temporal_address": temporal_address, "ues_url": ues_url, "storage_url": storage_url}
    flags |= {"scenarios_dir": scenarios_dir, "state": state}
    config = read_worker_settings(**flags, worker_processes=processes)
    warn_of_settings(config)
    count = count_worker_processes(config)
    if count == 1:
        work(config)
    elif code := asyncio.run(run_processes(config, flags, count)):
        raise SystemExit(code)


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
    from proctor.a2a_gateway.auth.identity import Identity
    from proctor.a2a_gateway.server import serve
    from proctor.common.errors import CommandError, UsageError, ending_as
    from proctor.common.settings import (
        is_open_to_others,
        read_settings,
        require_guarded,
        warn,
        warn_of_settings,
        with_connection,
    )
    from proctor.common.state import with_secret
    from proctor.observing.tracing import TracingError
    from proctor.service.page_actions import page_actions
    from proctor.service.running import UnderWay
    from proctor.service.services import run_service
    from proctor.settings.config import GreenAgentConfig
    from proctor.storage.archive import get_table_path
    from proctor.viewer.app import routes

    flags = {"host": host, "port": port, "card_url": card_url, "storage_url": storage_url, "state": state}
    settings = read_settings(GreenAgentConfig, temporal_address=temporal_address, open=is_open or None, **flags)
    config = with_secret(with_connection(settings, temporal_address))
    warn_of_settings(config)
    require_guarded(config)
    if is_open_to_others(config.host) and not Identity(config).is_asked():
        warn(
            ["everyone who reaches this port may start assessments and read all results: callers aren't authenticated"]
        )
    live = UnderWay(config)
    actions = page_actions(config, live.connected)
    with ending_as(CommandError, OSError), ending_as(UsageError, TracingError):
        table = get_table_path(config.state, config.archive_url)
        run_service(serve(config, routes(config.archive_url, config.temporal_ui_url, live, actions, table)))


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
    from proctor.activities.simulation.keys import host_key
    from proctor.common.errors import CommandError, UsageError, ending_as
    from proctor.common.settings import is_open_to_others, read_settings, warn
    from proctor.common.state import with_secret
    from proctor.observing.logs import set_up_logs
    from proctor.observing.tracing import TracingError
    from proctor.settings.config import GreenAgentConfig
    from proctor.ues.server import serve

    config = read_settings(GreenAgentConfig, ues_host=host, state=state)
    key = os.environ.get("UES_HOST_KEY")
    if not key and not single:
        key = host_key(with_secret(config).secret.get_secret_value())
    set_up_logs(config.log_format, config.log_level)
    host = config.ues_host or config.host
    if is_open_to_others(host):
        warn(["the simulator answers only who has a key, but unencrypted"])
    with ending_as(CommandError, OSError), ending_as(UsageError, TracingError):
        serve(
            host=host,
            port=config.ues_base_port if port is None else port,
            single=single,
            host_key=key,
            admin_key=os.environ.get("UES_ADMIN_KEY"),
            public_url=public_url,
            observe_host=config.observe_host,
            observe_port=config.observe_port,
        )


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
    import asyncio
    from urllib.parse import urlsplit

    from proctor.common.errors import CommandError, UsageError, ending_as
    from proctor.common.settings import read_settings, require_guarded, warn
    from proctor.common.state import with_secret
    from proctor.processes.slow_senders import make_config
    from proctor.service.codec_server import create_codec_app
    from proctor.settings.config import GreenAgentConfig
    from proctor.storage.codec import PayloadKeyError
    from purple_sdk.processes.serving import Server, get_address, listen
    from purple_sdk.settings.config import merge_configs

    config = with_secret(read_settings(GreenAgentConfig, host=host, state=state, open=is_open or None, card_url=""))
    require_guarded(config)
    ui = urlsplit(config.temporal_ui_url or "")
    origins = ui_origins or ([f"{ui.scheme}://{ui.netloc}"] if ui.netloc else [])
    with ending_as(CommandError, OSError):
        listener = listen(config.host, port, "the codec server")
    with ending_as(UsageError, PayloadKeyError):
        app = create_codec_app(merge_configs(config, {"port": listener.getsockname()[1]}), origins)
    warn(["every caller of this server can read encrypted data: let only the UI's users reach it"])
    settings = make_config(app, timeout_graceful_shutdown=2)
    asyncio.run(Server(settings, ready=f"proctor codec-server listening on {get_address(listener)}").serve([listener]))


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
    from proctor.common.settings import read_settings, with_connection
    from proctor.common.state import with_secret
    from proctor.service.doctor.command import list_looks, run_looks
    from proctor.settings.config import GreenAgentConfig

    flags = {"temporal_address": temporal_address, "ues_url": ues_url, "storage_url": storage_url, "state": state}
    config = with_secret(with_connection(read_settings(GreenAgentConfig, **flags), temporal_address))
    looks = list_looks(config, agents=agent or [], gateway_url=gateway_url, asks_models=asks_models)
    raise typer.Exit(run_looks(looks, as_json=as_json))
