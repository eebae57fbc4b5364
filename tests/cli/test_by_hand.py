"""One service per terminal, as docs/start.md says: nothing set, from any folder; what a worker says that can't work."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from purple_sdk.processes.ports import free_ports, is_free
from tests.cli.commands import Sandbox
from tests.cli.terminals import alone
from tests.sentences import says
from tests.stack import Stack
from tests.waiting import PATIENCE
from tests.work import only_nightly

ROOT = Path(__file__).parents[2]
READY = {
    "temporal server start-dev": "Temporal UI:",
    "proctor ues": "listening on",
    "proctor worker": "polling",
    "proctor gateway": "listening on",
    "proctor agent triage": "listening on",
}
PORTS = (7233, 8233, 8100, 8000, 8001)


def commands_of_the_page() -> list[str]:
    """What the section "By hand" has after each prompt."""
    section = (ROOT / "docs" / "start.md").read_text().partition("\n## By hand\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    return [command.strip() for block in blocks for command in block.split("$ ")[1:]]


@only_nightly  # by default: test_up.py, and tests/docs knows each command
def test_the_pages_commands_play_an_assessment_with_nothing_set(tmp_path: Path) -> None:
    *services, asks = commands_of_the_page()
    assert services == list(READY)
    assert asks.startswith("curl ")
    command = alone([sys.executable, "-m", "tests.cli.terminals", str(tmp_path)])
    if command[0] != "unshare" and not all(is_free("127.0.0.1", port) for port in PORTS):
        pytest.skip("the page's commands take the default ports, which this machine uses")
    (tmp_path / "services.json").write_text(json.dumps([(service, READY[service]) for service in services]))
    (tmp_path / "asks").write_text(asks)
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path / "home")}
    (tmp_path / "home").mkdir()
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3 * PATIENCE, check=False
    )
    said = "\n".join(path.read_text() for path in sorted(tmp_path.glob("*.txt")))
    assert done.returncode == 0, done.stderr + said
    task = json.loads(done.stdout)["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED", task["status"]
    assert "earned" in task["status"]["message"]["parts"][0]["text"]
    state = tmp_path / "home" / ".local" / "state" / "proctor"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "secret").stat().st_mode) == 0o600
    assert [list(folder.iterdir()) for folder in tmp_path.glob("terminal-*")] == [[]] * len(services)


def settings_of_a_worker_beside(stack: Stack) -> dict[str, str]:
    """A worker that finds the stack's Temporal and takes none of its work."""
    return {
        "AGENTBEATS_GREEN_TEMPORAL_ADDRESS": stack.local.temporal_address,
        "AGENTBEATS_GREEN_TASK_QUEUE": "beside",
        "AGENTBEATS_GREEN_MODELS_TASK_QUEUE": "beside-models",
    }


@only_nightly  # by default: tests/observing/test_readiness.py
def test_a_worker_without_simulator_says_so_and_when_there_is_one(stack: Stack, sandbox: Sandbox) -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    with sandbox.started("worker", "--ues-url", url, **settings_of_a_worker_beside(stack)) as worker:
        worker.wait_for(f"{url} (")
        worker.wait_for("AGENTBEATS_GREEN_UES_URL")
        with sandbox.started("ues", "--port", str(port)) as ues:
            ues.wait_for("listening on")
            worker.wait_for_that(lambda: worker.output.count(url) > 1)
            assert worker.output.count(f"{url} (") == 1


@only_nightly
def test_a_worker_that_finds_something_else_says_so(stack: Stack, sandbox: Sandbox) -> None:
    with sandbox.started("worker", "--ues-url", stack.gateway_url, **settings_of_a_worker_beside(stack)) as worker:
        worker.wait_for(stack.gateway_url)


def test_a_worker_whose_namespace_is_missing_says_what_to_set(stack: Stack, sandbox: Sandbox) -> None:
    beside = {**settings_of_a_worker_beside(stack), "AGENTBEATS_GREEN_TEMPORAL_NAMESPACE": "nowhere"}
    done = sandbox.call("worker", **beside)
    assert done.returncode == 3
    assert done.stderr == (
        says(
            "nowhere",
            "--namespace",
            "AGENTBEATS_GREEN_TEMPORAL_NAMESPACE",
            temporal_address=stack.local.temporal_address,
        )
    )
