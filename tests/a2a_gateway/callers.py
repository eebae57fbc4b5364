"""The two kinds of callers: one written with a2a-sdk 1.x, one that writes protocol 0.3 by hand."""

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import (
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)
from a2a.utils.constants import TransportProtocol
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from purple_sdk.processes.http_clients import tls
from tests.waiting import PATIENCE

JSONRPC = TransportProtocol.JSONRPC
REST = TransportProtocol.HTTP_JSON

TERMINAL = {
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
}


@asynccontextmanager
async def sdk_client(
    url: str, binding: TransportProtocol = JSONRPC, *, streaming: bool = True
) -> AsyncIterator[Client]:
    """A client made from the gateway's card."""
    async with httpx.AsyncClient(timeout=PATIENCE, verify=tls()) as http:
        factory = ClientFactory(
            ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=[binding])
        )
        yield await factory.create_from_url(url)


def data_part(data: Any) -> Part:
    return Part(data=ParseDict(data, Value()))


def message(*parts: Part, context: str = "", message_id: str | None = None, task: str = "") -> SendMessageRequest:
    return SendMessageRequest(
        message=Message(
            message_id=message_id or str(uuid.uuid4()),
            role=Role.ROLE_USER,
            parts=parts,
            context_id=context,
            task_id=task,
        )
    )


def at_once(request: SendMessageRequest) -> SendMessageRequest:
    """The same request, to be answered before the assessment has ended."""
    request.configuration.CopyFrom(SendMessageConfiguration(return_immediately=True))
    return request


async def send(client: Client, request: SendMessageRequest) -> Task:
    """Send without streaming; the client must have been made with ``streaming=False``."""
    answers = [answer async for answer in client.send_message(request)]
    assert len(answers) == 1
    return answers[0].task


async def collect(stream: AsyncIterator[StreamResponse]) -> list[StreamResponse]:
    return [event async for event in stream]


def kinds(events: list[StreamResponse]) -> list[str]:
    """What each event is, with the state or the sequence number."""
    told = []
    for event in events:
        kind = event.WhichOneof("payload")
        if kind == "task":
            told.append(f"task {state_name(event.task.status.state)}")
        elif kind == "status_update":
            number = MessageToDict(event.status_update.metadata).get("sequence")
            state = state_name(event.status_update.status.state)
            told.append(state if number is None else f"{state} {number:.0f}")
        else:
            told.append(f"artifact {event.artifact_update.artifact.name}")
    return told


def state_name(state: TaskState) -> str:
    return TaskState.Name(state).removeprefix("TASK_STATE_").lower()


async def call03(http: httpx.AsyncClient, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """A protocol 0.3 JSON-RPC call, by hand; the whole answer."""
    answer = await http.post("/", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert answer.status_code == 200
    body: dict[str, Any] = answer.json()
    assert body["id"] == 1
    return body


async def stream03(http: httpx.AsyncClient, method: str, params: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """A protocol 0.3 JSON-RPC stream, by hand; each event's whole answer."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with http.stream("POST", "/", json=body) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for line in answer.aiter_lines():
            if line.startswith("data:"):
                yield json.loads(line.removeprefix("data:"))


def message03(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The params of ``message/send`` and ``message/stream``."""
    return {
        "message": {
            "kind": "message",
            "role": "user",
            "messageId": str(uuid.uuid4()),
            "parts": list(parts),
            **fields,
        }
    }


def text03(data: Any) -> dict[str, Any]:
    return {"kind": "text", "text": data if isinstance(data, str) else json.dumps(data)}


def kinds03(events: list[dict[str, Any]]) -> list[str]:
    """``kinds`` for events of protocol 0.3."""
    told = []
    for event in (answer["result"] for answer in events):
        if event["kind"] == "task":
            told.append(f"task {event['status']['state']}")
        elif event["kind"] == "status-update":
            number = (event.get("metadata") or {}).get("sequence")
            state = event["status"]["state"]
            told.append(state if number is None else f"{state} {number:.0f}")
        else:
            told.append(f"artifact {event['artifact']['name']}")
    return told
