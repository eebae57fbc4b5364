"""The commands that run one service: worker, gateway, simulator, agents."""

import asyncio
import os
from importlib import import_module
from typing import TYPE_CHECKING

from proctor.allocating import give_memory_back
from proctor.errors import CommandError, UnreachableError, UsageError
from proctor.event_loop import run_service
from proctor.settings import (
    count_worker_processes,
    is_open_to_others,
    read_settings,
    require_guarded,
    warn,
    warn_of_settings,
    with_connection,
    with_scenarios,
)
from proctor.state import with_secret
from proctor_settings.config import GreenAgentConfig, PurpleAgentConfig

if TYPE_CHECKING:
    from proctor.worker import Part

AGENTS = {
    "assistant": ("purple_sdk.examples.assistant_agent", "AssistantAgent"),
    "clerk": ("purple_sdk.examples.clerk_agent", "ClerkAgent"),
    "reschedule": ("purple_sdk.examples.reschedule_agent", "RescheduleAgent"),
    "triage": ("purple_sdk.examples.triage_agent", "TriageAgent"),
}
"""The agents that come with proctor: where each lives, and its class."""


def run_worker(
    temporal_address: str | None,
    ues_url: str | None,
    scenarios_dir: str | None,
    storage_url: str | None,
    state: str | None,
    processes: int | None = None,
) -> None:
    """Run a worker until SIGTERM or Ctrl-C: in this process, or in several."""
    from proctor.worker_processes import run_processes

    flags = {
        "temporal_address": temporal_address,
        "ues_url": ues_url,
        "scenarios_dir": scenarios_dir,
        "storage_url": storage_url,
        "state": state,
    }
    config = read_worker_settings(**flags, processes=processes)
    warn_of_settings(config)
    count = count_worker_processes(config)
    if count == 1:
        work(config)
    elif code := asyncio.run(run_processes(config, flags, count)):
        raise SystemExit(code)


def read_worker_settings(
    temporal_address: str | None = None,
    ues_url: str | None = None,
    scenarios_dir: str | None = None,
    storage_url: str | None = None,
    state: str | None = None,
    processes: int | None = None,
) -> GreenAgentConfig:
    """A worker's settings: flags over the environment.

    Raises:
        UsageError: one of them doesn't fit.
    """
    settings = read_settings(
        GreenAgentConfig,
        temporal_address=temporal_address,
        ues_url=ues_url,
        scenarios_dir=scenarios_dir,
        storage_url=storage_url,
        state=state,
        worker_processes=processes,
    )
    return with_secret(with_connection(with_scenarios(settings), temporal_address))


def work(config: GreenAgentConfig, part: "Part | None" = None) -> None:
    """Work in this process until SIGTERM or Ctrl-C.

    Args:
        config: the settings.
        part: which of the worker's processes this is; None where it is the only one.

    Raises:
        CommandError: it can't; a sentence that says why.
    """
    give_memory_back()
    from activities.models.usage import PricesError
    from proctor.worker import MisfitError, run_worker
    from proctor_observing.tracing import TracingError
    from proctor_storage.temporal import TemporalUnreachableError

    try:
        run_service(run_worker(config, part=part))
    except TemporalUnreachableError as problem:
        raise UnreachableError(str(problem)) from None
    except TracingError as problem:
        raise UsageError(str(problem)) from None
    except (PricesError, MisfitError) as problem:
        raise CommandError(str(problem)) from None
    except OSError as problem:
        raise CommandError(problem.strerror or str(problem)) from None


