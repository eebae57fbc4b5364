"""Serve the same simulation over the Model Context Protocol at ``/mcp``: each route for participants is a tool.

The transport is Streamable HTTP without sessions: each message is a POST and is answered with JSON. A tool call becomes
a request to its route, with the caller's headers. The request is authenticated, limited, validated and logged like any
other. Tools can therefore do only the things that routes can do.

The package ``mcp`` is loaded at the first message: its import takes longer than the rest of the server's start.
"""

import asyncio
import json
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode, urlsplit

import orjson
from pydantic import AnyUrl, BaseModel

from proctor.ues.events import FAILED
from proctor.ues.http.requests import Scope, Send, received
from proctor.ues.http.route import Call, Reply, Route
from proctor.ues.http.tool_names import drawn_names, is_renamed, reworded
from proctor.ues.keys import Key
from proctor.ues.modalities.email.files import AS_TEXT
from proctor.ues.modalities.email.models import AttachmentResponse
from proctor.ues.noise import Noise
from proctor.ues.problems import Forbidden
from proctor.ues.schema import JsonObject, ModalityActionResponse

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.lowlevel import Server

PATH = "/mcp"
USUAL_NAME = "proctor/tool"
"""The key in a call's result for the usual name of a renamed tool. Reports of actions need this name."""

NAME = "user-environment-simulator"

DEPTH_OF_ARGUMENTS = 2
"""The levels of a message around a tool's arguments. The arguments may nest as deep as a request's body."""

COST_OF_A_MESSAGE = 0.002
"""Seconds of processor time that a message takes before and after its route, as measured. They count towards a
participant's limit, like the time of the route."""


def refuse_foreign_origin(headers: Iterable[tuple[bytes, bytes]], public_url: str | None) -> None:
    """Raise Forbidden (403) for a request from a web page of another origin, as the MCP specification asks for.

    Programs send no Origin. Pages of this machine and of the server's public address are allowed. The request's host
    name proves nothing: DNS rebinding makes it equal the page's.
    """
    origin = next((value.decode("latin-1") for name, value in headers if name == b"origin"), None)
    if origin is None or (public_url is not None and _origin(origin) == _origin(public_url)):
        return
    if _origin(origin)[1] not in ("localhost", "127.0.0.1", "::1"):
        raise Forbidden(f"Requests from pages of the origin {origin[:80]!r} are refused. Call without a browser.")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port
    except ValueError:
        return "", None, None


class Ask(Protocol):
    """Sends a request on the caller's behalf."""

    async def __call__(self, method: str, path: str, query: bytes, body: bytes) -> Reply:
        """Return the reply, either a success or a problem."""


@dataclass(frozen=True)
class Caller:
    """The sender of a message: its key, a function to send requests with that key, and the noise in its tools."""

    key: Key
    ask: Ask
    noise: Noise | None = None

    def name_tools(self, usual: Iterable[str]) -> dict[str, str]:
        """Return the tools' usual names, by the names that the caller sees."""
        if self.noise is None:
            return {name: name for name in usual}
        return {shown: name for name, shown in drawn_names(usual, self.noise.seed, self.noise.level).items()}

    def usual_name(self, shown: str, usual: Iterable[str]) -> str:
        """Return a tool's usual name, by the name that the caller sees; empty for an unknown name."""
        return shown if self.noise is None else self.name_tools(usual).get(shown, "")

    def describe(self, name: str, summary: str) -> str:
        """Return a tool's description as the caller sees it."""
        is_usual = self.noise is None or not is_renamed(name, self.noise.seed, self.noise.level)
        return summary if is_usual else reworded(summary)


@dataclass(frozen=True)
class RouteTool:
    """One route as a tool."""

    name: str
    route: Route[Call]

    @cached_property
    def schema(self) -> JsonObject:
        """The tool's input schema: the fields of path, query and body."""
        schema: JsonObject = {"type": "object", "properties": {}}
        for model in (self.route.params, self.route.body):
            if isinstance(model, type) and issubclass(model, BaseModel):
                dumped = model.model_json_schema()
                schema["properties"] |= dumped.pop("properties", {})
                schema |= {name: rule for name, rule in dumped.items() if name not in ("title", "description", "type")}
        for variable in self._variables:
            described = "Name of a modality: email, sms, chat, calendar, contacts, location, weather or time."
            schema["properties"][variable] = {"type": "string", "description": described}
            schema.setdefault("required", []).append(variable)
        schema.setdefault("additionalProperties", False)
        return schema

    @property
    def _variables(self) -> list[str]:
        return [part[1:-1] for part in self.route.path.split("/") if part.startswith("{")]

    def find_unknown(self, arguments: JsonObject) -> list[str]:
        """Return the arguments that the tool doesn't have. A tool with ``additionalProperties`` takes any."""
        known = self.schema["properties"]
        return [] if self.schema.get("additionalProperties") else [name for name in arguments if name not in known]

    def has_failed(self, reply: Reply) -> bool:
        """Whether the route refused the request, or its action failed."""
        if reply.status >= 400:
            return True
        is_action = ModalityActionResponse in self.route.responses
        return is_action and orjson.loads(reply.to_bytes())["status"] == FAILED

    async def use(self, arguments: JsonObject, ask: Ask) -> Reply:
        rest, path = dict(arguments), self.route.path
        for variable in self._variables:
            path = path.replace(f"{{{variable}}}", quote(str(rest.pop(variable, "")), safe="") or "-")
        if self.route.method == "GET":
            return await ask("GET", path, urlencode({name: _in_query(rest[name]) for name in rest}).encode(), b"")
        return await ask(self.route.method, path, b"", orjson.dumps(rest))


