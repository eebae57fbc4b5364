"""An assessment whose participant died goes on from *Reset* in the Temporal UI."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as a2a

from proctor.client.caller import AssessmentCall, Ended, Progress
from proctor.protocol.campaigns import CampaignUpdate
from proctor.protocol.updates import TaskUpdate, TurnStartedUpdate
from purple_sdk.processes.ports import free_ports
from purple_sdk.protocol.results import AssessmentResults
from tests.programs import Process, end, module, start
from tests.sentences import says
from tests.stack import Stack, assess
from tests.ui.browser import require_chromium, temporal_ui
from tests.waiting import PATIENCE
from tests.work import only_nightly

ROOT = Path(__file__).parents[2]
TURNS = 3


class Participant:
    """A participant's process."""

    def __init__(self, process: Process, folder: Path) -> None:
        self._process = process
        self._folder = folder

    @property
    def log(self) -> list[str]:
        """What it has written down."""
        log = self._folder / "log"
        return log.read_text().splitlines() if log.exists() else []

    async def waits(self) -> None:
        """Return once it waits in the turn that it is to wait in."""
        async with asyncio.timeout(PATIENCE):
            while not self.log or not self.log[-1].endswith("waits"):
                await asyncio.sleep(0.02)

    def go_on(self) -> None:
        """Let it finish that turn."""
        (self._folder / "go_on").touch()

    def begin_anew(self) -> None:
        """Have it wait as at first, and its log be empty."""
        (self._folder / "go_on").unlink()
        (self._folder / "log").unlink()

    def kill(self) -> None:
        """SIGKILL; returns when nothing of it is left."""
        end(self._process, signal.SIGKILL)


@asynccontextmanager
async def participating(port: int, folder: Path, *, waits_in: int = 0) -> AsyncIterator[Participant]:
    """Start a participant, with a log of its own."""
    folder.mkdir()
    command = module("tests.ui.participant", str(port), str(folder), str(waits_in))
    process = start(command, stdout=subprocess.DEVNULL)
    participant = Participant(process, folder)
    try:
        async with httpx.AsyncClient(trust_env=False) as http, asyncio.timeout(PATIENCE):
            while process.poll() is None:
                try:
                    await http.get(f"http://127.0.0.1:{port}/.well-known/agent-card.json")
                    break
                except httpx.TransportError:
                    await asyncio.sleep(0.05)
        yield participant
    finally:
        participant.kill()


def comparable(results: AssessmentResults) -> dict[str, Any]:
    return results.model_dump(mode="json", exclude={"assessment_id", "duration_seconds", "provenance"})


async def state_of(stack: Stack, task_id: str) -> int:
    """The A2A task's state, from the gateway."""
    async with httpx.AsyncClient(trust_env=False) as http:
        client = await ClientFactory(ClientConfig(httpx_client=http)).create_from_url(stack.gateway_url)
        return (await client.get_task(a2a.GetTaskRequest(id=task_id))).status.state


@only_nightly  # by default: tests/assessments/test_replay.py resets by the API and by ``temporal workflow reset``
async def test_a_failed_assessment_goes_on_from_reset_in_the_temporal_ui(stack: Stack, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    async with participating(port, tmp_path / "first", waits_in=2) as first:
        first.go_on()
        undisturbed = await assess(stack, url, "tiny", max_turns=TURNS)
        first.begin_anew()
        assessing = asyncio.create_task(assess(stack, url, "tiny", turn_tries=1, max_turns=TURNS))
        await first.waits()
        first.kill()
        failed = await assessing
    assert failed.state == "failed"
    assert failed.results is not None
    assert failed.results.turns_taken == 1
    assert says(url=url).within(failed.sentence)
    assert first.log == ["turn 1", "turn 2", "turn 2 waits"]
    task_id = failed.results.assessment_id
    assert await state_of(stack, task_id) == a2a.TASK_STATE_FAILED

    async with participating(port, tmp_path / "second", waits_in=3) as second, temporal_ui(stack.local.ui_url) as ui:
        await ui.open(task_id)
        await ui.require_status("Failed")
        await ui.reset(await ui.workflow_task_before("turn 2"), "the participant is back")
        await second.waits()
        assert await state_of(stack, task_id) == a2a.TASK_STATE_WORKING
        ended, updates = await followed(stack, task_id, second)

    assert second.log == ["turn 2", "turn 3", "turn 3 waits"]
    assert ended.state == "completed", ended.sentence
    assert ended.results is not None
    assert undisturbed.results is not None
    assert comparable(AssessmentResults.model_validate_json(ended.results)) == comparable(undisturbed.results)
    assert [update.turn_number for update in updates if isinstance(update, TurnStartedUpdate)] == [*range(1, TURNS + 1)]
    assert await state_of(stack, task_id) == a2a.TASK_STATE_COMPLETED


async def followed(
    stack: Stack, task_id: str, participant: Participant
) -> tuple[Ended, list[TaskUpdate | CampaignUpdate]]:
    """Subscribe to the task while its participant waits in turn 3, then let it go on, and listen to the end."""
    updates: list[TaskUpdate | CampaignUpdate] = []
    async with AssessmentCall.of_task(stack.gateway_url, task_id) as call:
        async for event in call.events():
            if isinstance(event, Progress):
                updates.append(event.update)
                if isinstance(event.update, TurnStartedUpdate) and event.update.turn_number == 3:
                    participant.go_on()
            elif isinstance(event, Ended):
                return event, updates
    raise AssertionError("the stream ended without an end")


def test_without_a_browser_the_reader_is_told_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PROCTOR_TEST_CHROMIUM", raising=False)
    monkeypatch.delenv("PROCTOR_TEST_COMPLETE", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"chromium.*as root: make system-packages"):
        require_chromium("/nowhere")
    monkeypatch.setenv("PROCTOR_TEST_COMPLETE", "1")
    with pytest.raises(pytest.fail.Exception, match=r"chromium.*as root: make system-packages"):
        require_chromium("/nowhere")
    (tmp_path / "chromium").touch(mode=0o755)
    assert require_chromium("/nowhere") == str(tmp_path / "chromium")
