"""Any program that speaks the Agent Client Protocol: ``--harness acp --program "COMMAND"``.

The program gets its model by the usual variables. If it needs more, use a script that first writes the configuration
into ``$HOME``, from ``PROCTOR_RELAY``, ``PROCTOR_MODEL`` and ``PROCTOR_TURN_TOKEN``. The script then executes the
program.
"""

import shlex
import sys
from pathlib import Path

from purple_sdk.harness import acp_client
from purple_sdk.harness.declared import Harness, Launch, Outcome, Printed, json_lines

_CLIENT = "acp_client.py"


def _command(launch: Launch) -> list[str]:
    client = str(launch.home / _CLIENT)
    turn = (launch.session or "", str(launch.work), launch.mcp, launch.prompt)
    return [sys.executable, "-S", client, *turn, *shlex.split(launch.program)]


def _environment(launch: Launch) -> dict[str, str]:
    return {
        "PROCTOR_RELAY": launch.relay,
        "PROCTOR_MODEL": launch.model,
        "OPENAI_BASE_URL": f"{launch.relay}/v1",
        "OPENAI_MODEL": launch.model,
        "ANTHROPIC_BASE_URL": launch.relay,
        "ANTHROPIC_MODEL": launch.model,
        "GOOGLE_GEMINI_BASE_URL": launch.relay,
        "GEMINI_MODEL": launch.model,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _read_outcome(printed: Printed, launch: Launch) -> Outcome:
    ends = json_lines(printed.stdout)
    if not ends:
        return Outcome(problem=f"printed no end of its turn; {printed.ending()}")
    end = ends[-1]
    problem = None if end.get("problem") is None else f"{end['problem']}; {printed.ending()}"
    return Outcome(str(end.get("text") or ""), end.get("session"), problem)


ACP = Harness(
    name="acp",
    title="An agent that speaks ACP",
    packages=(),
    program="",
    wire="chat",
    files=lambda launch: {_CLIENT: Path(acp_client.__file__).read_text()},
    command=_command,
    environment=_environment,
    read=_read_outcome,
    oldest=(),
    size="0 MB",
    installer="none",
)