class McpEndpoint:
    """Answers MCP messages about any simulation with these routes."""

    def __init__(self, routes: Iterable[Route[Call]]) -> None:
        self._tools = {tool.name: tool for tool in map(_make_tool, routes) if tool.route.participant}
        self._caller: ContextVar[Caller] = ContextVar("caller")

    async def answer(self, caller: Caller, body: bytes, scope: Scope, send: Send) -> None:
        """Answer one message by ``send``; ``body`` is the JSON that was read from ``scope``'s request."""
        from mcp.server.streamable_http import StreamableHTTPServerTransport

        transport = StreamableHTTPServerTransport(mcp_session_id=None, is_json_response_enabled=True)
        self._caller.set(caller)
        async with transport.connect() as (reading, writing):
            options = self._server.create_initialization_options()
            served = asyncio.create_task(self._server.run(reading, writing, options, stateless=True))
            try:
                await transport.handle_request(scope, received(body), send)
            finally:
                await transport.terminate()
                served.cancel()
                await asyncio.wait({served})

    @cached_property
    def _server(self) -> "Server[Any, Any]":
        from mcp import types
        from mcp.server.lowlevel import Server

        server: Server[Any, Any] = Server(
            NAME,
            instructions="A simulated person's mailbox, phone, chat, calendar and contacts, to act in on their behalf.",
        )

        async def list_tools() -> list[types.Tool]:
            caller = self._caller.get()
            return [
                types.Tool(
                    name=shown,
                    description=caller.describe(tool.name, tool.route.summary),
                    inputSchema=tool.schema,
                    annotations=types.ToolAnnotations(readOnlyHint=not tool.route.changes),
                )
                for shown, tool in (
                    (shown, self._tools[name]) for shown, name in caller.name_tools(self._tools).items()
                )
                if tool.route.permission is None or caller.key.allows(tool.route.permission)
            ]

        async def call_tool(name: str, arguments: JsonObject) -> types.CallToolResult:
            usual = self._caller.get().usual_name(name, self._tools)
            tool = self._tools.get(usual)
            if tool is None:
                return _result(f"There is no tool {name[:80]!r}; tools/list names those that there are.", is_error=True)
            unknown = tool.find_unknown(arguments)
            if unknown:
                listed = ", ".join(tool.schema["properties"]) or "no arguments"
                sentence = f"{name} has no argument {unknown[0][:80]!r}. It takes: {listed}."
                return _result(sentence, is_error=True)
            reply = await tool.use(arguments, self._caller.get().ask)
            if AttachmentResponse in tool.route.responses and reply.status < 400:
                return types.CallToolResult(content=_blocks(orjson.loads(reply.to_bytes())))
            text = reply.to_bytes().decode(errors="replace")
            return _result(text, is_error=tool.has_failed(reply), usual=None if usual == name else usual)

        server.list_tools()(list_tools)  # type: ignore[no-untyped-call]
        server.call_tool(validate_input=False)(call_tool)  # the route itself checks
        return server


def _make_tool(route: Route[Call]) -> RouteTool:
    words = [part.strip("{}") for part in route.path.strip("/").split("/")]
    return RouteTool("_".join(words).replace("-", "_"), route)


def _result(text: str, *, is_error: bool, usual: str | None = None) -> "types.CallToolResult":
    from mcp import types

    meta = None if usual is None else {USUAL_NAME: usual}
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], isError=is_error, _meta=meta)


def _blocks(file: JsonObject) -> "list[types.ContentBlock]":
    """Return an attached file as MCP blocks: its fields, its text if known, and its bytes unless it is a text file."""
    from mcp import types

    about = {name: value for name, value in file.items() if name not in ("content", "text")}
    blocks: list[types.ContentBlock] = [types.TextContent(type="text", text=orjson.dumps(about).decode())]
    if file["text"] is not None:
        blocks.append(types.TextContent(type="text", text=file["text"]))
    mime_type = file["mime_type"]
    if mime_type.startswith("image/"):
        blocks.append(types.ImageContent(type="image", data=file["content"], mimeType=mime_type))
    elif not mime_type.startswith(AS_TEXT):
        address = AnyUrl(f"attachment:{file['sha256']}")
        resource = types.BlobResourceContents(uri=address, mimeType=mime_type, blob=file["content"])
        blocks.append(types.EmbeddedResource(type="resource", resource=resource))
    return blocks


def _in_query(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
