"""What passes between the workflow of a webhook and its activity; the gateway reads it, and no activities."""

from dataclasses import dataclass
from typing import Any

from proctor.activities.plan import Model

SEALED_WEBHOOK = "webhook"
"""The purpose with which a webhook is sealed."""

FROM_THE_START = -2
"""Where nothing was taken yet; notifications are numbered from -1."""


@dataclass(frozen=True)
class Notification:
    """One notification: its number, which rises, and its JSON."""

    number: int
    body: dict[str, Any]


class Delivery(Model):
    """What to deliver: a task's notifications after number ``after``, to a webhook (JSON, sealed)."""

    task_id: str
    sealed_webhook: str
    after: int = FROM_THE_START


class Delivered(Model):
    """How far it came: the number of the last notification that was taken, and whether that was the end."""

    after: int
    is_done: bool
