"""What a relay lets through to a model's endpoint: a list of paths, queries, headers and fields.

Anything else is refused: it may cost something that answers don't report, or change something with the user's key.
"""

import re
from collections.abc import Iterable, Mapping
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

_PAID_APART = {
    "apibase", "apikey", "background", "baseurl", "bestof", "billingpolicy", "cachedcontent", "compaction", "container",
    "conversation", "enablesearch", "fallbackcredittoken", "fallbacks", "inferencegeo", "mcpservers", "models",
    "moderation", "plugins", "prompt", "provider", "provideroptions", "route", "searchparameters", "userconfig",
    "websearch", "websearchoptions",
}  # fmt: skip
"""Fields, without case and underscores, of requests whose cost, model or tools the request and its answer don't show:
also those of routers (OpenRouter, LiteLLM), which may ask a dearer model.
"""

_TEXT: tuple[Any, ...] = (None, [], ["text"], ["TEXT"])
_PLAIN: dict[str, tuple[Any, ...]] = {
    "servicetier": (None, "auto", "default", "flex", "standard", "standard_only"),
    "speed": (None, "standard"),
    "modalities": _TEXT,
    "responsemodalities": _TEXT,
}
_OPTIONS = {"generationconfig", "extrabody"}
"""Fields whose own fields are options, too."""

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


def allowed_headers(headers: Mapping[str, str], names: Iterable[str] = _HEADERS) -> dict[str, str]:
    """The headers that are passed on, beside those that the relay sets: HTTP clients send ASCII alone."""
    return {name: headers[name] for name in names if name in headers and headers[name].isascii()}


def find_uncounted(wire: Wire, question: Mapping[str, Any]) -> str | None:
    """The first part of a request that costs beside the tokens of its answer, in words; None if there is none."""
    options = [value for name, value in question.items() if _plain(name) in _OPTIONS and isinstance(value, dict)]
    for name, value in (field for place in (question, *options) for field in place.items()):
        plain = _plain(name)
        if plain in _PAID_APART and value:
            return f'the field "{name}"'
        if plain in _PLAIN and value not in _PLAIN[plain]:
            return f'"{name}": "{str(value)[:50]}"'
    for tool in _tools_of(question):
        kind = tool.get("type")
        if wire == "gemini":
            names = {name for name in tool if _plain(name) not in _GEMINI_TOOLS}
        else:
            names = set() if kind is None or _OWN_TOOLS.fullmatch(str(kind)) else {str(kind)}
        if names:
            return f'the tool "{min(names)[:50]}", which the provider runs'
    return None


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _tools_of(question: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tools of a request, of the items of its conversation, which may bring some, and those in its namespaces."""
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
