"""Middleware between the agent and the simulator: records every request of the agent, and can delay requests."""

import asyncio
import re
from collections.abc import Set
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PLACE = re.compile(r"/simulations/([^/]+)(/.*)?")
_PAUSE = 0.02
_UNAUTHORIZED, _FORBIDDEN = 401, 403


@dataclass
class SeenRequest:
    """One request of the agent; ``status`` is 0 until it is answered."""

    simulation_id: str
    method: str
    path: str
    status: int = 0

    @property
    def is_refused(self) -> bool:
        return self.status in (_UNAUTHORIZED, _FORBIDDEN)

    @property
    def is_by_no_key(self) -> bool:
        """Whether the request's key is invalid (or no longer valid) for the simulation."""
        return self.status == _UNAUTHORIZED


class Watch:
    """Middleware around the simulator's application. It runs on the simulator's thread; other threads read ``seen``.

    Attributes:
        own_keys: the evaluator's keys; requests with other keys are the agent's.
        seen: the agent's requests, in order.
        held_simulation: the id of the simulation in which requests wait, if any.
        waiting: how many requests have been delayed so far.
    """

    def __init__(self) -> None:
        self.own_keys: Set[str] = frozenset()
        self.seen: list[SeenRequest] = []
        self.held_simulation: str | None = None
        self.waiting = 0
        self._app: ASGIApp | None = None

    def wrap(self, app: ASGIApp) -> ASGIApp:
        self._app = app
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. If requests are held, wait first; if the client leaves while waiting, don't answer."""
        assert self._app is not None
        place = _PLACE.match(scope.get("path", "")) if scope["type"] == "http" else None
        if place is None or _key(scope) in self.own_keys:
            await self._app(scope, receive, send)
            return
        request = SeenRequest(place[1], scope["method"], place[2] or "/")
        self.seen.append(request)

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                request.status = message["status"]
            await send(message)

        if self.held_simulation != place[1]:
            await self._app(scope, receive, note)
            return
        body = [await receive()]
        while body[-1].get("more_body"):
            body.append(await receive())
        leaving = asyncio.ensure_future(receive())
        self.waiting += 1
        while self.held_simulation == place[1] and not leaving.done():  # noqa: ASYNC110 - held by another thread
            await asyncio.sleep(_PAUSE)

        async def again() -> Message:
            return body.pop(0) if body else await leaving

        if not leaving.done():
            await self._app(scope, again, note)
        leaving.cancel()


def _key(scope: Scope) -> str:
    headers = dict(scope["headers"])
    bearer: bytes = headers.get(b"authorization", b"")
    key: bytes = headers.get(b"x-api-key") or bearer.removeprefix(b"Bearer ")
    return key.decode("latin-1")
