"""``proctor assess`` against a running evaluator: exit codes, the exact result, Ctrl-C, a gateway that goes away."""

import asyncio
import json
import os
import re
import signal
from datetime import datetime

import pytest

from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.results import AssessmentResults
from purple_sdk.ues import AsyncUESClient
from tests.cli.commands import Sandbox
from tests.sentences import says
from tests.stack import Stack, holding, serving
from tests.waiting import PATIENCE
from tests.work import only_nightly

SCENARIO = "email_triage_basic"


async def speak(turn: int, ues: AsyncUESClient, now: datetime) -> None:
    await ues.chat.send(role="assistant", content=f"This is round {turn}.")


async def speak_slowly(turn: int, ues: AsyncUESClient, now: datetime) -> None:
    await speak(turn, ues, now)
    await asyncio.sleep(1.0)


def arguments(stack: Stack, agent_url: str, *more: str, scenario: str = SCENARIO) -> list[str]:
    return ["assess", scenario, "--agent", agent_url, "--gateway", stack.gateway_url, "--offline", *more]


def turns_told(output: str) -> list[int]:
    return [int(number) for number in re.findall(r"^turn +(\d+)", output, re.MULTILINE)]


def test_an_assessment_is_shown_and_its_exact_result_written(stack: Stack, sandbox: Sandbox) -> None:
    with stack.serving(speak) as url:
        more = ("--seed", str(2**62 + 1), "--max-turns", "2", "--json", "r.json")
        done = sandbox.call(*arguments(stack, url, *more, scenario="tiny"))
    assert done.returncode == 0, done.stderr
    results = AssessmentResults.model_validate_json((sandbox.folder / "r.json").read_bytes())
    assert results.turns_taken == 2
    assert results.seed == 2**62 + 1, "a seed travels exactly"
    assert turns_told(done.stdout) == [1, 2]
    assert "chat.send_message “This is round 2.”" in done.stdout
    link = re.escape(f"{stack.local.ui_url}/namespaces/default/workflows/{results.assessment_id}")
    assert re.search(rf"^workflow +{link}$", done.stdout, re.M)
    assert re.search(
        rf"^overall .*{results.scores.overall.score}/{results.scores.overall.max_score}$", done.stdout, re.M
    )
    assert "\x1b" not in done.stdout + done.stderr


def test_the_result_alone_goes_to_standard_output(stack: Stack, sandbox: Sandbox) -> None:
    with stack.serving(speak) as url:
        done = sandbox.call(*arguments(stack, url, "--max-turns", "1", "--json", "-", scenario="tiny"))
    assert AssessmentResults.model_validate_json(done.stdout).turns_taken == 1
    assert turns_told(done.stderr) == [1]


@only_nightly  # by default: test_the_result_alone_goes_to_standard_output
def test_quiet_is_quiet(stack: Stack, sandbox: Sandbox) -> None:
    with stack.serving(speak) as url:
        done = sandbox.call(*arguments(stack, url, "--max-turns", "1", "--quiet", scenario="tiny"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("scenario", "agent", "sentence"),
    [
        ("no_such_scenario", "http://127.0.0.1:1", "known scenarios: email_triage_basic"),
        (SCENARIO, "my-agent", 'participants.personal_assistant is "my-agent"'),
    ],
)
def test_a_rejected_request_is_2_with_the_sentence(
    stack: Stack, sandbox: Sandbox, scenario: str, agent: str, sentence: str
) -> None:
    done = sandbox.call("assess", scenario, "--agent", agent, "--gateway", stack.gateway_url, "--offline")
    assert done.returncode == 2
    assert sentence in done.stderr


def test_a_failed_assessment_is_1_with_the_sentence_and_what_was_scored(stack: Stack, sandbox: Sandbox) -> None:
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    done = sandbox.call(*arguments(stack, nobody, "--json", "r.json", scenario="tiny"))
    assert done.returncode == 1
    assert "the assessment failed" in done.stderr
    assert nobody in done.stderr
    sentence = done.stderr.partition("the assessment failed: ")[2].strip()
    told = " ".join((done.stdout + done.stderr).split())
    again = told.count(f"is tried again: {sentence}")
    assert told.count(sentence) - again == 1
    assert says("20").within(done.stdout)
    assert AssessmentResults.model_validate_json((sandbox.folder / "r.json").read_bytes()).status == "failed"


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=only_nightly)])
async def test_ctrl_c_cancels_the_assessment(stack: Stack, sandbox: Sandbox, number: int) -> None:
    async with serving(holding(2, asyncio.Event())) as url:
        with sandbox.started(*arguments(stack, url, "--json", "r.json", scenario="tiny")) as running:
            await asyncio.to_thread(running.wait_for, "turn  1/12")
            code = await asyncio.to_thread(running.end, number)
    assert code == 4
    assert "cancelling the assessment …" in running.output
    assert says().within(running.output.rstrip())
    so_far = AssessmentResults.model_validate_json((sandbox.folder / "r.json").read_bytes())
    assert (so_far.status, so_far.scores.overall.max_score) == ("canceled", 0)
    (workflow_id,) = set(re.findall(r"/workflows/([\w-]+)", running.output))
    assert await status_of(stack, workflow_id) == "CANCELED"


