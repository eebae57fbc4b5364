"""Run a worker or another service in this process."""

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
"""Numbers of two parameters of glibc's ``mallopt``."""

_ON_ITS_OWN = 256 * 1024
"""Bytes from which on glibc maps an allocation separately, and returns it to the system when it is freed. Without this
setting glibc raises the limit up to 32 MB, and keeps smaller freed pieces."""

_ARENAS = 2  # more arenas would keep more freed memory: each keeps what its threads once needed
T = TypeVar("T")


def read_worker_settings(*, temporal_address: str | None = None, **flags: str | int | None) -> GreenAgentConfig:
    """A worker's settings: from flags, which are fields of ``GreenAgentConfig``, else from the environment."""
    settings = read_settings(GreenAgentConfig, temporal_address=temporal_address, **flags)
    return with_secret(with_connection(with_scenarios(settings), temporal_address))


def work(config: GreenAgentConfig, part: "Part | None" = None) -> None:
    """Work in this process until SIGTERM or Ctrl-C.

    Args:
        part: which of the worker's processes this is; None if it is the only one.

    Raises:
        CommandError: the worker can't work; the message says why.
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
    """Have the allocator return freed memory, such as a large scenario's, to the system.

    Call this before threads start. It only has an effect on glibc's allocator.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # musl, macOS, Windows
        return
    mallopt(_MMAP_THRESHOLD, _ON_ITS_OWN)
    mallopt(_ARENA_MAX, _ARENAS)


def run_service(service: Coroutine[Any, Any, T]) -> T:
    """Run a service to its end, on uvloop if it is installed: that takes a tenth less processor time."""
    try:
        import uvloop
    except ImportError:  # there is none for this platform
        return asyncio.run(service)
    return uvloop.run(service)
