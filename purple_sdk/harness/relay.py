"""The only way from a CLI agent to its model and to the simulation, in one try of one turn.

The relay is a small HTTP server on the loopback address. ``/mcp`` has the simulation's tools, and the paths in
``allowed`` lead to the model. The CLI agent has one key for both, valid until the relay is closed; the real keys never
reach its process, files or log.
"""

import asyncio
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Self

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from purple_sdk.harness.allowed import allowed_headers
from purple_sdk.harness.asking import CLOSED, RETURNED, Asking
from purple_sdk.harness.budget import Budget, Excess
from purple_sdk.harness.counting import parsed_json, read_arguments, read_values
from purple_sdk.harness.record import Record, UsedTool
from purple_sdk.harness.refusing import RefusedError, read_body
from purple_sdk.harness.tools import Tools
from purple_sdk.harness.upstream import Upstream
from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.processes.serving import InnerServer, get_address, listen

_LOOPBACK = "127.0.0.1"
_DRAIN_SECONDS = 5.0
_MODEL_SECONDS = 600.0
_MCP_HEADERS = ("accept", "content-type", "last-event-id", "mcp-protocol-version", "mcp-session-id", "user-agent")
_MCP_PATHS = (b"/mcp", b"/mcp/")
_CALLS_AT_ONCE = 16
_CONNECTIONS = 128
"""The most connections; further ones get HTTP 503."""

_USUAL_NAME = "proctor/tool"
"""The key of a tool's usual name, as in the simulator (``proctor.ues.http.mcp.USUAL_NAME``)."""

_METHODS = ["GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"]


class Relay:
    """The relay of one try; use it as an async context manager.

    Args:
        budget: when it is used up, further requests to the model are refused.
    """

    def __init__(self, upstream: Upstream, tools: Tools, budget: Budget) -> None:
        self.token = f"turn-{secrets.token_urlsafe(24)}"
        self.record = Record()
        self.tools = tools
        self._asking = Asking(upstream, budget, self.record)
        budget.begin_try()
        self._listener = listen(_LOOPBACK, 0, "the relay")
        self.address = get_address(self._listener)
        self._acting = 0
        self._places = asyncio.Semaphore(_CALLS_AT_ONCE)
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._is_closed = False

    @property
    def excess(self) -> Excess | None:
        """The limit that caused the refusal of a request to the model."""
        return self._asking.excess

    @property
    def unanswered(self) -> str:
        """Return a sentence about a request that the model has not answered; empty if there is none."""
        seconds = self._asking.unanswered_seconds
        return f"Its model has not answered a request for {seconds:.0f} s. " if seconds else ""

    async def __aenter__(self) -> Self:
        self._http = make_http_client(timeout=httpx.Timeout(_MODEL_SECONDS, connect=10.0))
        routes = [Route("/{path:path}", self._answer, methods=_METHODS)]
        config = uvicorn.Config(
            Starlette(routes=routes), log_config=None, access_log=False, lifespan="off", ws="none",
            timeout_graceful_shutdown=1, limit_concurrency=_CONNECTIONS,
        )  # fmt: skip
        self._server = InnerServer(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Refuse further requests, and wait until running calls of tools are complete. Count the running answers of the
        model.
        """
        self._is_closed = True
        await asyncio.shield(self._close())

    async def _close(self) -> None:
        try:
            await asyncio.gather(self._end_calls(), self._asking.aclose(_DRAIN_SECONDS))
        finally:
            self._server.should_exit = True
            self._server.force_exit = True
            await asyncio.wait({self._serving}, timeout=2.0)
            self._serving.cancel()
            self._listener.close()
            await self._http.aclose()

    async def _end_calls(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_idle.wait(), _DRAIN_SECONDS)

    async def _answer(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response()
        try:
            if request.headers.get("upgrade"):
                raise RefusedError(426, "no WebSocket here: use HTTP")
            if not self._is_known(request):
                raise RefusedError(401, CLOSED)
            if request.scope["raw_path"] not in _MCP_PATHS:
                return await self._asking.answer(self._http, request)
            async with self._places:
                return await self._act(request, await read_body(request))
        except RefusedError as error:
            return error.response()
        except ClientDisconnect:
            return Response(status_code=400)

    def _is_known(self, request: Request) -> bool:
        headers = request.headers
        keys = [headers.get(name, "") for name in ("x-api-key", "x-goog-api-key", "api-key")]
        keys += [headers.get("authorization", "").removeprefix("Bearer "), request.query_params.get("key", "")]
        return not self._is_closed and any(secrets.compare_digest(key.encode(), self.token.encode()) for key in keys)

    async def _act(self, request: Request, body: bytes) -> Response:
        with self._under_way():
            try:
                reply = await self.tools.answer(
                    self._http, request.method, allowed_headers(request.headers, _MCP_HEADERS), body
                )
            except httpx.HTTPError as error:
                raise RefusedError(502, f"the {self.tools.owner} can't be reached: {type(error).__name__}") from None
            self._note_call(parsed_json(body), reply)
        return Response(reply.content, reply.status_code, headers=allowed_headers(reply.headers, RETURNED))

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        self._acting += 1
        self._is_idle.clear()
        try:
            yield
        finally:
            self._acting -= 1
            if not self._acting:
                self._is_idle.set()

    def _note_call(self, message: Any, reply: httpx.Response) -> None:
        if not isinstance(message, dict):
            return
        if message.get("method") == "tools/list":
            self.record.has_listed_tools = reply.is_success
        if message.get("method") != "tools/call":
            return
        call = message.get("params")
        call = call if isinstance(call, dict) else {}
        answer = next(reversed(list(read_values(reply.content))), {})
        result = answer.get("result") or {}
        texts = [part.get("text") or "" for part in result.get("content") or [] if isinstance(part, dict)]
        arguments = read_arguments(call.get("arguments"))
        used = UsedTool(
            name=str(call.get("name")),
            usual=str((result.get("_meta") or {}).get(_USUAL_NAME) or call.get("name")),
            arguments=arguments if isinstance(arguments, dict) else {},
            result="\n".join(texts) or json.dumps(answer.get("error") or {}),
            is_error=not reply.is_success or bool(result.get("isError")) or "error" in answer,
            at=datetime.now(UTC),
        )
        self.record.events.append(used)