async def status_of(stack: Stack, workflow_id: str) -> str:
    from proctor.storage.temporal import connect

    client = await connect(stack.config)
    status = (await client.get_workflow_handle(workflow_id).describe()).status
    return status.name if status else "?"


@only_nightly
async def test_a_gateway_that_dies_is_looked_for_and_no_turn_is_told_twice(stack: Stack, sandbox: Sandbox) -> None:
    async with serving(speak_slowly) as url:
        with sandbox.started(*arguments(stack, url, "--max-turns", "6", "--json", "r.json")) as running:
            await asyncio.to_thread(running.wait_for, "turn 2/6")
            kill_gateway(stack)
            code = await asyncio.to_thread(running.process.wait, PATIENCE)
    assert code == 0, running.output
    assert "connection lost (" in running.output
    assert running.output.count("connected again") == 1
    assert turns_told(running.output) == list(range(1, 7))
    assert json.loads((sandbox.folder / "r.json").read_bytes())["turns_taken"] == 6


@only_nightly
async def test_an_assessment_that_ends_while_the_gateway_is_away_is_not_lost(stack: Stack, sandbox: Sandbox) -> None:
    async with serving(speak_slowly) as url:
        with sandbox.started(*arguments(stack, url, "--max-turns", "2", "--json", "r.json")) as running:
            await asyncio.to_thread(running.wait_for, "turn 1/2")
            kill_gateway(stack)
            code = await asyncio.to_thread(running.process.wait, PATIENCE)
    assert code == 0, running.output
    assert "not finished" not in running.output
    assert re.search(r"^overall", running.output, re.MULTILINE)
    assert json.loads((sandbox.folder / "r.json").read_bytes())["turns_taken"] == 2


def kill_gateway(stack: Stack) -> None:
    pid = stack.supervisor.find_pid("gateway")
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def test_each_role_gets_an_agent(stack: Stack, sandbox: Sandbox) -> None:
    def call(*agents: str) -> tuple[int, str]:
        named = [part for agent in agents for part in ("--agent", agent)]
        more = ("--gateway", stack.gateway_url, "--offline", "--max-turns", "1")
        done = sandbox.call("assess", "pair", *named, *more)
        return done.returncode, done.stdout + done.stderr

    with stack.serving(speak) as url:
        code, output = call(f"ana_side={url}", f"ben_side={url}")
        assert code == 0, output
        assert re.search(r"^turn 1/1 .* ben_side +1 action", output, re.M)
        assert re.search(rf"^ana_side +{re.escape(url)} +1 +0/16 +completed$", output, re.M)
        code, output = call(f"ana_side={url}", f"ana_side={url}")
        assert code == 2
        assert says("--agent", "ana_side").within(output)
        code, output = call(f"ana_side={url}")
        assert "participants.ben_side is missing" in output
