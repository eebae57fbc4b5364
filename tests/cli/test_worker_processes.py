"""A worker of several processes: what is wrong is said once, and all end together. ``test_up`` has one of them die."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from proctor.common.settings import count_worker_processes, usable_cores
from proctor.processes.returning import LONGEST_PAUSE, Pauses, how_ended
from proctor.settings.config import GreenAgentConfig
from purple_sdk.processes.child import python_command
from tests.cli.commands import Sandbox
from tests.cli.worker_processes import processes_of
from tests.sentences import says
from tests.stack import Stack
from tests.waiting import wait_until

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


def test_a_wrong_key_is_said_once_with_what_to_set_and_kill_ends_all(stack: Stack, sandbox: Sandbox) -> None:
    with sandbox.started(*COMMAND, **beside(stack, "of-nobody")) as worker:
        worker.wait_for("with 2 processes")
        worker.wait_for("AGENTBEATS_GREEN_SECRET")
        worker.wait_for_that(lambda: len(processes_of(worker.process.pid)) == 2)
        pids = [worker.process.pid, *(process.pid for process in processes_of(worker.process.pid))]
        worker.file.rename(moved := worker.file.with_suffix(".1"))
        worker.process.send_signal(signal.SIGHUP)
        outputs = [Path(f"/proc/{pid}/fd/2") for pid in pids]
        worker.wait_for_that(lambda: {str(output.readlink()) for output in outputs} == {str(worker.file)})
        moved.replace(worker.file)
        worker.process.kill()
        assert wait_until(lambda: not sandbox.processes()), "the guard ends them"
        assert worker.output.count(f"{stack.ues_url} refuses") == 1
        assert says("(401)", "AGENTBEATS_GREEN_SECRET", folder=sandbox.folder).within(worker.output)
        assert "Traceback" not in worker.output


def test_a_process_whose_parent_died_before_it_was_announced_ends_at_once() -> None:
    arguments = json.dumps({"number": 0, "parent": os.getppid(), "attempts": 1, "flags": {}})
    ended = subprocess.run(
        python_command("-m", "proctor.service.worker_process", arguments), check=False, capture_output=True
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"")


def test_what_keeps_it_from_working_is_said_once(sandbox: Sandbox) -> None:
    nowhere = {"AGENTBEATS_GREEN_TEMPORAL_ADDRESS": "127.0.0.1:1", "AGENTBEATS_GREEN_CONNECT_TIMEOUT": "2"}
    alone = sandbox.run(*COMMAND, **nowhere)
    assert alone.returncode == 3
    assert alone.stderr.count("127.0.0.1:1") == 1, alone.stderr
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
    monkeypatch.setattr("proctor.processes.returning.time.monotonic", lambda: now[0])
    pauses = Pauses()
    assert [pauses.after_death() for _ in range(7)] == [0.5, 1, 2, 4, 8, LONGEST_PAUSE, LONGEST_PAUSE]
    pauses.begin()
    now[0] += 31
    assert pauses.after_death() == 0.5, "it had lived for a while"
    assert [how_ended(code) for code in (-9, 70)] == [says(), says("70")]