def run_gateway(
    host: str | None,
    port: int | None,
    card_url: str | None,
    temporal_address: str | None,
    storage_url: str | None,
    state: str | None,
    is_open: bool,
) -> None:
    """Run a gateway until SIGTERM or Ctrl-C."""
    from a2a_gateway.door.identity import Identity
    from a2a_gateway.server import serve
    from proctor.page_actions import page_actions
    from proctor.running import UnderWay
    from proctor_observing.tracing import TracingError
    from proctor_storage.archive import table_of
    from viewer.app import routes

    settings = read_settings(
        GreenAgentConfig,
        host=host,
        port=port,
        card_url=card_url,
        temporal_address=temporal_address,
        storage_url=storage_url,
        state=state,
        open=is_open or None,
    )
    config = with_secret(with_connection(settings, temporal_address))
    warn_of_settings(config)
    require_guarded(config)
    if is_open_to_others(config.host) and not Identity(config).is_asked():
        warn(
            ["everyone who reaches this port may start assessments and read all results: callers aren't authenticated"]
        )
    live = UnderWay(config)
    actions = page_actions(config, live.connected)
    try:
        table = table_of(config.state, config.archive_url)
        run_service(serve(config, routes(config.archive_url, config.temporal_ui_url, live, actions, table)))
    except TracingError as problem:
        raise UsageError(str(problem)) from None
    except OSError as problem:
        raise CommandError(problem.strerror or str(problem)) from None


def run_ues(host: str | None, port: int | None, single: bool, public_url: str | None, state: str | None) -> None:
    """Run the simulator until SIGTERM or Ctrl-C.

    Its host key is ``UES_HOST_KEY``, else derived from the deployment's secret; with ``single`` it has an admin key
    instead: ``UES_ADMIN_KEY``, else one that the simulator makes and prints.
    """
    from activities.simulation.keys import host_key
    from proctor_observing.logs import set_up_logs
    from proctor_observing.tracing import TracingError
    from ues_sim.server import serve

    config = read_settings(GreenAgentConfig, ues_host=host, state=state)
    key = os.environ.get("UES_HOST_KEY")
    if not key and not single:
        key = host_key(with_secret(config).secret.get_secret_value())
    set_up_logs(config.log_format, {"ues_sim": config.log_level, "proctor_observing": config.log_level})
    host = config.ues_host or config.host
    port = config.ues_base_port if port is None else port
    if is_open_to_others(host):
        warn(["the simulator answers only who has a key, but unencrypted"])
    try:
        serve(
            host=host,
            port=port,
            single=single,
            host_key=key,
            admin_key=os.environ.get("UES_ADMIN_KEY"),
            public_url=public_url,
            observe_host=config.observe_host,
            observe_port=config.observe_port,
        )
    except TracingError as problem:
        raise UsageError(str(problem)) from None
    except OSError as problem:
        raise CommandError(problem.strerror or str(problem)) from None


def run_agent(name: str, host: str | None, port: int | None, card_url: str | None) -> None:
    """Run one of the agents that come with proctor until SIGTERM or Ctrl-C; ``name`` is one of ``AGENTS``."""
    from purple_sdk.server import serve

    home, kind = AGENTS[name]
    config = read_settings(PurpleAgentConfig, host=host, port=port, card_url=card_url)
    warn_of_settings(config)
    agent = getattr(import_module(home), kind)
    try:
        agent(config)  # one for nobody, so that what is missing is said now and not in an assessment
    except Exception as problem:
        raise UsageError(str(problem)) from None
    try:
        serve(agent, config)
    except OSError as problem:
        raise CommandError(problem.strerror or str(problem)) from None


def run_terminal_agent(**flags: str | int | None) -> None:
    """Run the agent of ``purple_sdk.examples.terminal_agent`` until SIGTERM or Ctrl-C."""
    from purple_sdk.examples.assistant_agent.models import ModelNotUsableError
    from purple_sdk.examples.terminal_agent import TerminalAgentConfig, serve_terminal_agent

    config = read_settings(TerminalAgentConfig, **flags)
    warn_of_settings(config)
    try:
        serve_terminal_agent(config)
    except ModelNotUsableError as problem:
        raise UsageError(str(problem)) from None
    except OSError as problem:
        raise CommandError(problem.strerror or str(problem)) from None
