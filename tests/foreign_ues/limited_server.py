"""A UES server that keeps to the contract and no more: no checkpoints, and keys as it chooses them.

Ours underneath, with everything taken away that the contract doesn't promise. It also talks a lot, and its traps let
it die at exactly the moment that a test asks for.
"""

import argparse
import json
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import uvicorn

from proctor.ues.server import create_app

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

CHATTER = "request handled " * 500


class Limited:
    """Our simulator without what it adds to UES.

    Args:
        app: our simulator.
        trap: a file whose lines (``POST /email/send``) are requests to wait for, one after the other; at the last one,
            when it has been carried out and not yet answered, the process dies.
        without: further paths that it doesn't have.
    """

    def __init__(self, app: Any, trap: Path, without: list[str]) -> None:
        self._app = app
        self._trap = trap
        self._gone = ("/simulation/checkpoint", "/simulation/restore", *without)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = f"{scope['method']} {scope['path']}"
        print(CHATTER, request, os.environ["UES_ADMIN_KEY"], flush=True)
        if any(path in request for path in self._gone):
            scope = {**scope, "path": "/there/is/no/such/thing", "raw_path": b"/there/is/no/such/thing"}
        if request == "POST /keys":
            receive = await _without(receive, "secret", "key_id")

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._die_if_awaited(request)
            await send(message)

        await self._app(scope, receive, answer)

    def _die_if_awaited(self, request: str) -> None:
        awaited = self._trap.read_text().splitlines() if self._trap.exists() else []
        if not awaited or not request.startswith(awaited[0]):
            return
        self._trap.write_text("\n".join(awaited[1:]))
        if not awaited[1:]:
            os._exit(1)


async def _without(receive: Receive, *names: str) -> Receive:
    """The same request with a JSON body that lacks some fields."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    content = json.dumps({name: value for name, value in json.loads(body).items() if name not in names}).encode()

    async def changed() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    return changed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--trap", type=Path, required=True)
    parser.add_argument("--without", nargs="*", default=[], help="paths that it doesn't have either")
    parser.add_argument("--mark", help="by which tests find the process")
    given = parser.parse_args()
    for name in os.environ:
        if name.startswith("AGENTBEATS_"):
            sys.exit(f"{name} is none of a simulator's business")
    app = Limited(create_app(single=True), given.trap, given.without)
    uvicorn.run(app, host=given.host, port=given.port, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main()
