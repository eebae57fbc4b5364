"""Claude Code. Without ``--allowedTools`` it refuses every call and still reports success."""

import json

from purple_sdk.harness.declared import SERVER, Harness, Launch, Outcome, Printed, config_file


def _command(launch: Launch) -> list[str]:
    session = ["--resume", launch.session] if launch.session else ["--session-id", launch.new_session]
    options = ["--output-format", "json", "--model", launch.model, "--mcp-config", str(launch.home / "mcp.json")]
    rules = ["--strict-mcp-config", "--tools=", f"--allowedTools=mcp__{SERVER}"]
    return [launch.program, "-p", launch.prompt, *options, *rules, *session]


def _environment(launch: Launch) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": launch.relay,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "3",
        # Without these settings it doesn't wait for the tools on a slow machine, and asks its model without tools.
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_CONNECT_TIMEOUT_MS": "60000",
        "MCP_TIMEOUT": "60000",
        "DISABLE_AUTOUPDATER": "1",
    }


def _read_outcome(printed: Printed, launch: Launch) -> Outcome:
    try:
        result = json.loads(printed.stdout)
        answer = str(result["result"]) if "result" in result else str(result["subtype"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return Outcome(problem=f"printed no result in JSON; {printed.ending()}")
    session = str(result.get("session_id") or launch.session or launch.new_session)
    # "subtype" may be "success" although the turn failed.
    return Outcome(answer, session, answer if result.get("is_error") else None)


CLAUDE_CODE = Harness(
    name="claude-code",
    title="Claude Code",
    packages=("@anthropic-ai/claude-code@2.1.197",),
    program="claude",
    wire="anthropic",
    files=config_file("mcp.json", "claude_code.json"),
    command=_command,
    environment=_environment,
    read=_read_outcome,
    oldest=(2, 1),
    size="235 MB",
)
