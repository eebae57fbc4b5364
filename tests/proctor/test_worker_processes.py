"""A worker of several processes: one that dies comes back while the others go on, and all of them end together."""

import asyncio
import json
import os
import signal
import subprocess
from datetime import datetime
from pathlib import Path

import psutil
import pytest
from temporalio.client import Client

from activities.attempts import failures
from proctor.settings import count_worker_processes, usable_cores
from proctor_processes.child import python_command
from proctor_processes.returning import LONGEST_PAUSE, Pauses, how_ended
from proctor_protocol.results import AssessmentResults
from proctor_settings.config import GreenAgentConfig
from proctor_storage.temporal import connect
from purple_sdk.ues import AsyncUESClient
from tests.a2a_gateway.conftest import running_gateway
from tests.assessments.normalising import normalised
from tests.proctor.commands import Sandbox
from tests.stack import Stack, assess, play, serving
from tests.waiting import eventually, wait_until

QUEUE = "of-two-processes"
COMMAND = ("worker", "--processes", "2", "--state", "state")


def beside(stack: Stack, queue: str) -> dict[str, str]:
    """The environment of a worker with a task queue of its own, beside the worker of an evaluator."""
    return {
        "AGENTBEATS_GREEN_TASK_QUEUE": queue,
        "AGENTBEATS_GREEN_MODELS_TASK_QUEUE": f"{queue}-models",
        "AGENTBEATS_GREEN_CONTAINERS": "off",
        "AGENTBEATS_GREEN_TEMPORAL_ADDRESS": stack.local.temporal_address,
        "AGENTBEATS_GREEN_UES_URL": stack.ues_url,
        "AGENTBEATS_GREEN_SCENARIOS_DIR": stack.local.config.scenarios_dir,
    }


def with_its_key_and_storage(stack: Stack) -> dict[str, str]:
    config = stack.config
    return {
        **beside(stack, QUEUE),
        "AGENTBEATS_GREEN_SECRET": config.secret.get_secret_value(),
        "AGENTBEATS_GREEN_STORAGE_URL": str(config.storage_url),
        "AGENTBEATS_GREEN_ARCHIVE_URL": str(config.archive_url),
    }


def processes_of(pid: int) -> list[psutil.Process]:
    """The worker's processes, in their order."""
    found = {}
    for child in psutil.Process(pid).children():
        line = child.cmdline()
        if "proctor.worker_process" in line:
            found[line[-1]] = child
    return [found[line] for line in sorted(found)]


async def says_hello(turn: int, ues: AsyncUESClient, now: datetime) -> None:
    await ues.chat.send(role="assistant", content=f"This is round {turn}.")


async def holder(client: Client) -> str:
    """Who has the turn, as Temporal knows it."""
    running = f"TaskQueue = '{QUEUE}' AND WorkflowType = 'Assessment' AND ExecutionStatus = 'Running'"
    async for workflow in client.list_workflows(running):
        described = await client.get_workflow_handle(workflow.id).describe()
        for activity in described.raw_description.pending_activities:
            if activity.activity_type.name == "purple_turn":
                return activity.last_worker_identity
    return ""


async def test_one_of_two_processes_is_killed_in_a_turn_and_the_assessment_goes_on_until_ctrl_c_ends_both(
    stack: Stack, sandbox: Sandbox
) -> None:
    undisturbed = await play(stack, "tiny", says_hello, seed=3, max_turns=3)
    config = stack.config.model_copy(update={"task_queue": QUEUE})
    with sandbox.started(*COMMAND, **with_its_key_and_storage(stack)) as worker:
        parent = worker.process.pid
        await asyncio.to_thread(worker.wait_for_that, lambda: len(processes_of(parent)) == 2)
        async with running_gateway(config) as gateway:
            results, dead = await one_is_killed_in_the_second_turn(config, gateway.url, parent)
        assert normalised(results) == normalised(undisturbed)
        assert results.turn_tries == {}
        await eventually(lambda: dead not in (now := [p.pid for p in processes_of(parent)]) and len(now) == 2)
        await asyncio.to_thread(worker.wait_for, "works again")
        assert "was killed by SIGKILL; starting it again" in worker.output
        assert await asyncio.to_thread(worker.end, signal.SIGINT) == 0
        assert "Traceback" not in worker.output
    assert await asyncio.to_thread(wait_until, lambda: not sandbox.processes()), "the guard ends a moment later"


