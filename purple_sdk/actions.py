"""Record the agent's actions, as they happen, for its report."""

from datetime import datetime
from typing import Any

from pydantic_core import from_json

from purple_sdk.protocol.messages import ActionLogEntry
from purple_sdk.ues import ActionResult, UESError
from purple_sdk.ues._call import Call


class ActionRecorder:
    """An observer of a UES client: each call that may change something becomes an ``ActionLogEntry``.

    The entry of ``email.send`` has the request's fields as parameters. Its time is the simulated time of execution that
    the simulator answers; if it answers none, the turn's time.
    """

    def __init__(self, now: datetime) -> None:
        self._now = now
        self.entries: list[ActionLogEntry] = []

    def begin_turn(self, now: datetime) -> None:
        """Forget the last turn's actions; ``now`` is the simulated time."""
        self._now = now
        self.entries = []

    def __call__(self, call: Call[Any], answer: Any, problem: UESError | None) -> None:
        """Record one action (the client calls this)."""
        result = answer if isinstance(answer, ActionResult) else None
        error = None if problem is None else str(problem)
        if result is not None and not result.succeeded:
            error = result.message or f"the simulator says {result.status}"
        entry = ActionLogEntry(
            timestamp=self._now if result is None else result.scheduled_time,
            action=call.route.action,
            parameters=_parameters(call),
            success=error is None,
            error_message=error,
        )
        self.entries.append(entry)


def _parameters(call: Call[Any]) -> dict[str, Any]:
    try:
        sent = from_json(call.content or b"{}")
    except ValueError:  # a call that could not be sent is not reported
        return {}
    return sent if isinstance(sent, dict) else {}
