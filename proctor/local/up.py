"""``proctor up``: everything on this machine, until Ctrl-C."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from proctor.a2a_gateway.auth.identity import Identity
from proctor.common.console import make_console, show
from proctor.common.interrupts import done_before, on_hangup, on_signals
from proctor.common.settings import (
    LOOPBACK,
    default_gateway,
    is_open_to_others,
    read_settings,
    require_guarded,
    warn,
    warn_of_settings,
    with_scenarios,
)
from proctor.common.state import state_folder, with_secret
from proctor.local.noting import noted
from proctor.local.stack import LocalStack, Ports, require_free
from proctor.service.supervisor import Supervisor
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.ports import free_ports, is_free

_AGENT_PORT = 8099
"""The default port of the baseline agent, if it is free. It leaves 8001 to the user's own agent."""


def run_up(
    *,
    ues_port: int | None,
    temporal_port: int,
    ui_port: int,
    agent_port: int | None,
    with_agent: bool,
    agent: Sequence[str] = ("triage",),
    task_queue: str | None = None,
    is_open: bool = False,
    **flags: str | int | None,
) -> None:
    """Start everything, print the addresses, and run until SIGINT or SIGTERM, or until the terminal closes.

    Args:
        agent: the arguments of ``proctor agent`` for the agent that runs beside the evaluator.
        flags: fields of ``GreenAgentConfig``, which take precedence over the environment. If ``card_subject`` is
            ``terminal-bench``, no simulator runs.

    Raises:
        UsageError: two ports are the same, a setting doesn't fit, or other machines would reach a gateway without
            authentication.
        CommandError: a port or the state folder is in use, or a service doesn't start.
    """
    own_queue = None if "AGENTBEATS_GREEN_TASK_QUEUE" in os.environ else task_queue
    config = with_scenarios(read_settings(GreenAgentConfig, task_queue=own_queue, open=is_open or None, **flags))
    require_guarded(config)
    if with_agent and agent_port is None:
        agent_port = _AGENT_PORT if is_free(LOOPBACK, _AGENT_PORT) else free_ports(1)[0]
    ports = Ports(
        gateway=config.port,
        ues=config.ues_base_port if ues_port is None else ues_port,
        temporal=temporal_port,
        temporal_ui=ui_port,
        agent=agent_port if with_agent else None,
    )
    with state_folder(Path(config.state)) as folder:
        has_simulator = config.card_subject != "terminal-bench"
        stack = LocalStack(config, ports, folder, is_durable=True, agent=agent, has_simulator=has_simulator)
        addresses_by_flag = {
            "--port": (config.host, ports.gateway),
            **({"--ues-port": (stack.ues_host, ports.ues)} if has_simulator else {}),
            "--temporal-port": (LOOPBACK, ports.temporal),
            "--ui-port": (LOOPBACK, ports.temporal_ui),
        }
        if ports.agent:
            addresses_by_flag["--agent-port"] = (LOOPBACK, ports.agent)
        require_free(addresses_by_flag)
        warn_of_settings(config)
        warn(what_is_open(stack))
        with noted(stack):
            asyncio.run(_stay_up(replace(stack, config=with_secret(config)), make_console()))


def what_is_open(stack: LocalStack) -> list[str]:
    """Sentences on the services that other machines may reach, and on the rights of callers there."""
    gateway, ues = stack.ports.gateway, stack.ports.ues
    is_gateway_open = is_open_to_others(stack.config.host)
    is_ues_open = stack.has_simulator and is_open_to_others(stack.ues_host)
    warnings = []
    if is_gateway_open and not Identity(stack.config).is_asked():
        warnings.append(
            f"everyone who reaches port {gateway} of this machine may start assessments, which use your models' keys, "
            "and read all results: the gateway doesn't authenticate callers"
        )
    if is_ues_open:
        warnings.append(
            f"port {ues} is open, too: the simulator answers only who has the key of an assessment, but unencrypted; "
            "Temporal and its UI stay on this machine"
        )
        if not stack.ues_public_url:
            warnings.append(
                f"participants get {stack.ues_url} as the simulator's address, which other machines can't reach: "
                "name this machine with --card-url or --ues-public-url"
            )
    elif stack.has_simulator and is_gateway_open and not stack.ues_public_url:
        warnings.append(
            f"the simulator listens on {stack.ues_host} only: participants on other machines can't reach it; choose "
            "another --ues-host"
        )
    return warnings


