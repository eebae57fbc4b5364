"""An upgrade under way: an assessment that the last release began is played to its end by what is here now."""

import asyncio
import io
import subprocess
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from proctor.client.caller import AssessmentCall
from proctor.storage.temporal import connect
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.messages import EarlyCompletionMessage
from purple_sdk.ues import AsyncUESClient
from tests.assessments.observers import Running
from tests.assessments.scripts import ask_ben
from tests.histories.reading import runs_of
from tests.histories.record import FOLDER, release
from tests.programs import ROOT, module, read_line, running_beside
from tests.stack import Assessed, Stack, request_json, serving
from tests.waiting import PATIENCE
from tests.work import only_nightly


@pytest.fixture(scope="module")
def last_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code that recorded the last release's histories, as git keeps it."""
    git = ["git", "-C", str(ROOT)]
    recorded = str((FOLDER / release()).relative_to(ROOT))
    found = subprocess.run(
        [*git, "log", "-1", "--format=%H", "--", recorded], capture_output=True, text=True, check=False
    )
    if not (commit := found.stdout.strip()):
        pytest.skip("takes git, and a history that reaches back to the last release")
    archive = subprocess.run([*git, "archive", commit], capture_output=True, check=False)
    if archive.returncode:
        pytest.skip("git's history doesn't reach back to the last release")
    folder = tmp_path_factory.mktemp("last-release")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


@asynccontextmanager
async def evaluator(environment: dict[str, str], gateway: int, simulator: int, code: Path | None) -> AsyncIterator[str]:
    """Simulator, worker and gateway, of the code in a folder or of this; gives the gateway's address."""
    known = {**environment, **({"PYTHONPATH": str(code)} if code else {})}
    listening = ["--host", "127.0.0.1", "--port"]
    async with (
        running_beside(module("proctor", "ues", *listening, str(simulator)), known, cwd=code or ROOT) as ues,
        running_beside(module("proctor", "worker"), known, cwd=code or ROOT) as worker,
        running_beside(module("proctor", "gateway", *listening, str(gateway)), known, cwd=code or ROOT) as front,
    ):
        for process in (ues, worker, front):
            assert await asyncio.to_thread(read_line, process)
        yield f"http://127.0.0.1:{gateway}"


@only_nightly
@pytest.mark.timeout(600)
async def test_an_assessment_of_the_last_release_ends_with_this_one(
    stack: Stack, last_release: Path, tmp_path: Path
) -> None:
    gateway, simulator = free_ports(2)
    environment = {
        **{name: value for name, value in stack.local.make_environment().items() if value is not None},
        "AGENTBEATS_GREEN_TASK_QUEUE": "upgraded",
        "AGENTBEATS_GREEN_MODELS_TASK_QUEUE": "upgraded-models",
        "AGENTBEATS_GREEN_CONTAINERS": "off",
        "AGENTBEATS_GREEN_WORKER_PROCESSES": "1",
        "AGENTBEATS_GREEN_STORAGE_URL": str(tmp_path / "storage"),
        "AGENTBEATS_GREEN_ARCHIVE_URL": str(tmp_path / "archive"),
        "AGENTBEATS_GREEN_UES_URL": f"http://127.0.0.1:{simulator}",
        "AGENTBEATS_GREEN_STATE": str(tmp_path),
    }
    half = asyncio.Event()
    upgraded = asyncio.Event()
    played: list[int] = []

    async def script(turn: int, ues: AsyncUESClient, now: datetime) -> Any:
        played.append(turn)
        if turn == 2 and not upgraded.is_set():
            half.set()
            await upgraded.wait()
        await ask_ben(ues, f"Dear Ben, this is question {turn}. Thanks, Ana")
        return EarlyCompletionMessage(reason="That was all.") if turn == 3 else None

    async with serving(script) as agent:
        async with (
            evaluator(environment, gateway, simulator, last_release) as url,
            AssessmentCall(url, request_json(agent, "tiny", max_turns=3)) as call,
        ):
            running = Running(call)
            await running.until("")
            await asyncio.wait_for(half.wait(), PATIENCE)
        async with evaluator(environment, gateway, simulator, None) as url:
            upgraded.set()
            async with AssessmentCall.of_task(url, running.task_id) as call:
                ended: Assessed = await Running(call).end()
    assert ended.state == "completed", ended.sentence
    assert ended.results is not None
    assert [entry.turn for entry in ended.results.action_log] == [1, 2, 3]
    assert {1, 2, 3} == set(played)
    (run,) = await runs_of(await connect(stack.config), running.task_id)
    markers = [event.marker_recorded_event_attributes.marker_name for event in run.events]
    assert markers.count("core_local_activity") > 3, "it began with the last release's steps, and kept to them"
