"""Who sends a request slowly, or without end, keeps no connection; who waits for an answer does."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from proctor.processes import slow_senders
from proctor.processes.slow_senders import NoSlowSenders
from tests.waiting import PATIENCE, eventually

HEAD = b"POST / HTTP/1.1\r\nHost: here\r\n"


@asynccontextmanager
async def serving(go_on: asyncio.Event) -> AsyncIterator[int]:
    """A server that begins its answer before it has read the request, and ends it when told to; its port."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun ", "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"ended"})

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=NoSlowSenders, ws="none", log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    await eventually(lambda: server.started)
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await running


async def ended(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the server closes the connection."""
    try:
        return await asyncio.wait_for(reader.read(), PATIENCE)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    "sent", [b"", b"\r\n", HEAD, HEAD + b"X: " + b"x" * 200_000, HEAD + b"X: y\r\n" * 50_000], ids=range(5)
)
async def test_a_head_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    if len(sent) < 100_000:
        monkeypatch.setattr(slow_senders, "HEAD_WITHIN", 0.1)
    async with serving(asyncio.Event()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        assert await ended(reader) == b""
        writer.close()


async def test_an_answer_is_waited_for_and_its_request_can_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_senders, "HEAD_WITHIN", 0.1)
    go_on = asyncio.Event()
    async with serving(go_on) as port:
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(HEAD + b"Content-Length: 9\r\n\r\nhalf")  # it is there when the server takes the connection
        reader, writer = await asyncio.open_connection(sock=client)
        assert b"begun" in await reader.readuntil(b"begun")
        slow, _ = await asyncio.open_connection("127.0.0.1", port)
        assert await ended(slow) == b""  # so the time is over; ours is another case
        go_on.set()
        assert b"ended" in await reader.readuntil(b"ended")
        writer.write(b" ")  # what is left of the request is not waited for
        await ended(reader)
        writer.close()
