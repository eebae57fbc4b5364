"""A model's endpoint that plays a script, in four protocols: Anthropic messages, OpenAI responses and chat, Gemini.

    with ScriptedModel({1: [("email_query", {})], 2: []}) as model:
        ...  model.url

In turn N (the last "This is turn N" that a user's message has, else 1) it asks for the tools of the script's turn N,
one after the other, and says "Done." when their results are there. Answers are streamed where that is asked for.
``requests`` holds the bodies of all requests. Usage: 1,000 tokens in, of which 100 were cached, and 50 out, for each
answer.
"""

import json
import re
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Calls = Sequence[tuple[str, Mapping[str, Any]]]

INPUT, CACHED, OUTPUT = 1000, 100, 50


@dataclass(frozen=True)
class _Question:
    """What a request asks: user texts and tool results in order, and the tools' names with their namespaces."""

    parts: list[tuple[str, str]]
    tools: list[tuple[str, str | None]]


@dataclass
class ScriptedModel:
    """The endpoint; ``before_answer`` may wait, or raise to close the connection without an answer."""

    script: Mapping[int, Calls]
    before_answer: Callable[[dict[str, Any]], None] = lambda request: None
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> Self:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._send(json.dumps({"object": "list", "data": [{"id": "scripted-1", "object": "model"}]}), "json")

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = json.loads(raw or b"{}")
                path = self.path.split("?")[0]
                headers = ("x-api-key", "authorization", "x-goog-api-key")
                model.keys.append(next(filter(None, map(self.headers.get, headers)), ""))
                if "count" in path.lower():
                    return self._send(json.dumps({"input_tokens": INPUT, "totalTokens": INPUT}), "json")
                model.requests.append(request)
                model.before_answer(request)
                wire = _wire_of(path)
                streamed = bool(request.get("stream")) or "streamGenerateContent" in path
                text = wire(model.decide(_READERS[wire](request)), str(request.get("model", "scripted-1")), streamed)
                return self._send(text, "event-stream" if streamed else "json")

            def _send(self, text: str, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", f"{'text' if kind == 'event-stream' else 'application'}/{kind}")
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def decide(self, question: _Question) -> "Call | str":
        """The next call of the script, or the last words of the turn."""
        if not question.tools:
            return "Done."
        turn, done = progress(question)
        calls = self.script.get(turn, ())
        if done >= len(calls):
            return f"Done with turn {turn}."
        name, arguments = calls[done]
        found = next(((tool, space) for tool, space in question.tools if re.search(rf"(^|_){name}$", tool)), None)
        return f"There is no tool {name}." if found is None else Call(*found, dict(arguments))


def progress(question: _Question) -> tuple[int, int]:
    """The turn that a request is in, and how many results of tools it has in it."""
    turns = [
        (place, int(number))
        for place, (kind, text) in enumerate(question.parts)
        if kind == "user"
        for number in re.findall(r"This is turn (\d+)", text)
    ]
    place, turn = turns[-1] if turns else (0, 1)
    return turn, sum(kind == "result" for kind, _ in question.parts[place:])


def read_question(request: dict[str, Any]) -> _Question:
    """What a request asks, in a protocol that is known by its fields."""
    if "input" in request:
        return _read_responses(request)
    if "contents" in request:
        return _read_gemini(request)
    is_chat = all("function" in tool for tool in request.get("tools") or [])
    return _read_chat(request) if is_chat else _read_anthropic(request)


@dataclass(frozen=True)
class Call:
    name: str
    space: str | None
    arguments: dict[str, Any]


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(map(_flat, value.values()))
    return "\n".join(map(_flat, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


def _read_anthropic(request: dict[str, Any]) -> _Question:
    parts = []
    for message in request.get("messages", []):
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            kind = "result" if block["type"] == "tool_result" else message["role"]
            parts.append((kind, _flat(block.get("content") or block.get("text"))))
    return _Question(parts, [(tool["name"], None) for tool in request.get("tools") or []])


def _read_responses(request: dict[str, Any]) -> _Question:
    parts = []
    for item in request.get("input") or []:
        is_result = item.get("type") == "function_call_output"
        parts.append(
            ("result" if is_result else item.get("role", ""), _flat(item.get("output") or item.get("content")))
        )
    tools: list[tuple[str, str | None]] = []
    for tool in request.get("tools") or []:
        if tool.get("type") == "namespace":
            tools += [(inner["name"], tool["name"]) for inner in tool.get("tools") or []]
        elif tool.get("name"):
            tools.append((tool["name"], None))
    return _Question(parts, tools)


def _read_chat(request: dict[str, Any]) -> _Question:
    said = [(message["role"], _flat(message.get("content"))) for message in request.get("messages", [])]
    # smolagents gives results as a user's words.
    parts = [
        ("result" if role == "tool" or (role == "user" and "Observation:" in text) else role, text)
        for role, text in said
    ]
    return _Question(parts, [(tool["function"]["name"], None) for tool in request.get("tools") or []])


def _read_gemini(request: dict[str, Any]) -> _Question:
    parts = []
    for content in request.get("contents", []):
        for part in content.get("parts", []):
            kind = "result" if "functionResponse" in part else content.get("role", "")
            parts.append((kind, _flat(part)))
    declared = [
        declaration for tool in request.get("tools") or [] for declaration in tool.get("functionDeclarations", [])
    ]
    return _Question(parts, [(declaration["name"], None) for declaration in declared])


def _events(events: Sequence[dict[str, Any]], *, named: bool) -> str:
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join(lines)


def _anthropic(answer: Call | str, model: str, streamed: bool) -> str:
    usage = {"input_tokens": INPUT - CACHED, "cache_read_input_tokens": CACHED, "output_tokens": OUTPUT}
    if isinstance(answer, str):
        block: dict[str, Any] = {"type": "text", "text": answer}
        begun, delta, stop = {**block, "text": ""}, {"type": "text_delta", "text": answer}, "end_turn"
    else:
        block = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": answer.name, "input": answer.arguments}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
        begun, stop = {**block, "input": {}}, "tool_use"
    message: dict[str, Any] = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": model}
    message |= {"content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage}
    if not streamed:
        return json.dumps(message)
    first: dict[str, Any] = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": first},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": OUTPUT}},
        {"type": "message_stop"},
    ]
    return _events(events, named=True)


def _responses(answer: Call | str, model: str, streamed: bool) -> str:
    if isinstance(answer, str):
        content = [{"type": "output_text", "text": answer, "annotations": []}]
        item: dict[str, Any] = {"type": "message", "role": "assistant", "content": content}
    else:
        item = {"type": "function_call", "call_id": f"call_{uuid.uuid4().hex[:12]}", "name": answer.name}
        item |= {"arguments": json.dumps(answer.arguments)} | ({"namespace": answer.space} if answer.space else {})
    item |= {"id": f"item_{uuid.uuid4().hex}", "status": "completed"}
    usage = {"input_tokens": INPUT, "input_tokens_details": {"cached_tokens": CACHED}, "output_tokens": OUTPUT}
    usage |= {"output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": INPUT + OUTPUT}
    response = {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "created_at": 0, "model": model}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    if not streamed:
        return json.dumps(done)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    return _events([{**event, "sequence_number": place} for place, event in enumerate(events)], named=True)


def _chat(answer: Call | str, model: str, streamed: bool) -> str:
    usage: dict[str, Any] = {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT}
    usage |= {"prompt_tokens_details": {"cached_tokens": CACHED}}
    message: dict[str, Any] = {"role": "assistant", "content": answer if isinstance(answer, str) else None}
    if not isinstance(answer, str):
        function = {"name": answer.name, "arguments": json.dumps(answer.arguments)}
        message["tool_calls"] = [
            {"index": 0, "id": f"call_{uuid.uuid4().hex[:12]}", "type": "function", "function": function}
        ]
    stop = "stop" if isinstance(answer, str) else "tool_calls"
    head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": 0, "model": model}
    if not streamed:
        choice = {"index": 0, "message": message, "finish_reason": stop}
        return json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    chunk = {**head, "object": "chat.completion.chunk"}
    events: list[dict[str, Any]] = [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]},
        {**chunk, "choices": [], "usage": usage},
    ]
    return _events(events, named=False) + "data: [DONE]\n\n"


