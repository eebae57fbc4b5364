"""OpenClaw. On older Node.js npm installs an empty placeholder of it; its own Node.js comes with it here."""

import json
import os

from purple_sdk.harness.declared import (
    SERVER,
    TOKEN_VARIABLE,
    Harness,
    Launch,
    Outcome,
    Printed,
    as_json,
    bearer_of,
)

_PROVIDER = "relay"


def _files(launch: Launch) -> dict[str, str]:
    token = f"${{{TOKEN_VARIABLE}}}"
    model = {"id": launch.model, "name": launch.model, "reasoning": False, "input": ["text"]}
    model |= {"cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    model |= {"contextWindow": 200_000, "maxTokens": 16_000}
    provider = {"baseUrl": f"{launch.relay}/v1", "apiKey": token, "api": "openai-completions", "models": [model]}
    server = {"url": launch.mcp, "transport": "streamable-http", "headers": bearer_of(token)}
    config = {
        "models": {"mode": "replace", "providers": {_PROVIDER: provider}},
        "agents": {"defaults": {"model": {"primary": f"{_PROVIDER}/{launch.model}"}, "skipBootstrap": True}},
        "mcp": {"servers": {SERVER: server}},
        "tools": {"toolSearch": False, "allow": ["bundle-mcp"]},
        "update": {"checkOnStart": False},
        "logging": {"file": str(launch.home / "openclaw.log")},
        "telemetry": {"enabled": False},
    }
    return {"openclaw.json": as_json(config)}


def _command(launch: Launch) -> list[str]:
    session = launch.session or launch.new_session
    return [
        *(launch.program, "agent", "--local", "--agent", "main"),
        *("--session-id", session, "--json", "-m", launch.prompt),
    ]


def _environment(launch: Launch) -> dict[str, str]:
    return {
        "OPENCLAW_NO_AUTO_UPDATE": "1",
        "OPENCLAW_NO_RESPAWN": "1",  # else it starts itself again in another process group
        "OPENCLAW_CONFIG_PATH": str(launch.home / "openclaw.json"),
        "OPENCLAW_STATE_DIR": str(launch.home / "state"),
    }


def _read(printed: Printed, launch: Launch) -> Outcome:
    session = launch.session or launch.new_session
    try:
        result = json.loads(printed.stdout[printed.stdout.index("{") :])
    except ValueError:
        return Outcome(session=session, problem=f"printed no JSON; {printed.ending()}")
    texts = [str(part.get("text") or "") for part in result.get("payloads") or []]
    if result.get("ok") is False or "meta" not in result:
        return Outcome("\n".join(texts), session, str(result.get("error") or result))
    return Outcome("\n".join(texts), session)


OPENCLAW = Harness(
    name="openclaw",
    title="OpenClaw",
    packages=("node@24.21.0", "openclaw@2026.9.6"),
    program="openclaw",
    wire="chat",
    files=_files,
    command=_command,
    environment=_environment,
    read=_read,
    oldest=(2026, 9),
    writes=(f"/tmp/openclaw-state-locks-{os.getuid()}",),  # it locks its state there, whatever TMPDIR says
    size="768 MB",
)
