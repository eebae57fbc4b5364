"""Sends a terminal task to an A2A agent, and reads the answer."""

import asyncio
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import get_data_parts, get_text_parts, new_data_part, new_text_part
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    TaskState,
)

from purple_sdk.processes.http_clients import make_http_client
from purple_sdk.protocol.numbers import restore_integers
from purple_sdk.protocol.terminal import FailureMode, TerminalTaskMessage

_FAILED = {
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
    TaskState.TASK_STATE_AUTH_REQUIRED,
}
_ENDED = {TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_INPUT_REQUIRED, *_FAILED}
_POLL_SECONDS = 0.5
_CANCEL_SECONDS = 5.0


@dataclass
class AgentReport:
    """An agent's report: its last words, its failure, and the tokens it used."""

    text: str = ""
    failure_mode: FailureMode = FailureMode.NONE
    failure: str | None = None
    usage: list[dict[str, Any]] = field(default_factory=list)

    @property
    def input_tokens(self) -> int:
        """The input tokens of all models."""
        return sum(int(use.get("input_tokens") or 0) for use in self.usage)

    @property
    def output_tokens(self) -> int:
        """The output tokens of all models."""
        return sum(int(use.get("output_tokens") or 0) for use in self.usage)


async def ask(url: str, task: TerminalTaskMessage) -> AgentReport:
    """Send a task to an agent and wait until it is done. If the caller gives up, cancel the agent's task.

    Errors are reported in the answer, not raised.
    """
    timeout = httpx.Timeout(None, connect=10)
    async with make_http_client(timeout=timeout) as http:
        try:
            client = await ClientFactory(ClientConfig(httpx_client=http, streaming=True)).create_from_url(url)
            return await _converse(client, task)
        except Exception as error:  # the SDK passes on any exception from reading an odd answer
            reason = f"{type(error).__name__}: {error}"[:500]
            return AgentReport(
                failure_mode=FailureMode.UNKNOWN_AGENT_ERROR, failure=f"The agent at {url} failed: {reason}"
            )


async def _converse(client: Client, task: TerminalTaskMessage) -> AgentReport:
    message = Message(
        message_id=str(uuid.uuid4()),
        role=Role.ROLE_USER,
        parts=[new_text_part(task.as_text()), new_data_part(task.model_dump(mode="json", exclude_none=True))],
    )
    parts: list[Part] = []
    task_id, state = "", TaskState.TASK_STATE_COMPLETED
    try:
        async for event in client.send_message(SendMessageRequest(message=message)):
            task_id, state = _take(event, parts, task_id, state)
        while task_id and state not in _ENDED:
            await asyncio.sleep(_POLL_SECONDS)
            known = await client.get_task(GetTaskRequest(id=task_id))
            state = known.status.state
            parts = [part for artifact in known.artifacts for part in artifact.parts]
            parts += list(known.status.message.parts)
    except asyncio.CancelledError:
        if task_id:
            with suppress(Exception):
                async with asyncio.timeout(_CANCEL_SECONDS):
                    await asyncio.shield(client.cancel_task(CancelTaskRequest(id=task_id)))
        raise
    return _read_report(parts, has_failed=state in _FAILED)


def _take(event: StreamResponse, parts: list[Part], task_id: str, state: TaskState) -> tuple[str, TaskState]:
    if event.HasField("message"):
        parts += event.message.parts
        return task_id, TaskState.TASK_STATE_COMPLETED
    if event.HasField("task"):
        parts += [part for artifact in event.task.artifacts for part in artifact.parts]
        parts += event.task.status.message.parts
        return event.task.id, event.task.status.state
    if event.HasField("artifact_update"):
        parts += event.artifact_update.artifact.parts
        return task_id or event.artifact_update.task_id, state
    parts += event.status_update.status.message.parts
    return task_id or event.status_update.task_id, event.status_update.status.state


def _read_report(parts: list[Part], *, has_failed: bool) -> AgentReport:
    texts = [text for text in get_text_parts(parts) if text.strip()]
    report = AgentReport(text=texts[-1] if texts else "")
    for data in map(restore_integers, get_data_parts(parts)):
        if isinstance(data, dict) and isinstance(data.get("usage"), list):
            report.usage = [use for use in data["usage"] if isinstance(use, dict)]
        if isinstance(data, dict) and data.get("failure_mode") in set(FailureMode) - {FailureMode.UNSET}:
            report.failure_mode = FailureMode(data["failure_mode"])
    if has_failed and report.failure_mode == FailureMode.NONE:
        report.failure_mode, report.failure = FailureMode.UNKNOWN_AGENT_ERROR, report.text or "The agent's task failed."
    return report
