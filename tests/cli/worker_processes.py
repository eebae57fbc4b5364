"""The processes of a worker that tests look at, and which of them is at a turn."""

import psutil
from temporalio.client import Client

from tests.waiting import eventually


def processes_of(pid: int) -> list[psutil.Process]:
    """The worker's processes, in their order."""
    found = {}
    for child in psutil.Process(pid).children():
        line = child.cmdline()
        if "proctor.service.worker_process" in line:
            found[line[-1]] = child
    return [found[line] for line in sorted(found)]


async def process_at_work(client: Client, worker: int) -> psutil.Process:
    """The process of a worker that has the only turn which is played, once Temporal's lists have its assessment."""
    identities: list[str] = []

    async def is_listed() -> bool:
        async for workflow in client.list_workflows("WorkflowType = 'Assessment' AND ExecutionStatus = 'Running'"):
            described = await client.get_workflow_handle(workflow.id).describe()
            pending = described.raw_description.pending_activities
            identities.extend(
                activity.last_worker_identity for activity in pending if activity.activity_type.name == "purple_turn"
            )
        return any(identities)

    await eventually(is_listed)
    parent, _, number = identities[-1].partition("@")[0].partition(".")
    assert parent == str(worker)
    return processes_of(worker)[int(number)]


async def failed_attempts(client: Client, workflow_id: str) -> set[str]:
    """Why attempts of an assessment's steps were followed by others."""
    history = await client.get_workflow_handle(workflow_id).fetch_history()
    begun = [event.activity_task_started_event_attributes for event in history.events]
    return {activity.last_failure.application_failure_info.type for activity in begun if activity.attempt > 1}
