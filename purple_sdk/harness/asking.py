"""Pass a CLI agent's requests on to its model, and count the answers against the budget."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from purple_sdk.harness.allowed import (
    ROUTES,
    Route,
    allowed_headers,
    allowed_query,
    find_refused,
    find_route,
    keep_known,
)
from purple_sdk.harness.budget import Budget, Excess
from purple_sdk.harness.counting import Question, parsed_json, read_answer, read_question
from purple_sdk.harness.fetching import Fetching
from purple_sdk.harness.record import AskedModel, Record
from purple_sdk.harness.refusing import RefusedError, check_length, read_body
from purple_sdk.harness.upstream import Upstream

CLOSED = "this key is not valid: the turn that it was made for has ended"
RETURNED = ("content-type", "retry-after", "request-id", "x-request-id", "mcp-session-id", "mcp-protocol-version")
"""Headers of answers that are passed on to the CLI agent."""

_AT_ONCE = 8
"""The most requests that run at once. Other requests wait before their bodies are read, which limits the total size of
bodies.
"""

_log = logging.getLogger(__name__)

_LONGEST_PATH = 200
_LONGEST_FIELD = 50
_MOST_TOLD = 100

_told: set[str] = set()
_LOST = 504


class Asking:
    """The requests to the model in one try.

    Attributes:
        excess: the limit because of which a request was refused.
    """

    def __init__(self, upstream: Upstream, budget: Budget, record: Record) -> None:
        self.excess: Excess | None = None
        self._upstream = upstream
        self._budget = budget
        self._record = record
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._under_way: set[Fetching] = set()
        self._is_closed = False

    @property
    def unanswered_seconds(self) -> float:
        """Return the waiting time of the oldest unanswered request; 0 if there is none."""
        now = asyncio.get_running_loop().time()
        return max((now - fetching.began for fetching in self._under_way if fetching.reply is None), default=0.0)

    async def answer(self, http: httpx.AsyncClient, request: Request) -> Response:
        """Answer a request. Raises RefusedError, starlette's ClientDisconnect."""
        path = request.scope["raw_path"].decode("latin-1")
        route = find_route(self._upstream.wire, request.method, path)
        if route is None:
            raise RefusedError(404, self._unknown(f"{request.method} {path[:_LONGEST_PATH]}"))
        await self._places.acquire()
        try:
            content, question = await self._admit(request, route, path)
            asked = http.build_request(
                request.method,
                self._upstream.url(path),
                params=allowed_query(request.query_params),
                content=content,
                headers={**allowed_headers(request.headers), **self._own_headers()},
            )
        except BaseException:
            self._places.release()
            raise
        fetching = self._begin(http, asked, question)
        reply = await fetching.wait_for_head()
        if reply is None:
            self._let_go(fetching)
            raise RefusedError(
                502, f"the model's endpoint can't be reached: {fetching.problem or 'the turn has ended'}"
            )
        headers = allowed_headers(reply.headers, RETURNED)
        return _Passing(fetching, lambda: self._let_go(fetching), reply.status_code, headers)

    async def aclose(self, seconds: float) -> None:
        """Refuse further requests, and count the running ones. Of an answer that doesn't end in time, the part that has
        arrived counts.
        """
        self._is_closed = True
        self._budget.has_ended_one.set()
        for fetching in list(self._under_way):
            fetching.end_if_whole()
        tasks = [fetching.task for fetching in self._under_way]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _unknown(self, what: str) -> str:
        known = ", ".join(f"{route.method} {route.path.pattern}" for route in ROUTES[self._upstream.wire])
        return f"the relay does not pass on {what}: it knows {known}, in exactly these spellings"

    def _own_headers(self) -> dict[str, str]:
        return {"content-type": "application/json", "accept-encoding": "identity", **self._upstream.headers}

    async def _admit(self, request: Request, route: Route, path: str) -> tuple[bytes, Question | None]:
        """Return the body to send, and the question in it. The relay writes the body again, so the endpoint reads it as
        the relay did.
        """
        if self._is_closed:
            raise RefusedError(401, CLOSED)
        if route.method == "GET":
            return b"", None
        fields = parsed_json(await read_body(request))
        if not isinstance(fields, dict):
            raise RefusedError(400, "the body is not a JSON object, or has more than 1,000,000 values")
        if (refused := find_refused(route.wire or self._upstream.wire, fields)) is not None:
            raise RefusedError(400, f"the request has {refused}: its cost can't be counted, so leave it out")
        fields, left_out = keep_known(route, fields)
        _tell(left_out)
        if route.wire == "chat" and fields.get("stream"):
            fields["stream_options"] = {"include_usage": True}
        content = _write_json(fields)
        if route.wire is None:
            return content, None
        question = read_question(route.wire, fields, path, len(content), is_kept_to=self._upstream.keeps_limits)
        if self._budget.lacks_price(question.model):
            raise RefusedError(400, f'the price of the model "{question.model}" is not known, and cost is limited')
        self._record.has_offered_tools |= bool(fields.get("tools"))
        await self._wait_for_room(question, request)
        return content, question

    async def _wait_for_room(self, question: Question, request: Request) -> None:
        """Wait until the budget has room for the request beside the running ones. The caller must send it without
        awaiting anything else.
        """
        while True:
            if await request.is_disconnected():
                raise RefusedError(400, "the connection was closed")
            if self._is_closed:
                raise RefusedError(401, CLOSED)
            if (excess := self._budget.check()) is not None:
                self.excess = excess
                raise RefusedError(400, f"no more requests to the model: the agent {excess.problem}")
            if self._budget.can_afford(question):
                return
            self._budget.has_ended_one.clear()
            await self._budget.has_ended_one.wait()

    def _let_go(self, fetching: Fetching) -> None:
        """Free a request's place when its answer is both read and passed on. Until then, its bytes stay in memory."""
        fetching.holders -= 1
        if not fetching.holders:
            self._places.release()

    def _begin(self, http: httpx.AsyncClient, asked: httpx.Request, question: Question | None) -> Fetching:
        """Send a request. When it has ended, count its answer, and store it at its place among the events."""
        place, at = len(self._record.events), datetime.now(UTC)

        def is_whole(body: bytes) -> bool:
            return question is None or read_answer(question, body, has_ended=False).is_whole

        def note(_: object) -> None:
            self._under_way.remove(fetching)
            self._let_go(fetching)
            if question is None:
                return
            answer = None
            try:
                self._record.events[place] = noted = _make_note(fetching, question, at)
                answer = noted.answer
            finally:
                self._budget.settle(question, answer)

        if question is not None:
            self._budget.reserve(question)
            self._record.events.append(AskedModel(_LOST, None, at))
        fetching = Fetching(http, asked, is_whole)
        self._under_way.add(fetching)
        fetching.task.add_done_callback(note)
        return fetching


