"""Lists of the paths, queries, headers and fields of requests that a relay passes on to a model's endpoint.

Anything else is refused or left out, since it may cause costs that answers don't report, or change something with the
user's key. Unknown fields are only left out, so requests of newer CLI agents pass.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from purple_sdk.harness.declared import Wire

_NAME = r"[A-Za-z0-9][\w.-]*"


_SAMPLING = """
    n temperature top_p top_k min_p seed stop presence_penalty frequency_penalty repetition_penalty logit_bias logprobs
    top_logprobs
"""
_THINKING = "reasoning reasoning_effort thinking enable_thinking thinking_budget chat_template_kwargs verbosity"
_CHAT = f"""
    model messages stream stream_options tools tool_choice parallel_tool_calls functions function_call max_tokens
    max_completion_tokens response_format {_SAMPLING} {_THINKING}
    user safety_identifier prompt_cache_key prompt_cache_retention service_tier modalities store
"""
_RESPONSES = """
    model input instructions stream stream_options tools tool_choice parallel_tool_calls max_output_tokens
    max_tool_calls temperature top_p top_logprobs reasoning text include truncation client_metadata user
    safety_identifier prompt_cache_key prompt_cache_retention service_tier store
"""
_ANTHROPIC = """
    model messages system max_tokens stream tools tool_choice temperature top_p top_k stop_sequences thinking metadata
    cache_control output_config output_format context_management diagnostics service_tier speed
"""
_GEMINI = "contents systemInstruction tools toolConfig safetySettings generationConfig serviceTier store"
_GENERATION = """
    temperature topP topK candidateCount maxOutputTokens stopSequences responseMimeType responseSchema
    responseJsonSchema presencePenalty frequencyPenalty responseLogprobs logprobs seed thinkingConfig
    responseModalities mediaResolution serviceTier
"""


def _spellings(names: str) -> frozenset[str]:
    """Split names; add their spelling with underscores, which Google's servers also accept."""
    listed = names.split()
    return frozenset([*listed, *(re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name) for name in listed)])


@dataclass(frozen=True)
class Route:
    """A kind of request.

    Attributes:
        wire: the protocol of its answer, whose tokens are counted; None for requests without costs.
        fields: the fields that pass. Other fields are left out, since an unknown field may cost anything.
    """

    method: str
    path: re.Pattern[str]
    wire: Wire | None = None
    fields: frozenset[str] = frozenset()


def _route(method: str, path: str, wire: Wire | None = None, fields: str = "") -> Route:
    return Route(method, re.compile(path, re.ASCII), wire, _spellings(fields))


_OPENAI = (
    _route("POST", "/v1/chat/completions", "chat", _CHAT),
    _route("POST", "/v1/responses", "responses", _RESPONSES),
    _route("GET", f"/v1/models(/{_NAME})?"),
)
_GOOGLE = f"/v1(alpha|beta)?/models/{_NAME}"
ROUTES: dict[Wire, tuple[Route, ...]] = {
    "chat": _OPENAI,
    "responses": _OPENAI,
    "anthropic": (
        _route("POST", "/v1/messages", "anthropic", _ANTHROPIC),
        _route("POST", "/v1/messages/count_tokens", None, _ANTHROPIC),
        _route("GET", f"/v1/models(/{_NAME})?"),
    ),
    "gemini": (
        _route("POST", f"{_GOOGLE}:(generateContent|streamGenerateContent)", "gemini", _GEMINI),
        _route("POST", f"{_GOOGLE}:countTokens", None, "contents"),
        _route("GET", f"/v1(alpha|beta)?/models(/{_NAME})?"),
    ),
}

_QUERIES = {"alt": r"sse|json", "beta": r"true", "limit": r"\d+", "pageSize": r"\d+", "client_version": r"[\w.-]+"}
"""The allowed parameters of queries, with patterns of their values. Other parameters may change the answer: Google's
``fields`` would leave out the usage.
"""

_HEADERS = ("user-agent", "anthropic-version", "anthropic-beta", "openai-beta")
"""The allowed headers. Other headers may change the payer (``OpenAI-Organization``) or the action
(``X-HTTP-Method-Override``).
"""

_INSIDE = {name: _spellings(_GENERATION) for name in ("generationConfig", "generation_config")}
"""Fields that contain options, with the options that pass."""

_TOOL = _spellings("""
    type name description function custom parameters input_schema strict format tools cache_control defer_loading
    eager_input_streaming input_examples output_schema annotations execution display_width_px display_height_px
    display_number max_characters functionDeclarations
""")
"""Fields of a tool: routers distinguish a provider's search from other tools by them."""

_TEXT: tuple[Any, ...] = (None, [], ["text"], ["TEXT"])
_VALUES: dict[str, tuple[Any, ...]] = {
    "servicetier": (None, "auto", "default", "flex", "standard", "standard_only"),
    "speed": (None, "standard"),
    "modalities": _TEXT,
    "responsemodalities": _TEXT,
    "store": (None, False),
}
"""Allowed values, by names of known fields without case and underscores. A field with another value is left out."""

