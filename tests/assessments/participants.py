"""Participants written without a2a-sdk, by hand from proctor.protocol 0.3: JSON-RPC, and the card at its old address.

async with by_hand(lambda said: message(data({"message_type": "turn_complete", "actions": []}))) as participant:
    ... participant.url, participant.messages
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.stack import listening

Json = dict[str, Any]
WORDS = "words"
"""The type of a message that is no JSON, as participants by hand see it; its ``text`` is what it says."""

DONE: Json = {"message_type": "turn_complete", "actions": []}

Answer = Callable[[Json], Any]
"""The result of ``message/send``, given the protocol message that it carried; or a whole HTTP response."""


def data(content: Any) -> Json:
    return {"kind": "data", "data": content}


def text(content: Any) -> Json:
    return {"kind": "text", "text": content if isinstance(content, str) else json.dumps(content)}


def message(*parts: Json) -> Json:
    """A plain message as the answer."""
    return {"kind": "message", "role": "agent", "messageId": str(uuid.uuid4()), "parts": list(parts)}


def task(state: str, *parts: Json, artifacts: list[Json] | None = None, task_id: str | None = None) -> Json:
    """A task as the answer, in a state, with a status message."""
    status: Json = {"state": state}
    if parts:
        status["message"] = message(*parts)
    return {
        "kind": "task",
        "id": task_id or str(uuid.uuid4()),
        "contextId": "its-own",
        "status": status,
        "artifacts": [{"artifactId": str(uuid.uuid4()), "parts": artifacts}] if artifacts else [],
    }


@dataclass
class ByHand:
    """A running participant: ``messages`` are the protocol messages that it got, ``sent`` the A2A messages that carried
    them, ``configurations`` those of their requests, ``methods`` the JSON-RPC methods, ``at_work`` the tasks that it
    never ends, ``canceled`` those that it was asked to cancel.
    """

    url: str = ""
    messages: list[Json] = field(default_factory=list)
    sent: list[Json] = field(default_factory=list)
    configurations: list[Json] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    at_work: list[str] = field(default_factory=list)
    canceled: list[str] = field(default_factory=list)

    @property
    def kinds(self) -> list[str]:
        return [said["message_type"] for said in self.messages]


@asynccontextmanager
async def by_hand(
    answer: Answer, *, looked_at: Answer | None = None, streams: bool = False, greeting: Answer | None = None
) -> AsyncIterator[ByHand]:
    """Serve a participant that answers ``turn_start`` and plain words so, and every other message with a friendly text.

    ``greeting``: answers ``assessment_start``.
    ``looked_at``: answers ``tasks/get``, given its params; without it, there is no such method.
    ``streams``: its card offers ``message/stream``, which says "working" ten times a second and never ends where the
    answer is None, not even when ``tasks/cancel`` says that it was canceled.
    """
    participant = ByHand()

    async def card(_request: Request) -> Response:
        return JSONResponse(card_at(participant.url, streams=streams))

    async def rpc(request: Request) -> Response:
        call = await request.json()
        participant.methods.append(call["method"])
        if call["method"] == "tasks/get" and looked_at:
            seen = looked_at(call["params"])
            seen = await seen if asyncio.iscoroutine(seen) else seen
            return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "result": seen})
        if call["method"] == "tasks/cancel" and streams:
            participant.canceled.append(call["params"]["id"])
            canceled = task("canceled", task_id=call["params"]["id"])
            return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "result": canceled})
        if not call["method"].startswith("message/"):
            return JSONResponse(
                {
                    "jsonrpc": "2.0",
                    "id": call["id"],
                    "error": {"code": -32601, "message": f"there is no method {call['method']}"},
                }
            )
        sent = call["params"]["message"]
        words = next(p["text"] for p in sent["parts"] if p["kind"] == "text")
        said = json.loads(words) if words.startswith("{") else {"message_type": WORDS, "text": words}
        participant.messages.append(said)
        participant.sent.append(sent)
        participant.configurations.append(call["params"].get("configuration", {}))
        answers = {"turn_start": answer, WORDS: answer, "assessment_start": greeting}
        reply_to = answers.get(said["message_type"])
        result = reply_to(said) if reply_to else message(text("Good day."))
        if result is None:
            participant.at_work.append(str(uuid.uuid4()))
            return StreamingResponse(
                _work_for_ever(call["id"], participant.at_work[-1]), media_type="text/event-stream"
            )
        if asyncio.iscoroutine(result):
            result = await result
        if isinstance(result, Response):
            return result
        reply = {"jsonrpc": "2.0", "id": call["id"], "result": result}
        if streams:
            return Response(f"data: {json.dumps(reply)}\n\n", media_type="text/event-stream")
        return JSONResponse(reply)

    app = Starlette(routes=[Route("/.well-known/agent.json", card), Route("/", rpc, methods=["POST"])])

    def remember(url: str) -> Starlette:
        participant.url = url
        return app

    async with listening(remember):
        yield participant


def card_at(url: str, *, streams: bool = False) -> Json:
    """The agent card of a participant at an address."""
    return {
        "protocolVersion": "0.3.0",
        "name": "by hand",
        "description": "A participant of the old days.",
        "version": "1",
        "url": f"{url}/",
        "preferredTransport": "JSONRPC",
        "capabilities": {"streaming": streams},
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [],
    }


async def _work_for_ever(call_id: Any, task_id: str) -> AsyncIterator[str]:
    ids = {"taskId": task_id, "contextId": "its-own"}
    while True:
        event = {"kind": "status-update", **ids, "status": {"state": "working"}, "final": False}
        yield f": still here\n\ndata: {json.dumps({'jsonrpc': '2.0', 'id': call_id, 'result': event})}\n\n"
        await asyncio.sleep(0.1)
