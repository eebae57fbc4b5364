"""The evaluator's side of a conversation, as a2a-sdk 1.x and as 0.3 callers write it."""

import asyncio
import json
import uuid
from dataclasses import dataclass, field
from typing import Any

import httpx
from a2a.client import ClientConfig
from a2a.client.client_factory import create_client
from a2a.helpers.proto_helpers import get_data_parts, get_text_parts, new_data_part, new_text_part
from a2a.types.a2a_pb2 import CancelTaskRequest, Message, Role, SendMessageRequest, Task, TaskState

from purple_sdk.processes.http_clients import tls
from tests.waiting import PATIENCE

EMPTY = {
    "email": {"total_emails": 0, "total_threads": 0, "unread": 0, "draft_count": 0},
    "calendar": {"event_count": 0, "calendar_count": 0, "events_today": 0},
    "sms": {"total_messages": 0, "total_conversations": 0, "unread": 0},
    "chat": {"total_messages": 0, "conversation_count": 0},
}


def start(
    plan: dict[str, Any] | None = None, ues_url: str = "http://127.0.0.1:9", api_key: str = "k"
) -> dict[str, Any]:
    return {
        "message_type": "assessment_start",
        "ues_url": ues_url,
        "api_key": api_key,
        "assessment_instructions": json.dumps(plan or {}),
        "current_time": "2026-03-02T08:00:00+00:00",
        "initial_state_summary": EMPTY,
    }


def turn(number: int, attempt: int = 1) -> dict[str, Any]:
    return {
        "message_type": "turn_start",
        "turn_number": number,
        "current_time": "2026-03-02T08:00:00+00:00",
        "events_processed": 0,
        "attempt": attempt,
    }


COMPLETE = {"message_type": "assessment_complete", "reason": "scenario_complete"}


@dataclass
class Heard:
    """What came back for one message."""

    task_id: str = ""
    states: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    answer_text: str | None = None
    working: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def state(self) -> str:
        return self.states[-1]

    @property
    def sentence(self) -> str:
        return self.sentences[-1]

    @property
    def notes(self) -> dict[str, Any]:
        assert self.answer is not None
        notes: dict[str, Any] = json.loads(self.answer["notes"])
        return notes


class Evaluator:
    """One A2A context."""

    def __init__(self, url: str, bindings: list[str] | None = None, streaming: bool = True) -> None:
        self.context_id = f"assessment-{uuid.uuid4()}"
        self._url = url
        self._http = httpx.AsyncClient(timeout=PATIENCE, verify=tls())
        self._config = ClientConfig(
            streaming=streaming, httpx_client=self._http, supported_protocol_bindings=bindings or []
        )

    async def __aenter__(self) -> "Evaluator":
        self._client = await create_client(self._url, self._config)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()
        await self._http.aclose()

    async def say(
        self,
        data: Any,
        message_id: str | None = None,
        as_text: bool = False,
        seen: Heard | None = None,
        metadata: dict[str, str] | None = None,
    ) -> Heard:
        """Send one message and listen to the end; ``seen`` fills up on the way."""
        heard = Heard() if seen is None else seen
        part = new_text_part(data if isinstance(data, str) else json.dumps(data)) if as_text else new_data_part(data)
        message = Message(
            role=Role.ROLE_USER,
            message_id=message_id or str(uuid.uuid4()),
            context_id=self.context_id,
            parts=[part],
            metadata=metadata,
        )
        async for event in self._client.send_message(SendMessageRequest(message=message)):
            match event.WhichOneof("payload"):
                case "task":
                    heard.task_id = event.task.id
                    self._take_status(heard, event.task.status)
                    for artifact in event.task.artifacts:
                        self._take_answer(heard, artifact)
                case "status_update":
                    self._take_status(heard, event.status_update.status)
                case "artifact_update":
                    self._take_answer(heard, event.artifact_update.artifact)
        return heard

    async def cancel(self, task_id: str) -> Task:
        return await self._client.cancel_task(CancelTaskRequest(id=task_id))

    def _take_status(self, heard: Heard, status: Any) -> None:
        heard.states.append(TaskState.Name(status.state).removeprefix("TASK_STATE_").lower())
        if heard.state == "working":
            heard.working.set()
        heard.sentences += get_text_parts(status.message.parts)

    def _take_answer(self, heard: Heard, artifact: Any) -> None:
        assert artifact.name == "turn_answer"
        [heard.answer] = get_data_parts(artifact.parts)
        [heard.answer_text] = get_text_parts(artifact.parts)


def legacy_request(method: str, data: Any, context_id: str) -> dict[str, Any]:
    """A 0.3 JSON-RPC request with a text part."""
    return {
        "jsonrpc": "2.0",
        "id": 7,
        "method": method,
        "params": {
            "message": {
                "kind": "message",
                "role": "user",
                "messageId": str(uuid.uuid4()),
                "contextId": context_id,
                "parts": [{"kind": "text", "text": json.dumps(data)}],
            }
        },
    }
