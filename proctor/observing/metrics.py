"""The metrics of a process, in the text format that Prometheus reads.

Rooms declare their metrics with ``prometheus_client``, each in a ``metrics.py``; all stand in its one registry.
Temporal's SDK counts in its Rust core, which serves what it has at an address of its own: that is asked and added.
"""

import asyncio
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable

from prometheus_client import REGISTRY, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
"""Buckets for what takes from milliseconds (a store) to minutes (a participant's turn)."""

Render = Callable[[], Awaitable[bytes]]

_SDK_ANSWERS_WITHIN = 2.0


async def render() -> bytes:
    """All that this process has counted."""
    return generate_latest(REGISTRY)


def render_with(sdk_address: str) -> Render:
    """All that this process has counted, and what Temporal's SDK tells at ``http://HOST:PORT`` of this machine; without
    the latter where it doesn't answer.
    """

    async def both() -> bytes:
        return generate_latest(REGISTRY) + await asyncio.to_thread(_read, f"{sdk_address}/metrics")

    return both


def _read(url: str) -> bytes:
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=_SDK_ANSWERS_WITHIN) as answer:
            exposition: bytes = answer.read()
    except (urllib.error.URLError, OSError):
        return b""
    return exposition
