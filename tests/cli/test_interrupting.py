"""Ctrl-C at any moment: before a command has begun it ends at once and silently, afterwards in its own way.

How services end is in ``test_commands.py``.
"""

import os
import signal
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from temporalio.client import WorkflowExecutionStatus

from proctor.cli import replay
from purple_sdk.processes.ports import free_ports
from tests.cli.commands import Sandbox
from tests.work import only_nightly, some_of

INTERRUPTED_WHILE_IMPORTING = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPTED_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
"""

BEGINNINGS = {
    "--help": "typer",
    "worker": "temporalio.worker",
    "up": "proctor.service.supervisor",
    "replay TASK": "temporalio.client",
    "demo": "proctor.cli.demo",
    "assess email_triage_basic --agent http://127.0.0.1:1": "a2a.client",
    "check-agent http://127.0.0.1:1": "a2a.client",
    "gateway": "a2a.server.routes",
    "ues": "proctor.ues.http.app",
    "agent triage": "purple_sdk.server",
    "scenarios list": "proctor.activities.scenario_code.manager",
}
"""Each command, with a module in the midst of whose import it is interrupted."""


@pytest.mark.parametrize("command", some_of(BEGINNINGS, 2))
def test_a_command_that_is_interrupted_while_it_imports_ends_silently(sandbox: Sandbox, command: str) -> None:
    hook = sandbox.folder / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(INTERRUPTED_WHILE_IMPORTING)
    done = sandbox.run(*command.split(), PYTHONPATH=str(hook), INTERRUPTED_AT=BEGINNINGS[command])
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
    assert not sandbox.processes()


@only_nightly
def test_up_that_is_interrupted_while_it_starts_leaves_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    flags = ("--port", "--ues-port", "--temporal-port", "--ui-port", "--agent-port")
    ports = [word for flag, port in zip(flags, free_ports(5), strict=True) for word in (flag, str(port))]
    with sandbox.started("up", *ports, "--state", str(tmp_path / "state")) as up:
        up.wait_for_that((tmp_path / "state" / "logs" / "temporal.log").exists)
        assert up.end(signal.SIGINT) == 0
    assert "Traceback" not in up.output
    assert "Ctrl-C" not in up.output
    assert not sandbox.processes()


def test_the_question_of_replay_ends_with_the_first_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event loop keeps the first Ctrl-C for its tasks, so the question must not be asked in one."""
    answered: list[str] = []

    class Interrupted:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            os.kill(os.getpid(), signal.SIGINT)
            answered.append("y")
            return "y"

    async def nothing(*_: object) -> Any:
        return MagicMock(get_workflow_handle=lambda _: MagicMock(describe=described))

    async def described() -> Any:
        return MagicMock(status=WorkflowExecutionStatus.COMPLETED)

    monkeypatch.setattr("sys.stdin", Interrupted())
    monkeypatch.setattr(replay, "_connect", nothing)
    monkeypatch.setattr(replay, "reset_points", nothing)
    monkeypatch.setattr(replay, "choose", lambda *_: replay.ResetPoint("run", 1, "the judging"))
    with pytest.raises(KeyboardInterrupt):
        replay.run_replay("t", "http://127.0.0.1:1")
    assert not answered
