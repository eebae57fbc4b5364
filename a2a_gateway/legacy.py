"""Protocol 0.3: what a2a-sdk does for 1.0 and leaves out for 0.3.

* HTTP+JSON streams: it answers with status 200 before it has looked at the request, and breaks the connection off at an
  error.
* HTTP+JSON messages without a known role: it reads them as the agent's own.
* HTTP+JSON: it has no way to delete a push notification configuration.
* JSON-RPC parameters that don't fit: it says ``-32600`` (invalid request) instead of ``-32602`` (invalid params).
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
from proctor.a2a_gateway.auth.middleware import user_of
from proctor.a2a_gateway.parts import check_role
from proctor.a2a_gateway.request_checks import WITHOUT_HISTORY
from purple_sdk.protocol.problems import describe

Endpoint = Callable[[Request], Awaitable[Response]]

SEQUELS = "a2a_gateway.sequels"
"""In the scope, and the context's state, of a request whose route sends the rest of a stream (``streams``)."""

LEGACY_CARD_PATH = "/.well-known/agent.json"
"""Where callers of early 0.3 versions look for the agent card."""


class ContextBuilder(DefaultServerCallContextBuilder):
    """Notes in a call's context its caller, its endpoint (which shows its protocol), and its wish for no history."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        context.state["path"] = request.url.path
        context.state[WITHOUT_HISTORY] = request.scope.get(WITHOUT_HISTORY, False)
        context.state[REFUSED] = request.scope.get(REFUSED, [])
        context.state[SEQUELS] = request.scope.get(SEQUELS)
        return context

    def build_user(self, request: Request) -> User:
        return user_of(request.scope)


def protocol_of(context: ServerCallContext) -> Literal["1.0", "0.3"]:
    """The version that a caller speaks: methods of 0.3 are ``message/send`` and so on, its paths begin with ``/v1``."""
    state = context.state
    is_legacy = "/" in state.get("method", "") or state.get("path", "").startswith("/v1/")
    return "0.3" if is_legacy else "1.0"


def with_checked_params(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """The routes of ``create_jsonrpc_routes``, refusing parameters that don't fit a method of 0.3."""
    return [replaced(route, _checking_params(route.endpoint)) for route in routes if isinstance(route, Route)]


def mended(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """The routes of ``create_rest_routes``: those of 0.3 refuse messages without a known role, and their streams say
    what is wrong.
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
        except A2AError as problem:
            payload = build_rest_error_payload(problem)
            return JSONResponse(payload, status_code=payload["error"]["code"])
        return JSONResponse({})

    return Route("/v1/tasks/{id}/pushNotificationConfigs/{push_id}", delete, methods=["DELETE"])


def replaced(route: Route, endpoint: Endpoint) -> Route:
    """A route with the same path and methods, and another endpoint."""
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
    """What is wrong with the parameters of a 0.3 call, and the call's id; a2a-sdk reports other errors."""
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
        except InvalidParamsError as problem:
            return JSONResponse(build_rest_error_payload(problem), status_code=400)
        except (ParseError, UnicodeDecodeError):
            pass  # a2a-sdk tells
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
        except Exception as problem:  # whatever it is, the caller gets an answer
            payload = build_rest_error_payload(problem)
            return JSONResponse(payload, status_code=payload["error"]["code"])
        response.body_iterator = _chain(first, stream)
        return response

    return answer


async def _chain(first: Any, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    yield first
    try:
        async for item in stream:
            yield item
    except Exception as problem:  # too late for a status code: an event says it
        yield ServerSentEvent(data=json_utils.dumps(build_rest_error_payload(problem)), event="error")
