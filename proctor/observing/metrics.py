"""Render the metrics of a process in the text format that Prometheus reads.

Each package declares its metrics in a ``metrics.py`` with ``prometheus_client``, which keeps all in one registry.
Temporal's SDK counts in its Rust core and serves its metrics at a separate address. They are fetched and added.
"""

import asyncio
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable

from prometheus_client import REGISTRY, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
"""Histogram buckets for durations from milliseconds (a store) to minutes (a participant's turn)."""

Render = Callable[[], Awaitable[bytes]]

_SDK_ANSWERS_WITHIN = 2.0


async def render() -> bytes:
    """Return all metrics of this process."""
    return generate_latest(REGISTRY)


def add_sdk_metrics(sdk_address: str) -> Render:
    """Return a function that renders the metrics of this process and of Temporal's SDK.

    ``sdk_address`` is an ``http://HOST:PORT`` of this machine. If the SDK doesn't answer, its metrics are left out.
    """

    async def both() -> bytes:
        return generate_latest(REGISTRY) + await asyncio.to_thread(_fetch, f"{sdk_address}/metrics")

    return both


def _fetch(url: str) -> bytes:
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=_SDK_ANSWERS_WITHIN) as answer:
            exposition: bytes = answer.read()
    except (urllib.error.URLError, OSError):
        return b""
    return exposition
