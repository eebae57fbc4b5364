"""Agents without A2A.

They take ``POST /agent/messages`` with ``{"message": {"parts": [{"text": …}]}}`` and answer ``{"result": {"parts":
[…]}}`` or ``{"error": {"message": …}}``, perhaps as the last event of a stream. They have no tasks: a message can't be
found again, and only closing the connection cancels it.
"""

import json
from collections.abc import Iterable
from typing import Any

import httpx
from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.types.a2a_pb2 import AgentCard, Message, Part, Role, StreamResponse
from temporalio.exceptions import ApplicationError

from proctor.activities.attempts import failures
from proctor.activities.participant.answer import Answer, OnEvent
from proctor.activities.participant.bounded_http import ParticipantBounds
from proctor.activities.participant.errors import failure, is_lost, shortened
from purple_sdk.protocol.messages import ToParticipant
from purple_sdk.protocol.terminal import TerminalTaskMessage

PLAIN_PATH = "/agent/messages"
_NO_SUCH_PATH = (404, 405)


class PlainParticipant:
    """A participant at ``POST /agent/messages``; ``ParticipantClient`` is its counterpart for A2A."""

    def __init__(
        self, url: str, http: httpx.AsyncClient, context_id: str, bounds: ParticipantBounds, why: ApplicationError
    ) -> None:
        self._url = url
        self._address = url.rstrip("/").removesuffix(PLAIN_PATH) + PLAIN_PATH
        self._http = http
        self._context_id = context_id
        self._bounds = bounds
        self._why = why

    async def send(
        self,
        message: ToParticipant | TerminalTaskMessage,
        message_id: str,
        on_event: OnEvent | None = None,
        *,
        fence: int = 0,
        text: str | None = None,
    ) -> Answer:
        """Send a message as text and wait for the answer. ``on_event`` gets the still empty answer before the message
        is sent.

        Fails as ``ParticipantMisbehaved`` if the address has neither A2A nor this path, or if the answer is too large.
        """
        content = text or message.model_dump_json(exclude_none=True)
        about = {"messageId": message_id, "contextId": self._context_id, "role": "user"}
        answer = Answer(self._bounds)
        answer.task_id = message_id
        if on_event is not None:
            await on_event(answer)
        headers = {"Accept": "application/json, text/event-stream"}
        try:
            response = await self._http.post(
                self._address, json={"message": {**about, "parts": [{"text": content}]}}, headers=headers
            )
        except Exception as error:
            if not is_lost(error):
                raise failure(self._url, error) from None
            answer.fail(f"it closed the connection before it answered ({shortened(str(error))})")
            return answer
        if response.status_code in _NO_SUCH_PATH:
            raise self._why
        try:
            self._read_response(response, answer)
        except Exception as error:  # half a surrogate pair, an unknown character set, thousands of levels
            raise failure(self._url, error) from None
        return answer

    async def rejoin(self, task_id: str) -> Answer | None:
        """Fail as ``EnvironmentLost``, so the trial begins again: the answer went to an attempt that was lost."""
        raise failures.ENVIRONMENT_LOST.final(
            f"A worker was lost while the agent at {self._address} worked, and its answer with it: it begins again."
        )

    async def cancel(self, task_id: str) -> None:
        """Do nothing: the connection is closed already."""

    def _read_response(self, response: httpx.Response, answer: Answer) -> None:
        document = _last_object(response)
        if isinstance(document, dict) and isinstance(error := document.get("error"), dict | str):
            error_message = error.get("message") if isinstance(error, dict) else error
            answer.fail(shortened(str(error_message)))
        elif response.is_error or not isinstance(document, dict):
            answer.fail(f"it answered {PLAIN_PATH} with HTTP {response.status_code}, and not with a result")
        else:
            result = document.get("result", document)
            parts = result.get("parts") if isinstance(result, dict) else None
            message = Message(role=Role.ROLE_AGENT, parts=_parts(parts if isinstance(parts, list) else []))
            answer.take(StreamResponse(message=message))


def takes_plain_messages(card: AgentCard) -> bool:
    """Return whether an agent's card names ``/agent/messages`` as its address."""
    return any(interface.url.rstrip("/").endswith(PLAIN_PATH) for interface in card.supported_interfaces)


def _last_object(response: httpx.Response) -> Any:
    """Return the JSON of a response. If it is a stream, return the JSON of the last event with a result or an error."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        return _json(response.text)
    events = [_json(line.removeprefix("data:")) for line in response.text.splitlines() if line.startswith("data:")]
    objects = [event for event in events if isinstance(event, dict)]
    return next(
        (event for event in reversed(objects) if "result" in event or "error" in event),
        objects[-1] if objects else None,
    )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _parts(parts: Iterable[Any]) -> list[Part]:
    parts_read = []
    for part in parts:
        inner = part.get("root", part) if isinstance(part, dict) else part
        if isinstance(inner, dict) and isinstance(inner.get("text"), str):
            parts_read.append(new_text_part(inner["text"]))
        elif isinstance(inner, dict) and isinstance(inner.get("data"), dict):
            parts_read.append(new_data_part(inner["data"]))
        elif isinstance(inner, str):
            parts_read.append(new_text_part(inner))
    return parts_read
