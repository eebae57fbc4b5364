"""Runs of terminal trials on a real engine: by shell, over A2A, at the seed's endpoint; by agents of every kind."""

import json
from pathlib import Path
from typing import Any

import httpx
from a2a.helpers.proto_helpers import new_text_part
from a2a.types.a2a_pb2 import Message
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from proctor.protocol.campaigns import CampaignStartedUpdate, CellEndedUpdate
from proctor.storage.archive import Archive
from purple_sdk.examples.terminal_agent.agent import TerminalAgent, TerminalAgentConfig
from purple_sdk.examples.terminal_agent.executor import TerminalAgentExecutor
from purple_sdk.examples.terminal_agent.shell import Shell, open_shell
from purple_sdk.examples.terminal_agent.task import read_task
from purple_sdk.protocol.terminal import FailureMode, TerminalResults, TerminalTaskMessage
from purple_sdk.server import create_executor_app
from tests.cli.commands import Sandbox
from tests.openai_endpoint import OpenAIEndpoint
from tests.sentences import says
from tests.stack import Stack, agent_config, listening
from tests.terminal_bench.asking import ScriptedTerminalAgent, left_on, ran, run, serving
from tests.waiting import eventually
from tests.work import NIGHTLY, only_nightly

FEW = ["hello-file", "partial-credit"]
"""One of each format; all tasks are played by ``make nightly``."""


def test_the_oracle_from_the_shell(terminal_stack: Stack, docker_engine: str, tmp_path: Path) -> None:
    """Accuracy 1.0, and the folder that the seed describes; nothing is left on the engine."""
    wanted = [] if NIGHTLY else ["--task-id", FEW[0]]
    done = Sandbox(tmp_path).call(
        *("terminal-bench", "run", "--gateway", terminal_stack.gateway_url, "--dataset", "terminal_bench"),
        *("--agent", "oracle", "--json", "exact.json", *wanted),
    )
    assert done.returncode == 0, done.stderr
    assert "accuracy 100.0%" in done.stdout
    (folder,) = (tmp_path / "eval_results").iterdir()
    assert folder.name.startswith("green_agent_eval_")
    results = TerminalResults.model_validate_json((tmp_path / "exact.json").read_bytes())
    assert json.loads((folder / "results.json").read_text())["accuracy"] == 1.0
    metadata = json.loads((folder / "run_metadata.json").read_text())
    assert (metadata["agent_name"], metadata["n_attempts"], metadata["accuracy"]) == ("oracle", 1, 1.0)
    for task_id in FEW if NIGHTLY else FEW[:1]:
        (trial,) = (folder / task_id).iterdir()
        assert trial.name == f"{task_id}.1-of-1.{results.run_id}"
        assert json.loads((trial / "results.json").read_text())["is_resolved"] is True
        assert (trial / "sessions" / "tests.log").read_text()
        assert (trial / "agent_interaction.log").is_file()
        assert json.loads((trial / "results.json").read_text())["recording_path"] == "sessions/agent.cast"
        for recording in ("agent", "tests"):
            assert json.loads((trial / "sessions" / f"{recording}.cast").open().readline())["version"] == 2
    if NIGHTLY:
        details = {trial.task_id: trial.details for trial in results.results}
        assert details["partial-credit"]["rewards"] == dict.fromkeys(
            ("reward", "digits", "tens", "hundreds", "thousands"), 1
        )
        assert details["ready-server"] == {"left_running": ["python3"]}
    assert left_on(docker_engine, results.run_id) == []


@only_nightly  # by default: tests/terminal/test_trials.py
async def test_nobody_resolves_nothing(terminal_stack: Stack) -> None:
    ended = await run(terminal_stack.gateway_url, *FEW, agent="null")
    assert ended.state == "completed"
    assert (ended.results.accuracy, ended.results.mean_reward) == (0.0, 0.0)
    assert ended.results.failure_modes == {"none": 2}
    assert {trial.recording_path for trial in ended.results.results} == {"sessions/tests.cast"}
    started, *_ = ended.updates
    assert isinstance(started, CampaignStartedUpdate)
    assert started.warnings == []
    told = [update for update in ended.updates if isinstance(update, CellEndedUpdate)]
    assert [update.tally.done for update in told] == [1, 2]


