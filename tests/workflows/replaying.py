"""What a workflow has recorded must be what its code, run again, would do."""

from temporalio.client import Client
from temporalio.worker import Replayer

from proctor.worker import WORKFLOWS
from tests.histories.reading import runs_of
from tests.workflows.guarding import guarded_runner


async def replayed(client: Client, workflow_id: str) -> int:
    """Replay every run of a workflow, as a worker does that takes it over; how many runs there were.

    Raises:
        temporalio.workflow.NondeterminismError: the code does something else than what is recorded.
    """
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=guarded_runner(), data_converter=client.data_converter)
    runs = await runs_of(client, workflow_id)
    for run in runs:
        await replayer.replay_workflow(run)
    return len(runs)
