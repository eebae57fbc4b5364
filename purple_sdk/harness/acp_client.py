"""Plays one turn with a program that speaks the Agent Client Protocol (ACP) on its standard input and output.

    acp_client.py SESSION WORK MCP_URL PROMPT PROGRAM ARGUMENT…

It runs in the CLI agent's confinement, as the agent's parent, so it needs only the standard library. It loads SESSION,
or starts a session with the simulation's MCP server if SESSION is empty. It sends the prompt, and prints a JSON object
with ``text``, ``session`` and ``problem`` (null if the turn is complete). If a session can't be loaded, it starts a new
one, whose prompt begins with the prompt of the first turn.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

SERVER = "proctor"
_AUTH_REQUIRED = -32000
_NO_METHOD = -32601
_OF_BUILT_IN_TOOLS = ("read", "edit", "delete", "move", "search", "execute", "fetch")
FIRST_PROMPT = Path(os.environ.get("HOME", ""), "first_prompt.txt")

_LONGEST_TEXT = 20_000
_CLOSING_SECONDS = 5.0

Json = dict[str, Any]


class AcpError(Exception):
    """The program refused a request, or ended; ``code`` is JSON-RPC's error code."""

    def __init__(self, sentence: str, code: int = 0) -> None:
        super().__init__(sentence)
        self.code = code


class Program:
    """An ACP program; ``text`` collects its messages since it was last emptied."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._requests = 0
        self.text = ""

    def request(self, method: str, **params: Any) -> Json:
        """Send a request and wait for its result. Answer the program's own requests during the wait. Raises AcpError if
        the program answers with an error or ends.
        """
        self._requests += 1
        number = self._requests
        self._send({"id": number, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if not isinstance(message, dict):
                continue
            if "method" in message:
                self._hear(message)
            elif message.get("id") == number:
                if error := message.get("error"):
                    sentence = f"{error.get('message')} {json.dumps(error.get('data') or '')}"
                    raise AcpError(f"{method} failed: {sentence[:500]}", int(error.get("code") or 0))
                result = message.get("result")
                return result if isinstance(result, dict) else {}
        raise AcpError(f"ended during {method} (exit code {self._process.wait()})")

    def close(self) -> None:
        """End the program, with time to write its session to the disk."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        for stop in (self._process.terminate, self._process.kill):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_CLOSING_SECONDS)
                return
            stop()

    def _hear(self, message: Json) -> None:
        params = message.get("params") or {}
        update = params.get("update") or {}
        content = update.get("content")
        if update.get("sessionUpdate") == "agent_message_chunk" and isinstance(content, dict):
            self.text = (self.text + str(content.get("text") or ""))[-_LONGEST_TEXT:]
        if "id" not in message:
            return
        if message["method"] == "session/request_permission":
            self._send({"id": message["id"], "result": {"outcome": decide(params)}})
        else:
            error = {"code": _NO_METHOD, "message": f"this client has no {message['method']}"}
            self._send({"id": message["id"], "error": error})

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise AcpError(f"ended (exit code {self._process.wait()})") from None


def decide(params: Mapping[str, Any]) -> Json:
    """Return the answer to a request for a permission: tools of the simulation are allowed, built-in ones aren't."""
    call = params.get("toolCall") or {}
    is_built_in = call.get("kind") in _OF_BUILT_IN_TOOLS and SERVER not in json.dumps(call)
    wanted = ("reject_once", "reject_always") if is_built_in else ("allow_always", "allow_once")
    options = {option.get("kind"): option.get("optionId") for option in params.get("options") or []}
    chosen = next((options[kind] for kind in wanted if kind in options), None)
    return {"outcome": "cancelled"} if chosen is None else {"outcome": "selected", "optionId": chosen}


def play(program: Program, session: str, place: Json, prompt: str) -> Json:
    """Play the turn in the session; returns the object to print."""
    capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    found = program.request("initialize", protocolVersion=1, clientCapabilities=capabilities)
    can_load = bool((found.get("agentCapabilities") or {}).get("loadSession"))
    if not (session and can_load and _load(program, session, place)):
        if session:
            prompt = _begin_again(prompt)
        else:
            FIRST_PROMPT.write_text(prompt)
        session = _enter(program, place, [str(method.get("id")) for method in found.get("authMethods") or []])
    program.text = ""  # a loaded session repeats its history
    ended = program.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": prompt}])
    reason = ended.get("stopReason")
    problem = None if reason == "end_turn" else f'ended its turn with the reason "{reason}"'
    return {"text": program.text, "session": session, "problem": problem}


def _load(program: Program, session: str, place: Json) -> bool:
    try:
        program.request("session/load", sessionId=session, **place)
    except AcpError as error:
        print(error, file=sys.stderr)
        return False
    return True


def _begin_again(prompt: str) -> str:
    """Return the prompt of a new session in a later turn. It includes the first prompt, which has the user's
    instructions.
    """
    return f"{FIRST_PROMPT.read_text()}\n\nYou played that turn, but your session is lost. {prompt}"


def _enter(program: Program, place: Json, methods: Sequence[str]) -> str:
    """Begin a session; authenticate by key if the program asks for one of the methods."""
    try:
        return str(program.request("session/new", **place)["sessionId"])
    except AcpError as error:
        by_key = next((method for method in methods if "key" in method.lower()), None)
        if error.code != _AUTH_REQUIRED or by_key is None:
            raise
    program.request("authenticate", methodId=by_key)
    return str(program.request("session/new", **place)["sessionId"])


def main() -> None:
    """Play the turn and print its result."""
    session, work, mcp_url, prompt, *command = sys.argv[1:]
    key = {"name": "Authorization", "value": f"Bearer {os.environ['PROCTOR_TURN_TOKEN']}"}
    place = {"cwd": work, "mcpServers": [{"type": "http", "name": SERVER, "url": mcp_url, "headers": [key]}]}
    end: Json = {"text": "", "session": None}
    try:
        program = Program(command)
        try:
            end = play(program, session, place, prompt)
        finally:
            program.close()
    except (AcpError, OSError, KeyError) as error:
        end["problem"] = str(error)
    print(json.dumps(end), flush=True)


if __name__ == "__main__":
    main()
