"""The commands that run one service: worker, gateway, simulator, agents."""

import asyncio
import ctypes
import os
from collections.abc import Coroutine
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from proctor.errors import CommandError, UnreachableError, UsageError, ending_as
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

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
"""Names of glibc's ``mallopt``."""

_ON_ITS_OWN = 256 * 1024
"""Bytes of a piece of memory that is taken from the system alone, and returned when it is freed. Without a setting
glibc raises this up to 32 MB, and what is freed below stays where it is."""

_ARENAS = 2  # of as many as there are threads, each keeps what its thread once needed
T = TypeVar("T")


def run_worker(processes: int | None = None, **flags: str | None) -> None:
    """Run a worker until SIGTERM or Ctrl-C: in this process, or in several. Raises as ``read_worker_settings`` and
    ``work``.

    Args:
        flags: fields of ``GreenAgentConfig``, over the environment; None is unset.
    """
    from proctor.worker_processes import run_processes

    config = read_worker_settings(**flags, worker_processes=processes)
    warn_of_settings(config)
    count = count_worker_processes(config)
    if count == 1:
        work(config)
    elif code := asyncio.run(run_processes(config, flags, count)):
        raise SystemExit(code)


def read_worker_settings(*, temporal_address: str | None = None, **flags: str | int | None) -> GreenAgentConfig:
    """A worker's settings: flags, which are fields of ``GreenAgentConfig``, over the environment."""
    settings = read_settings(GreenAgentConfig, temporal_address=temporal_address, **flags)
    return with_secret(with_connection(with_scenarios(settings), temporal_address))


def work(config: GreenAgentConfig, part: "Part | None" = None) -> None:
    """Work in this process until SIGTERM or Ctrl-C.

    Args:
        part: which of the worker's processes this is; None where it is the only one.

    Raises:
        CommandError: it can't; a sentence that says why.
    """
    give_memory_back()
    from proctor.worker import MisfitError, run_worker
    from proctor_observing.tracing import TracingError
    from proctor_settings.prices import PricesError
    from proctor_storage.temporal import TemporalUnreachableError

    with (
        ending_as(CommandError, PricesError, MisfitError, OSError),
        ending_as(UsageError, TracingError),
        ending_as(UnreachableError, TemporalUnreachableError),
    ):
        run_service(run_worker(config, part=part))


def run_gateway(*, temporal_address: str | None, is_open: bool, **flags: str | int | None) -> None:
    """Run a gateway until SIGTERM or Ctrl-C.

    Args:
        temporal_address, flags: fields of ``GreenAgentConfig``, over the environment; None is unset.

    Raises:
        UsageError: a setting doesn't fit, or others would reach it without authentication.
        CommandError: the address can't be listened on.
    """
    from a2a_gateway.auth.identity import Identity
    from a2a_gateway.server import serve
    from proctor.page_actions import page_actions
    from proctor.running import UnderWay
    from proctor_observing.tracing import TracingError
    from proctor_storage.archive import table_of
    from viewer.app import routes

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
        table = table_of(config.state, config.archive_url)
        run_service(serve(config, routes(config.archive_url, config.temporal_ui_url, live, actions, table)))


def run_ues(host: str | None, port: int | None, single: bool, public_url: str | None, state: str | None) -> None:
    """Run the simulator until SIGTERM or Ctrl-C.

    Its host key is ``UES_HOST_KEY``, else derived from the deployment's secret; with ``single`` it has an admin key
    instead: ``UES_ADMIN_KEY``, else one that the simulator makes and prints.

    Args:
        host, port, state: flags over the settings; None is unset.
        single: serve one simulation with an admin key, in place of many with a host key.

    Raises:
        UsageError: a setting doesn't fit.
        CommandError: the address can't be listened on.
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
    with ending_as(CommandError, OSError), ending_as(UsageError, TracingError):
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


def run_agent(name: str, **flags: str | int | None) -> None:
    """Run one of the agents that come with proctor until SIGTERM or Ctrl-C.

    Args:
        name: one of ``AGENTS``.
        flags: fields of ``PurpleAgentConfig``, over the environment; None is unset.
    """
    from purple_sdk.server import serve

    home, kind = AGENTS[name]
    config = read_settings(PurpleAgentConfig, **flags)
    warn_of_settings(config)
    agent = getattr(import_module(home), kind)
    with ending_as(UsageError, Exception):
        agent(config)  # tried once here, so that what is missing is reported now and not in an assessment
    with ending_as(CommandError, OSError):
        serve(agent, config)


def run_harness(*, is_terminal: bool, **flags: str | float | None) -> None:
    """Run a CLI agent as a participant until SIGTERM or Ctrl-C; with ``is_terminal`` one of terminal tasks."""
    from proctor_settings.config import HarnessConfig
    from purple_sdk.harness.declared import HarnessError
    from purple_sdk.harness.serving import serve_harness

    evaluator, config = read_settings(GreenAgentConfig), read_settings(HarnessConfig, **flags)
    warn_of_settings(config)
    hidden = os.pathsep.join([config.hidden, evaluator.state, str(Path(evaluator.scenarios_dir).absolute())])
    config = config.model_copy(update={"hidden": hidden})
    with ending_as(CommandError, OSError), ending_as(UsageError, HarnessError):
        serve_harness(config, is_terminal=is_terminal)


def run_terminal_agent(**flags: str | int | None) -> None:
    from purple_sdk.examples.assistant_agent.models import ModelNotUsableError
    from purple_sdk.examples.terminal_agent.agent import TerminalAgentConfig
    from purple_sdk.examples.terminal_agent.executor import serve_terminal_agent

    config = read_settings(TerminalAgentConfig, **flags)
    warn_of_settings(config)
    with ending_as(CommandError, OSError), ending_as(UsageError, ModelNotUsableError):
        serve_terminal_agent(config)


def give_memory_back() -> None:
    """Have the allocator return freed memory, such as a large scenario's, to the system; to be called before there are
    threads. Without effect where the allocator isn't glibc's.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # musl, macOS, Windows
        return
    mallopt(_MMAP_THRESHOLD, _ON_ITS_OWN)
    mallopt(_ARENA_MAX, _ARENAS)


def run_service(service: Coroutine[Any, Any, T]) -> T:
    """Run a service to its end on uvloop, which takes a tenth less of the processor, or else on Python's own loop."""
    try:
        import uvloop
    except ImportError:  # there is none for this platform
        return asyncio.run(service)
    return uvloop.run(service)
