"""Reading requests: bodies, parameters and keys, with every oddity answered by a 4xx."""

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
"""Bytes of a body that is too large and is sent to its end all the same; one that is larger is cut off."""

DEPTH_MARGIN = 40
"""How much deeper than a body the answers that carry its data may nest."""


class Disconnected(Exception):  # noqa: N818 - an outcome; there is nobody left to answer
    """The caller went away while sending."""


def received(body: bytes) -> Receive:
    """What gives a body that is there already."""

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def read_body(receive: Receive, headers: Headers, limit: int | None, setting: str | None = None) -> bytes:
    """The whole body, of at most ``limit`` bytes, which ``setting`` sets. Raises TooLarge (413), or Disconnected."""
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
    """Let a caller send the rest of an unread body if it is small: otherwise the caller would miss the answer."""
    more = size <= LET_FINISH
    while more:
        message = await receive()
        more = message["type"] == "http.request" and message.get("more_body", False)


def secret_of(headers: Headers) -> str | None:
    """The secret that a request carries: ``X-API-Key``, else ``Authorization: Bearer``."""
    bearer = None
    for name, value in headers:
        if name == b"x-api-key" and value:
            return value.decode("latin-1")
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            bearer = value[7:].strip().decode("latin-1")
    return bearer


def fence_of(headers: Headers) -> int | None:
    """The fence that a request carries. Raises Invalid (422) unless it is a whole number from 1 up."""
    for name, value in headers:
        if name == fences.HEADER:
            text = value.decode("latin-1")
            if not text.isdecimal() or not 0 < len(text) < 19 or int(text) < 1:
                raise problem("fence", "Input should be a whole number from 1 up", text[:40], "header", "X-UES-Fence")
            return int(text)
    return None


def unauthorized(secret: str | None, *, of_host: bool = False) -> Unauthorized:
    """The 401 for a missing or unknown secret, of a simulation or of the whole server."""
    if not secret:
        return Unauthorized("Missing API key; send it as X-API-Key or as Authorization: Bearer.")
    if of_host:
        return Unauthorized("Unknown or revoked API key.")
    return Unauthorized(
        "Unknown or revoked API key. If it worked before, its work has ended or was given up: "
        "stop that work, and use the newest key that you got."
    )


def read_json(body: bytes, *, required: bool = True, nesting: int | None = None) -> Any:
    """The body as JSON, nested at most so deep; an empty object where nothing is sent. Raises Invalid (422)."""
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
    """Check that a value can be sent back later: the writer accepts fewer levels than the reader."""
    wrapped = data
    for _ in range(DEPTH_MARGIN):
        wrapped = [wrapped]
    try:
        orjson.dumps(wrapped)
    except orjson.JSONEncodeError:
        raise problem("recursion_loop", "Input is nested too deeply", None, "body") from None


def read_params(query_string: bytes) -> dict[str, str]:
    """The query parameters; of a repeated one the last counts."""
    return dict(parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, errors="replace"))
