"""The command line. Each command imports its room only when it runs, so that help is there at once."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from proctor.errors import CommandError, ExitCode

app = typer.Typer(
    name="proctor",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A durable evaluator of AI agents: A2A in, Temporal underneath, scores out.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 can't reach a service. "
    "Settings come from flags, then from AGENTBEATS_* environment variables.",
)
agent_app = typer.Typer(no_args_is_help=True, help="Agents that come with proctor.", rich_markup_mode=None)
scenarios_app = typer.Typer(no_args_is_help=True, help="List, show and check scenarios.", rich_markup_mode=None)
app.add_typer(agent_app, name="agent")
app.add_typer(scenarios_app, name="scenarios")

HostOption = Annotated[str | None, typer.Option(help="Address to listen on.")]
PortOption = Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
CardUrlOption = Annotated[str | None, typer.Option(help="Address that the agent card names.")]
TemporalOption = Annotated[str | None, typer.Option(help="Temporal's front end, host:port.")]
StorageOption = Annotated[str | None, typer.Option(help="Folder or fsspec URL of checkpoints and large payloads.")]
ScenariosOption = Annotated[str | None, typer.Option(help="Folder that holds the scenario packages.")]
SeedOption = Annotated[int | None, typer.Option(help="What every random choice derives from.")]


@app.command()
def up(
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="The gateway's port.")] = None,
    host: Annotated[str | None, typer.Option(help="Address that the gateway listens on.")] = None,
    ues_port: Annotated[int | None, typer.Option(min=1, max=65535, help="The simulator's port.")] = None,
    temporal_port: Annotated[int, typer.Option(min=1, max=65535, help="Temporal's port.")] = 7233,
    ui_port: Annotated[int, typer.Option(min=1, max=65535, help="The Temporal UI's port.")] = 8233,
    agent_port: Annotated[int, typer.Option(min=1, max=65535, help="The baseline agent's port.")] = 8001,
    with_agent: Annotated[bool, typer.Option("--with-agent", help="Run the baseline agent too.")] = False,
    scenarios_dir: ScenariosOption = None,
    state: Annotated[Path, typer.Option(help="Folder for what outlives a process.")] = Path(".proctor"),
) -> None:
    """Run everything on this machine, until Ctrl-C; assessments survive a restart."""
    from proctor.up import run_up

    run_up(
        host=host,
        port=port,
        ues_port=ues_port,
        temporal_port=temporal_port,
        ui_port=ui_port,
        agent_port=agent_port if with_agent else None,
        scenarios_dir=scenarios_dir,
        state=state,
    )


@app.command()
def worker(
    temporal_address: TemporalOption = None,
    ues_url: Annotated[str | None, typer.Option(help="The simulator's address.")] = None,
    scenarios_dir: ScenariosOption = None,
    storage_url: StorageOption = None,
) -> None:
    """Run a worker: it plays assessments."""
    from proctor.services import run_worker

    run_worker(temporal_address, ues_url, scenarios_dir, storage_url)


@app.command()
def gateway(
    host: HostOption = None,
    port: PortOption = None,
    card_url: CardUrlOption = None,
    temporal_address: TemporalOption = None,
    storage_url: StorageOption = None,
) -> None:
    """Run the A2A gateway: it takes requests and tells their progress."""
    from proctor.services import run_gateway

    run_gateway(host, port, card_url, temporal_address, storage_url)


@app.command()
def ues(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "0.0.0.0",
    port: PortOption = None,
    single: Annotated[
        bool, typer.Option("--single", help="One simulation at the root, as a UES server has it (UES_ADMIN_KEY).")
    ] = False,
    public_url: Annotated[str | None, typer.Option(help="Address under which others reach it.")] = None,
) -> None:
    """Run the simulator (host key: UES_HOST_KEY, else derived from AGENTBEATS_GREEN_SECRET)."""
    from proctor.services import run_ues

    run_ues(host, port, single, public_url)


@agent_app.callback()
def agent() -> None:
    """Agents that come with proctor."""


@agent_app.command()
def triage(host: HostOption = None, port: PortOption = None, card_url: CardUrlOption = None) -> None:
    """Run the rule-based baseline for email_triage_basic."""
    from proctor.services import run_triage_agent

    run_triage_agent(host, port, card_url)


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app()
    except CommandError as problem:
        print(f"proctor: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except KeyboardInterrupt:
        sys.exit(ExitCode.DONE)
