"""Gemini CLI. ``tools.core`` must name the MCP tools: anything else removes them without an error."""

from purple_sdk.harness.declared import (
    SERVER,
    TOKEN_VARIABLE,
    Harness,
    Launch,
    Outcome,
    Printed,
    as_json,
    bearer_of,
    json_lines,
)


def _files(launch: Launch) -> dict[str, str]:
    server = {"httpUrl": launch.mcp, "headers": bearer_of(f"${TOKEN_VARIABLE}"), "trust": True, "timeout": 600_000}
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 3},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "tools": {"core": [f"mcp_{SERVER}_*"]},
        "mcpServers": {SERVER: server},
    }
    return {".gemini/settings.json": as_json(settings)}


def _command(launch: Launch) -> list[str]:
    session = ["-r", launch.session] if launch.session else ["--session-id", launch.new_session]
    return [launch.program, "-m", launch.model, "-o", "stream-json", *session, "-p", launch.prompt]


def _read(printed: Printed, launch: Launch) -> Outcome:
    events = json_lines(printed.stdout)
    session = launch.session or launch.new_session
    texts = [str(event.get("content") or "") for event in events if event.get("role") == "assistant"]
    result = next((event for event in reversed(events) if event.get("type") == "result"), None)
    if result is None:
        return Outcome("".join(texts), session, f"printed no result in JSON lines; {printed.ending()}")
    problem = None if result.get("status") == "success" else str(result.get("error") or result)
    return Outcome("".join(texts), session, problem)


GEMINI_CLI = Harness(
    name="gemini-cli",
    title="Gemini CLI",
    packages=("@google/gemini-cli@0.61.0",),
    program="gemini",
    wire="gemini",
    files=_files,
    command=_command,
    environment=lambda launch: {"GOOGLE_GEMINI_BASE_URL": launch.relay, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    read=_read,
    oldest=(0, 50),
    size="96 MB",
)
