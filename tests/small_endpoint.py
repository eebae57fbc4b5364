"""The small real model (``tests/served_model.py``) as CLI agents ask for one.

Its server speaks Anthropic messages and OpenAI's responses and chat. This endpoint passes them on, with a limit on an
answer's length: some agents ask for 32,000 tokens, which the model would use. It translates Gemini's protocol to chat.
"""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.served_model import served_model

_LONGEST = 200
"""Tokens of an answer."""

_WAIT = 1200.0
_LIMITS = {"/messages": "max_tokens", "/completions": "max_tokens", "/responses": "max_output_tokens"}
"""The field that limits an answer, by the end of a path."""

_ENDS = {
    b'"stop_reason":"max_tokens"': b'"stop_reason":"end_turn"',
    b'"finish_reason":"length"': b'"finish_reason":"stop"',
}
"""What an answer says that was cut off, and what one says that ended."""

_CHAT = "/v1/chat/completions"
_ROLES = {"model": "assistant"}


@contextmanager
def small_endpoint(threads: int) -> Iterator[str]:
    """Serve the model; gives the endpoint's address, without a path. ``threads`` as for ``served_model``."""
    with served_model(threads) as url:
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"upstream": url}))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()


class _Handler(BaseHTTPRequestHandler):
    upstream: str

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(*self._ask(self.path, None))

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith(("generateContent", "GenerateContent")):
            self._send(*self._ask_for_gemini(question, is_stream="stream" in path))
            return
        limit = next((field for end, field in _LIMITS.items() if path.endswith(end)), None)
        if limit:
            question.pop("max_completion_tokens", None)
            question[limit] = min(question.get(limit) or _LONGEST, _LONGEST)
        self._send(*self._ask(self.path, question))

    def _ask_for_gemini(self, question: dict[str, Any], *, is_stream: bool) -> tuple[int, str, bytes]:
        status, kind, body = self._ask(_CHAT, chat_of(question))
        if status != 200:
            return status, kind, body
        answer = json.dumps(gemini_of(json.loads(body)))
        return (200, "text/event-stream", f"data: {answer}\n\n".encode()) if is_stream else (200, kind, answer.encode())

    def _ask(self, path: str, question: dict[str, Any] | None) -> tuple[int, str, bytes]:
        """Status, content type and body of the model's server."""
        data = None if question is None else json.dumps(question).encode()
        request = urllib.request.Request(self.upstream + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=_WAIT) as answer:
                body = answer.read()
                for cut, ended in _ENDS.items():
                    body = body.replace(cut, ended)
                return answer.status, answer.headers.get_content_type(), body
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get_content_type(), error.read()

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def chat_of(question: dict[str, Any]) -> dict[str, Any]:
    """A request for chat that asks what a request of Gemini's ``generateContent`` asks."""
    system = _texts((question.get("systemInstruction") or {}).get("parts", []))
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for content in question.get("contents", []):
        messages += _messages(content)
    declared = [
        declaration for tool in question.get("tools") or [] for declaration in tool.get("functionDeclarations", [])
    ]
    tools = [{"type": "function", "function": _function(declaration)} for declaration in declared]
    return {"messages": messages, "max_tokens": _LONGEST} | ({"tools": tools} if tools else {})


def _messages(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    parts = content.get("parts", [])
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    text = _texts(parts)
    if calls or text:
        role = content.get("role", "user")
        asked = [
            {"id": call["name"], "type": "function", "function": _call(call)}  # Gemini knows calls by their names
            for call in calls
        ]
        yield {"role": _ROLES.get(role, role), "content": text} | ({"tool_calls": asked} if asked else {})
    for result in results:
        yield {"role": "tool", "tool_call_id": result["name"], "content": json.dumps(result.get("response"))}


def _texts(parts: list[dict[str, Any]]) -> str:
    return "\n".join(part["text"] for part in parts if part.get("text"))


def _call(call: dict[str, Any]) -> dict[str, str]:
    return {"name": call["name"], "arguments": json.dumps(call.get("args") or {})}


def _function(declared: dict[str, Any]) -> dict[str, Any]:
    schema = declared.get("parametersJsonSchema") or declared.get("parameters") or {"type": "object"}
    return {"name": declared["name"], "description": declared.get("description", ""), "parameters": schema}


def gemini_of(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer of chat as one of Gemini's ``generateContent``."""
    message, usage = answer["choices"][0]["message"], answer["usage"]
    parts: list[dict[str, Any]] = [{"text": message["content"]}] if message.get("content") else []
    parts += [
        {"functionCall": {"name": call["function"]["name"], "args": _arguments(call)}}
        for call in message.get("tool_calls") or []
    ]
    counted = {"promptTokenCount": usage["prompt_tokens"], "candidatesTokenCount": usage["completion_tokens"]}
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": counted | {"totalTokenCount": usage["total_tokens"]}}


def _arguments(call: dict[str, Any]) -> Any:
    try:
        return json.loads(call["function"]["arguments"])
    except ValueError:
        return {}
