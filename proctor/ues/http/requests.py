"""Read requests: bodies, parameters and keys. Each malformed request gets a 4xx."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from proctor.ues import fences
from proctor.ues.limits import too_large
from proctor.ues.problems import Unauthorized
from proctor.ues.schema import problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

LET_FINISH = 16 * 1024 * 1024
"""The most bytes of a refused body that the server still reads. The sender of a larger body is cut off."""

DEPTH_MARGIN = 40
"""The levels by which answers may nest deeper than the body whose data they carry."""


class Disconnected(Exception):  # noqa: N818 - an outcome; no caller is left to answer
    """The caller disconnected while sending."""


def received(body: bytes) -> Receive:
    """Return a ``receive`` function that returns a body that was read before."""

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def read_body(receive: Receive, headers: Headers, limit: int | None, setting: str | None = None) -> bytes:
    """Read the whole body.

    Raises TooLarge (413) for more than ``limit`` bytes, which the setting ``setting`` sets. Raises Disconnected if the
    caller leaves.
    """
    for name, value in headers:
        if limit is not None and name == b"content-length" and value.isdigit() and int(value) > limit:
            await _let_finish(receive, int(value))
            raise too_large(int(value), limit, setting)
    message = await receive()
    body: bytes = message.get("body", b"")
    if message["type"] == "http.request" and not message.get("more_body"):
        if limit is not None and len(body) > limit:
            raise too_large(len(body), limit, setting)
        return body
    parts, size = [body], len(body)
    while message["type"] == "http.request" and message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if limit is not None and size > limit:
            raise too_large(None, limit, setting)
    if message["type"] != "http.request":
        raise Disconnected
    return b"".join(parts)


async def _let_finish(receive: Receive, size: int) -> None:
    """Read the rest of a small refused body, because the caller would otherwise miss the answer."""
    more = size <= LET_FINISH
    while more:
        message = await receive()
        more = message["type"] == "http.request" and message.get("more_body", False)


def read_secret(headers: Headers) -> str | None:
    """Return the secret of a request: ``X-API-Key``, else ``Authorization: Bearer``."""
    bearer = None
    for name, value in headers:
        if name == b"x-api-key" and value:
            return value.decode("latin-1")
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            bearer = value[7:].strip().decode("latin-1")
    return bearer


def read_fence(headers: Headers) -> int | None:
    """Return the fence of a request; None without one. Raises Invalid (422) unless it is a whole number from 1 up."""
    for name, value in headers:
        if name == fences.HEADER:
            text = value.decode("latin-1")
            if not text.isdecimal() or not 0 < len(text) < 19 or int(text) < 1:
                raise problem("fence", "Input should be a whole number from 1 up", text[:40], "header", "X-UES-Fence")
            return int(text)
    return None


def unauthorized(secret: str | None, *, of_host: bool = False) -> Unauthorized:
    """Return the 401 for a missing or unknown secret, of a simulation or of the whole server."""
    if not secret:
        return Unauthorized("Missing API key; send it as X-API-Key or as Authorization: Bearer.")
    if of_host:
        return Unauthorized("Unknown or revoked API key.")
    return Unauthorized(
        "Unknown or revoked API key. If it worked before, its work has ended or was given up: "
        "stop that work, and use the newest key that you got."
    )


def read_json(body: bytes, *, required: bool = True, nesting: int | None = None) -> Any:
    """Parse the body as JSON, nested at most ``nesting`` deep; an empty body is ``{}``. Raises Invalid (422)."""
    stripped = body.strip()
    if not stripped or (not required and stripped == b"null"):
        if required:
            raise problem("missing", "Field required", None, "body")
        return {}
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise problem("json_invalid", f"JSON decode error: {error.msg}", {}, "body", error.pos) from None
    opened = body.count(b"[") + body.count(b"{")
    if opened > 100:
        _refuse_too_deep(data)
    if nesting is not None and opened > nesting and not _is_within(data, nesting):
        raise problem("recursion_loop", f"Input should nest at most {nesting} deep", None, "body")
    return data


def _is_within(data: Any, nesting: int) -> bool:
    level = [data]
    for _ in range(nesting):
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return True
    return False


def _refuse_too_deep(data: Any) -> None:
    """Refuse a value that couldn't be sent back later: the writer accepts fewer levels than the reader."""
    wrapped = data
    for _ in range(DEPTH_MARGIN):
        wrapped = [wrapped]
    try:
        orjson.dumps(wrapped)
    except orjson.JSONEncodeError:
        raise problem("recursion_loop", "Input is nested too deeply", None, "body") from None


def read_params(query_string: bytes) -> dict[str, str]:
    """Return the query parameters; the last value of a repeated one counts."""
    return dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, errors="replace"))
