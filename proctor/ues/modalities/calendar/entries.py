"""The steps that every operation on appointments is made of."""

from typing import Any

from proctor.ues.modality import Change
from proctor.ues.schema import JsonObject

Event = dict[str, Any]
"""An appointment in the state's shape."""


def add(change: Change, event: Event) -> Event:
    """Put a new appointment into the state and on its calendar's list. Returns the state's own."""
    change.put(("events", event["event_id"]), event)
    change.append(("calendars", event["calendar_id"], "event_ids"), event["event_id"])
    added: Event = change.state["events"][event["event_id"]]
    return added


def remove(change: Change, event: Event) -> None:
    """Take an appointment out of the state and off its calendar's list."""
    change.remove(("events", event["event_id"]))
    change.discard(("calendars", event["calendar_id"], "event_ids"), event["event_id"])


def revise(change: Change, event: Event, fields: JsonObject) -> None:
    """Change an appointment's ``fields``; the others stay, so a move needs a new start and a new end.

    Raises OperationFailed where the end would be before the start.
    """
    start, end = ({**event, **fields}[name] for name in ("start", "end"))
    if end < start:
        raise change.fail(f"end {end} lies before start {start}; give both to move the event")
    change.update(("events", event["event_id"]), **fields, updated_at=change.now)
