"""What an agent runs by ``docker exec`` is written down as the engine tells of it, each command once."""

import asyncio
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proctor.terminal import exec_watch
from proctor.terminal.commands import execute
from proctor.terminal.recording import Recordings
from tests.docker_engine import BASE_IMAGE
from tests.sentences import says
from tests.terminal.conftest import Trial, Trials
from tests.terminal.writing import format_two


async def docker_exec(trial: Trial, *command: str) -> None:
    """What agents of the seed do."""
    asked = ["docker", "--host", trial.engine.url, "exec", "-w", "/app", trial.ref.container, *command]
    await asyncio.to_thread(subprocess.run, asked, capture_output=True, timeout=120, check=False)


def noted(recordings: Recordings, trial: Trial) -> list[dict[str, Any]]:
    text = recordings.find_files(trial.name)["transcript.jsonl"].read_text()
    return [line for line in map(json.loads, text.splitlines()) if line["kind"] == exec_watch.KIND]


async def test_commands_by_docker_exec(trials: Trials, tmp_path: Path) -> None:
    """Not what the evaluator runs, nor the image's health check; and a worker that takes over repeats nothing."""
    dockerfile = f"FROM {BASE_IMAGE}\nWORKDIR /app\nHEALTHCHECK --interval=1s CMD test -d /app\n"
    trial = await trials.of(format_two(tmp_path / "task", {"environment/Dockerfile": dockerfile}))
    recordings, since = Recordings(tmp_path / "recordings"), datetime.now(UTC)

    async def watched(*work: Any) -> None:
        is_done = asyncio.Event()
        recorder = recordings.of_agent(trial.name)
        watching = asyncio.create_task(exec_watch.record_commands(trial.engine, trial.ref, recorder, since, is_done))
        for task in work:
            await task
        is_done.set()
        await watching

    await watched(
        docker_exec(trial, "bash", "-c", "echo one > /app/done"),
        execute(trial.engine, trial.ref, "sleep 1.5; echo our own"),
        docker_exec(trial, "bash", "-c", "exit 3"),
    )
    await watched(docker_exec(trial, "cat", "/app/done"))
    begun = [line["command"] for line in noted(recordings, trial) if "command" in line]
    assert begun == ["bash -c echo one > /app/done", "bash -c exit 3", "cat /app/done"]
    assert [line["exit_code"] for line in noted(recordings, trial) if "exit_code" in line] == [0, 3, 0]
    _, *events = map(json.loads, recordings.find_files(trial.name)["agent.cast"].read_text().splitlines())
    shown = "".join(event[2] for event in events if event[1] == "o")
    assert says("docker exec").within(shown)
    assert "\x1b[1m$ bash -c exit 3\x1b[0m\r\n\x1b[2m[exit code 3]\x1b[0m\r\n" in shown
