"""A small deterministic server that speaks OpenAI's chat completions over HTTP, for tests that need a model. It speaks
Azure's paths for them too, and enough of Anthropic's messages.

    with OpenAIEndpoint() as endpoint:
        endpoint.answer(r"would you answer", {"should_respond": True, "reason": "asked"})
        llm = LLMFactory.create("openai/test-model", base_url=endpoint.base_url)

Rules are tried in order; a pattern is searched in the whole prompt (all messages, joined by line breaks). A prompt that
no rule matches is answered with status 418, so that a missing rule shows.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Answer = str | dict[str, Any] | Callable[[str], "str | dict[str, Any]"]


@dataclass
class _Rule:
    pattern: re.Pattern[str]
    answers: list[Answer]
    used: int = 0

    def next_answer(self, prompt: str) -> str:
        answer = self.answers[min(self.used, len(self.answers) - 1)]
        self.used += 1
        given = answer(prompt) if callable(answer) else answer
        return given if isinstance(given, str) else json.dumps(given)


@dataclass
class OpenAIEndpoint:
    """The server and what it is told to do.

    ``refused_formats``: values of ``response_format.type`` that it answers with 400. ``statuses``: HTTP statuses of
    the next calls, taken from the front; 200 (or none left) is a real answer. ``bodies``: what the next calls get with
    status 200 instead of an answer. ``refused``: fields of a request that it answers with 400, for example ``seed``, or
    ``list content``; ``names_refused``: whether it says which. ``delay``: seconds before each answer. ``most_at_once``:
    how many requests it had at once, at most.
    ``requests``, ``paths``: the bodies and the paths of all calls, in order. ``decide``: makes the answer from a whole
    request instead of rules: the fields of a message, for example ``{"content": "Done."}`` or
    ``{"tool_calls": [("email_query", {...})]}``; ``"finish": "length"`` says that it was cut off.
    ``has_tools``: whether it takes tools, or refuses them with 400. ``finish``: what an answer without tools ends with;
    "length" says that it was cut off.
    """

    decide: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    has_tools: bool = True
    finish: str = "stop"

    refused_formats: set[str] = field(default_factory=set)
    statuses: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    names_refused: bool = True
    most_at_once: int = 0
    delay: float = 0.0
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    _rules: list[_Rule] = field(default_factory=list)
    _under_way: int = 0
    _lock: Any = field(default_factory=threading.Lock)

    def answer(self, pattern: str, *answers: Answer) -> None:
        """Answer prompts that have the pattern: one answer a call, the last one for all further calls."""
        self._rules.append(_Rule(re.compile(pattern, re.IGNORECASE | re.DOTALL), list(answers)))

    def forget(self) -> None:
        """Be as good as new: no rules, no scripted failures, no requests seen."""
        with self._lock:
            for kept in (self._rules, self.statuses, self.requests, self.paths, self.bodies):
                kept.clear()
            self.refused_formats.clear()
            self.refused.clear()
            self.names_refused, self.most_at_once = True, 0
            self.decide, self.has_tools, self.finish = None, True, "stop"
            self.delay = 0.0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def calls(self) -> int:
        return len(self.requests)

    @property
    def prompts(self) -> list[str]:
        return [prompt_of(request) for request in self.requests]

    def respond(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | bytes]:
        with self._lock:
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            return self._respond(path, body)
        finally:
            with self._lock:
                self._under_way -= 1

    def _respond(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | bytes]:
        with self._lock:
            self.requests.append(body)
            self.paths.append(path)
            status = self.statuses.pop(0) if self.statuses else 200
            raw = self.bodies.pop(0) if self.bodies else None
        time.sleep(self.delay)
        if raw is not None:
            return 200, raw
        if problem := self._refusal_of(body):
            return _error(400, problem if self.names_refused else "bad request")
        is_anthropic = path.endswith("/v1/messages")
        if not path.partition("?")[0].endswith("/chat/completions") and not is_anthropic:
            return _error(404, f"no such path: {path}")
        if status != 200:
            return _error(status, f"scripted failure {status}")
        wanted = (body.get("response_format") or {}).get("type")
        if wanted in self.refused_formats:
            return _error(400, f"response_format {wanted!r} is not supported here")
        if body.get("tools") and not self.has_tools:
            return _error(400, "tools are not supported by this model")
        if self.decide is not None:
            return 200, _decided(body, self.decide(body))
        prompt = prompt_of(body)
        with self._lock:
            rule = next((rule for rule in self._rules if rule.pattern.search(prompt)), None)
            if rule is None:
                return _error(418, "no rule for this prompt")
            said = rule.next_answer(prompt)
        if is_anthropic:
            return 200, _message(body, said)
        return 200, _completion(body, said, self.finish)

    def _refusal_of(self, body: dict[str, Any]) -> str | None:
        """What servers say of a field that they don't know, in their own words."""
        if found := next((name for name in self.refused if name in body), None):
            return f"body.{found}: Extra inputs are not permitted"
        has_lists = any(isinstance(message.get("content"), list) for message in body.get("messages", []))
        if "list content" in self.refused and has_lists:
            return "json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string"
        return None

    def __enter__(self) -> Self:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                status, answer = endpoint.respond(self.path, json.loads(self.rfile.read(length)))
                payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                kind = "text/html" if payload.startswith(b"<") else "application/json"
                try:
                    self.send_response(status)
                    self.send_header("content-type", kind)
                    self.send_header("content-length", str(len(payload)))
                    self.end_headers()
                    self.wfile.write(payload)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the caller's timeout was shorter than our delay

            def log_message(self, *_args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def prompt_of(request: dict[str, Any]) -> str:
    """All messages of a request as one text."""
    return "\n".join(_texts(request.get("messages", [])))


def _texts(messages: Iterable[dict[str, Any]]) -> Iterable[str]:
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            yield from (part.get("text", "") for part in content)
        elif content:
            yield content


def quoting(verdict: dict[str, Any]) -> Callable[[str], dict[str, Any]]:
    """A judge's verdict, whose items quote the first record of the evidence that they are given."""

    def answer(prompt: str) -> dict[str, Any]:
        records = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"id": ')]
        quotes = [{"record": records[0]["id"], "quote": records[0]["text"][:20]}]
        return {**verdict, "items": [{**item, "quotes": quotes} for item in verdict["items"]]}

    return answer


def _error(status: int, message: str) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"message": message, "type": "scripted", "param": None, "code": None}}


def _decided(request: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    answer = _completion({**request, "tools": None}, message.get("content", ""), message.get("finish", "stop"))
    calls = [
        {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(message.get("tool_calls", []))
    ]
    if calls:
        answer["choices"][0]["message"]["tool_calls"] = calls
        answer["choices"][0]["finish_reason"] = "tool_calls"
    answer["usage"] = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return answer


def _message(request: dict[str, Any], said: str) -> dict[str, Any]:
    """An answer in Anthropic's messages API: a call of the first tool, where there are tools."""
    content: dict[str, Any] = {"type": "text", "text": said}
    if tools := request.get("tools"):
        content = {"type": "tool_use", "id": "t1", "name": tools[0]["name"], "input": json.loads(said)}
    return {
        "id": "msg-test",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [content],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }


def _completion(request: dict[str, Any], said: str, finish: str = "stop") -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said}
    if tools := request.get("tools"):
        call = {"name": tools[0]["function"]["name"], "arguments": said}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": call}],
        }
        finish = "tool_calls"
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model", "test-model"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
