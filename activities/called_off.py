"""What was under way when an assessment was cancelled, and may still be: its attempts learn of it with a delay.

An attempt hears of it at its next heartbeat, or never, if its worker has just died. Whoever cleans up asks Temporal
what there still is.
"""

from temporalio import activity
from temporalio.api.enums.v1 import PendingActivityState


async def notes_under_way() -> list[str]:
    """What the attempts have noted (``heartbeats.note``) that were called off and have not ended yet."""
    info = activity.info()
    workflow = activity.client().get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
    described = await workflow.describe()
    converter = activity.client().data_converter
    return [
        str(note)
        for pending in described.raw_description.pending_activities
        if pending.state == PendingActivityState.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
        for note in await converter.decode(list(pending.heartbeat_details.payloads))
    ]
