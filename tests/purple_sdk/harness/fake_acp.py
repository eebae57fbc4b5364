"""A program that speaks ACP, in little: ``fake_acp.py [FAULT]``. It keeps its sessions in its home folder.

Faults: ``can-not-load`` doesn't offer to load sessions, ``loses`` fails to, ``wants-a-key`` wants a method of
authentication, ``refuses`` ends each turn so, ``ends`` ends when it is to play a turn.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Any

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
HOME = Path(os.environ["HOME"])


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(url: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), sent), timeout=60) as reply:
        answer: dict[str, Any] = json.loads(reply.read())
        return answer


class Session:
    def __init__(self, session: str, params: dict[str, Any]) -> None:
        (self.server,) = params["mcpServers"]
        self.file = HOME / f"{session}.json"
        self.messages = json.loads(self.file.read_text()) if self.file.exists() else []

    def mcp(self, method: str, **params: Any) -> Any:
        headers = {header["name"]: header["value"] for header in self.server["headers"]}
        return ask(self.server["url"], {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers)[
            "result"
        ]

    def play(self, session: str, prompt: str) -> None:
        tools = [{"type": "function", "function": {"name": tool["name"]}} for tool in self.mcp("tools/list")["tools"]]
        self.messages.append({"role": "user", "content": prompt})
        key = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
        while True:
            body = {"model": os.environ["OPENAI_MODEL"], "messages": self.messages, "tools": tools}
            reply = ask(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body, key)["choices"][0]["message"]
            self.messages.append(reply)
            if not reply.get("tool_calls"):
                break
            (call,) = reply["tool_calls"]
            text = "refused"
            if permitted(session, call["function"]["name"]):
                arguments = json.loads(call["function"]["arguments"])
                text = str(self.mcp("tools/call", name=call["function"]["name"], arguments=arguments))
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        self.file.write_text(json.dumps(self.messages))
        say(session, str(reply["content"]))


def say(session: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": session, "update": update})


def permitted(session: str, tool: str) -> bool:
    options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
    call = {"toolCallId": "1", "title": tool, "kind": "other"}
    send(
        id=99, method="session/request_permission", params={"sessionId": session, "toolCall": call, "options": options}
    )
    outcome = json.loads(sys.stdin.readline())["result"]["outcome"]
    return bool(outcome == {"outcome": "selected", "optionId": "allow_once"})


def main() -> None:
    sessions: dict[str, Session] = {}
    has_key = FAULT != "wants-a-key"
    print("a line that is no JSON", flush=True)
    print("[" * 100_000, flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        number, params = message["id"], message["params"]
        result: dict[str, Any] | None = {}
        if message["method"] == "initialize":
            methods = [{"id": "a-login", "name": "Log in"}, {"id": "api-key", "name": "Key"}]
            result = {
                "protocolVersion": 1,
                "agentCapabilities": {"loadSession": FAULT != "can-not-load"},
                "authMethods": methods,
            }
        elif message["method"] == "authenticate":
            has_key = params["methodId"] == "api-key"
        elif message["method"] == "session/new":
            session = f"s{len(list(HOME.glob('s*.json')))}"
            sessions[session] = Session(session, params)
            result = {"sessionId": session} if has_key else None
        elif message["method"] == "session/load":
            sessions[params["sessionId"]] = Session(params["sessionId"], params)
            say(params["sessionId"], "what was said earlier")
            result = {} if FAULT != "loses" else None
        elif FAULT == "ends":
            sys.exit(3)
        else:
            sessions[params["sessionId"]].play(params["sessionId"], params["prompt"][0]["text"])
            result = {"stopReason": "refusal" if FAULT == "refuses" else "end_turn"}
        if result is None:
            send(id=number, error={"code": -32000, "message": "Authentication required"})
        else:
            send(id=number, result=result)


if __name__ == "__main__":
    main()
