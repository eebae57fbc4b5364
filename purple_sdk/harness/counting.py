"""Read text, calls and tokens from models' answers in four protocols, as one JSON body or as server-sent events."""

import io
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from purple_sdk.harness.declared import Wire

Json = dict[str, Any]

_TOKEN = 4
"""Approximate characters of a token of English text."""

_LONGEST_NAME = 200
_LONGEST_TEXT = 1_000_000

_MOST_VALUES = 1_000_000
"""The most values in a JSON text. Even a short value takes some hundred bytes of memory."""

_MOST_LEVELS = 100
"""Maximum depth of arguments. They are written as JSON later, and writers fail if the nesting is too deep."""

_UNSAID_OUTPUT = 128_000
"""The assumed maximum tokens of an answer if its request has no limit, or if the endpoint may ignore the limit."""

_MOST_COPIES = 128

_MOST_COUNT = 10**12
"""The largest count that is accepted: larger ones can't be multiplied by a price."""

_LENGTHS: dict[Wire, tuple[str, ...]] = {
    "anthropic": ("max_tokens",),
    "responses": ("max_output_tokens",),
    "chat": ("max_tokens", "max_completion_tokens"),
    "gemini": ("maxOutputTokens", "max_output_tokens"),
}
_COPIES: dict[Wire, tuple[str, ...]] = {"chat": ("n",), "gemini": ("candidateCount", "candidate_count")}
"""The fields of requests, by protocol, that set the number of answers. An endpoint ignores fields of other
protocols.
"""


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
        model: the model that the answer names; if it names none, the requested one.
        calls: the tools that the model called.
        input_tokens: tokens of the prompt, including those from a cache.
        output_tokens: tokens of the answer, including those of its thoughts.
        cached_tokens: tokens of the prompt from a cache.
        is_estimated: whether tokens are estimated by the length of texts, because the endpoint didn't report all of
            them.
        is_whole: whether the answer has come to its end.
        asked_model: the model named by the request.
        most_output: maximum tokens of an answer that was cut off or can't be read, since hidden thoughts may be as long
            as the request allows. 0 for other answers.
        surcharge: the number of prompt tokens whose cost equals the extra cost of writing to a cache (Anthropic).
    """

    model: str = ""
    text: str = ""
    thoughts: str = ""
    calls: tuple[ToolCall, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    is_estimated: bool = False
    is_whole: bool = False
    asked_model: str = ""
    most_output: int = 0
    surcharge: int = 0

    @property
    def counted_output(self) -> int:
        """Return the tokens of the answer that count against limits."""
        return max(self.output_tokens, self.most_output)


@dataclass(frozen=True)
class Question:
    """A request for an answer, reduced to the facts that determine the answer's cost.

    Attributes:
        size: bytes of the request.
        copies: the number of answers requested at once.
        longest: maximum tokens that the request allows for all these answers.
        is_kept_to: whether the endpoint is known to enforce that limit.
    """

    wire: Wire
    model: str
    size: int
    copies: int = 1
    longest: int = _UNSAID_OUTPUT
    is_kept_to: bool = False

    @property
    def most_output(self) -> int:
        """Return the maximum tokens of all these answers. It holds even if the endpoint ignores the request's limit."""
        return self.longest if self.is_kept_to else max(self.longest, self.copies * _UNSAID_OUTPUT)


def read_question(
    wire: Wire, request: Mapping[str, Any], path: str, size: int, *, is_kept_to: bool = False
) -> Question:
    """Read a request's body; for Gemini, ``path`` has the model's name."""
    named = re.search(r"/models/([^/:]+):", path)
    model = str((named[1] if named else request.get("model")) or "")[:_LONGEST_NAME]
    places: list[Any] = [request]
    if wire == "gemini":
        places = [request[name] for name in ("generationConfig", "generation_config") if request.get(name)] or [{}]
    longest = max(_largest(place, _LENGTHS[wire]) or _UNSAID_OUTPUT for place in places)
    copies = min(max(1, *(_largest(place, _COPIES.get(wire, ())) for place in places)), _MOST_COPIES)
    return Question(wire, model, size, copies, copies * longest, is_kept_to)