async def _stay_up(stack: LocalStack, console: Console) -> None:
    stopping = asyncio.Event()
    async with started(stack, console, stopping) as supervisor:
        on_hangup(supervisor.reopen_logs)
        if not stopping.is_set():
            show(console, addresses(stack))
            warn(await find_problems_of_stores(stack))
        await stopping.wait()
        console.print("ending …")
    console.print("all ended; assessments in progress continue at the next `proctor up`")


async def find_problems_of_stores(stack: LocalStack) -> list[str]:
    """The reasons why the store or the archive can't be used, as sentences. Services start anyway, and wait."""
    from proctor.storage.trying import find_problem_of_store

    places = {"store": stack.storage_url, "archive": stack.archive_url}
    found = [await find_problem_of_store(url, name) for name, url in places.items()]
    return [f"{problem.rstrip('.')}. Assessments wait until then." for problem in found if problem]


@asynccontextmanager
async def started(stack: LocalStack, console: Console, stopping: asyncio.Event) -> AsyncIterator[Supervisor]:
    """Run all services of a stack until the block ends. If a signal comes during the start, the block begins at once.

    Args:
        stack: the stack to start. A throwaway stack leaves nothing, even if this process is killed.
        stopping: an event that signals set.

    Raises:
        ServiceStartError: a service didn't start.
    """
    hurry = on_signals(stopping)
    temporary = stack.state if stack.is_throwaway else None
    supervisor = Supervisor(
        stack.list_services(), stack.logs, say=lambda line: console.print(Text(line)), temporary=temporary
    )
    hurry.append(supervisor.kill)
    async with supervisor:
        began = time.monotonic()
        what = f"Temporal, {'simulator, ' if stack.has_simulator else ''}worker and gateway"
        with console.status(f"starting {what}"):
            if await start_unless(stopping, supervisor):
                console.print(f"started {what} in {time.monotonic() - began:.1f} s")
        yield supervisor


async def start_unless(stopping: asyncio.Event, supervisor: Supervisor) -> bool:
    """Start all services, or return False at once if ``stopping`` is set first.

    Raises:
        ServiceStartError: a service didn't start.
    """
    starting = asyncio.create_task(supervisor.start())
    try:
        if is_started := await done_before(starting, stopping):
            starting.result()
        return is_started
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)


def addresses(stack: LocalStack) -> RenderableType:
    table = Table.grid(padding=(0, 3))
    table.add_row("gateway", stack.gateway_url, "A2A: send assessments here; in a browser: look at them")
    table.add_row("Temporal UI", stack.ui_url, "every assessment, step by step")
    table.add_row("Temporal", stack.temporal_address)
    if stack.has_simulator:
        note = [f"participants: {stack.ues_public_url}"] if stack.ues_public_url else []
        table.add_row("simulator", stack.ues_url, *note)
    if stack.agent_url:
        table.add_row("agent", stack.agent_url, "the baseline" if stack.agent[0] == "triage" else stack.agent[0])
    table.add_row("state", str(stack.state), "logs, database, checkpoints")
    command = f"proctor assess email_triage_basic --offline --agent {stack.agent_url or 'URL'}"
    if not stack.has_simulator:
        message = '{"message": {"parts": [{"text": "Launch terminal-bench evaluation"}]}}'
        command = f"curl {stack.gateway_url}/agent/messages -d '{message}'"
    elif stack.gateway_url != default_gateway():
        command += f" --gateway {stack.gateway_url}"
    return Group(
        Text("proctor is up; Ctrl-C ends it", style="bold"),
        table,
        *([f"results in {stack.config.terminal_results_dir}"] if stack.config.terminal_results_dir else []),
        Text(f"\nAssess an agent:\n  {command}", overflow="fold"),
    )
