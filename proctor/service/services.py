"""Run a service in this process; a worker's settings, and its work."""

import asyncio
import ctypes
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from proctor.common.errors import CommandError, UnreachableError, UsageError, ending_as
from proctor.common.settings import (
    read_settings,
    with_connection,
    with_scenarios,
)
from proctor.common.state import with_secret
from proctor.settings.config import GreenAgentConfig

if TYPE_CHECKING:
    from proctor.service.worker import Part

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
"""Names of glibc's ``mallopt``."""

_ON_ITS_OWN = 256 * 1024
"""The least bytes of an allocation that glibc maps separately, and returns to the system when it is freed. Without a
setting glibc raises this up to 32 MB, and keeps smaller pieces."""

_ARENAS = 2  # with one arena per thread, each would keep the memory that its thread once needed
T = TypeVar("T")


def read_worker_settings(*, temporal_address: str | None = None, **flags: str | int | None) -> GreenAgentConfig:
    """A worker's settings: flags, which are fields of ``GreenAgentConfig``, over the environment."""
    settings = read_settings(GreenAgentConfig, temporal_address=temporal_address, **flags)
    return with_secret(with_connection(with_scenarios(settings), temporal_address))


def work(config: GreenAgentConfig, part: "Part | None" = None) -> None:
    """Work in this process until SIGTERM or Ctrl-C.

    Args:
        part: which of the worker's processes this is; None if it is the only one.

    Raises:
        CommandError: it can't work; the message says why.
    """
    give_memory_back()
    from proctor.observing.tracing import TracingError
    from proctor.service.worker import MisfitError, run_worker
    from proctor.storage.temporal import TemporalUnreachableError
    from purple_sdk.settings.prices import PricesError

    with (
        ending_as(CommandError, PricesError, MisfitError, OSError),
        ending_as(UsageError, TracingError),
        ending_as(UnreachableError, TemporalUnreachableError),
    ):
        run_service(run_worker(config, part=part))


def give_memory_back() -> None:
    """Have the allocator return freed memory, such as a large scenario's, to the system; call it before threads start.
    It has no effect with another allocator than glibc's.
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