def decide(body: dict[str, Any]) -> dict[str, Any]:
    """A model that can write one file, after a command that it may not run."""
    prompt, done = str(body["messages"]), sum(message["role"] == "tool" for message in body["messages"])
    commands = ["sudo id", "echo 'Hello, terminal!' > /app/hello.txt", "cat /app/hello.txt"]
    if "hello.txt" in prompt and done < len(commands):
        return {"tool_calls": [("execute_bash_command", {"command": commands[done]})]}
    return {"content": "The file is written." if done else "I can't do that."}


async def test_a_model_earns_what_its_script_deserves_at_the_seeds_endpoint(terminal_stack: Stack) -> None:
    """The seed's words and its configuration, posted to its endpoint; the agent uses the command endpoint."""
    tasks = FEW if NIGHTLY else FEW[:1]
    with OpenAIEndpoint(decide=decide) as endpoint:
        config = TerminalAgentConfig(model="openai/test", model_base_url=endpoint.base_url)
        executor = TerminalAgentExecutor(TerminalAgent(config))

        def make(url: str) -> Any:
            return create_executor_app(executor, agent_config(url), name="terminal-agent", description="A model.")

        async with listening(make) as url, httpx.AsyncClient(timeout=300) as http:
            card = await http.get(f"{terminal_stack.gateway_url}/.well-known/agent.json")
            flat = {"task_ids": tasks, "white_agent_url": url, "n_attempts": 1, "dataset_name": "terminal_bench"}
            text = (
                f"Launch terminal-bench evaluation for agent at {url}.\n<task_config>{json.dumps(flat)}</task_config>"
            )
            answer = await http.post(
                f"{terminal_stack.gateway_url}/agent/messages", json={"message": {"parts": [{"text": text}]}}
            )
    assert card.json()["name"]
    assert answer.status_code == 200, answer.text
    told, data = answer.json()["result"]["parts"]
    summary = "Accuracy: 50.00% (1 resolved, 1 not)" if NIGHTLY else "Accuracy: 100.00% (1 resolved, 0 not)"
    assert summary in told["text"]
    results = TerminalResults.model_validate(data["data"])
    assert (results.resolved_ids, results.unresolved_ids) == (FEW[:1], tasks[1:])
    hello = results.results[0]
    assert hello.agent_message == "The file is written."
    assert {trial.failure_mode for trial in results.results} == {FailureMode.NONE}
    assert hello.recording_path == "sessions/agent.cast"
    assert (hello.total_input_tokens or 0) > 0
    said = str(endpoint.requests)
    assert "refused: sudo" in said
    assert "Hello, terminal!" in said
    archive = Archive(terminal_stack.config.archive_url)
    entry = archive.find(hello.trial_id)
    assert (entry.campaign, entry.scenario_id, entry.score) == (results.run_id, "hello-file", 1)
    assert any("cat /app/hello.txt" in record.command for record in archive.transcript(entry))
    assert archive.read(entry, "recording.cast").startswith(b'{"version": 2')
    assert "logs/sessions/tests.log" in entry.files
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        page = await http.get(f"{terminal_stack.gateway_url}/view/{hello.trial_id}")
        run_page = await http.get(f"{terminal_stack.gateway_url}/view/{results.run_id}")
    assert "cat /app/hello.txt" in page.text
    assert f"/view/{hello.trial_id}" in run_page.text


@only_nightly  # by default: tests/activities/test_plain_participants.py
async def test_agents_by_name_of_whom_one_has_only_the_seeds_path(terminal_stack: Stack) -> None:
    """``POST /agent/messages``, no card and no A2A; beside it the task's own solution, in the same run."""

    async def answer(request: Request) -> Response:
        (part,) = (await request.json())["message"]["parts"]
        task = read_task(Message(parts=[new_text_part(part["text"])]))
        shell = open_shell(task, 10_000)
        try:
            await ran(shell, "echo 'Hello, terminal!' > /app/hello.txt")
        finally:
            await shell.aclose()
        return JSONResponse({"result": {"parts": [{"text": "It is written."}]}})

    async with listening(lambda _: Starlette(routes=[Route("/agent/messages", answer, methods=["POST"])])) as url:
        ended = await run(terminal_stack.gateway_url, "hello-file", agents={"plain": url, "reference": "oracle"})
    assert ended.state == "completed", ended.sentence
    assert [(result.agent, result.n_resolved) for result in ended.results.by_agent] == [("plain", 1), ("reference", 1)]
    assert ended.results.results[0].agent_message == "It is written."


