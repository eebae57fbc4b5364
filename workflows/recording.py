"""A task update as an item of the update stream: its JSON, and beside it when it was recorded."""

from temporalio import workflow
from temporalio.api.common.v1 import Payload

from proctor_protocol.campaigns import CampaignUpdate
from proctor_protocol.updates import RECORDED_AT, TaskUpdate


def record(update: TaskUpdate | CampaignUpdate) -> Payload:
    """The item for an update that happens now; for use in workflows."""
    payload = workflow.payload_converter().to_payloads([update.model_dump(mode="json")])[0]
    payload.metadata[RECORDED_AT] = workflow.now().isoformat().encode()
    return payload
