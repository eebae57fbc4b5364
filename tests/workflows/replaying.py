"""What a workflow has recorded must be what its code, run again, would do."""

from temporalio.client import Client
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from proctor.worker import WORKFLOWS
from tests.histories.reading import runs_of
from tests.work import NIGHTLY
from tests.workflows.guarding import guarded_runner


def _replayer(client: Client) -> Replayer:
    """By default without the sandbox, which imports everything again for each; ``tests/histories`` has it for all."""
    runner = guarded_runner() if NIGHTLY else UnsandboxedWorkflowRunner()
    return Replayer(workflows=WORKFLOWS, workflow_runner=runner, data_converter=client.data_converter)


async def replayed(client: Client, workflow_id: str) -> int:
    """Replay every run of a workflow, as a worker does that takes it over; how many runs there were.

    Raises:
        temporalio.workflow.NondeterminismError: the code does something else than what is recorded.
    """
    runs = await runs_of(client, workflow_id)
    for run in runs:
        await _replayer(client).replay_workflow(run)
    return len(runs)