async def one_is_killed_in_the_second_turn(
    config: GreenAgentConfig, gateway: str, parent: int
) -> tuple[AssessmentResults, int]:
    """What came of an assessment in which the process died that had a turn; and that process."""
    client = await connect(config)
    processes, killed = processes_of(parent), []

    async def says_hello_while_the_process_dies(turn: int, ues: AsyncUESClient, now: datetime) -> None:
        if turn == 2 and not killed:
            who = await holder(client)
            assert who.startswith(f"{parent}."), who
            killed.append(processes[int(who.partition("@")[0].partition(".")[2])])
            killed[0].kill()
        await says_hello(turn, ues, now)

    async with serving(says_hello_while_the_process_dies) as agent:
        assessed = await assess(gateway, agent, "tiny", seed=3, max_turns=3)
    assert assessed.results is not None, assessed.sentence
    history = await client.get_workflow_handle(assessed.results.assessment_id).fetch_history()
    begun = [event.activity_task_started_event_attributes for event in history.events]
    again = {each.last_failure.application_failure_info.type for each in begun if each.attempt > 1}
    assert again == {failures.WORKERS_LOST}, "its parent has given back what it was at: nobody waited for a heartbeat"
    [dead] = killed
    return assessed.results, dead.pid


def test_a_wrong_key_is_said_once_with_what_to_set_and_kill_ends_all(stack: Stack, sandbox: Sandbox) -> None:
    with sandbox.started(*COMMAND, **beside(stack, "of-nobody")) as worker:
        worker.wait_for("with 2 processes")
        worker.wait_for("refuses this deployment's key")
        worker.wait_for_that(lambda: len(processes_of(worker.process.pid)) == 2)
        worker.process.kill()
        assert wait_until(lambda: not sandbox.processes()), "the guard ends them"
        assert worker.output.count(f"the simulator at {stack.ues_url} refuses this deployment's key (401)") == 1
        assert f"The one here is from {sandbox.folder}/state/secret" in worker.output
        assert "set AGENTBEATS_GREEN_SECRET to the same text for both" in worker.output
        assert "Traceback" not in worker.output


def test_a_process_whose_parent_died_before_it_was_announced_ends_at_once() -> None:
    arguments = json.dumps({"number": 0, "parent": os.getppid(), "attempts": 1, "flags": {}})
    ended = subprocess.run(python_command("-m", "proctor.worker_process", arguments), check=False, capture_output=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"")


def test_what_keeps_it_from_working_is_said_once(sandbox: Sandbox) -> None:
    nowhere = {"AGENTBEATS_GREEN_TEMPORAL_ADDRESS": "127.0.0.1:1", "AGENTBEATS_GREEN_CONNECT_TIMEOUT": "2"}
    alone = sandbox.run(*COMMAND, **nowhere)
    assert alone.returncode == 3
    assert alone.stderr.count("can't reach Temporal at 127.0.0.1:1") == 1, alone.stderr
    assert "Traceback" not in alone.stderr
    assert not sandbox.processes()
    wrong = sandbox.call(*COMMAND, AGENTBEATS_GREEN_EVALUATOR_MEMORY_MB="1")
    assert wrong.returncode == 2
    assert wrong.stderr.count("AGENTBEATS_GREEN_EVALUATOR_MEMORY_MB") == 1
    none = sandbox.call("worker", "--state", "state", AGENTBEATS_GREEN_WORKER_PROCESSES="0")
    assert none.returncode == 2
    assert "AGENTBEATS_GREEN_WORKER_PROCESSES" in none.stderr


def test_as_many_as_it_may_use_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    quota = tmp_path / "cpu.max"
    assert usable_cores(quota) == 8, "no container"
    for said, cores in [("max 100000", 8), ("250000 100000", 2), ("20000 100000", 1), ("nonsense", 8)]:
        quota.write_text(f"{said}\n")
        assert usable_cores(quota) == cores
    assert count_worker_processes(GreenAgentConfig(worker_processes=3)) == 3
    assert count_worker_processes(GreenAgentConfig(ues_command="serve {host} {port}")) == 1, (
        "its servers are each process's own"
    )


def test_who_dies_again_and_again_stays_away_for_longer_and_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("proctor_processes.returning.time.monotonic", lambda: now[0])
    pauses = Pauses()
    assert [pauses.after_death() for _ in range(7)] == [0.5, 1, 2, 4, 8, LONGEST_PAUSE, LONGEST_PAUSE]
    pauses.begin()
    now[0] += 31
    assert pauses.after_death() == 0.5, "it had lived for a while"
    assert [how_ended(code) for code in (-9, 70)] == ["was killed by SIGKILL", "ended with exit code 70"]
