"""Codex. Items of type ``error`` may be mere warnings."""

from purple_sdk.harness.declared import Harness, Launch, Outcome, Printed, filled, json_lines

_CONFIG = """\
model = {model}
model_provider = "relay"
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false
web_search = "disabled"
[analytics]
enabled = false
[features]
shell_tool = false
unified_exec = false
apps = false
plugins = false
multi_agent = false
image_generation = false
[model_providers.relay]
name = "relay"
base_url = "{relay}/v1"
env_key = "{variable}"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
[mcp_servers.{server}]
url = "{mcp}"
bearer_token_env_var = "{variable}"
required = true
tool_timeout_sec = 600
default_tools_approval_mode = "approve"
"""


def _files(launch: Launch) -> dict[str, str]:
    return {".codex/config.toml": filled(_CONFIG, launch)}


def _command(launch: Launch) -> list[str]:
    resume = ["resume"] if launch.session else []
    return [
        *(launch.program, "exec", *resume, "--json", "--skip-git-repo-check"),
        *([launch.session] if launch.session else []),
        launch.prompt,
    ]


def _read(printed: Printed, launch: Launch) -> Outcome:
    events = json_lines(printed.stdout)
    kinds = {event.get("type"): event for event in events}
    started = kinds.get("thread.started") or {}
    session = str(started.get("thread_id") or launch.session or "") or None
    items = [event.get("item") or {} for event in events if event.get("type") == "item.completed"]
    answer = next((str(item.get("text")) for item in reversed(items) if item.get("type") == "agent_message"), "")
    if "turn.completed" in kinds:
        return Outcome(answer, session)
    failed = (kinds.get("turn.failed") or {}).get("error") or {}
    if message := failed.get("message") or (kinds.get("error") or {}).get("message"):
        return Outcome(answer, session, str(message))
    return Outcome(answer, session, f"printed no turn.completed in JSON lines; {printed.ending()}")


CODEX = Harness(
    name="codex",
    title="Codex",
    packages=("@openai/codex@0.169.0",),
    program="codex",
    wire="responses",
    files=_files,
    command=_command,
    environment=lambda launch: {"CODEX_HOME": str(launch.home / ".codex")},
    read=_read,
    oldest=(0, 100),
    size="404 MB",
)
