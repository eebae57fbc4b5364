"""What a relay lets through to a model's endpoint: a list of paths, queries, headers and fields.

Anything else is refused: it may cost something that answers don't report, or change something with the user's key.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from purple_sdk.harness.declared import Wire

_NAME = r"[A-Za-z0-9][\w.-]*"


@dataclass(frozen=True)
class Route:
    """A kind of request. ``wire`` is the protocol of its answer, which is counted; None for requests that are free."""

    method: str
    path: re.Pattern[str]
    wire: Wire | None = None


def _route(method: str, path: str, wire: Wire | None = None) -> Route:
    return Route(method, re.compile(path, re.ASCII), wire)


_OPENAI = (
    _route("POST", "/v1/chat/completions", "chat"),
    _route("POST", "/v1/responses", "responses"),
    _route("GET", f"/v1/models(/{_NAME})?"),
)
ROUTES: dict[Wire, tuple[Route, ...]] = {
    "chat": _OPENAI,
    "responses": _OPENAI,
    "anthropic": (
        _route("POST", "/v1/messages", "anthropic"),
        _route("POST", "/v1/messages/count_tokens"),
        _route("GET", f"/v1/models(/{_NAME})?"),
    ),
    "gemini": (
        _route("POST", f"/v1(alpha|beta)?/models/{_NAME}:(generateContent|streamGenerateContent)", "gemini"),
        _route("POST", f"/v1(alpha|beta)?/models/{_NAME}:countTokens"),
        _route("GET", f"/v1(alpha|beta)?/models(/{_NAME})?"),
    ),
}

_QUERIES = {"alt": r"sse|json", "beta": r"true", "limit": r"\d+", "pageSize": r"\d+", "client_version": r"[\w.-]+"}
"""Others may change the answer: Google's ``fields`` would leave out the usage."""

_HEADERS = ("user-agent", "anthropic-version", "anthropic-beta", "openai-beta")
"""Others may change who pays (``OpenAI-Organization``) or what is done (``X-HTTP-Method-Override``)."""

_PAID_APART = {"background", "websearchoptions", "mcpservers", "container", "plugins", "prompt", "cachedcontent"}
"""Fields, without case and underscores, of requests whose cost or tools the request and its answer don't show."""

_PLAIN = {
    "servicetier": (None, "auto", "default", "flex", "standard", "standard_only"),
    "speed": (None, "standard"),
}
_OWN_TOOLS = re.compile(
    r"function|custom|namespace|local_shell|apply_patch|tool_search\w*|(bash|text_editor|computer|memory)_\d+"
)
_GEMINI_TOOLS = {"functiondeclarations"}


def find_route(wire: Wire, method: str, path: str) -> Route | None:
    """The kind of a request; ``path`` is as it was sent, not decoded. None for one that isn't let through."""
    return next((each for each in ROUTES[wire] if each.method == method and each.path.fullmatch(path)), None)


def allowed_query(query: Mapping[str, str]) -> dict[str, str]:
    """The part of a query that is passed on."""
    known = {name: value for name, value in query.items() if name in _QUERIES}
    return {name: value for name, value in known.items() if re.fullmatch(_QUERIES[name], value, re.ASCII)}


def allowed_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that are passed on, beside those that the relay sets."""
    return {name: headers[name] for name in _HEADERS if name in headers}


def find_uncounted(wire: Wire, question: Mapping[str, Any]) -> str | None:
    """The first part of a request that costs beside the tokens of its answer, in words; None if there is none."""
    for name, value in question.items():
        plain = name.replace("_", "").lower()
        if plain in _PAID_APART and value:
            return f'the field "{name}"'
        if plain in _PLAIN and value not in _PLAIN[plain]:
            return f'"{name}": "{str(value)[:50]}"'
    for tool in _tools_of(question):
        kind = tool.get("type")
        if wire == "gemini":
            names = {name for name in tool if name.replace("_", "").lower() not in _GEMINI_TOOLS}
        else:
            names = set() if kind is None or _OWN_TOOLS.fullmatch(str(kind)) else {str(kind)}
        if names:
            return f'the tool "{min(names)[:50]}", which the provider runs'
    return None


def _tools_of(question: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tools of a request, and those in its namespaces."""
    found: list[dict[str, Any]] = []
    groups = [question]
    while groups:
        tools = groups.pop().get("tools") or []
        each = tools if isinstance(tools, list) else [tools]
        some = [tool if isinstance(tool, dict) else {"type": str(tool)} for tool in each]
        groups += [tool for tool in some if tool.get("type") == "namespace"]
        found += some
    return found
