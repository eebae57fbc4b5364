"""Streams whose events are written once for all who listen (``shared_events``).

a2a-sdk writes the JSON of every event for every listener. So it is given a stream's first event only, which differs
between listeners. The route sends the others after it, and adds nothing but the id of the listener's JSON-RPC call.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.utils import json_utils
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from proctor.a2a_gateway.legacy import SEQUELS, Endpoint, protocol_of, replaced
from proctor.a2a_gateway.output_modes import OutputModes
from proctor.a2a_gateway.shared_events import Form, SharedEvent


class _Sequel:
    """The rest of a stream as server-sent events, and what ended it before its time."""

    def __init__(self, events: AsyncGenerator[SharedEvent], modes: OutputModes, context: ServerCallContext) -> None:
        self.problem: Exception | None = None
        self._events = events
        self._modes = modes
        is_rpc = "method" in context.state
        self._form: Form = "1.0"
        if protocol_of(context) == "0.3":
            self._form = "0.3 JSON-RPC" if is_rpc else "0.3 HTTP+JSON"
        call_id = json_utils.dumps(context.state.get("request_id"))
        before, after = (f'{{"jsonrpc": "2.0", "id": {call_id}, "result": ', "}") if is_rpc else ("", "")
        self._before, self._after = f"data: {before}".encode(), f"{after}\r\n\r\n".encode()

    async def read(self) -> AsyncGenerator[bytes]:
        try:
            async with aclosing(self._events) as events:
                async for event in events:
                    yield self._before + event.written(self._form, self._modes) + self._after
        except Exception as error:  # a2a-sdk reports it in the words of the protocol
            self.problem = error


async def stream(
    first: Event, rest: AsyncGenerator[SharedEvent], context: ServerCallContext, modes: OutputModes
) -> AsyncGenerator[Event]:
    """The events of a stream for a2a-sdk: the first one, if the call's route sends the rest; else all of them."""
    sequels = context.state.get(SEQUELS)
    if sequels is None:
        yield first
        async with aclosing(rest) as events:
            async for event in events:
                yield event.tailored(modes)
        return
    sequel = _Sequel(rest, modes, context)
    sequels.append(sequel)
    yield first
    if sequel.problem is not None:
        raise sequel.problem


def sharing(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Routes of a2a-sdk; their streams are those of ``stream``."""
    return [_sharing(route) for route in routes]


def _sharing(route: BaseRoute) -> BaseRoute:
    if isinstance(route, Mount):
        return Mount(route.path, routes=sharing(route.routes))
    assert isinstance(route, Route)
    return replaced(route, _sending_sequels(route.endpoint))


def _sending_sequels(endpoint: Endpoint) -> Endpoint:
    async def answer(request: Request) -> Response:
        sequels: list[_Sequel] = []
        request.scope[SEQUELS] = sequels
        response = await endpoint(request)
        if isinstance(response, EventSourceResponse):
            response.body_iterator = _with_sequels(response.body_iterator, sequels)
        return response

    return answer


async def _with_sequels(events: Any, sequels: list[_Sequel]) -> AsyncIterator[Any]:
    async for event in events:
        yield event
        while sequels:
            async with aclosing(sequels.pop().read()) as sequel:
                async for written in sequel:
                    yield written
