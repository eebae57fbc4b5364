"""A2A's requirements on a message, and the conversion between JSON and its parts.

a2a-sdk 1.x carries data parts as protobuf ``Struct``: numbers are doubles, so an integer arrives as ``1.0``, and
nesting is limited. Exact data is therefore also sent as a file part.
"""

import json
from typing import Any

from a2a.types import Message, Part, Role, StreamResponse, Task
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import DecodeError, EncodeError
from google.protobuf.struct_pb2 import Value

from purple_sdk.protocol.numbers import restore_integers

JSON_MEDIA_TYPE = "application/json"
_DEEPEST = 56
"""The most levels as ``ParseDict`` counts them: two for each level of JSON objects. Protobuf counts three for each,
including the event around the data part, and stops at 100.
"""


def text_part(text: str) -> Part:
    return Part(text=text)


def data_parts(data: dict[str, Any]) -> list[Part]:
    """Return the data part for a JSON object; none if the object doesn't fit into one.

    Some JSON doesn't fit: too many levels, an integer beyond a double, half a surrogate pair. Participants choose parts
    of this data, so such JSON must not end a stream.
    """
    try:
        return [Part(data=ParseDict(data, Value(), max_recursion_depth=_DEEPEST), media_type=JSON_MEDIA_TYPE)]
    except (ParseError, OverflowError, UnicodeEncodeError):
        return []


def json_file_part(content: str, filename: str) -> Part:
    return Part(raw=content.encode(), filename=filename, media_type=JSON_MEDIA_TYPE)


def agent_message(message_id: str, task_id: str, context_id: str, parts: list[Part]) -> Message:
    return Message(message_id=message_id, task_id=task_id, context_id=context_id, role=Role.ROLE_AGENT, parts=parts)


def extract_request(message: Message) -> dict[str, Any] | str | None:
    """Return a message's request, unchecked: its data part or JSON file; if there is none, its text; if there is none,
    None.

    Several data parts and files become one text, so the reader of the request can compare them. A data part that isn't
    an object also becomes text. Text beside a data part or a JSON file is for people.
    """
    documents = [
        _document(part) for part in message.parts if part.WhichOneof("content") == "data" or _is_json_file(part)
    ]
    match documents:
        case [dict() as request]:
            return request
        case []:
            texts = [part.text for part in message.parts if part.WhichOneof("content") == "text"]
            return "\n".join(texts) if texts else None
        case _:
            return "\n".join(item if isinstance(item, str) else json.dumps(item) for item in documents)


def _is_json_file(part: Part) -> bool:
    if part.WhichOneof("content") != "raw":
        return False
    kind = part.media_type.partition(";")[0].strip().lower()
    return kind == JSON_MEDIA_TYPE or kind.endswith("+json") or part.filename.lower().endswith(".json")


def _document(part: Part) -> Any:
    """Return a data part's value, or a file's text."""
    if part.WhichOneof("content") == "raw":
        return part.raw.decode(json.detect_encoding(part.raw), errors="replace")
    return restore_integers(MessageToDict(part.data))


def check_message(message: Message) -> None:
    """Refuse a message that lacks fields required by the protocol.

    Raises InvalidParamsError if there is no message id, no known role, no part, or a part without content.
    """
    if not message.message_id:
        raise InvalidParamsError("message.messageId is missing: give every message an id of its own, such as a UUID.")
    check_role(message.role)
    if not message.parts:
        raise InvalidParamsError("message.parts is missing or empty: send the request as a data part or as JSON text.")
    for number, part in enumerate(message.parts):
        if part.WhichOneof("content") is None:
            raise InvalidParamsError(f"message.parts[{number}] has no content: give it text, data, raw or url.")


def check_role(role: int) -> None:
    """Refuse a role that the protocol doesn't know.

    Raises InvalidParamsError if the role is missing, or is neither of the two roles.
    """
    if role not in (Role.ROLE_USER, Role.ROLE_AGENT):
        raise InvalidParamsError(
            "message.role is missing or unknown: it is ROLE_USER (in protocol 0.3: user) for a caller's message."
        )


def check_nesting(message: Message) -> None:
    """Refuse a message that couldn't be shown in its task's history.

    Raises InvalidParamsError if it has more levels than protobuf can carry.
    """
    try:
        shown = StreamResponse(task=Task(history=[message]))
        StreamResponse.FromString(shown.SerializeToString())
    except (DecodeError, EncodeError):
        raise InvalidParamsError(
            "The message's data or metadata is nested too deeply: send at most 25 levels, or JSON as text."
        ) from None


def message_to_json(message: Message) -> dict[str, Any]:
    data: dict[str, Any] = MessageToDict(message)
    return data


def message_from_json(data: dict[str, Any]) -> Message:
    """Convert JSON from ``message_to_json`` back to a message; unknown fields are ignored."""
    return ParseDict(data, Message(), ignore_unknown_fields=True)
