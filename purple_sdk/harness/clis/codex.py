"""Codex. Items of type ``error`` may be mere warnings."""

from purple_sdk.harness.declared import Harness, Launch, Outcome, Printed, config_file, json_lines


def _command(launch: Launch) -> list[str]:
    resume = ["resume"] if launch.session else []
    return [
        *(launch.program, "exec", *resume, "--json", "--skip-git-repo-check"),
        *([launch.session] if launch.session else []),
        launch.prompt,
    ]


def _read_outcome(printed: Printed, launch: Launch) -> Outcome:
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
    files=config_file(".codex/config.toml", "codex.toml"),
    command=_command,
    environment=lambda launch: {"CODEX_HOME": str(launch.home / ".codex")},
    read=_read_outcome,
    oldest=(0, 100),
    size="404 MB",
)
