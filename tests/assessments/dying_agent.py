"""A participant that answers with a plain message, and dies once: ``python -m tests.assessments.dying_agent``.

A process forks it, and again when it has died. The socket stays open meanwhile: however long the start takes on a
busy machine, who connects waits for it.

It remembers its greeting in a folder, so when it is started again it acts on any message. It speaks A2A 0.3, without
tasks, and plays each message that comes, one with a known id too.
"""

import argparse
import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.assessments.participants import DONE, card_at, data, message


def make_app(url: str, folder: Path, dies: str) -> Starlette:
    """The agent; ``dies`` says at which moment: "start", "before" it acts in a turn, or "after"."""

    def die(moment: str) -> None:
        if moment == dies and not (folder / "died").exists():
            (folder / "died").touch()
            os._exit(9)

    async def act(text: str) -> None:
        start = json.loads((folder / "start.json").read_text())
        async with httpx.AsyncClient(base_url=start["ues_url"], headers={"X-API-Key": start["api_key"]}) as ues:
            (await ues.post("chat/send", json={"role": "assistant", "content": text})).raise_for_status()

    async def hear(said: dict[str, Any]) -> dict[str, Any]:
        if said["message_type"] == "assessment_start":
            (folder / "start.json").write_text(json.dumps(said))
            if dies == "start":
                await act("good morning")
            die("start")
        if said["message_type"] != "turn_start":
            return {}
        die("before")
        await act(f"turn {said['turn_number']}")
        die("after")
        return DONE

    async def rpc(request: Request) -> Response:
        call = await request.json()
        if not call["method"].startswith("message/"):
            error = {"code": -32601, "message": "no such method"}
            return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "error": error})
        said = json.loads(next(part["text"] for part in call["params"]["message"]["parts"] if part["kind"] == "text"))
        result = message(data(await hear(said)))
        return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "result": result})

    async def card(_request: Request) -> Response:
        return JSONResponse(card_at(url))

    return Starlette(routes=[Route("/.well-known/agent.json", card), Route("/", rpc, methods=["POST"])])


def _go_on_in_a_child() -> None:
    """Return in a forked process, and in another one whenever that has died."""

    def end_both(number: int, _frame: Any) -> None:
        os.kill(child, number)
        os._exit(0)

    signal.signal(signal.SIGTERM, end_both)
    while child := os.fork():
        os.waitpid(child, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--socket", type=int)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--dies")
    given = parser.parse_args()
    app = make_app(f"http://127.0.0.1:{given.port}", given.folder, given.dies)
    _go_on_in_a_child()
    uvicorn.run(app, fd=given.socket, log_level="error")


if __name__ == "__main__":
    main()
