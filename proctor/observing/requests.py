"""HTTP requests, counted where they come in."""

import time
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

QUIET = ("/health", "/ready", "/metrics")
"""What monitors ask for: neither counted nor traced."""


class CountedRequests:
    """ASGI middleware that counts requests by their status, and how long they take; streams of events are counted while
    they are open, and their time doesn't count.

    Args:
        app: what answers.
        requests: by ``status``.
        seconds: of requests other than streams.
        streams: those that are open; None for a server without streams.
    """

    def __init__(self, app: Any, requests: Counter, seconds: Histogram, streams: Gauge | None = None) -> None:
        self._app = app
        self._requests = requests
        self._seconds = seconds
        self._streams = streams

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] in QUIET:
            await self._app(scope, receive, send)
            return
        began, is_stream, status = time.perf_counter(), False, 0

        async def watch(message: Any) -> None:
            nonlocal is_stream, status
            if message["type"] == "http.response.start":
                status = message["status"]
                if self._streams is not None and _is_of_events(message):
                    is_stream = True
                    self._streams.inc()
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            self._requests.labels(status).inc()
            if not is_stream:
                self._seconds.observe(time.perf_counter() - began)
            elif self._streams is not None:
                self._streams.dec()


def _is_of_events(start: Any) -> bool:
    return any(
        name.lower() == b"content-type" and value.startswith(b"text/event-stream")
        for name, value in start.get("headers", ())
    )
