"""Protocol 0.3 over HTTP+JSON: errors of streams as answers.

a2a-sdk answers a 0.3 stream with status 200 before it has looked at the request, and breaks the connection off at an
error; for protocol 1.0 and for JSON-RPC it does better. This makes up for it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from a2a.utils import json_utils
from a2a.utils.error_handlers import build_rest_error_payload
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

Endpoint = Callable[[Request], Awaitable[Response]]


def with_stream_errors(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """The routes of ``create_rest_routes`` with those of 0.3 streams mended."""
    return [_mended(route) if isinstance(route, Route) and _is_stream(route.path) else route for route in routes]


def _is_stream(path: str) -> bool:
    return path.startswith("/v1/") and path.endswith((":stream", ":subscribe"))


def _mended(route: Route) -> Route:
    methods = sorted((route.methods or set()) - {"HEAD"})
    return Route(route.path, _looking_ahead(route.endpoint), methods=methods)


def _looking_ahead(endpoint: Endpoint) -> Endpoint:
    async def answer(request: Request) -> Response:
        response = await endpoint(request)
        if not isinstance(response, EventSourceResponse):
            return response
        stream = aiter(response.body_iterator)
        try:
            first = await anext(stream)
        except Exception as problem:  # whatever it is, the caller gets an answer
            payload = build_rest_error_payload(problem)
            return JSONResponse(payload, status_code=payload["error"]["code"])
        response.body_iterator = _continued(first, stream)
        return response

    return answer


async def _continued(first: Any, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    yield first
    try:
        async for item in stream:
            yield item
    except Exception as problem:  # too late for a status code: an event says it
        yield ServerSentEvent(data=json_utils.dumps(build_rest_error_payload(problem)), event="error")
