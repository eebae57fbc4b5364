"""What a workflow has recorded must be what its code, run again, would do."""

from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from proctor.activities.admission.queueing import CONTEXT_QUEUE
from proctor.service.worker import WORKFLOWS
from proctor.workflows.names import ASSESSMENT_WORKFLOW
from tests.histories.reading import runs_of
from tests.work import NIGHTLY
from tests.workflows.guarding import guarded_runner

_guarded = {ASSESSMENT_WORKFLOW, CONTEXT_QUEUE}
"""Types of workflows that ``tests/histories`` has replayed in the sandbox, or this process, of each type the first."""


def _replayer(client: Client, run: WorkflowHistory) -> Replayer:
    """By default with the sandbox, which imports everything again for each, only where its type was never in it."""
    kind = run.events[0].workflow_execution_started_event_attributes.workflow_type.name
    runner = guarded_runner() if NIGHTLY or kind not in _guarded else UnsandboxedWorkflowRunner()
    _guarded.add(kind)
    return Replayer(workflows=WORKFLOWS, workflow_runner=runner, data_converter=client.data_converter)


async def replayed(client: Client, workflow_id: str) -> int:
    """Replay every run of a workflow, as a worker does that takes it over; how many runs there were.

    Raises:
        temporalio.workflow.NondeterminismError: the code does something else than what is recorded.
    """
    runs = await runs_of(client, workflow_id)
    for run in runs:
        await _replayer(client, run).replay_workflow(run)
    return len(runs)
