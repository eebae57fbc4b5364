"""The common steps of all operations on appointments."""

from typing import Any

from proctor.ues.modality import Change
from proctor.ues.schema import JsonObject

Event = dict[str, Any]
"""An appointment in the state's shape."""


def add(change: Change, event: Event) -> Event:
    """Add a new appointment to the state and to its calendar's list. Returns the state's copy."""
    change.put(("events", event["event_id"]), event)
    change.append(("calendars", event["calendar_id"], "event_ids"), event["event_id"])
    added: Event = change.state["events"][event["event_id"]]
    return added


def remove(change: Change, event: Event) -> None:
    """Remove an appointment from the state and from its calendar's list."""
    change.remove(("events", event["event_id"]))
    change.discard(("calendars", event["calendar_id"], "event_ids"), event["event_id"])


def revise(change: Change, event: Event, fields: JsonObject) -> None:
    """Change an appointment's ``fields``; all other fields stay, so a move needs a new start and a new end.

    Raises OperationFailed if the end would be before the start.
    """
    start, end = ({**event, **fields}[name] for name in ("start", "end"))
    if end < start:
        raise change.fail(f"end {end} lies before start {start}; give both to move the event")
    change.update(("events", event["event_id"]), **fields, updated_at=change.now)
