"""OpenCode. Its events come only when a step ends. ``--title`` prevents a model call for the title."""

from pathlib import Path

from purple_sdk.harness.declared import Harness, Launch, Outcome, Printed, config_file, json_lines


def _command(launch: Launch) -> list[str]:
    session = ["-s", launch.session] if launch.session else ["--title", "turn"]
    return [launch.program, "run", "--pure", "--format", "json", *session, launch.prompt]


def _environment(launch: Launch) -> dict[str, str]:
    return {
        "OPENCODE_CONFIG": str(launch.home / "opencode.json"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "XDG_DATA_HOME": str(Path(launch.home, ".local/share")),
    }


def _read_outcome(printed: Printed, launch: Launch) -> Outcome:
    events = json_lines(printed.stdout)
    session = next((str(event["sessionID"]) for event in events if event.get("sessionID")), launch.session)
    parts = [(event.get("type"), event.get("part") or {}) for event in events]
    answer = next((str(part.get("text")) for kind, part in reversed(parts) if kind == "text"), "")
    if any(kind == "step_finish" and part.get("reason") == "stop" for kind, part in parts):
        return Outcome(answer, session)
    errors = [str(event.get("error")) for event in events if event.get("type") == "error"]
    return Outcome(answer, session, errors[-1] if errors else f"printed no end of its last step; {printed.ending()}")


OPENCODE = Harness(
    name="opencode",
    title="OpenCode",
    packages=("opencode-ai@1.18.33",),
    program="opencode",
    wire="chat",
    files=config_file("opencode.json", "opencode.json"),
    command=_command,
    environment=_environment,
    read=_read_outcome,
    oldest=(1, 0),
    size="354 MB",
)