_ELSEWHERE = {"background", "cachedcontent", "container", "conversation", "previousresponseid", "prompt"}
"""Fields whose presence makes the relay refuse a request. Without such a field, the request would ask something else,
or its answer would be elsewhere.
"""

_FILES = {"fileid", "fileuri", "fileurl"}
_ADDRESSES = {"audiourl", "imageurl", "url", "videourl"}
_INNER = sorted(_spellings("content parts output source file fileData functionResponse"))
"""Fields of a conversation's parts that contain parts."""

_OWN_TOOLS = re.compile(
    r"function|custom|namespace|local_shell|apply_patch|tool_search\w*|(bash|text_editor|computer|memory)_\d+"
)
_GEMINI_TOOLS = {"functiondeclarations"}


def find_route(wire: Wire, method: str, path: str) -> Route | None:
    """Return the kind of a request; None if the request isn't passed on. ``path`` is not decoded."""
    return next((route for route in ROUTES[wire] if route.method == method and route.path.fullmatch(path)), None)


def allowed_query(query: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a query that is passed on."""
    known = {name: value for name, value in query.items() if name in _QUERIES}
    return {name: value for name, value in known.items() if re.fullmatch(_QUERIES[name], value, re.ASCII)}


def allowed_headers(headers: Mapping[str, str], names: Iterable[str] = _HEADERS) -> dict[str, str]:
    """Return the headers that are passed on; the relay adds its own. Headers that aren't ASCII are left out: HTTP
    clients can't send them.
    """
    return {name: headers[name] for name in names if name in headers and headers[name].isascii()}


def keep_known(route: Route, question: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a request's body with its known fields, and the names of the fields that are left out. Unknown fields of
    tools are removed in place.
    """
    left_out: list[str] = []

    def known(fields: Mapping[str, Any], names: Container[str], place: str = "") -> dict[str, Any]:
        kept = {name: value for name, value in fields.items() if name in names and _may_be(name, value)}
        left_out.extend(f"{place}{name}" for name, value in fields.items() if value and name not in kept)
        return {
            name: known(value, _INSIDE[name], f"{name}.") if name in _INSIDE and isinstance(value, dict) else value
            for name, value in kept.items()
        }

    kept = known(question, route.fields)
    for tool in _list_tools(kept) if route.wire != "gemini" else ():
        for name in [name for name in tool if name not in _TOOL]:
            del tool[name]
            left_out.append(f"tools.{name}")
    return kept, left_out


def find_refused(wire: Wire, question: Mapping[str, Any]) -> str | None:
    """Describe the first part of a request that can't be left out and costs more than its text. None if there is no
    such part.
    """
    for name, value in question.items():
        if _make_plain(name) in _ELSEWHERE and value:
            return f'the field "{name}"'
    for tool in _list_tools(question):
        kind = tool.get("type")
        if wire == "gemini":
            names = {name for name in tool if _make_plain(name) not in _GEMINI_TOOLS}
        elif kind is None:
            names = set() if tool.keys() & {"name", "function", "tools"} else {next(iter(tool), "")}
        else:
            names = set() if _OWN_TOOLS.fullmatch(str(kind)) else {str(kind)}
        if names:
            return f'the tool "{min(names)[:50]}", which the provider runs'
    return next(filter(None, map(_find_reference, _list_parts(question))), None)


def _may_be(name: str, value: Any) -> bool:
    return value in _VALUES.get(_make_plain(name), (value,))


def _make_plain(name: str) -> str:
    return name.replace("_", "").lower()


def _find_reference(part: Mapping[str, Any]) -> str | None:
    """Describe a reference in a part of a conversation, by name or address: the provider would fetch its target."""
    if part.get("type") in ("item_reference", "container_upload") or {"id"} <= part.keys() <= {"id", "type"}:
        return "a reference to a part that is not in it"
    for name, value in part.items():
        plain = _make_plain(name)
        address = value.get("url") if isinstance(value, dict) else value
        if plain in _FILES and value:
            return f'"{name}", whose file is not in it'
        if plain in _ADDRESSES and isinstance(address, str) and not address.startswith("data:"):
            return f'an address in "{name}", whose content is not in it'
    return None


def _list_parts(question: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the items of a conversation and their parts. Arguments and results of tools in separate fields are left
    out.
    """
    names = ("input", "messages", "contents", "system", "systemInstruction", "system_instruction")
    rest: list[Any] = [question.get(name) for name in names]
    while rest:
        part = rest.pop()
        if isinstance(part, list):
            rest.extend(part)
        elif isinstance(part, dict):
            yield part
            rest.extend(part[name] for name in _INNER if name in part)


def _list_tools(question: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tools of a request and of the items of its conversation, including the tools in their namespaces."""
    found: list[dict[str, Any]] = []
    lists = [value for name in ("input", "messages") if isinstance(value := question.get(name), list)]
    groups = [question, *(item for items in lists for item in items if isinstance(item, dict))]
    while groups:
        tools = groups.pop().get("tools") or []
        each = tools if isinstance(tools, list) else [tools]
        some = [tool if isinstance(tool, dict) else {"type": str(tool)} for tool in each]
        groups += [tool for tool in some if "tools" in tool]
        found += some
    return found