def _gemini(answer: Call | str, model: str, streamed: bool) -> str:
    if isinstance(answer, str):
        part: dict[str, Any] = {"text": answer}
    else:
        part = {"functionCall": {"name": answer.name, "args": answer.arguments}}
    usage = {"promptTokenCount": INPUT, "candidatesTokenCount": OUTPUT, "cachedContentTokenCount": CACHED}
    usage |= {"totalTokenCount": INPUT + OUTPUT}
    content = {"role": "model", "parts": [part]}
    value = {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}
    return _events([value], named=False) if streamed else json.dumps(value)


_Wire = Callable[[Call | str, str, bool], str]
_WIRES: dict[str, _Wire] = {
    "/messages$": _anthropic,
    "/responses$": _responses,
    "/chat/completions$": _chat,
    ":(stream)?[gG]enerateContent$": _gemini,
}
_READERS: dict[_Wire, Callable[[dict[str, Any]], _Question]] = {
    _anthropic: _read_anthropic,
    _responses: _read_responses,
    _chat: _read_chat,
    _gemini: _read_gemini,
}


def _wire_of(path: str) -> _Wire:
    return next(wire for end, wire in _WIRES.items() if re.search(end, path))


def answer_in(path: str, answer: Call | str, streamed: bool) -> str:
    """An answer in the protocol of a path."""
    return _wire_of(path)(answer, "scripted-1", streamed)
