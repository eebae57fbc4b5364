"""``proctor run``, ``follow`` and ``cancel`` on campaigns of scripted steps: what a person gets to see and to keep."""

import asyncio
import re
import signal
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from a2a.client import Client as Caller
from a2a.types import GetTaskRequest
from temporalio.client import Client

from proctor.activities.participant.payloads import TurnInput
from proctor.common.errors import ExitCode
from proctor.protocol.runs import RunResults
from proctor.settings.config import GreenAgentConfig
from tests.a2a_gateway.callers import at_once, data_part, message, send, state_name
from tests.a2a_gateway.conftest import Gateway
from tests.cli.commands import Running, Sandbox
from tests.sentences import says
from tests.work import NIGHTLY, only_nightly
from tests.workflows.scripted_runs import ScriptedRun
from tests.workflows.scripted_runs import request as assessments_request
from tests.workflows.scripted_trials import ScriptedTrials
from tests.workflows.test_campaigns import request as trials_request

AGENTS = ("--agent", "good=http://good.example", "--agent", "poor=http://poor.example")

UNCERTAIN = (
    r"good \w+ poor: \+70.0 points \([^)]* 6\), over \d+ pairs",
    r" 5 points \w+ about \d+ pairs .* \d",
)
"""How sure a difference is, where there are several seeds."""


def expect(said: str, *sentences: str) -> None:
    """A command printed each of these, with line breaks or without."""
    words = " ".join(said.split())
    for sentence in sentences:
        assert re.search(sentence, words), said


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


@pytest.fixture
def held(scripted: ScriptedRun) -> Iterator[asyncio.Semaphore]:
    """No assessment gets past its turn before it is let to."""
    may = asyncio.Semaphore(0)

    async def turn(_given: TurnInput) -> None:
        await may.acquire()

    scripted.replacements["purple_turn"] = turn
    yield may
    for _ in range(100):
        may.release()


class Shell:
    """Commands of one person at one gateway, beside the worker that this process is: those that end soon in it, too."""

    def __init__(self, sandbox: Sandbox, gateway: Gateway) -> None:
        self._sandbox = sandbox
        self._gateway = gateway

    async def says(self, *words: str, code: ExitCode = ExitCode.DONE) -> str:
        """What a command prints that ends with this code."""
        with patch.object(asyncio.SelectorEventLoop, "add_signal_handler"):  # a thread gets no signals
            done = await asyncio.to_thread(self._sandbox.call, *words, "--gateway", self._gateway.url, COLUMNS="160")
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def started(self, *words: str) -> Any:
        """A command that goes on."""
        return self._sandbox.started(*words, "--gateway", self._gateway.url, COLUMNS="160")

    def kept(self, below: str = "runs") -> list[tuple[RunResults, dict[str, Any]]]:
        """The results that were written, and the files that play them again, the earliest first."""
        folders = sorted((self._sandbox.folder / below).iterdir())
        return [
            (
                RunResults.model_validate_json((folder / "results.json").read_bytes()),
                tomllib.loads((folder / "campaign.toml").read_text()),
            )
            for folder in folders
        ]


@pytest.fixture
def shell(sandbox: Sandbox, gateway: Gateway) -> Shell:
    return Shell(sandbox, gateway)


async def told(running: Running, text: str, times: int = 1) -> None:
    await asyncio.to_thread(running.wait_for, text, times=times)


@pytest.mark.parametrize(
    ("scenarios", "seeds", "poor"),
    [(["day"], [2], 40), pytest.param(["day", "night"], [1, 2], 30, marks=only_nightly)],
    ids=["one", "several"],
)
async def test_a_campaign_is_shown_kept_and_played_again_from_its_file(
    shell: Shell, scripted: ScriptedRun, scenarios: list[str], seeds: list[int], poor: int
) -> None:
    wanted = f"{seeds[0]}-{seeds[-1]}"
    said = await shell.says("run", *scenarios, *AGENTS, "--seeds", wanted, "--repeats", "2", "--offline")
    assert said.count(f"good · day · seed {seeds[0]} · repeat 2 (") == 1
    plays = 2 * len(seeds)
    each = plays * len(scenarios)
    expect(
        said,
        rf"mean (95 % interval )?passed pass\^{plays} judged cost",
        rf"good 100.0% (25.1 to 100.0 )?{each}/{each} 1.00 {each}/{each} {each // 2}",
        rf"{scenarios[-1] if len(scenarios) > 1 else 'poor'} {poor}.0% ",
        rf"good less poor: \+{100 - poor}.0 points \(.*\), over {each} pairs",
        *(UNCERTAIN if len(seeds) > 1 else ()),
    )
    ((first, file),) = shell.kept()
    assert file["scenarios"] == scenarios
    assert (file["seeds"], file["repeats"], file["offline"]) == (seeds, 2, True)
    assert file["agents"] == {"good": "http://good.example", "poor": "http://poor.example"}
    (folder,) = (shell._sandbox.folder / "runs").iterdir()
    assert str(folder.relative_to(shell._sandbox.folder)) in said
    await shell.says("run", str(folder / "campaign.toml"), "--quiet")
    assert set(scripted.played.values()) == {4}
    _, (second, again) = shell.kept()
    assert again == file
    assert [cell.score for cell in second.cells] == [cell.score for cell in first.cells]


