"""What passes between the workflow of a webhook and its activity."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

SEALED_WEBHOOK = "webhook"
"""The purpose with which a webhook is sealed."""

FROM_THE_START = -2
"""Where nothing was taken yet; notifications are numbered from -1."""


@dataclass(frozen=True)
class Notification:
    """One notification: its number, which rises, and its JSON."""

    number: int
    body: dict[str, Any]


class Delivery(BaseModel):
    """What to deliver: a task's notifications after number ``after``, to a webhook (JSON, sealed)."""

    model_config = ConfigDict(frozen=True)

    task_id: str
    sealed_webhook: str
    after: int = FROM_THE_START


class Delivered(BaseModel):
    """How far it came: the number of the last notification that was taken, and whether that was the end."""

    model_config = ConfigDict(frozen=True)

    after: int
    is_done: bool
