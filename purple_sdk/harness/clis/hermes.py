"""Hermes. Only ``chat`` resumes a session; it prints its errors on standard output, as if they were the answer."""

import re

from purple_sdk.harness.declared import SERVER, Harness, Launch, Outcome, Printed, config_file

_SESSION = re.compile(r"session[_ ]id:?\s*(\S+)", re.I)


def _command(launch: Launch) -> list[str]:
    resume = ["--resume", launch.session] if launch.session else []
    return [launch.program, "chat", "-Q", "-t", SERVER, "--ignore-rules", *resume, "-q", launch.prompt]


def _read_outcome(printed: Printed, launch: Launch) -> Outcome:
    found = _SESSION.findall(printed.stderr) or _SESSION.findall(printed.stdout)
    session = found[-1] if found else launch.session
    answer = printed.stdout.strip()
    if printed.exit_code or session is None:
        return Outcome(answer, session, answer[-300:] or printed.ending())
    return Outcome(answer, session)


HERMES = Harness(
    name="hermes",
    title="Hermes",
    packages=("hermes-agent[mcp,acp,anthropic]==0.19.0",),
    program="hermes",
    wire="chat",
    files=config_file(".hermes/config.yaml", "hermes.yaml"),
    command=_command,
    environment=lambda launch: {"HERMES_HOME": str(launch.home / ".hermes")},
    read=_read_outcome,
    oldest=(0, 19),
    size="233 MB",
    installer="pip",
)
