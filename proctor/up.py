"""``proctor up``: everything on this machine, until Ctrl-C."""

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import SecretStr
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from proctor.assess import default_gateway
from proctor.console import make_console, show
from proctor.local import LOOPBACK, LocalStack, Ports, deployment_secret, require_free, state_folder
from proctor.settings import read_settings, with_scenarios
from proctor.supervisor import Supervisor
from proctor_protocol.config import GreenAgentConfig

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_up(
    *,
    host: str | None,
    port: int | None,
    ues_port: int | None,
    temporal_port: int,
    ui_port: int,
    agent_port: int | None,
    scenarios_dir: str | None,
    state: Path,
) -> None:
    """Start everything, say where it is, and keep it running until SIGINT, SIGTERM or SIGHUP.

    Raises:
        UsageError: two ports are the same, or a setting doesn't fit.
        CommandError: a port or the state folder is taken, or a service doesn't start.
    """
    config = with_scenarios(read_settings(GreenAgentConfig, host=host, port=port, scenarios_dir=scenarios_dir))
    if "host" not in config.model_fields_set:
        config = config.model_copy(update={"host": LOOPBACK})
    ports = Ports(
        gateway=config.port,
        ues=config.ues_base_port if ues_port is None else ues_port,
        temporal=temporal_port,
        temporal_ui=ui_port,
        agent=agent_port,
    )
    with state_folder(state) as folder:
        wanted = {
            "--port": (config.host, ports.gateway),
            "--ues-port": (LOOPBACK, ports.ues),
            "--temporal-port": (LOOPBACK, ports.temporal),
            "--ui-port": (LOOPBACK, ports.temporal_ui),
        }
        if ports.agent:
            wanted["--agent-port"] = (LOOPBACK, ports.agent)
        require_free(wanted)
        if "secret" not in config.model_fields_set:
            config = config.model_copy(update={"secret": SecretStr(deployment_secret(folder))})
        asyncio.run(_stay_up(LocalStack(config, ports, folder, is_durable=True), make_console()))


async def _stay_up(stack: LocalStack, console: Console) -> None:
    stopping = asyncio.Event()
    hurry = on_signals(stopping)
    supervisor = Supervisor(stack.services(), stack.logs, say=lambda line: console.print(Text(line)))
    hurry.append(supervisor.kill)
    async with supervisor:
        await start_unless(stopping, supervisor, console)
        if not stopping.is_set():
            show(console, addresses(stack))
        await stopping.wait()
        console.print("ending …")
    console.print("all ended; assessments in progress go on at the next `proctor up`")


def on_signals(stopping: asyncio.Event) -> list[Callable[[], None]]:
    """Let the first Ctrl-C (SIGTERM, SIGHUP) set ``stopping``, and a second one call what is in the list returned."""
    hurry: list[Callable[[], None]] = []

    def react() -> None:
        if stopping.is_set():
            for call in hurry:
                call()
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, react)
    return hurry


async def start_unless(stopping: asyncio.Event, supervisor: Supervisor, console: Console) -> None:
    """Start all services; give up at once when ``stopping`` is set meanwhile.

    Raises:
        ServiceStartError: as ``Supervisor.start``.
    """
    began = time.monotonic()
    with console.status("starting Temporal, simulator, worker and gateway"):
        starting = asyncio.create_task(supervisor.start())
        asked_to_stop = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait({starting, asked_to_stop}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                console.print(f"started Temporal, simulator, worker and gateway in {time.monotonic() - began:.1f} s")
        finally:
            for task in (starting, asked_to_stop):
                task.cancel()
            await asyncio.gather(starting, asked_to_stop, return_exceptions=True)


def addresses(stack: LocalStack) -> RenderableType:
    """Where everything is, and what to type next."""
    table = Table.grid(padding=(0, 3))
    table.add_row("gateway", stack.gateway_url, "A2A: send assessments here")
    table.add_row("Temporal UI", stack.ui_url, "every assessment, step by step")
    table.add_row("Temporal", stack.temporal_address)
    table.add_row("simulator", stack.ues_url)
    if stack.agent_url:
        table.add_row("agent", stack.agent_url, "the baseline")
    table.add_row("logs", str(stack.logs))
    command = f"proctor assess email_triage_basic --offline --agent {stack.agent_url or 'URL'}"
    if stack.gateway_url != default_gateway():
        command += f" --gateway {stack.gateway_url}"
    return Group(
        Text("proctor is up; Ctrl-C ends it", style="bold"),
        table,
        Text(f"\nAssess an agent:\n  {command}", overflow="fold"),
    )
