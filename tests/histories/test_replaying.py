"""The workflows as they are now can go on with every assessment that a release has started.

Where this fails after a change of ``workflows/``, running assessments would be stuck: put the change behind
``workflow.patched`` (docs/operations/deploy.md, with patches). Record again (``make record-histories``) only histories
that no release has started yet.
"""

import gzip
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, WorkflowRunner
from temporalio.workflow import NondeterminismError

from proctor.service.worker import WORKFLOWS
from proctor.storage.blobs import BlobStore
from proctor.storage.temporal import data_converter
from proctor.workflows.turns import Turns
from tests.histories.record import FOLDER, RECORDED, release
from tests.workflows.guarding import guarded_runner

RECORDINGS = sorted(FOLDER.glob("*/*.json.gz"))


def make_replayer(store: Path, runner: WorkflowRunner) -> Replayer:
    return Replayer(workflows=WORKFLOWS, workflow_runner=runner, data_converter=data_converter(BlobStore(str(store))))


def recording(path: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(path.name, gzip.decompress(path.read_bytes()).decode())


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name} {path.name.partition('.')[0]}")
async def test_replays(tmp_path: Path, path: Path) -> None:
    await make_replayer(tmp_path, guarded_runner()).replay_workflow(recording(path))


async def test_a_change_that_breaks_running_assessments_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Turns, "is_another_due", lambda *_: False)
    replayer = make_replayer(tmp_path, UnsandboxedWorkflowRunner())  # the sandbox would import the turns anew
    with pytest.raises(NondeterminismError):
        await replayer.replay_workflow(recording(FOLDER / release() / "completed.json.gz"))


def test_this_release_is_recorded() -> None:
    recorded = {path.name.partition(".")[0].partition("-")[0] for path in (FOLDER / release()).iterdir()}
    assert recorded == {play.__name__ for play in RECORDED}
    assert sum(path.stat().st_size for path in RECORDINGS) < 300_000 * len({path.parent for path in RECORDINGS})
