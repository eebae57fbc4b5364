"""The only way from a CLI agent to its model and to the simulation, in one try of one turn.

A small HTTP server on the loopback address: ``/mcp`` has the simulation's tools, every other path is the model's. The
CLI agent has one key for both, valid until the relay is closed; the real keys never reach its process, files or log.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from proctor_processes.http_clients import make_http_client
from proctor_processes.serving import InnerServer, address_of, listen
from purple_sdk.harness.budget import Budget, Excess
from purple_sdk.harness.counting import ModelAnswer, parsed_json, read_answer, values_in, wire_of
from purple_sdk.harness.tools import Tools
from purple_sdk.harness.upstream import Upstream

_LOOPBACK = "127.0.0.1"
_DRAIN_SECONDS = 5.0
_MODEL_SECONDS = 600.0
_DROPPED = {
    *("host", "content-length", "accept-encoding", "connection", "transfer-encoding", "expect", "keep-alive"),
    *("authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"),
}
_KEPT = ("content-type", "retry-after", "request-id", "x-request-id", "mcp-session-id", "mcp-protocol-version")
_USUAL_NAME = "proctor/tool"
"""As the simulator has it (``ues_sim.http.mcp.USUAL_NAME``)."""

_METHODS = ["GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"]


@dataclass(frozen=True)
class UsedTool:
    """A call of a tool of the simulation, and its result.

    ``usual`` is the tool's name without noise, by which actions are reported: a simulation with noise shows some tools
    under other names.
    """

    name: str
    usual: str
    arguments: Mapping[str, Any]
    result: str
    is_error: bool
    at: datetime


@dataclass(frozen=True)
class AskedModel:
    """A request for an answer of the model. ``status`` is the HTTP status; ``answer`` is None where it was an error."""

    status: int
    answer: ModelAnswer | None
    at: datetime


@dataclass
class Record:
    """What passed through a relay, in order.

    Attributes:
        events: answers of the model and calls of tools.
        has_listed_tools: whether the CLI agent asked which tools the simulation has.
        has_offered_tools: whether it offered tools to its model.
    """

    events: list[UsedTool | AskedModel] = field(default_factory=list)
    has_listed_tools: bool = False
    has_offered_tools: bool = False

    @property
    def answers(self) -> list[ModelAnswer]:
        """All answers of the model."""
        return [event.answer for event in self.events if isinstance(event, AskedModel) and event.answer is not None]

    @property
    def used_tools(self) -> list[UsedTool]:
        """All calls of tools."""
        return [event for event in self.events if isinstance(event, UsedTool)]


class Relay:
    """Use as an async context manager.

    Args:
        budget: further requests to the model are refused once it is used up.
    """

    def __init__(self, upstream: Upstream, tools: Tools, budget: Budget) -> None:
        self.token = f"turn-{secrets.token_urlsafe(24)}"
        self.record = Record()
        self.excess: Excess | None = None
        self._upstream = upstream
        self.tools = tools
        self._budget = budget
        budget.begin_try()
        self._listener = listen(_LOOPBACK, 0, "the relay")
        self.address = address_of(self._listener)
        self._acting = 0
        self._open: dict[int, Callable[[], None]] = {}
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._is_closed = False

    async def __aenter__(self) -> Self:
        self._http = make_http_client(timeout=httpx.Timeout(_MODEL_SECONDS, connect=10.0))
        routes = [Route("/{path:path}", self._answer, methods=_METHODS)]
        config = uvicorn.Config(
            Starlette(routes=routes), log_config=None, access_log=False, lifespan="off", ws="none",
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = InnerServer(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Refuse what comes from now on, and wait for calls of tools that are under way: they are done when it ends."""
        self._is_closed = True
        await asyncio.shield(self._close())

    async def _close(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_idle.wait(), _DRAIN_SECONDS)
        self._server.should_exit = True
        self._server.force_exit = True
        await asyncio.wait({self._serving}, timeout=2.0)
        self._serving.cancel()
        self._listener.close()
        await self._http.aclose()
        for note in list(self._open.values()):
            note()
        self._budget.check(self.record.answers)

    async def _answer(self, request: Request) -> Response:
        if request.headers.get("upgrade"):
            return _problem(426, "no WebSocket here: use HTTP")
        if request.method == "HEAD":
            return Response()
        if not self._is_known(request):
            return _problem(401, "this key is not valid: the turn that it was made for has ended")
        body = await request.body()
        if request.url.path.rstrip("/") == "/mcp":
            return await self._act(request, body)
        return await self._ask(request, body)

    def _is_known(self, request: Request) -> bool:
        headers = request.headers
        keys = [headers.get(name, "") for name in ("x-api-key", "x-goog-api-key", "api-key")]
        keys += [headers.get("authorization", "").removeprefix("Bearer "), request.query_params.get("key", "")]
        return not self._is_closed and any(secrets.compare_digest(key.encode(), self.token.encode()) for key in keys)

    async def _act(self, request: Request, body: bytes) -> Response:
        with self._under_way():
            try:
                reply = await self.tools.answer(self._http, request.method, _passed(request.headers), body)
            except httpx.HTTPError as problem:
                return _problem(502, f"the {self.tools.owner} can't be reached: {type(problem).__name__}")
            self._note_call(parsed_json(body), reply)
        return Response(reply.content, reply.status_code, headers=_returned(reply.headers))

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
        call = message.get("params") or {}
        answer = next(reversed(list(values_in(reply.content))), {})
        result = answer.get("result") or {}
        texts = [part.get("text") or "" for part in result.get("content") or [] if isinstance(part, dict)]
        used = UsedTool(
            name=str(call.get("name")),
            usual=str((result.get("_meta") or {}).get(_USUAL_NAME) or call.get("name")),
            arguments=call.get("arguments") or {},
            result="\n".join(texts) or json.dumps(answer.get("error") or {}),
            is_error=not reply.is_success or bool(result.get("isError")) or "error" in answer,
            at=datetime.now(UTC),
        )
        self.record.events.append(used)

    async def _ask(self, request: Request, body: bytes) -> Response:
        path = request.url.path
        wire, question = wire_of(path), parsed_json(body)
        if wire is not None and (excess := self._budget.check(self.record.answers)) is not None:
            self.excess = excess
            return _problem(400, f"no more requests to the model: the agent {excess.problem}")
        if wire == "chat" and isinstance(question, dict) and question.get("stream"):
            question.setdefault("stream_options", {})["include_usage"] = True
            body = json.dumps(question).encode()
        headers = {**_passed(request.headers), **self._upstream.headers, "accept-encoding": "identity"}
        query = {name: value for name, value in request.query_params.items() if name != "key"}
        asked = self._http.build_request(
            request.method, self._upstream.url(path), params=query, content=body, headers=headers
        )
        try:
            reply = await self._http.send(asked, stream=True)
        except httpx.HTTPError as problem:
            return _problem(502, f"the model's endpoint can't be reached: {type(problem).__name__} {problem}")
        known = question if isinstance(question, dict) else {}
        self.record.has_offered_tools |= bool(known.get("tools"))
        pieces: list[bytes] = []

        def read() -> ModelAnswer | None:
            return read_answer(wire, known, path, b"".join(pieces)) if wire and reply.is_success else None

        note = (lambda: None) if wire is None else self._noting(reply.status_code, read)
        return StreamingResponse(_pass_on(reply, pieces, note), reply.status_code, headers=_returned(reply.headers))

    def _noting(self, status: int, read: Callable[[], ModelAnswer | None]) -> Callable[[], None]:
        """Keep a place among the events for an answer; what is returned fills it, as does the relay's end.

        A CLI agent may hang up as soon as it has the whole answer, before the stream has ended.
        """
        place, at = len(self.record.events), datetime.now(UTC)
        self.record.events.append(AskedModel(status, None, at))

        def note() -> None:
            self.record.events[place] = AskedModel(status, read(), at)
            self._open.pop(place, None)

        self._open[place] = note
        return note


async def _pass_on(reply: httpx.Response, pieces: list[bytes], note: Callable[[], None]) -> AsyncIterator[bytes]:
    """The body of a reply, piece by piece; ``pieces`` gets them, too, and ``note`` is called at the end."""
    try:
        async for piece in reply.aiter_bytes():
            pieces.append(piece)
            yield piece
    finally:
        note()
        await asyncio.shield(reply.aclose())


def _problem(status: int, sentence: str) -> JSONResponse:
    kind = "invalid_request_error" if status < 500 else "api_error"
    error = {"type": kind, "message": sentence, "code": status, "status": kind.upper()}
    return JSONResponse({"type": "error", "error": error}, status)


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _DROPPED}


def _returned(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in _KEPT if name in headers}
