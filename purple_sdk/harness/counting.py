"""What a model's answer says, in four protocols, as one JSON body or as server-sent events: text, calls, tokens."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from purple_sdk.harness.declared import Wire

Json = dict[str, Any]

_TOKEN = 4
"""Characters, about, of a token of English text."""

_LONGEST_NAME = 200


@dataclass(frozen=True)
class ToolCall:
    """A call that a model asked for."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True)
class ModelAnswer:
    """One answer of a model.

    Attributes:
        model: by the answer, else by the request.
        calls: the tools that it asked for.
        input_tokens: of the prompt, with those that came from a cache.
        output_tokens: of the answer, with those of its thoughts.
        cached_tokens: of the prompt, those that came from a cache.
        is_estimated: whether the endpoint said nothing of tokens, and they are estimated by the length of the texts.
    """

    model: str = ""
    text: str = ""
    thoughts: str = ""
    calls: tuple[ToolCall, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    is_estimated: bool = False


def wire_of(path: str) -> Wire | None:
    """The protocol of a request for an answer, by its path; None for others, such as lists of models."""
    if re.search(r":(stream)?[gG]enerateContent$", path):
        return "gemini"
    ends: dict[str, Wire] = {"/messages": "anthropic", "/responses": "responses", "/chat/completions": "chat"}
    return next((wire for end, wire in ends.items() if path.endswith(end)), None)


def read_answer(wire: Wire, request: Json, path: str, body: bytes) -> ModelAnswer:
    """What a model answered.

    Args:
        path: where; Gemini's has the model's name in it.
        body: the answer, also one that was cut off.
    """
    values = list(values_in(body))
    named = re.search(r"/models/([^/:]+):", path)
    model = str(request.get("model") or (named[1] if named else ""))
    answer = _READERS[wire](values)
    if not answer.input_tokens and not answer.output_tokens:
        answer = replace(
            answer,
            input_tokens=len(json.dumps(request)) // _TOKEN,
            output_tokens=len(answer.text + answer.thoughts + json.dumps([call.arguments for call in answer.calls]))
            // _TOKEN,
            is_estimated=True,
        )
    return replace(answer, model=(answer.model or model)[:_LONGEST_NAME])


def values_in(body: bytes) -> Iterator[Json]:
    """The JSON objects of a body, of an array (Gemini streams one without ``alt=sse``), or of the events in it."""
    text = body.decode(errors="replace")
    whole = parsed_json(text)
    if whole is not None:
        yield from _objects(whole if isinstance(whole, list) else [whole])
        return
    for line in text.splitlines():
        if line.startswith("data:"):
            yield from _objects([parsed_json(line[5:])])


def parsed_json(text: str | bytes) -> Any:
    """The value of a JSON text; None where it isn't one."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _number(counts: Any, *names: str) -> int:
    """The sum of counts in an object; values that aren't numbers count as 0."""
    found = (counts.get(name) for name in names) if isinstance(counts, Mapping) else ()
    return sum(int(number) for number in found if isinstance(number, int | float))


def _objects(value: Any) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) and text else text or {}
    except ValueError:
        return text


def _read_anthropic(values: Sequence[Json]) -> ModelAnswer:
    usage: Json = {}
    blocks: dict[int, Json] = {}
    model = ""
    for value in values:
        message = value.get("message") if value.get("type") == "message_start" else value
        if isinstance(message, dict) and "usage" in message:
            usage |= {name: count for name, count in (message["usage"] or {}).items() if count is not None}
            model = str(message.get("model") or model)
            blocks |= dict(enumerate(_objects(message.get("content"))))
        index = value.get("index", 0)
        if value.get("type") == "content_block_start":
            blocks[index] = dict(value.get("content_block") or {})
        if value.get("type") == "content_block_delta":
            block, delta = blocks.setdefault(index, {}), value.get("delta") or {}
            for name in ("text", "thinking", "partial_json"):
                block[name] = str(block.get(name) or "") + str(delta.get(name) or "")
    calls = [
        ToolCall(str(block.get("id")), str(block.get("name")), _parsed(block.get("partial_json") or block.get("input")))
        for block in blocks.values()
        if block.get("type") == "tool_use"
    ]
    cached = _number(usage, "cache_read_input_tokens")
    return ModelAnswer(
        model=model,
        text="".join(str(block.get("text") or "") for block in blocks.values()),
        thoughts="".join(str(block.get("thinking") or "") for block in blocks.values()),
        calls=tuple(calls),
        input_tokens=_number(usage, "input_tokens", "cache_creation_input_tokens") + cached,
        output_tokens=_number(usage, "output_tokens"),
        cached_tokens=cached,
    )