class _Passing(StreamingResponse):
    """A response that passes on an answer. ``ended`` is called at the end, even if the CLI agent has hung up."""

    def __init__(self, fetching: Fetching, ended: Callable[[], None], status: int, headers: Mapping[str, str]) -> None:
        super().__init__(fetching.pieces(), status, headers)
        self._fetching, self._ended = fetching, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except httpx.HTTPError as error:  # the response is incomplete, so the server cuts the connection
            _log.warning("an answer of the model was cut off: %s", error)
        finally:
            self._fetching.end_if_whole()
            self._ended()


def _make_note(fetching: Fetching, question: Question, at: datetime) -> AskedModel:
    status = _LOST if fetching.reply is None else fetching.reply.status_code
    is_error = fetching.reply is not None and not fetching.reply.is_success
    if is_error or not fetching.was_sent:
        return AskedModel(status, None, at)
    return AskedModel(status, read_answer(question, fetching.body, has_ended=fetching.has_ended), at)


def _tell(left_out: Iterable[str]) -> None:
    """Log the names of fields that were left out, each once in this process."""
    new = sorted({name[:_LONGEST_FIELD] for name in left_out} - _told)[: _MOST_TOLD - len(_told)]
    _told.update(new)
    if new:
        names = ", ".join(map(json.dumps, new))
        _log.warning("requests to the model are sent without fields that the relay doesn't know: %s", names)


def _write_json(fields: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(fields, allow_nan=False, ensure_ascii=False)
    except ValueError:
        raise RefusedError(400, "the body has a number that JSON doesn't know, such as NaN") from None
    content = text.encode(errors="backslashreplace")  # half of a surrogate pair stays escaped, as it came
    check_length(len(content))
    return content
