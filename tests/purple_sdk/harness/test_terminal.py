"""A CLI agent works on a terminal task: its one tool reaches the container, and the end says what was used."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from purple_sdk.examples.terminal_agent.shell import Ran, ShellGoneError
from purple_sdk.harness import terminal
from purple_sdk.harness.agent import HarnessAgent
from purple_sdk.harness.clis import find_harness
from purple_sdk.harness.clis.mini_swe_agent import MINI_SWE_AGENT
from purple_sdk.harness.declared import HarnessError
from purple_sdk.harness.shell_tools import TOOL, ShellTools
from purple_sdk.harness.terminal import TerminalHarness
from purple_sdk.protocol.terminal import TerminalTaskMessage
from purple_sdk.settings.config import HarnessConfig
from tests.purple_sdk.harness.playing import FAKE
from tests.scripted_model import INPUT, OUTPUT, ScriptedModel
from tests.sentences import says

TASK = TerminalTaskMessage(task_id="t", instruction="Make the file /app/a.", container="one", workdir="/app")


class _Shell:
    def __init__(self, *, is_gone: bool = False) -> None:
        self.ran: list[tuple[str, float]] = []
        self.is_closed = False
        self._is_gone = is_gone

    async def run(self, command: str, seconds: float) -> Ran:
        if self._is_gone:
            raise ShellGoneError("the trial is over")
        self.ran.append((command, seconds))
        return Ran(0, "made")

    async def aclose(self) -> None:
        self.is_closed = True


def _harness(homes: Path, model_url: str, **settings: Any) -> TerminalHarness:
    given = {"model": "scripted-1", "model_base_url": model_url, "program": sys.executable, "homes": homes, **settings}
    return TerminalHarness(HarnessConfig(**given), FAKE)


async def test_it_works_in_the_container_and_says_what_it_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = _Shell()
    monkeypatch.setattr(terminal, "open_shell", lambda *_: shell)
    prices = tmp_path / "prices.toml"
    prices.write_text('[models."scripted-1"]\ninput = 1000\noutput = 0\n')
    with ScriptedModel({1: [(TOOL, {"command": "touch a"}), (TOOL, {"command": "ls", "timeout": 9000})]}) as model:
        work = await _harness(tmp_path / "homes", model.url, prices=str(prices)).solve(TASK)
        (prompt,) = [message["content"] for message in model.requests[0]["messages"] if message["role"] == "user"]
        result = model.requests[1]["messages"][-1]["content"]
    assert "Make the file /app/a." in prompt
    assert result == "[exit code 0]\nmade"
    assert shell.ran == [("touch a", 120.0), ("ls", 540.0)]
    assert shell.is_closed
    (use,) = work.usage
    assert (use.calls, use.input_tokens, use.output_tokens, use.cost) == (3, 3 * INPUT, 3 * OUTPUT, 3 * INPUT / 1000)
    assert (work.commands, work.iterations, work.summary) == (2, 3, "Done with turn 1.")
    assert list((tmp_path / "homes").glob("*")) == []


async def test_a_container_that_is_gone_ends_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "open_shell", lambda *_: _Shell(is_gone=True))
    with (
        ScriptedModel({1: [(TOOL, {"command": "ls"})]}) as model,
        pytest.raises(ShellGoneError, check=says()),
    ):
        await _harness(tmp_path, model.url).solve(TASK)


async def test_a_budget_that_is_used_up_fails_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "open_shell", lambda *_: _Shell())
    with (
        ScriptedModel({1: [(TOOL, {"command": "ls"})] * 5}) as model,
        pytest.raises(HarnessError, check=says("1050", "500", "--max-tokens")),
    ):
        await _harness(tmp_path, model.url, max_tokens=500).solve(TASK)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"no JSON", 400),
        (b"[" * 100_000, 400),
        (b'{"method": "notifications/initialized"}', 202),
        (b'{"id": 1, "method": "prompts/list"}', 200),
        (b'{"id": 1, "method": "tools/call", "params": {"name": "other"}}', 200),
        (b'{"id": 1, "method": "initialize", "params": {"protocolVersion": "1"}}', 200),
    ],
)
async def test_its_tool_answers_every_message(message: bytes, status: int) -> None:
    async with httpx.AsyncClient() as http:
        reply = await ShellTools(_Shell(), "/app").answer(http, "POST", {}, message)
    assert reply.status_code == status
    assert reply.text == says()


def test_a_cli_agent_without_mcp_plays_terminal_tasks_only(tmp_path: Path) -> None:
    config = HarnessConfig(model="m", model_base_url="http://127.0.0.1:9", program=sys.executable, homes=tmp_path)
    with pytest.raises(HarnessError, check=says("--harness")):
        HarnessAgent(config, find_harness("mini-swe-agent"))


_MINI = """
import json
import sys
import urllib.request

import container


def app():
    environment = container.ContainerEnvironment()
    body = {"model": "scripted-1", "messages": [], "tools": [{"function": {"name": "bash"}}]}
    headers = {"Authorization": "Bearer " + container.os.environ["PROCTOR_TURN_TOKEN"]}
    asked = urllib.request.Request(container.RELAY + "/v1/chat/completions", json.dumps(body).encode(), headers)
    urllib.request.urlopen(asked).read()
    outputs = [environment.execute({"command": "ls"}), environment.execute({"command": "cat x"}, timeout=5)]
    end = {"exit_status": "Submitted", "submission": json.dumps(outputs)}
    open(sys.argv[sys.argv.index("-o") + 1], "w").write(json.dumps({"info": end}))
"""
_LOCAL = """
class LocalEnvironment:
    class config:
        env = {"PAGER": "cat"}

    def _check_finished(self, output):
        pass
"""


async def test_commands_of_mini_swe_agent_run_in_the_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = _Shell()
    monkeypatch.setattr(terminal, "open_shell", lambda *_: shell)
    package = {"run/mini.py": _MINI, "environments/local.py": _LOCAL}
    fake = replace(
        MINI_SWE_AGENT,
        files=lambda launch: {
            **MINI_SWE_AGENT.files(launch),
            **{f"minisweagent/{path}": text for path, text in package.items()},
        },
    )
    with ScriptedModel({}) as model:
        config = HarnessConfig(model="m", model_base_url=model.url, program=sys.executable, homes=tmp_path)
        work = await TerminalHarness(config, fake).solve(TASK)
    assert shell.ran == [("export PAGER=cat; ls", 120.0), ("export PAGER=cat; cat x", 5.0)]
    assert json.loads(work.summary)[0] == {"output": "made", "returncode": 0, "exception_info": ""}
