"""The tool of a terminal task: commands in the task's container, over MCP without sessions."""

import json
from collections.abc import Mapping
from typing import Any

import httpx

from purple_sdk.examples.terminal_agent.shell import Shell, ShellGoneError

TOOL = "execute_bash_command"
_SECONDS, _MOST_SECONDS = 120.0, 540.0
"""Default and longest time for a command, in seconds. CLI agents wait 600 s for a tool."""

_NO_METHOD = -32601
_BAD_MESSAGE = -32700


class ShellTools:
    """One tool that runs commands in a shell.

    Attributes:
        gone: the reason why no more commands can be run; None while they can.
    """

    owner = "task"

    def __init__(self, shell: Shell, workdir: str) -> None:
        self._shell = shell
        self._workdir = workdir
        self.gone: ShellGoneError | None = None

    async def answer(
        self, http: httpx.AsyncClient, method: str, headers: Mapping[str, str], body: bytes
    ) -> httpx.Response:
        """See ``Tools``."""
        if method != "POST":
            return httpx.Response(405, json={"error": "POST messages: there are no sessions and no streams"})
        try:
            message = json.loads(body)
            name = str(message["method"])
        except (ValueError, KeyError, TypeError, RecursionError):
            problem = {"code": _BAD_MESSAGE, "message": "not a JSON-RPC request"}
            return httpx.Response(400, json={"jsonrpc": "2.0", "id": None, "error": problem})
        if "id" not in message:
            return httpx.Response(202)
        head = {"jsonrpc": "2.0", "id": message["id"]}
        result = await self._result(name, message.get("params") or {})
        if result is None:
            return httpx.Response(
                200, json={**head, "error": {"code": _NO_METHOD, "message": f"there is no {name[:80]}"}}
            )
        return httpx.Response(200, json={**head, "result": result})

    async def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        if method == "initialize":
            version = str(params.get("protocolVersion") or "2025-06-18")
            server = {"name": "terminal", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": [self._tool()]}
        return await self._call(params) if method == "tools/call" else None

    def _tool(self) -> dict[str, Any]:
        seconds = f"Seconds after which it is killed: {_SECONDS:g} by default, {_MOST_SECONDS:g} at most."
        properties = {
            "command": {"type": "string", "description": "What bash runs."},
            "timeout": {"type": "number", "description": seconds},
        }
        return {
            "name": TOOL,
            "description": f"Run a command with bash in {self._workdir} of the task's container. Returns its exit code "
            "and output. Only files stay from one command to the next.",
            "inputSchema": {"type": "object", "properties": properties, "required": ["command"]},
        }

    async def _call(self, params: Mapping[str, Any]) -> dict[str, Any]:
        arguments = params.get("arguments") or {}
        command, seconds = arguments.get("command"), arguments.get("timeout") or _SECONDS
        if params.get("name") != TOOL or not isinstance(command, str) or not isinstance(seconds, int | float):
            return _text(f'there is only the tool {TOOL}: {{"command": TEXT, "timeout": SECONDS}}', is_error=True)
        try:
            ran = await self._shell.run(command, min(max(seconds, 1.0), _MOST_SECONDS))
        except ShellGoneError as error:
            self.gone = error
            return _text(f"no more commands can be run: {error}", is_error=True)
        return _text(ran.in_words(), is_error=False)


def _text(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