def _read_responses(values: Sequence[Json]) -> ModelAnswer:
    whole: Json = {}
    items: list[Json] = []
    for value in values:
        response = value.get("response") if "response" in value else value
        if isinstance(response, dict) and "output" in response:
            whole = response
        if value.get("type") == "response.output_item.done" and isinstance(value.get("item"), dict):
            items.append(value["item"])
    items = _objects(whole.get("output")) or items
    usage = whole.get("usage") or {}
    texts = [part for item in items if item.get("type") == "message" for part in _objects(item.get("content"))]
    thoughts = [part for item in items if item.get("type") == "reasoning" for part in _objects(item.get("summary"))]
    return ModelAnswer(
        model=str(whole.get("model") or ""),
        text="".join(str(part.get("text") or "") for part in texts),
        thoughts="".join(str(part.get("text") or "") for part in thoughts),
        calls=tuple(
            ToolCall(str(item.get("call_id")), str(item.get("name")), _parsed(item.get("arguments")))
            for item in items
            if item.get("type") == "function_call"
        ),
        input_tokens=_number(usage, "input_tokens"),
        output_tokens=_number(usage, "output_tokens"),
        cached_tokens=_number(usage.get("input_tokens_details"), "cached_tokens"),
    )


def _read_chat(values: Sequence[Json]) -> ModelAnswer:
    usage: Json = {}
    model, text, thoughts = "", "", ""
    calls: dict[int, Json] = {}
    for value in values:
        usage = value.get("usage") or usage
        model = str(value.get("model") or model)
        for choice in _objects(value.get("choices"))[:1]:
            part = choice.get("message") or choice.get("delta") or {}
            text += str(part.get("content") or "")
            thoughts += str(part.get("reasoning_content") or part.get("reasoning") or "")
            for place, call in enumerate(_objects(part.get("tool_calls"))):
                known = calls.setdefault(call.get("index", place), {"id": "", "name": "", "arguments": ""})
                function = call.get("function") or {}
                known["id"] = known["id"] or call.get("id") or ""
                known["name"] += function.get("name") or ""
                known["arguments"] += function.get("arguments") or ""
    return ModelAnswer(
        model=model,
        text=text,
        thoughts=thoughts,
        calls=tuple(ToolCall(call["id"], call["name"], _parsed(call["arguments"])) for call in calls.values()),
        input_tokens=_number(usage, "prompt_tokens"),
        output_tokens=_number(usage, "completion_tokens"),
        cached_tokens=_number(usage.get("prompt_tokens_details"), "cached_tokens"),
    )


def _read_gemini(values: Sequence[Json]) -> ModelAnswer:
    usage: Json = {}
    model = ""
    parts: list[Json] = []
    for value in values:
        usage = value.get("usageMetadata") or usage
        model = str(value.get("modelVersion") or model)
        for candidate in _objects(value.get("candidates"))[:1]:
            parts += _objects((candidate.get("content") or {}).get("parts"))
    texts = [part for part in parts if isinstance(part.get("text"), str)]
    return ModelAnswer(
        model=model,
        text="".join(part["text"] for part in texts if not part.get("thought")),
        thoughts="".join(part["text"] for part in texts if part.get("thought")),
        calls=tuple(
            ToolCall(str(call.get("id") or ""), str(call.get("name")), call.get("args") or {})
            for call in (part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict))
        ),
        input_tokens=_number(usage, "promptTokenCount", "toolUsePromptTokenCount"),
        output_tokens=_number(usage, "candidatesTokenCount", "thoughtsTokenCount"),
        cached_tokens=_number(usage, "cachedContentTokenCount"),
    )


_READERS: dict[Wire, Callable[[Sequence[Json]], ModelAnswer]] = {
    "anthropic": _read_anthropic,
    "responses": _read_responses,
    "chat": _read_chat,
    "gemini": _read_gemini,
}
