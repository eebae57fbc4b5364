"""What the activities of admission take."""

from typing import Any

from activities.plan import Model


class AdmitInput(Model):
    """A request before its checks; ``owner`` is the caller, empty where callers aren't identified."""

    task_id: str
    request: dict[str, Any] | str | None
    owner: str = ""


class QueueInput(Model):
    """Enter the queue of a context, as one of ``owner``'s."""

    queue_id: str
    task_id: str
    context_id: str = ""
    owner: str = ""
