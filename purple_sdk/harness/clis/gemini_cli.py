"""Gemini CLI. ``tools.core`` must name the MCP tools: anything else removes them without an error."""

from purple_sdk.harness.declared import Harness, Launch, Outcome, Printed, config_file, json_lines


def _command(launch: Launch) -> list[str]:
    session = ["-r", launch.session] if launch.session else ["--session-id", launch.new_session]
    return [launch.program, "-m", launch.model, "-o", "stream-json", *session, "-p", launch.prompt]


def _read_outcome(printed: Printed, launch: Launch) -> Outcome:
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
    files=config_file(".gemini/settings.json", "gemini_cli.json"),
    command=_command,
    environment=lambda launch: {"GOOGLE_GEMINI_BASE_URL": launch.relay, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    read=_read_outcome,
    oldest=(0, 50),
    size="96 MB",
)
