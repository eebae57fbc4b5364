"""The Python API, as notebooks and scripts use it."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import proctor
from proctor.client.caller import Accepted, CallEvent, Ended
from proctor.common.errors import CommandError, UnreachableError, UsageError
from proctor.local.stack import LocalStack
from proctor.service.supervisor import Service
from purple_sdk.protocol.messages import EarlyCompletionMessage
from tests.assessments.scripts import diligent
from tests.programs import is_running
from tests.sentences import says
from tests.stack import Stack, serving
from tests.work import only_nightly


async def test_an_agent_is_assessed_and_its_run_read_from_the_archive(stack: Stack, tmp_path: Path) -> None:
    """Called from a running event loop, as in a notebook."""
    events: list[CallEvent] = []
    async with serving(diligent) as agent:
        results = await asyncio.to_thread(
            lambda: proctor.assess(
                agent, "tiny", seed=3, offline=True, gateway=stack.gateway_url, on_event=events.append
            )
        )
    assert (results.scenario_id, results.seed, results.status) == ("tiny", 3, "completed")
    assert isinstance(events[0], Accepted)
    assert isinstance(events[-1], Ended)
    archived = proctor.runs(stack.config.archive_url, scenario="tiny", since="1d")
    (entry,) = [candidate for candidate in archived if candidate.id == results.assessment_id]
    assert entry.score == results.scores.overall.score
    rows = {row["id"]: row for row in archived.rows()}
    points = {name: value for name, value in rows[entry.id].items() if name.startswith("criterion.")}
    assert points == {f"criterion.{result.criterion_id}": result.score for result in results.criteria_results}


@only_nightly  # by default: tests/workflows/test_run_command.py
async def test_a_campaign_is_played(stack: Stack) -> None:
    async with serving(diligent) as agent:
        results = await asyncio.to_thread(
            lambda: proctor.run(
                {"mine": agent}, ["tiny"], seeds=[1, 2], offline=True, max_turns=1, gateway=stack.gateway_url
            )
        )
    assert [(cell.agent, cell.seed) for cell in results.cells] == [("mine", 1), ("mine", 2)]


def test_what_is_wrong_is_an_exception_with_a_sentence(stack: Stack) -> None:
    with pytest.raises(UnreachableError, check=says()):
        proctor.assess("http://127.0.0.1:9", "tiny", gateway="http://127.0.0.1:9")
    with pytest.raises(UsageError, check=says()):
        proctor.assess("http://127.0.0.1:9", "no such day", offline=True, gateway=stack.gateway_url)
    with pytest.raises(UsageError, check=says("proctor.run")):
        proctor.run({"mine": "http://127.0.0.1:9"}, ["tiny"], nonsense=1)
    with pytest.raises(UsageError, check=says()):
        proctor.runs(stack.config.archive_url, since="yesterday or so")


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: dict[str, Callable[[proctor.Runs], object]] = {
        "pandas": lambda runs: runs.to_pandas(),
        "pyarrow": lambda runs: runs.to_parquet(tmp_path / "runs.parquet"),
    }
    for module, call in calls.items():
        monkeypatch.setitem(__import__("sys").modules, module, None)
        with pytest.raises(CommandError, check=says(module)):
            call(proctor.runs(str(tmp_path)))


async def test_a_script_is_rehearsed_within_a_running_loop() -> None:
    async def greets(_turn: int, ues: Any, _now: Any) -> EarlyCompletionMessage:
        await ues.chat.send(role="assistant", content="Good morning!")
        return EarlyCompletionMessage(reason="That was all.")

    results = proctor.rehearse("email_triage_basic", greets)
    assert results.offline
    assert results.status == "completed"


def test_an_evaluator_runs_as_long_as_the_block_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for its services: how these start and end is in ``test_supervisor`` and ``test_demo``."""
    started: list[tuple[int, Path]] = []

    def stand_in(stack: LocalStack) -> list[Service]:
        async def is_ready(pid: int) -> bool:
            started.append((pid, stack.state))
            return True

        return [Service("gateway", [sys.executable, "-c", "import time; time.sleep(600)"], is_ready)]

    monkeypatch.setattr(LocalStack, "list_services", stand_in)
    with proctor.evaluator() as gateway:
        ((pid, folder),) = started
        assert gateway.startswith("http://127.0.0.1:")
        assert is_running(pid)
        assert folder.is_dir()
    assert not is_running(pid)
    assert not folder.exists()


@only_nightly
def test_an_evaluator_of_real_services_answers() -> None:
    with proctor.evaluator() as gateway, pytest.raises(UsageError, check=says()):
        proctor.assess("http://127.0.0.1:9", "no such day", offline=True, gateway=gateway)
    with pytest.raises(UnreachableError):
        proctor.assess("http://127.0.0.1:9", "no such day", offline=True, gateway=gateway)


def test_the_version_is_the_distributions() -> None:
    assert proctor.__version__ == "0.2.0"
