"""Inputs of the workflows that play an assessment or a campaign, or notify a webhook."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from proctor.activities.notifications.plan import SEALED_WEBHOOK as SEALED_WEBHOOK
from proctor.activities.notifications.plan import Delivery as Delivery
from proctor.activities.notifications.plan import Notification as Notification


class _RequestInput(BaseModel):
    """One request as it was received.

    Attributes:
        task_id: the A2A task id, which is the workflow id too.
        context_id: the A2A context; assessments of one context run one after another.
        request: the message's data part; its text if there is no data part; None if there is neither. It isn't
            validated.
        message: the A2A message as JSON data, for the task's history.
        owner: the caller, empty without authentication.
        carried: data of an earlier run of the same workflow; never set by callers.
    """

    model_config = ConfigDict(frozen=True)

    task_id: str
    context_id: str
    request: dict[str, Any] | str | None
    message: dict[str, Any] = Field(default_factory=dict)
    owner: str = ""
    carried: dict[str, Any] | None = None


class AssessmentInput(_RequestInput):
    """The input of an assessment. Its ``carried`` is a ``proctor.workflows.progress.Carried``."""


class CampaignInput(_RequestInput):
    """The input of a campaign. Its ``carried`` is a ``proctor.workflows.campaign_progress.CarriedCampaign``."""
