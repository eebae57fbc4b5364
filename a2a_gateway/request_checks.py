"""Checks of requests before a2a-sdk reads them. They make refusals use the words of the protocol.

* ``?A2A-Version=`` counts as the header of that name.
* Invalid JSON, a field of the wrong type and an unknown status get a sentence with the field and the value. The SDK
  would quote Python's own messages, and ignore an unknown status.
* HTTP+JSON requests must declare that they are JSON.
"""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from a2a.compat.v0_3.a2a_v0_3_pb2 import SendMessageRequest as SendMessageRequest03
from a2a.server.jsonrpc_models import JSONParseError as JSONRPCParseError
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import GetTaskRequest, ListTasksRequest, SendMessageRequest, TaskPushNotificationConfig, TaskState
from a2a.utils import proto_utils
from a2a.utils.constants import VERSION_HEADER
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
)
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message
from starlette.datastructures import QueryParams
from starlette.responses import JSONResponse
from starlette.types import Scope

from purple_sdk.protocol.problems import show_value

WITHOUT_HISTORY = "a2a_gateway.without_history"
"""The scope's key for requests that want a task without history (``historyLength: 0``), in any protocol."""

_VERSION = VERSION_HEADER.lower().encode()
_SENT = re.compile(r"^(?:/[^/]+)?/message:(?:send|stream)$")
_REGISTERED = re.compile(r"^(?:/[^/]+)?/tasks/[^/]+/pushNotificationConfigs$")
_LISTED = re.compile(r"^(?:/[^/]+)?/tasks$")
_GOT = re.compile(r"^(?:/[^/]+)?/tasks/[^/:]+$")
_FIELDS = re.compile(r"Failed to parse (\w+) field: ")
_STATES = [name for name in TaskState.keys() if name != "TASK_STATE_UNSPECIFIED"]  # noqa: SIM118

_EXPECTED = {
    FieldDescriptor.CPPTYPE_STRING: "text",
    FieldDescriptor.CPPTYPE_BOOL: "true or false",
    FieldDescriptor.CPPTYPE_INT32: "a whole number",
    FieldDescriptor.CPPTYPE_INT64: "a whole number",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_ENUM: "one of the protocol's names for it",
    FieldDescriptor.CPPTYPE_MESSAGE: "an object",
}
_OF_MESSAGES = {
    "google.protobuf.Timestamp": "a time with its zone, such as 2026-03-02T09:00:00Z",
    "google.protobuf.Value": "JSON",
}


def check(scope: Scope, body: bytes, rpc_path: str) -> tuple[Scope, JSONResponse | None]:
    """Return the request to pass on, and its refusal if it can't be read."""
    scope = _with_version(scope)
    path, method = scope["path"], scope["method"]
    if path == rpc_path:
        return scope, _check_call(scope, body) if method == "POST" else None
    try:
        _check_rest(scope, body, path, method)
    except A2AError as error:
        payload = build_rest_error_payload(error)
        return scope, JSONResponse(payload, status_code=payload["error"]["code"])
    return scope, None


def _with_version(scope: Scope) -> Scope:
    """Add the version header that the query names, unless the request has one."""
    if any(name == _VERSION for name, _ in scope["headers"]):
        return scope
    named = parse_qs(scope["query_string"].decode("latin-1")).get(VERSION_HEADER)
    if not named:
        return scope
    return {**scope, "headers": [*scope["headers"], (_VERSION, named[0].encode("latin-1", "replace"))]}


def _check_call(scope: Scope, body: bytes) -> JSONResponse | None:
    call_id = None
    try:
        call = _read_json(body, JSONParseError, "one JSON-RPC 2.0 request object")
        if not isinstance(call, dict) or not isinstance(call.get("method"), str):
            return None  # the SDK reports it
        raw_id = call.get("id")
        call_id = raw_id if isinstance(raw_id, str | int) and not isinstance(raw_id, bool) else None
        params = call.get("params", {})
        if (model := JsonRpcDispatcher.METHOD_TO_MODEL.get(call["method"])) is not None:
            if not isinstance(params, dict):
                raise InvalidParamsError(f"params is {_quote(params)}: send an object.")
            _check_fields(lambda message: ParseDict(params, message, ignore_unknown_fields=True), model, params)
            if model is ListTasksRequest:
                _check_status(params.get("status"))
        if isinstance(params, dict):
            chosen = params.get("configuration") if call["method"].startswith("message/") else params
            _note_history(scope, chosen.get("historyLength") if isinstance(chosen, dict) else None)
    except JSONParseError as error:
        return JSONResponse(build_error_response(None, JSONRPCParseError(message=str(error))))
    except A2AError as error:
        return JSONResponse(build_error_response(call_id, error))
    return None


