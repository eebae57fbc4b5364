"""Limits on the size and the duration of request bodies."""

import asyncio
from collections.abc import Callable

from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import InvalidRequestError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1_000_000
"""The largest accepted body; a request for an assessment has some hundred bytes."""

_MOST_DRAINED = 20 * MOST_BYTES
"""How many bytes of a too large body are still read, to let its sender read the answer."""


_BODY_WITHIN = 60.0
"""Seconds in which a body must arrive completely."""


Check = Callable[[Scope, bytes, str], tuple[Scope, JSONResponse | None]]
"""A check of a request, its body and the path of JSON-RPC. It returns the request to pass on, or its refusal."""


class BodyLimit:
    """Middleware that refuses bodies that are too large (``MOST_BYTES``), too slow or not text, with an A2A error. It
    also refuses requests that fail ``check``.
    """

    def __init__(self, app: ASGIApp, rpc_path: str, check: Check | None = None) -> None:
        self._app = app
        self._rpc_path = rpc_path
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(_BODY_WITHIN):
                body = await _read_body(receive)
        except TimeoutError:
            late = f"The request's body hasn't come within {_BODY_WITHIN:g} s: send it at once."
            await self._refusal(scope["path"], late, 408)(scope, receive, send)
            return
        if body is None:
            long = f"The request has more than {MOST_BYTES} bytes: send a shorter message."
            await self._refusal(scope["path"], long, 413)(scope, receive, send)
            return
        if scope["path"] != self._rpc_path and not _is_text(body):
            error = InvalidRequestError("The body is not UTF-8: send JSON in UTF-8.")
            await JSONResponse(build_rest_error_payload(error), status_code=400)(scope, receive, send)
            return
        if self._check is not None:
            scope, refusal = self._check(scope, body, self._rpc_path)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return pending.pop() if pending else await receive()

        await self._app(scope, replay, send)

    def _refusal(self, path: str, sentence: str, status: int) -> JSONResponse:
        error = InvalidRequestError(sentence)
        if path == self._rpc_path:
            return JSONResponse(build_error_response(None, error))
        return JSONResponse(build_rest_error_payload(error), status_code=status)


def _is_text(body: bytes) -> bool:
    """Tell whether a body is valid UTF-8; a2a-sdk would report an invalid one as its own failure."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body; None if it is too large or its sender has disconnected."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size <= MOST_BYTES:
            chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks) if size <= MOST_BYTES else None
        if size > _MOST_DRAINED:
            return None
