"""A CLI agent in little: a session in its home, a model by chat completions, tools by MCP, JSON lines as output.

    fake_cli.py MODEL RELAY SESSION PROMPT

As real ones do, it writes the prompt into its session before it asks the model. The model's name says what it does
wrong, if anything. ``breaks-out:PORT:FILE…`` tries what it may not, as to read files, and notes how that ended.
"""

import errno
import json
import os
import resource
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODEL, RELAY, SESSION, PROMPT = sys.argv[1:5]
TOKEN = os.environ["PROCTOR_TURN_TOKEN"]
FILE = Path(os.environ["HOME"], ".fake", f"{SESSION}.json")


def ask(path: str, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    headers["Accept"] = "application/json, text/event-stream"
    request = urllib.request.Request(RELAY + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        content = reply.read()
    return json.loads(content) if content else {}


def mcp(method: str, **params: Any) -> Any:
    return ask("/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})["result"]


def play(messages: list[dict[str, Any]]) -> str:
    if MODEL == "no-mcp":
        return "All is done."
    listed = mcp("tools/list")["tools"]
    tools = [{"type": "function", "function": {"name": tool["name"], "parameters": {}}} for tool in listed]
    while True:
        reply = ask("/v1/chat/completions", {"model": MODEL, "messages": messages, "tools": tools})
        message = reply["choices"][0]["message"]
        messages.append(message)
        FILE.write_text(json.dumps(messages))
        if not message.get("tool_calls"):
            return str(message["content"])
        for call in message["tool_calls"]:
            result = mcp(
                "tools/call", name=call["function"]["name"], arguments=json.loads(call["function"]["arguments"])
            )
            text = "\n".join(part["text"] for part in result["content"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
            FILE.write_text(json.dumps(messages))


def break_out(port: int, files: list[str]) -> None:
    home = Path(os.environ["HOME"])
    homes = home.parents[2]
    attempts: dict[str, Callable[[], object]] = {
        "write in its home": lambda: (home / "own").write_text("x"),
        "write a temporary file": lambda: Path(os.environ["TMPDIR"], "own").write_text("x"),
        "write outside": lambda: (homes / "outside").write_text("x"),
        "change the notes on its session": lambda: (home.parent / "state.json").write_text("{}"),
        "read another's home": (homes / "another" / "secret").read_text,
        "read its parent's environment": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "connect elsewhere": lambda: socket.create_connection(("127.0.0.1", port)),
        **{f"read {file}": Path(file).read_bytes for file in files},
        "listen": lambda: socket.create_server(("127.0.0.1", 0)),
    }
    found: dict[str, str | int] = {name: outcome(attempt) for name, attempt in attempts.items()}
    found["memory"] = resource.getrlimit(resource.RLIMIT_DATA)[1]
    (home / "attempts.json").write_text(json.dumps(found))


def outcome(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "done"


def main() -> None:
    FILE.parent.mkdir(exist_ok=True)
    Path(os.environ["HOME"], "environment.json").write_text(json.dumps(dict(os.environ)))
    messages = json.loads(FILE.read_text()) if FILE.exists() else []
    messages.append({"role": "user", "content": PROMPT})
    FILE.write_text(json.dumps(messages))
    if MODEL == "login":
        sys.exit("Please log in first: run `fake login`.")
    if MODEL == "writes-outside":
        Path(os.environ["HOME"]).parents[2].joinpath("outside").write_text("x")
    if MODEL == "waits":
        print("Do you trust this folder? [y/n]", file=sys.stderr, flush=True)
        time.sleep(600)
    if MODEL == "leaves-a-child":
        # In a session of its own, so that the end of the process group doesn't reach it.
        Path(os.environ["HOME"], "token").write_text(TOKEN)
        subprocess.Popen(["sleep", "30"], start_new_session=False)
    if MODEL.startswith("breaks-out"):
        _, port, *files = MODEL.split(":")
        break_out(int(port), files)
    answer = play(messages)
    if MODEL == "no-json":
        print(answer)
        return
    print(json.dumps({"type": "turn", "session": SESSION}))
    if MODEL != "no-end":
        print(json.dumps({"type": "end", "text": answer, "env": sorted(os.environ), "folder": os.getcwd()}))


if __name__ == "__main__":
    main()