def _check_rest(scope: Scope, body: bytes, path: str, method: str) -> None:
    model: type[Message] | None = None
    if method == "POST" and _SENT.match(path):
        model = SendMessageRequest03 if path.startswith("/v1/") else SendMessageRequest
    elif method == "POST" and _REGISTERED.match(path):
        model = None if path.startswith("/v1/") else TaskPushNotificationConfig
        _require_json(scope)
    if model is not None:
        _require_json(scope)
        content = _read_json(body, InvalidRequestError, "one JSON object")
        if not isinstance(content, dict):
            raise InvalidRequestError(f"The body is {_quote(content)}: send one JSON object.")
        fits = model
        _check_fields(lambda message: ParseDict(content, message, ignore_unknown_fields=True), fits, content)
        chosen = content.get("configuration")
        _note_history(scope, chosen.get("historyLength") if isinstance(chosen, dict) else None)
    if method == "GET" and (_LISTED.match(path) or _GOT.match(path)):
        query = QueryParams(scope["query_string"])
        length = query.get("historyLength")
        if path.startswith("/v1/"):
            if length and not re.fullmatch(r"\d{1,9}", length):
                raise InvalidParamsError(f"historyLength is {_quote(length)}: it has to be a whole number.")
        else:
            listed = ListTasksRequest if _LISTED.match(path) else GetTaskRequest
            _check_fields(lambda message: proto_utils.parse_params(query, message), listed, dict(query))
            if listed is ListTasksRequest:
                _check_status(query.get("status"))
        _note_history(scope, length)


def _require_json(scope: Scope) -> None:
    """Raise ``ContentTypeNotSupportedError`` if a request declares a body that is not JSON."""
    named = next((value for name, value in scope["headers"] if name == b"content-type"), b"").decode("latin-1")
    media_type = named.partition(";")[0].strip().lower()
    if media_type and media_type != "application/json" and not media_type.endswith("+json"):
        raise ContentTypeNotSupportedError(
            f"The Content-Type is {_quote(named)}: send application/json, or application/a2a+json."
        )


def _read_json(body: bytes, error: type[A2AError], wanted: str) -> Any:
    try:
        return json.loads(body)
    except json.JSONDecodeError as problem:
        raise error(
            f"The body is not JSON: it goes wrong at line {problem.lineno}, column {problem.colno}. Send {wanted}."
        ) from None
    except RecursionError:
        raise error(f"The body's JSON has too many levels. Send {wanted}.") from None
    except UnicodeDecodeError:
        raise error(f"The body is not UTF-8. Send {wanted} in UTF-8.") from None


def _check_status(status: Any) -> None:
    """Raise ``InvalidParamsError`` if a filter names a status that the protocol doesn't have."""
    if status in (None, "", 0, "0", *TaskState.keys(), *TaskState.values(), *map(str, TaskState.values())):
        return
    raise InvalidParamsError(f"status is {_quote(status)}: it has to be one of {', '.join(_STATES)}.")


def _check_fields(parse: Callable[[Message], object], model: type[Message], content: dict[str, Any]) -> None:
    """Raise ``InvalidParamsError`` with a sentence about the field that doesn't fit."""
    try:
        parse(model())
    except ParseError as error:
        raise InvalidParamsError(_sentence(str(error), model.DESCRIPTOR, content)) from None
    except (ValueError, TypeError, RecursionError):
        raise InvalidParamsError(
            "The parameters don't fit this method of A2A: compare them with its specification."
        ) from None


def _sentence(problem: str, descriptor: Any, content: Any) -> str:
    """Describe the error by the message's field names; protobuf's own sentences describe Python types."""
    names = _FIELDS.findall(problem)
    expected, is_list, value = "", False, content
    for name in names:
        field = descriptor.fields_by_camelcase_name.get(name) or descriptor.fields_by_name.get(name)
        if field is None:
            break
        descriptor, is_list = field.message_type, field.is_repeated
        expected = _expectation(field)
        value = value.get(name) if isinstance(value, dict) else None
    path = ".".join(names)
    if "too deep" in problem:
        return "The message's data or metadata is nested too deeply: send at most 25 levels, or JSON as text."
    if 'multiple "content"' in problem:
        return f"An entry of {path} has several contents: give each part one of text, data, raw and url."
    if not expected:
        return "The parameters don't fit this method of A2A: compare them with its specification."
    shown = ":" if value is None else f" is {_quote(value)}:"
    subject = "an entry" if value is None else "it"
    return f"{path}{shown} {subject} has to be {f'a list of {expected}' if is_list else expected}."


def _expectation(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        return _OF_MESSAGES.get(field.message_type.full_name, "an object")
    return "Base64" if field.type == FieldDescriptor.TYPE_BYTES else _EXPECTED.get(field.cpp_type, "of another type")


def _quote(value: Any) -> str:
    """Quote a value for errors, without halves of surrogate pairs."""
    return show_value(value).encode(errors="replace").decode()


def _note_history(scope: Scope, length: Any) -> None:
    if length in (0, "0") and not isinstance(length, bool):
        scope[WITHOUT_HISTORY] = True
