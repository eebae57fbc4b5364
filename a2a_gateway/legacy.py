"""Protocol 0.3: corrections of a2a-sdk's behaviour, which is right only for 1.0.

* HTTP+JSON streams: it answers with status 200 before it has read the request, and drops the connection on an error.
* HTTP+JSON messages without a known role: it treats them as the agent's own.
* HTTP+JSON: it has no way to delete a push notification configuration.
* JSON-RPC parameters that don't fit: it answers ``-32600`` (invalid request) instead of ``-32602`` (invalid params).
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Literal

from a2a.auth.user import User
from a2a.compat.v0_3.a2a_v0_3_pb2 import SendMessageRequest as SendMessageRequest03
from a2a.compat.v0_3.jsonrpc_adapter import JSONRPC03Adapter
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.types import DeleteTaskPushNotificationConfigRequest
from a2a.utils import json_utils
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import A2AError, InvalidParamsError
from google.protobuf.json_format import Parse, ParseError
from pydantic import ValidationError
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from proctor.a2a_gateway.answers import REFUSED
from proctor.a2a_gateway.auth.middleware import get_user
from proctor.a2a_gateway.parts import check_role
from proctor.a2a_gateway.request_checks import WITHOUT_HISTORY
from purple_sdk.protocol.problems import describe

Endpoint = Callable[[Request], Awaitable[Response]]

SEQUELS = "a2a_gateway.sequels"
"""The key of a list in the scope and in the context's state, if the route sends the rest of a stream (``streams``)."""

LEGACY_CARD_PATH = "/.well-known/agent.json"
"""The path of the agent card for callers of early 0.3 versions."""


class ContextBuilder(DefaultServerCallContextBuilder):
    """Adds the caller, the path (which shows the protocol) and history options to a call's context."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        context.state["path"] = request.url.path
        context.state[WITHOUT_HISTORY] = request.scope.get(WITHOUT_HISTORY, False)
        context.state[REFUSED] = request.scope.get(REFUSED, [])
        context.state[SEQUELS] = request.scope.get(SEQUELS)
        return context

    def build_user(self, request: Request) -> User:
        return get_user(request.scope)


def detect_protocol(context: ServerCallContext) -> Literal["1.0", "0.3"]:
    """Return the caller's protocol: methods of 0.3 are ``message/send`` and so on, and its paths begin with ``/v1``."""
    state = context.state
    is_legacy = "/" in state.get("method", "") or state.get("path", "").startswith("/v1/")
    return "0.3" if is_legacy else "1.0"


def with_checked_params(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Convert the routes of ``create_jsonrpc_routes`` to refuse parameters that don't fit a method of 0.3."""
    return [replaced(route, _checking_params(route.endpoint)) for route in routes if isinstance(route, Route)]


def mended(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Correct the routes of ``create_rest_routes`` for 0.3: messages without a known role are refused, and streams
    report errors.
    """
    return [_mended(route) if isinstance(route, Route) else route for route in routes]


def _mended(route: Route) -> Route:
    if route.path.startswith("/v1/") and route.path.endswith((":stream", ":subscribe")):
        route = replaced(route, _looking_ahead(route.endpoint))
    if route.path.startswith("/v1/message:"):
        route = replaced(route, _checking_role(route.endpoint))
    return route


def deletion_route(handler: RequestHandler, contexts: ContextBuilder) -> Route:
    async def delete(request: Request) -> Response:
        ids = request.path_params
        params = DeleteTaskPushNotificationConfigRequest(task_id=ids["id"], id=ids["push_id"])
        try:
            await handler.on_delete_task_push_notification_config(params, contexts.build(request))
        except A2AError as error:
            payload = build_rest_error_payload(error)
            return JSONResponse(payload, status_code=payload["error"]["code"])
        return JSONResponse({})

    return Route("/v1/tasks/{id}/pushNotificationConfigs/{push_id}", delete, methods=["DELETE"])


def replaced(route: Route, endpoint: Endpoint) -> Route:
    """Return a route with the same path and methods, and another endpoint."""
    methods = sorted((route.methods or set()) - {"HEAD"})
    return Route(route.path, endpoint, methods=methods)


def _checking_params(endpoint: Endpoint) -> Endpoint:
    async def answer(request: Request) -> Response:
        problem, call_id = _problem_of_call(await request.body())
        if problem is None:
            return await endpoint(request)
        return JSONResponse(build_error_response(call_id, problem))

    return answer


def _problem_of_call(body: bytes) -> tuple[InvalidParamsError | None, str | int | None]:
    """Return the error in the parameters of a 0.3 call, and the call's id; a2a-sdk reports all other errors."""
    try:
        call = json.loads(body)
        model = JSONRPC03Adapter.METHOD_TO_MODEL[call["method"]]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None, None
    if not isinstance(call.get("id"), str | int | None) or isinstance(call.get("id"), bool):
        return None, None
    try:
        model.model_validate(call)
    except ValidationError as problem:
        if all(error["loc"][:1] == ("params",) for error in problem.errors()):
            return InvalidParamsError(f"{describe(problem)}."), call.get("id")
    return None, None


def _checking_role(endpoint: Endpoint) -> Endpoint:
    async def answer(request: Request) -> Response:
        try:
            sent = Parse(await request.body(), SendMessageRequest03(), ignore_unknown_fields=True)
            if sent.HasField("request"):
                check_role(sent.request.role)
        except InvalidParamsError as error:
            return JSONResponse(build_rest_error_payload(error), status_code=400)
        except (ParseError, UnicodeDecodeError):
            pass  # a2a-sdk reports it
        return await endpoint(request)

    return answer


def _looking_ahead(endpoint: Endpoint) -> Endpoint:
    async def answer(request: Request) -> Response:
        response = await endpoint(request)
        if not isinstance(response, EventSourceResponse):
            return response
        stream = aiter(response.body_iterator)
        try:
            first = await anext(stream)
        except Exception as error:  # on any error, the caller gets an answer
            payload = build_rest_error_payload(error)
            return JSONResponse(payload, status_code=payload["error"]["code"])
        response.body_iterator = _chain(first, stream)
        return response

    return answer


async def _chain(first: Any, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    yield first
    try:
        async for item in stream:
            yield item
    except Exception as error:  # too late for a status code: an event reports it
        yield ServerSentEvent(data=json_utils.dumps(build_rest_error_payload(error)), event="error")