async def test_a_bad_message_at_the_seeds_endpoint_is_told_so(terminal_stack: Stack) -> None:
    async with httpx.AsyncClient(timeout=60) as http:
        for body, fact in (
            ("nonsense", "JSON"),
            ('{"message": {"parts": [{"file": 1}]}}', "text"),
            (
                '{"message": {"parts": [{"text": "Launch terminal-bench evaluation {\\"n_attempts\\": 0}"}]}}',
                "config.n_attempts",
            ),
        ):
            answer = await http.post(f"{terminal_stack.gateway_url}/agent/messages", content=body)
            assert answer.status_code in (400, 422)
            assert answer.json()["error"]["message"] == says(fact)


@only_nightly  # by default: tests/workflows/test_campaigns.py
async def test_agents_that_fail_each_in_their_own_way(terminal_stack: Stack, docker_engine: str) -> None:
    """One takes too long, one gives up, one leaves a process that would change the verdict; the run goes on."""
    waiting: list[str] = []

    async def solve(task: TerminalTaskMessage, shell: Shell) -> str:
        match task.task_id:
            case "hello-file":
                await ran(shell, "echo 'Hello, terminal!' > /app/hello.txt")
                waiting.append(task.task_id)
                await eventually(lambda: False, 600)
            case "count-errors":
                raise RuntimeError("no idea")
            case _:
                lies = "while :; do mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; sleep 0.01; done"
                await ran(shell, f"(setsid bash -c '{lies}' >/dev/null 2>&1 &)")
        return "done"

    agent = ScriptedTerminalAgent(solve)
    async with serving(agent) as url:
        ended = await run(
            terminal_stack.gateway_url,
            *("hello-file", "count-errors", "sort-table"),
            url=url,
            global_agent_timeout_sec=20,
            n_concurrent_trials=3,
        )
    assert ended.state == "completed"
    trials = {trial.task_id: trial for trial in ended.results.results}
    assert trials["hello-file"].failure_mode == FailureMode.AGENT_TIMEOUT
    assert trials["hello-file"].is_resolved is True  # as Terminal-Bench has it: what was done by then is tested
    assert agent.canceled == 1
    failed = trials["count-errors"]
    assert (failed.failure_mode, failed.blame, failed.is_resolved) == (
        FailureMode.UNKNOWN_AGENT_ERROR,
        "participant",
        False,
    )
    assert "no idea" in (failed.failure or "")
    lied = trials["sort-table"]
    assert (lied.is_resolved, lied.verifier) == (False, "separate")
    assert isinstance(lied.details["left_running"], list)
    assert "bash" in lied.details["left_running"]
    assert left_on(docker_engine, ended.results.run_id) == []


@only_nightly
async def test_an_agent_that_nobody_reaches_fails_its_trials(terminal_stack: Stack) -> None:
    ended = await run(terminal_stack.gateway_url, "hello-file", url="http://127.0.0.1:9")
    assert ended.results.failure_modes == {"unknown_agent_error": 1}
    assert ended.results.results[0].blame == "participant"


def test_a_dataset_that_there_is_not(terminal_stack: Stack, tmp_path: Path) -> None:
    for dataset, sentence in (("../etc", "no such folder of tasks"), ("terminal_bench", "matches no task")):
        done = Sandbox(tmp_path).call(
            *("terminal-bench", "run", "--gateway", terminal_stack.gateway_url, "--dataset", dataset),
            *("--agent", "null", "--task-id", "no-such-task"),
        )
        assert done.returncode == 2
        assert sentence in done.stderr or "no-such-task" in done.stderr
