"""Reading requests: bodies, parameters and keys, with every oddity answered by a 4xx."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

import orjson
from pydantic import TypeAdapter

from ues_sim.problems import Invalid, TooLarge, Unauthorized
from ues_sim.schema import problem, validate

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Headers = Iterable[tuple[bytes, bytes]]

BODY_LIMIT = 256 * 1024 * 1024
"""Bytes of the largest body that is read: a checkpoint of a very large simulation."""

DEPTH_MARGIN = 40
"""How much deeper than a body the answers that carry its data may nest."""


class Disconnected(Exception):  # noqa: N818 - an outcome; there is nobody left to answer
    """The caller went away while sending."""


async def read_body(receive: Receive, headers: Headers) -> bytes:
    """The whole body. Raises TooLarge (413), or Disconnected."""
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and int(value) > BODY_LIMIT:
            raise TooLarge(f"The body is larger than {BODY_LIMIT} bytes.")
    message = await receive()
    body: bytes = message.get("body", b"")
    if message["type"] == "http.request" and not message.get("more_body"):
        return body
    parts, size = [body], len(body)
    while message["type"] == "http.request" and message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_LIMIT:
            raise TooLarge(f"The body is larger than {BODY_LIMIT} bytes.")
    if message["type"] != "http.request":
        raise Disconnected
    return b"".join(parts)


def secret_of(headers: Headers) -> str | None:
    """The secret that a request carries: ``X-API-Key``, else ``Authorization: Bearer``."""
    bearer = None
    for name, value in headers:
        if name == b"x-api-key" and value:
            return value.decode("latin-1")
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            bearer = value[7:].strip().decode("latin-1")
    return bearer


def unauthorized(secret: str | None) -> Unauthorized:
    """The 401 for a missing or unknown secret."""
    if not secret:
        return Unauthorized("Missing API key; send it as X-API-Key or as Authorization: Bearer.")
    return Unauthorized("Unknown or revoked API key.")


def read_json(body: bytes, adapter: TypeAdapter[Any], *, required: bool) -> Any:
    """The body as the adapter's type. Raises Invalid (422)."""
    stripped = body.strip()
    if not stripped or (not required and stripped == b"null"):
        if required:
            raise problem("missing", "Field required", None, "body")
        return validate(adapter, {}, "body")
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid(
            [
                {
                    "type": "json_invalid",
                    "loc": ["body", error.pos],
                    "msg": f"JSON decode error: {error.msg}",
                    "input": {},
                }
            ]
        ) from None
    if body.count(b"[") + body.count(b"{") > 100:
        _refuse_too_deep(data)
    return validate(adapter, data, "body")


def _refuse_too_deep(data: Any) -> None:
    """What can be read must be answerable later: the writer stops at a depth that the reader would go beyond."""
    wrapped = data
    for _ in range(DEPTH_MARGIN):
        wrapped = [wrapped]
    try:
        orjson.dumps(wrapped)
    except orjson.JSONEncodeError:
        raise problem("recursion_loop", "Input is nested too deeply", None, "body") from None


def read_params(query_string: bytes, adapter: TypeAdapter[Any]) -> Any:
    """The query parameters as the adapter's type; of a repeated one the last counts. Raises Invalid (422)."""
    given = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, errors="replace")
    return validate(adapter, dict(given), "query")
