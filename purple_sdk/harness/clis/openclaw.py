"""OpenClaw. With an older Node.js, npm installs an empty placeholder of it, so we install a suitable Node.js with
it.
"""

import json
import os

from purple_sdk.harness.declared import Harness, Launch, Outcome, Printed, config_file


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


def _read_outcome(printed: Printed, launch: Launch) -> Outcome:
    session = launch.session or launch.new_session
    try:
        result = json.loads(printed.stdout[printed.stdout.index("{") :])
    except (ValueError, RecursionError):
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
    files=config_file("openclaw.json", "openclaw.json"),
    command=_command,
    environment=_environment,
    read=_read_outcome,
    oldest=(2026, 9),
    writes=(f"/tmp/openclaw-state-locks-{os.getuid()}",),  # it locks its state there and ignores TMPDIR
    size="768 MB",
)
