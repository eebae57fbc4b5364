"""mini-swe-agent. It has no MCP: an environment class of ours sends its commands to the task's container."""

import json
from pathlib import Path

from purple_sdk.harness import agents_files
from purple_sdk.harness.declared import Harness, Launch, Outcome, Printed

_SUBMITTED = "Submitted"

_START = """\
from minisweagent.run.mini import app

app()
"""

_ENVIRONMENT = '''\
"""Where mini-swe-agent's commands run: in the task's container, by the tool at the relay."""

import json
import os
import re
import urllib.request

from minisweagent.environments.local import LocalEnvironment

RELAY = {relay!r}


def ask(method, **params):
    body = {{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}}
    headers = {{"Authorization": "Bearer " + os.environ["PROCTOR_TURN_TOKEN"], "Content-Type": "application/json"}}
    request = urllib.request.Request(RELAY + "/mcp", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=600) as reply:
        return json.loads(reply.read())["result"]


class ContainerEnvironment(LocalEnvironment):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.tool = ask("tools/list")["tools"][0]["name"]

    def execute(self, action, cwd="", *, timeout=None):
        variables = "".join(f"export {{name}}={{value}}; " for name, value in self.config.env.items())
        arguments = {{"command": variables + action.get("command", ""), "timeout": timeout or 120}}
        result = ask("tools/call", name=self.tool, arguments=arguments)
        text = result["content"][0]["text"]
        found = re.match(r"\\[exit code (-?\\d+)\\]\\n?", text)
        output = {{
            "output": text[found.end():] if found else text,
            "returncode": int(found[1]) if found else -1,
            "exception_info": "",
        }}
        self._check_finished(output)
        return output

    def get_template_vars(self, **kwargs):
        system = {{"system": "Linux", "release": "", "version": "", "machine": ""}}
        return {{**self.config.model_dump(), **system, **kwargs}}
'''


def _files(launch: Launch) -> dict[str, str]:
    return {"start.py": _START, "container.py": _ENVIRONMENT.format(relay=launch.relay)}


def _command(launch: Launch) -> list[str]:
    """Return a command line of its Python, which finds our environment class beside the script."""
    python, home = Path(launch.program).with_name("python"), launch.home
    settings = (f"model.model_kwargs.api_base={launch.relay}/v1", "agent.cost_limit=0")
    return [
        *(str(python), str(home / "start.py"), "-y", "--exit-immediately", "-m", f"openai/{launch.model}"),
        *("--environment-class", "container.ContainerEnvironment", "-o", str(home / "trajectory.json")),
        *("-c", "mini.yaml", *(part for setting in settings for part in ("-c", setting)), "-t", launch.prompt),
    ]


def _environment(launch: Launch) -> dict[str, str]:
    return {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_GLOBAL_CONFIG_DIR": str(launch.home / "config"),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def _read_outcome(printed: Printed, launch: Launch) -> Outcome:
    try:
        info = json.loads(agents_files.read(launch.home, "trajectory.json"))["info"]
        status = str(info["exit_status"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Outcome(problem=f"wrote no trajectory; {printed.ending()}")
    problem = None if status == _SUBMITTED else f"ended with the status {status}; {printed.ending()}"
    return Outcome(str(info.get("submission") or ""), None, problem)


MINI_SWE_AGENT = Harness(
    name="mini-swe-agent",
    title="mini-swe-agent",
    packages=("mcp>=2", "mini-swe-agent==2.4.6"),  # litellm, which it uses, needs mcp and doesn't say so
    program="mini",
    wire="chat",
    files=_files,
    command=_command,
    environment=_environment,
    read=_read_outcome,
    oldest=(2, 0),
    size="708 MB",
    installer="pip",
    has_mcp=False,
)
