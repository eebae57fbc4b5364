"""Runs of terminal trials as campaigns: what is planned of which files, with scripted steps."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from a2a.client import Client as Caller
from temporalio.client import Client

from activities.terminal.datasets import DatasetSource, KnownDataset, KnownDatasets, datasets_home
from activities.terminal_runs import TerminalRuns
from proctor_protocol.config import GreenAgentConfig
from tests.activities.terminal.writing import format_one
from tests.workflows.scripted_trials import ScriptedTrials
from tests.workflows.test_campaigns import play


@pytest.fixture
def config(config: GreenAgentConfig, tmp_path: Path) -> GreenAgentConfig:
    """Of an evaluator with a dataset of three tasks, ``small``."""
    for name in ("easy", "hard", "plain"):
        format_one(tmp_path / "datasets" / "small" / name)
    return config.model_copy(
        update={
            "datasets_dir": str(tmp_path / "datasets"),
            "containers_task_queue": config.task_queue,
            "state": str(tmp_path / "state"),
        }
    )


@pytest_asyncio.fixture
async def trials(client: Client, config: GreenAgentConfig) -> AsyncIterator[ScriptedTrials]:
    """A worker that plans for real and plays by script."""
    scripted = ScriptedTrials(config)
    async with scripted.worker(client, config.task_queue, TerminalRuns):
        yield scripted


def asked(participants: dict[str, str] | None = None, **config: Any) -> dict[str, Any]:
    chosen = {"benchmark": "terminal-bench", "dataset": "small", "task_ids": ["easy", "hard"], **config}
    return {"participants": participants or {}, "config": chosen}


async def test_a_pulled_dataset_is_played_as_it_was_pinned(
    caller: Caller, config: GreenAgentConfig, trials: ScriptedTrials
) -> None:
    known = KnownDatasets(datasets_home(config.state))
    source = DatasetSource(kind="folder", location="elsewhere")
    tasks = sorted((Path(config.datasets_dir) / "small").iterdir())
    pinned = known.install(KnownDataset(name="core", version="1.0", source=source), tasks)
    ended = await play(caller, asked(dataset="core", agent="null", task_ids=["*"]))
    assert ended.results is not None, ended.sentence
    assert (ended.results.dataset, ended.results.dataset_hash) == ("core@1.0", pinned.sha256)
    (known.folder(pinned) / "hard" / "solution.sh").write_text("changed\n")
    ended = await play(caller, asked(dataset="core@1.0", agent="null"))
    assert ended.state == "rejected"
    assert "The files of hard in core@1.0 were changed" in ended.sentence
    assert "datasets pull core@1.0" in ended.sentence
    ended = await play(caller, asked(dataset="core@2", agent="null"))
    assert 'No dataset is called "core@2"; these are known: core@1.0.' in ended.sentence
