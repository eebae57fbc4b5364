"""Convert a call to an HTTP exchange, with the same code for async and sync.

``Exchange.steps`` is a generator that is independent of the transport: it yields a request to send or a pause, and
receives the response or the transport's exception. The two runners only drive it.
"""

import asyncio
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import httpx
from pydantic import ValidationError

from purple_sdk.processes.http_clients import make_http_client, make_sync_http_client
from purple_sdk.ues._call import Call, OwnValue, Route
from purple_sdk.ues._reading import json_object
from purple_sdk.ues.errors import UESConnectionError, UESError, UESTimeoutError, UnexpectedAnswerError, refusal
from purple_sdk.ues.trace import carried

Answer = TypeVar("Answer")
Observer = Callable[[Call[Any], Any, UESError | None], None]
"""A function that is called after every call that may change something. It gets the call with its complete fields, the
answer, and the error.
"""

_TRIES = 4
_FIRST_PAUSE = 0.1
_WORTH_ANOTHER_TRY = frozenset({429, 502, 503, 504})
# Shorter than the 5 s after which uvicorn closes idle connections: an action must not use a closing one.
_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=4.0)


class Pause(NamedTuple):
    """A wait before the next try."""

    seconds: float


Steps = Generator[httpx.Request | Pause, httpx.Response | None, Answer]


@dataclass
class Exchange:
    """The address of one simulation, with the data that requests to it need.

    ``own`` remembers the user's own addresses, which never change while a simulation is being used.
    """

    base_url: str
    headers: dict[str, str]
    timeout: float
    observer: Observer | None = None
    own: dict[OwnValue, Any] = field(default_factory=dict)

    def steps(self, call: Call[Answer]) -> Steps[Answer]:
        """Run a call and return its answer. Raises a subclass of UESError for any failure."""
        try:
            call = yield from self._fill_call(call)
            answer = yield from self._ask(call)
        except UESError as error:
            self._notify(call, None, error)
            raise
        if call.route.action.startswith(("scenario.", "simulation.")) and not call.route.is_safe:
            self.own.clear()
        self._notify(call, answer, None)
        return answer

    def _notify(self, call: Call[Any], answer: Any, problem: UESError | None) -> None:
        if self.observer is not None and not call.route.is_safe:
            self.observer(call, answer, problem)

    def _fill_call(self, call: Call[Answer]) -> Steps[Call[Answer]]:
        missing = {name: own for name, own in call.route.own.items() if name not in call.fields}
        if not missing:
            return call
        fields = dict(call.fields)
        for name, own in missing.items():
            if own not in self.own:
                state = yield from self._ask(Call(Route("GET", own.path, json_object, is_safe=True), {}))
                if own.key not in state:
                    raise UnexpectedAnswerError(f"GET {own.path} has no {own.key}: give {name} yourself")
                self.own[own] = state[own.key]
            fields[name] = self.own[own]
        return Call(call.route, fields)

    def _ask(self, call: Call[Answer]) -> Steps[Answer]:
        title = f"{call.route.method} {call.target}"
        response = yield from self._send(call, title)
        if not response.is_success:
            raise refusal(title, response.status_code, response.content)
        try:
            return call.route.read(response.content)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(step) for step in first["loc"]) or "the body"
            raise UnexpectedAnswerError(f"{title}: {where} in the answer: {first['msg']}") from None
        except ValueError as error:
            raise UnexpectedAnswerError(f"{title}: the answer can't be read: {error}") from None

    def _send(self, call: Call[Any], title: str) -> Steps[httpx.Response]:
        try:
            request = self._request(call)
        except ValueError as error:
            raise UESError(f"{title}: the fields can't be written as JSON: {error}") from None
        tries = _TRIES if call.route.is_safe else 1
        for number in range(1, tries + 1):
            is_last = number == tries
            try:
                response = yield request
            except httpx.TimeoutException:
                if is_last:
                    raise UESTimeoutError(f"{title}: no answer within {self.timeout:g} s") from None
            except httpx.RequestError as error:
                if is_last:
                    reason = str(error) or type(error).__name__
                    raise UESConnectionError(f"{title}: can't talk to {self.base_url}: {reason}") from None
            else:
                assert response is not None
                if is_last or response.status_code not in _WORTH_ANOTHER_TRY:
                    return response
            # Half of the pause is random, to spread the retries of many agents.
            yield Pause(_FIRST_PAUSE * 3 ** (number - 1) * random.uniform(0.5, 1.5))
        raise AssertionError("the last try returns or raises")

    def _request(self, call: Call[Any]) -> httpx.Request:
        content = call.content
        headers = {**self.headers, **carried()}
        return httpx.Request(
            call.route.method,
            self.base_url + call.target,
            params=call.query or None,
            content=content,
            headers=headers if content is None else {**headers, "Content-Type": "application/json"},
            extensions={"timeout": httpx.Timeout(self.timeout).as_dict()},
        )


class AsyncRunner:
    """Runs calls on an ``httpx.AsyncClient``: its own client, or a shared client that outlives it."""

    def __init__(self, exchange: Exchange, http: httpx.AsyncClient | None) -> None:
        self.exchange = exchange
        self.http = http or make_http_client(limits=_LIMITS)
        self._owns_http = http is None

    async def run(self, call: Call[Answer]) -> Answer:
        """Send the exchange's requests until it has the answer."""
        steps = self.exchange.steps(call)
        try:
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    step = steps.send(None)
                    continue
                try:
                    response = await self.http.send(step)
                except httpx.RequestError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as error:
            answer: Answer = error.value
            return answer

    async def close(self) -> None:
        """Close the connections, unless the caller owns them."""
        if self._owns_http:
            await self.http.aclose()


class SyncRunner:
    """Runs calls on an ``httpx.Client``: its own client, or a shared client that outlives it."""

    def __init__(self, exchange: Exchange, http: httpx.Client | None) -> None:
        self.exchange = exchange
        self.http = http or make_sync_http_client(limits=_LIMITS)
        self._owns_http = http is None

    def run(self, call: Call[Answer]) -> Answer:
        """Send the exchange's requests until it has the answer."""
        steps = self.exchange.steps(call)
        try:
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = steps.send(None)
                    continue
                try:
                    response = self.http.send(step)
                except httpx.RequestError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as error:
            answer: Answer = error.value
            return answer

    def close(self) -> None:
        """Close the connections, unless the caller owns them."""
        if self._owns_http:
            self.http.close()
