"""A webhook that writes down what it is told, and answers as a test wants it to."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.waiting import eventually


@dataclass
class Receiver:
    """What came: the bodies that were taken, the headers and the answers of all."""

    url: str
    answer: Callable[[int], int] = lambda _: 200
    taken: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)

    def sequences(self) -> list[str]:
        """What each notification that was taken is about, in protocol 1.0."""
        return [_kind(body) for body in self.taken]

    @property
    def has_heard_the_end(self) -> bool:
        return bool(self.taken) and _kind(self.taken[-1]) in ("completed", "canceled", "failed", "rejected")


def _kind(body: dict[str, Any]) -> str:
    if "task" in body:
        return "task"
    if "artifactUpdate" in body:
        return "artifact"
    status = body["statusUpdate"]["status"] if "statusUpdate" in body else body["status"]
    number = (status.get("message") or {}).get("metadata", {}).get("sequence")
    return status["state"].removeprefix("TASK_STATE_").lower() if number is None else f"{number:.0f}"


@asynccontextmanager
async def receiving(answer: Callable[[int], int] = lambda _: 200) -> AsyncIterator[Receiver]:
    """A webhook; ``answer`` says by the number of the request, from 0, with which status."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    receiver = Receiver(f"http://127.0.0.1:{listener.getsockname()[1]}/hook?key=in-the-url", answer)

    async def hook(request: Request) -> Response:
        body = await request.json()
        status = receiver.answer(len(receiver.answers))
        receiver.headers.append(dict(request.headers))
        receiver.answers.append(status)
        if status == 200:
            receiver.taken.append(body)
        return Response("what the receiver has to say about it", status_code=status, headers={"location": "/elsewhere"})

    app = Starlette(routes=[Route("/hook", hook, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await eventually(lambda: server.started)
    try:
        yield receiver
    finally:
        server.should_exit = True
        await serving
