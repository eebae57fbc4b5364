"""Count incoming HTTP requests."""

import time
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

QUIET = ("/health", "/ready", "/metrics")
"""The paths that monitors request; they are neither counted nor traced."""


class CountedRequests:
    """ASGI middleware that counts requests by status and measures how long they take.

    Event streams are also counted while they are open, and are not timed.

    Args:
        app: the wrapped application.
        requests: counts requests by ``status``.
        seconds: the durations of requests other than streams.
        streams: the number of open streams; None for a server without streams.
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