async def test_a_detached_campaign_is_joined_left_and_joined_again(
    shell: Shell, held: asyncio.Semaphore, caller: Caller
) -> None:
    said = await shell.says("run", "day", *AGENTS, "--seeds", "1,2", "--offline", "--detach")
    (task_id,) = re.findall(r"^(\S+) is under way", said, re.MULTILINE)
    held.release()
    with shell.started("follow", task_id[:8]) as follower:
        await told(follower, "plays       day, 4 in all, good, poor")
        await told(follower, " · day · seed ", times=1)
        assert await asyncio.to_thread(follower.end, signal.SIGINT) == ExitCode.DONE
        assert f"{task_id} continues" in follower.output
    task = await caller.get_task(GetTaskRequest(id=task_id))
    assert state_name(task.status.state) == "working"
    for _ in range(3):
        held.release()
    for _ in ("joined late", "has ended already"):
        said = await shell.says("follow", task_id, "--output", "followed")
        assert said.count(" · day · seed ") == 4, "what was done before is told, too, and nothing twice"
        expect(said, *UNCERTAIN)
    (one, file), (other, _) = shell.kept("followed")
    assert one == other
    assert file["agents"] == {"good": "http://good.example", "poor": "http://poor.example"}
    if NIGHTLY:  # tests/cli/test_up.py follows one every time
        assessment = await shell.says("follow", one.cells[0].task_id)
        assert "overall (" in assessment
        assert "campaign" not in assessment


async def test_ctrl_c_cancels_a_campaign_as_a_whole_and_keeps_what_was_played(
    shell: Shell, held: asyncio.Semaphore, client: Client
) -> None:
    held.release()
    with shell.started("run", "day", *AGENTS, "--seeds", "1-4", "--offline", "--at-once", "3") as running:
        await told(running, " · day · seed ")
        (task_id,) = re.findall(r"^campaign +(\S+)$", running.output, re.MULTILINE)
        assert await asyncio.to_thread(running.end, signal.SIGINT) == ExitCode.CANCELLED, running.output
        assert "the campaign is cancelled" in running.output
    ((results, _),) = shell.kept()
    assert (results.status, results.missing) == ("canceled", 7)
    assert [cell.status for cell in results.cells] == ["completed"]
    statuses = [
        execution.status.name  # type: ignore[union-attr]
        async for execution in client.list_workflows(f"WorkflowId STARTS_WITH '{task_id}.'")
    ]
    assert "RUNNING" not in statuses


@only_nightly  # by default: test_ctrl_c_cancels_a_campaign_as_a_whole_and_keeps_what_was_played
async def test_a_campaign_under_way_is_cancelled_by_its_id(
    shell: Shell, held: asyncio.Semaphore, caller: Caller
) -> None:
    part = data_part(assessments_request(scenarios=["day"]))
    task_id = (await send(caller, at_once(message(part)))).id
    assert "is cancelled" in await shell.says("cancel", task_id[:8])
    assert "the campaign is cancelled" in await shell.says("follow", task_id, code=ExitCode.CANCELLED)


@only_nightly  # by default: test_a_detached_campaign_is_joined_left_and_joined_again
async def test_a_run_of_trials_is_followed_too(
    shell: Shell, caller: Caller, client: Client, config: GreenAgentConfig
) -> None:
    async with ScriptedTrials(config).worker(client, config.task_queue):
        part = data_part(trials_request("easy", "hard"))
        sent = [event async for event in caller.send_message(message(part))]
        said = await shell.says("follow", sent[-1].task.id)
    assert re.search(r"^easy +1/1 ", said, re.MULTILINE)
    assert "accuracy 50.0%" in said


async def test_what_the_evaluator_refuses_is_wrong_usage(shell: Shell, scripted: ScriptedRun) -> None:
    said = await shell.says("run", "day", *AGENTS, "--grow", "nobody", code=ExitCode.WRONG_USAGE)
    assert says("config.grows").within(said)
    assert not (shell._sandbox.folder / "runs").exists()