def read_answer(question: Question, body: bytes, *, has_ended: bool = True) -> ModelAnswer:
    """Read a model's answer.

    Args:
        body: the answer, possibly cut off.
        has_ended: whether the answer is complete; otherwise the answer itself is checked for its end.
    """
    try:
        answer = _READERS[question.wire](read_values(body))
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError, RecursionError):
        answer = ModelAnswer()  # not an answer of the protocol: its length counts
    is_ended = has_ended or body.rstrip().endswith(b"\ndata: [DONE]")
    is_whole = is_ended or (answer.is_whole and question.copies == 1)  # other copies may still be written
    length = len(answer.text) + len(answer.thoughts) + sum(len(json.dumps(call.arguments)) for call in answer.calls)
    said = question.copies * length // _TOKEN if length or answer.is_whole else len(body) // _TOKEN
    tokens = (answer.input_tokens or question.size // _TOKEN, answer.output_tokens)
    if not (tokens[1] and is_whole):
        tokens = (tokens[0], max(tokens[1], said))
    is_known = is_whole and bool(answer.output_tokens or length or answer.is_whole)
    return replace(
        answer,
        model=(answer.model or question.model)[:_LONGEST_NAME],
        asked_model=question.model,
        text=answer.text[:_LONGEST_TEXT],
        thoughts=answer.thoughts[:_LONGEST_TEXT],
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        is_estimated=tokens != (answer.input_tokens, answer.output_tokens),
        is_whole=is_whole,
        most_output=0 if is_known else question.longest,
    )


def read_values(body: bytes) -> Iterator[Json]:
    """Yield the JSON objects in a body: a single object, the items of an array (which Gemini streams without
    ``alt=sse``), or those in events.
    """
    if body.lstrip()[:1] in (b"{", b"["):
        whole = parsed_json(body)
        yield from _objects(whole if isinstance(whole, list) else [whole])
        return
    for line in io.BytesIO(body):  # shares the bytes; splitting would copy them
        if line.startswith(b"data:"):
            yield from _objects([parsed_json(line[5:])])


def parsed_json(text: bytes) -> Any:
    """Parse a JSON text; None if it isn't JSON, or has too many values."""
    if sum(map(text.count, (b"[", b"{", b","))) > _MOST_VALUES:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _number(counts: Any, *names: str) -> int:
    """Return the sum of counts in an object."""
    return sum(_count(counts.get(name)) for name in names) if isinstance(counts, Mapping) else 0


def _count(value: Any) -> int:
    """Read a count, given as a number or as text with digits; 0 for other values."""
    number = int(value[:20]) if isinstance(value, str) and value.isdecimal() else value
    return min(int(number), _MOST_COUNT) if isinstance(number, int | float) and 0 < number < math.inf else 0


def _join(usage: Json, more: Any) -> Json:
    """Join two reports of usage. The larger one of each count is kept, since endpoints may report growing counts, or
    the same count twice.
    """
    said = more.items() if isinstance(more, dict) else ()
    return usage | {name: max(count, usage.get(name), key=_count) for name, count in said if count is not None}


def _largest(counts: Any, names: Iterable[str]) -> int:
    return max((_number(counts, name) for name in names), default=0)


def _objects(value: Any) -> list[Json]:
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []


def read_arguments(given: Any) -> Any:
    """Read a call's arguments from JSON text or a value. Text that isn't JSON, or is nested too deeply, stays text."""
    try:
        value = json.loads(given) if isinstance(given, str) and given else given or {}
    except (ValueError, RecursionError):
        return given
    level = [value]
    for _ in range(_MOST_LEVELS):
        parts = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        if not parts:
            return value
        level = [item for part in parts for item in part]
    return given if isinstance(given, str) else f"(nested in more than {_MOST_LEVELS} levels)"


def _read_anthropic(values: Iterable[Json]) -> ModelAnswer:
    usage: Json = {}
    blocks: dict[int, Json] = {}
    written: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    model, is_whole = "", False
    for value in values:
        is_whole |= value.get("type") in ("message", "message_stop")
        message = value.get("message") if value.get("type") == "message_start" else value
        if isinstance(message, dict) and "usage" in message:
            usage = _join(usage, message["usage"])
            model = str(message.get("model") or model)
            blocks |= dict(enumerate(_objects(message.get("content"))))
        index = value.get("index", 0)
        if value.get("type") == "content_block_start":
            blocks[index] = dict(value.get("content_block") or {})
        if value.get("type") == "content_block_delta":
            blocks.setdefault(index, {})
            for name in ("text", "thinking", "partial_json"):
                written[index, name].append(str((value.get("delta") or {}).get(name) or ""))
    for (index, name), pieces in written.items():
        blocks[index][name] = str(blocks[index].get(name) or "") + "".join(pieces)
    calls = [
        ToolCall(
            str(block.get("id")),
            str(block.get("name")),
            read_arguments(block.get("partial_json") or block.get("input")),
        )
        for block in blocks.values()
        if block.get("type") == "tool_use"
    ]
    rounds = _objects(usage.get("iterations"))  # these include rounds (compactions) that the total leaves out

    def total(*names: str) -> int:
        return max(_number(usage, *names), sum(_number(counted, *names) for counted in rounds))

    hour = _number(usage.get("cache_creation"), "ephemeral_1h_input_tokens")

    return ModelAnswer(
        model=model,
        text="".join(str(block.get("text") or "") for block in blocks.values()),
        thoughts="".join(str(block.get("thinking") or "") for block in blocks.values()),
        calls=tuple(calls),
        input_tokens=total("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        output_tokens=total("output_tokens"),
        cached_tokens=_number(usage, "cache_read_input_tokens"),
        surcharge=hour + max(0, total("cache_creation_input_tokens") - hour) // 4,
        is_whole=is_whole,
    )


def _read_responses(values: Iterable[Json]) -> ModelAnswer:
    whole: Json = {}
    usage: Json = {}
    items: list[Json] = []
    for value in values:
        response = value.get("response") if "response" in value else value
        if isinstance(response, dict) and "output" in response:
            whole = response
            usage = _join(usage, response.get("usage"))
        if value.get("type") == "response.output_item.done" and isinstance(value.get("item"), dict):
            items.append(value["item"])
    items = _objects(whole.get("output")) or items
    texts = [part for item in items if item.get("type") == "message" for part in _objects(item.get("content"))]
    thoughts = [part for item in items if item.get("type") == "reasoning" for part in _objects(item.get("summary"))]
    return ModelAnswer(
        model=str(whole.get("model") or ""),
        text="".join(str(part.get("text") or "") for part in texts),
        thoughts="".join(str(part.get("text") or "") for part in thoughts),
        calls=tuple(
            ToolCall(str(item.get("call_id")), str(item.get("name")), read_arguments(item.get("arguments")))
            for item in items
            if item.get("type") == "function_call"
        ),
        input_tokens=_number(usage, "input_tokens"),
        output_tokens=max(
            _number(usage, "output_tokens"), _number(usage, "total_tokens") - _number(usage, "input_tokens")
        ),
        cached_tokens=_number(usage.get("input_tokens_details"), "cached_tokens"),
        is_whole=whole.get("status") in ("completed", "failed", "incomplete", "cancelled"),
    )


def _read_chat(values: Iterable[Json]) -> ModelAnswer:
    usage: Json = {}
    model, text, thoughts, is_whole = "", "", "", False
    calls: dict[int, Json] = {}
    for value in values:
        usage = _join(usage, value.get("usage"))
        counts = _number(value.get("usage"), "prompt_tokens", "completion_tokens")
        is_whole |= bool(counts) and not value.get("choices")  # counts that come with choices may still grow
        model = str(value.get("model") or model)
        for choice in _objects(value.get("choices"))[:1]:
            part = choice.get("message") or choice.get("delta") or {}
            is_whole |= "message" in choice
            text += str(part.get("content") or "")
            thoughts += str(part.get("reasoning_content") or part.get("reasoning") or "")
            for place, call in enumerate(_objects(part.get("tool_calls"))):
                known = calls.setdefault(call.get("index", place), {"id": "", "name": "", "arguments": []})
                function = call.get("function") or {}
                known["id"] = known["id"] or call.get("id") or ""
                known["name"] += function.get("name") or ""
                known["arguments"].append(function.get("arguments") or "")
    return ModelAnswer(
        model=model,
        text=text,
        thoughts=thoughts,
        calls=tuple(
            ToolCall(call["id"], call["name"], read_arguments("".join(call["arguments"]))) for call in calls.values()
        ),
        input_tokens=_number(usage, "prompt_tokens"),
        output_tokens=max(
            _number(usage, "completion_tokens"), _number(usage, "total_tokens") - _number(usage, "prompt_tokens")
        ),
        cached_tokens=_number(usage.get("prompt_tokens_details"), "cached_tokens"),
        is_whole=is_whole,
    )


def _read_gemini(values: Iterable[Json]) -> ModelAnswer:
    usage: Json = {}
    model, is_whole = "", False
    parts: list[Json] = []
    for value in values:
        usage = _join(usage, value.get("usageMetadata"))
        model = str(value.get("modelVersion") or model)
        is_whole |= "blockReason" in (value.get("promptFeedback") or {})
        for candidate in _objects(value.get("candidates"))[:1]:
            is_whole |= bool(candidate.get("finishReason"))
            parts += _objects((candidate.get("content") or {}).get("parts"))
    texts = [part for part in parts if isinstance(part.get("text"), str)]
    input_tokens = _number(usage, "promptTokenCount", "toolUsePromptTokenCount")
    return ModelAnswer(
        model=model,
        text="".join(part["text"] for part in texts if not part.get("thought")),
        thoughts="".join(part["text"] for part in texts if part.get("thought")),
        calls=tuple(
            ToolCall(str(call.get("id") or ""), str(call.get("name")), read_arguments(call.get("args")))
            for call in (part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict))
        ),
        input_tokens=input_tokens,
        output_tokens=max(
            _number(usage, "candidatesTokenCount", "thoughtsTokenCount"),
            _number(usage, "totalTokenCount") - input_tokens,
        ),
        cached_tokens=_number(usage, "cachedContentTokenCount"),
        is_whole=is_whole,
    )


_READERS: dict[Wire, Callable[[Iterable[Json]], ModelAnswer]] = {
    "anthropic": _read_anthropic,
    "responses": _read_responses,
    "chat": _read_chat,
    "gemini": _read_gemini,
}
