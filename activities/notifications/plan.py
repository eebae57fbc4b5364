"""Payloads of a webhook's workflow and its activity. The gateway imports this module, and no activities."""

from dataclasses import dataclass
from typing import Any

from proctor.activities.plan import Model

SEALED_WEBHOOK = "webhook"
"""The purpose for which a webhook is sealed (encrypted)."""

FROM_THE_START = -2
"""The value of ``after`` before any notification was accepted. The first notification has number -1."""


@dataclass(frozen=True)
class Notification:
    """One notification: its rising number, and its JSON."""

    number: int
    body: dict[str, Any]


class Delivery(Model):
    """A request to send a task's notifications after number ``after`` to a webhook, which is given as sealed JSON."""

    task_id: str
    sealed_webhook: str
    after: int = FROM_THE_START


class Delivered(Model):
    """The progress of a delivery: the number of the last accepted notification, and whether that was the end."""

    after: int
    is_done: bool
