"""``POST /agent/messages``: a message and its answer without a protocol around them, as the seed's callers send it.

``{"message": {"parts": [{"text": "Launch terminal-bench evaluation…"}]}}`` is answered at the end of the task with
``{"result": {"parts": [{"text": …}, {"data": …}]}}``, or with ``{"error": {"message": …}}`` if there is no result. A
part may be text, or an object under ``data``; each may have the ``kind`` or ``type`` of protocol 0.3. With ``Accept:
text/event-stream``, each progress sentence is sent as a line of JSON, and the answer as the last line.
"""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import Message, Part, Role, SendMessageRequest, Task, TaskArtifactUpdateEvent, TaskState
from a2a.types import TaskStatusUpdateEvent as StatusEvent
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.struct_pb2 import Value
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from proctor.a2a_gateway.legacy import ContextBuilder
from purple_sdk.protocol.numbers import restore_integers

PLAIN_PATH = "/agent/messages"
_SHAPE = '{"message": {"parts": [{"text": "…"}]}}'
_SUCCESSFUL = (TaskState.TASK_STATE_COMPLETED,)


def plain_messages_route(handler: RequestHandler, contexts: ContextBuilder) -> Route:
    async def answer(request: Request) -> Response:
        try:
            asked = SendMessageRequest(message=_read_message(await request.body()))
            events = handler.on_message_send_stream(asked, contexts.build(request))
            if "text/event-stream" in request.headers.get("accept", ""):
                return EventSourceResponse(_lines(events))
            *_, last = [line async for line in _lines(events)]
        except ValueError as error:
            return JSONResponse({"error": {"message": str(error)}}, 400)
        except A2AError as error:
            return JSONResponse({"error": {"message": str(error)}}, 400)
        answer_json = json.loads(last)
        return JSONResponse(answer_json, 200 if "result" in answer_json else 422)

    return Route(PLAIN_PATH, answer, methods=["POST"])


async def _lines(events: Any) -> AsyncIterator[str]:
    """Yield one JSON object for each sentence, then the answer."""
    parts: list[dict[str, Any]] = []
    about: dict[str, Any] = {}
    async for event in events:
        if isinstance(event, Task):
            about = {"task_id": event.id, "context_id": event.context_id}
            yield json.dumps({"status": {"text": f"Task {event.id} is accepted."}, **about})
        elif isinstance(event, TaskArtifactUpdateEvent):
            parts = [plain for part in event.artifact.parts if (plain := _simplify_part(part))]
        elif isinstance(event, StatusEvent):
            text = " ".join(part.text for part in event.status.message.parts if part.HasField("text"))
            if event.status.state == TaskState.TASK_STATE_WORKING:
                yield json.dumps({"status": {"text": text}, **about})
            elif event.status.state in _SUCCESSFUL:
                yield json.dumps({"result": {"parts": parts or [{"text": text}]}, **about})
            elif event.status.state != TaskState.TASK_STATE_SUBMITTED:
                yield json.dumps({"error": {"message": text}, **({"parts": parts} if parts else {}), **about})


def _simplify_part(part: Part) -> dict[str, Any] | None:
    if part.HasField("text"):
        return {"text": part.text}
    if part.HasField("data"):
        return {"data": restore_integers(MessageToDict(part.data))}
    return None


def _read_message(body: bytes) -> Message:
    """Read the message of a request's body. Raises ValueError if the body is invalid; the error says what to send."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError(f"The body is not JSON: send {_SHAPE}.") from None
    message = document.get("message") if isinstance(document, dict) else None
    if isinstance(document, dict) and message is None and isinstance(document.get("params"), dict):
        message = document["params"].get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(parts, list) or not parts:
        raise ValueError(f"The body has no message with parts: send {_SHAPE}.")
    named = message.get("messageId", message.get("message_id"))
    context = message.get("contextId", message.get("context_id"))
    return Message(
        message_id=named if isinstance(named, str) and named else str(uuid.uuid4()),
        context_id=context if isinstance(context, str) else "",
        role=Role.ROLE_USER,
        parts=[_part(part) for part in parts],
    )


def _part(part: Any) -> Part:
    if isinstance(part, dict):
        inner = part.get("root", part)
        if isinstance(inner, dict) and isinstance(inner.get("text"), str):
            return Part(text=inner["text"])
        if isinstance(inner, dict) and isinstance(inner.get("data"), dict):
            try:
                return Part(data=ParseDict(inner["data"], Value()))
            except ParseError:
                pass
    raise ValueError(f"A part has neither text nor data: send {_SHAPE}.")
