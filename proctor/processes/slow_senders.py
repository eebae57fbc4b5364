"""Protect public servers against slow senders, which lose their connection, and against large request heads.

``make_config`` returns the settings of such a server.
"""

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_WITHIN = 20.0
"""Seconds for the head of a request to arrive, or for the rest of a request that was answered before its end."""

LONGEST_HEAD = 128_000
"""Maximum bytes of an unfinished head; our callers' heads have a few hundred."""


class NoSlowSenders(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits for request heads, whose time and size uvicorn doesn't limit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._heads = self._bytes_of_head = 0
        self._in_head = True
        self._too_late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_longer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        heads, was_in_head = self._heads, self._in_head
        super().data_received(data)
        if was_in_head and self._heads == heads:
            self._bytes_of_head += len(data)
        if self._bytes_of_head > LONGEST_HEAD:
            self._close()
        self._watch()

    def on_headers_complete(self) -> None:
        self._heads += 1
        self._bytes_of_head, self._in_head = 0, False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head = True
        super().on_message_complete()

    def _watch(self) -> None:
        """Watch the sender, except while a request is answered; between two requests uvicorn's own limit applies."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_longer()
        elif self._too_late is None:
            self._too_late = self.loop.call_later(HEAD_WITHIN, self._close)

    def _wait_no_longer(self) -> None:
        if self._too_late is not None:
            self._too_late.cancel()
            self._too_late = None

    def _close(self) -> None:
        self._too_late = None
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()


def make_config(app: Any, **own: Any) -> uvicorn.Config:
    """Return uvicorn's settings for one of our servers. The settings in ``own`` override the usual ones."""
    usual = {"http": NoSlowSenders, "ws": "none", "log_level": "warning", "access_log": False, "lifespan": "off"}
    return uvicorn.Config(app, **{**usual, **own})
