"""Log each refused request as one line with its sentence; only our own defects are logged with a traceback."""

import json
import logging
from time import monotonic

from a2a.utils.errors import A2AError
from google.protobuf.json_format import ParseError
from pydantic import ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FORESEEN = (A2AError, ParseError, ValidationError, json.JSONDecodeError, UnicodeError, RecursionError)
_LOGGERS = (
    "a2a.server.routes.jsonrpc_dispatcher",
    "a2a.server.routes.rest_dispatcher",
    "a2a.compat.v0_3.jsonrpc_adapter",
    "a2a.compat.v0_3.rest_adapter",
    "a2a.utils.error_handlers",
)
"""Loggers to which a2a-sdk sends refusals: twice, with a traceback, or not at all. Each needs a filter, since a filter
works only on its own logger.
"""

_MOST_IN_A_SECOND = 20
"""The most lines per second. A caller can be refused any number of times, and must not be able to fill the disk."""

_LONGEST_LINE = 500
_LONGEST_ERROR = 20_000
"""The most bytes of an answer that may be an error; longer answers are results."""

log = logging.getLogger(__name__)


class RefusalLog:
    """Middleware that logs the errors in answers and in events of streams, up to a limit per second."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._second = self._refused = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watch(message: Message) -> None:
            if message["type"] == "http.response.body" and (error := _find_error(message.get("body", b""))):
                self._log(f"{scope['method']} {_one_line(scope['path'])}: {error}")
            await send(message)

        await self._app(scope, receive, watch if scope["type"] == "http" else send)

    def _log(self, line: str) -> None:
        if (second := int(monotonic())) != self._second:
            if self._refused > _MOST_IN_A_SECOND:
                log.warning("%d more were refused than are logged here", self._refused - _MOST_IN_A_SECOND)
            self._second, self._refused = second, 0
        self._refused += 1
        if self._refused <= _MOST_IN_A_SECOND:
            log.warning("%s", line)


def leave_refusals_to_us() -> None:
    """Make a2a-sdk log only unexpected exceptions; called once per process."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_is_defect)


def _is_defect(record: logging.LogRecord) -> bool:
    problem = record.exc_info[1] if record.exc_info else None
    return problem is not None and not isinstance(problem, _FORESEEN)


def _find_error(body: bytes) -> str | None:
    if b'"error"' not in body or len(body) > _LONGEST_ERROR:
        return None
    _, _, data = body.rpartition(b"data: ")  # unwraps a stream's event; any other answer stays whole
    try:
        error = json.loads(data)["error"]
        return _one_line(f"{error['code']} {error['message']}")
    except (ValueError, KeyError, TypeError):
        return None


def _one_line(text: str) -> str:
    """Return a text on one line, without characters that a terminal would execute."""
    one_line = " ".join(text.split())[:_LONGEST_LINE]
    return "".join(character if character.isprintable() else "?" for character in one_line)
