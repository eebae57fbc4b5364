"""What starts an assessment, a campaign, and the notifications of a webhook."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from proctor.activities.notifications.plan import SEALED_WEBHOOK as SEALED_WEBHOOK
from proctor.activities.notifications.plan import Delivery as Delivery
from proctor.activities.notifications.plan import Notification as Notification


class _RequestInput(BaseModel):
    """One request, as it came.

    Attributes:
        task_id: the A2A task id, which is the workflow id too. context_id: the A2A context; assessments of one
        context run one after another. request: the message's data part, else its text, else None, not
        validated. message: the A2A message as JSON data, for the task's history. owner: the caller whose it is, empty
        without authentication. carried: what an earlier run of the same workflow hands on; never set by
        callers.
    """

    model_config = ConfigDict(frozen=True)

    task_id: str
    context_id: str
    request: dict[str, Any] | str | None
    message: dict[str, Any] = Field(default_factory=dict)
    owner: str = ""
    carried: dict[str, Any] | None = None


class AssessmentInput(_RequestInput):
    """Starts an assessment; carries ``proctor.workflows.progress.Carried``."""


class CampaignInput(_RequestInput):
    """Starts a campaign; carries ``proctor.workflows.campaign_progress.CarriedCampaign``."""
