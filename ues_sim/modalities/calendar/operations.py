"""What an event can do to the calendar's appointments. ``calendars.py`` has what it can do to whole calendars.

An update changes the fields that it names and nothing else: attendees' answers stay when an appointment is moved.
What is deleted is gone from the state; entries with ``deleted_at``, which only files bring, count as gone.
"""

from typing import Any

from ues_sim.modalities.calendar.models import CalendarEvent, CalendarInput
from ues_sim.modalities.calendar.zones import zone
from ues_sim.modality import Change
from ues_sim.schema import JsonObject
from ues_sim.times import from_text, to_text

Event = dict[str, Any]
"""An appointment in the state's shape."""

FIELDS = (
    "title",
    "start",
    "end",
    "all_day",
    "timezone",
    "description",
    "location",
    "status",
    "organizer",
    "attendees",
    "recurrence",
    "recurrence_exceptions",
    "reminders",
    "color",
    "visibility",
    "transparency",
    "attachments",
    "conference_link",
)
"""What a caller says about an appointment."""


def create(change: Change, given: CalendarInput) -> None:
    """Enter an appointment, into the default calendar where none is named."""
    event_id = given.event_id or change.draw_id()
    if event_id in change.state["events"]:
        raise change.fail(f"event_id {event_id!r} is taken")
    calendar_id = calendar_for(change, given)
    fields = _fields(change, given)
    fields.setdefault("reminders", change.state["calendars"][calendar_id]["default_reminders"])
    event = CalendarEvent.model_validate({"event_id": event_id, "calendar_id": calendar_id, **fields}).model_dump()
    event["created_at"] = event["updated_at"] = change.now
    add(change, event)


def update(change: Change, given: CalendarInput) -> None:
    """Change the fields that are given."""
    event = _event(change, given)
    revise(change, event, _fields(change, given))


def delete(change: Change, given: CalendarInput) -> None:
    """Take an appointment out of the calendar."""
    remove(change, _event(change, given))


def respond(change: Change, given: CalendarInput) -> None:
    """Note an attendee's answer: the user's own to an invitation, or another's to the user. A comment of an earlier
    answer goes.
    """
    event = _event(change, given)
    address = _plain(given.attendee_email or "")
    place = next((n for n, attendee in enumerate(event["attendees"]) if _plain(attendee["email"]) == address), None)
    if place is None:
        invited = ", ".join(attendee["email"] for attendee in event["attendees"]) or "nobody is"
        raise change.fail(f"{given.attendee_email!r} isn't invited to {event['title']!r}; invited: {invited}")
    path = ("events", event["event_id"])
    change.update((*path, "attendees", place), response=given.response, comment=given.response_comment)
    change.update(path, updated_at=change.now)


# --- steps that the operations share ----------------------------------------------------------------------------------


def calendar_for(change: Change, given: CalendarInput) -> str:
    """The calendar that something new goes into. ``primary`` is the default calendar where none is called so."""
    calendars, default = change.state["calendars"], change.state["default_calendar_id"]
    named = given.calendar_id if "calendar_id" in given.model_fields_set else default
    if named not in calendars and named == "primary":
        named = default
    if named not in calendars:
        raise change.fail(f"there is no calendar {named!r}; there are {', '.join(map(repr, calendars))}")
    return named


def add(change: Change, event: Event) -> None:
    """Put a new appointment into the state and on its calendar's list."""
    change.put(("events", event["event_id"]), event)
    change.append(("calendars", event["calendar_id"], "event_ids"), event["event_id"])


def remove(change: Change, event: Event) -> None:
    """Take an appointment out of the state and off its calendar's list."""
    change.remove(("events", event["event_id"]))
    change.discard(("calendars", event["calendar_id"], "event_ids"), event["event_id"])


def revise(change: Change, event: Event, fields: JsonObject) -> None:
    """Change an appointment's fields. A new start with no new end moves it: it keeps its length."""
    if "start" in fields and "end" not in fields:
        fields = {**fields, "end": later(change, fields["start"], event)}
    start: str = fields.get("start", event["start"])
    end: str = fields.get("end", event["end"])
    if end < start:
        raise change.fail(f"end {end} lies before start {start}")
    change.update(("events", event["event_id"]), **fields, updated_at=change.now)


def later(change: Change, start: str, event: Event) -> str:
    """When an appointment as long as ``event`` ends that begins at ``start``."""
    try:
        return to_text(from_text(start) + (from_text(event["end"]) - from_text(event["start"])))
    except OverflowError:
        raise change.fail(f"an event that starts at {start} would end after the year 9999") from None


def _event(change: Change, given: CalendarInput) -> Event:
    """The appointment that is meant. Its id says which; a calendar that it isn't in is an error, but for the input's
    default ``primary``.
    """
    event: Event | None = change.state["events"].get(given.event_id)
    if event is None or event["deleted_at"] is not None:
        raise change.fail(f"there is no calendar event {given.event_id!r}")
    if given.calendar_id not in ("primary", event["calendar_id"]):
        raise change.fail(
            f"event {given.event_id!r} is in the calendar {event['calendar_id']!r}, not in {given.calendar_id!r}"
        )
    return event


def _fields(change: Change, given: CalendarInput) -> JsonObject:
    """What the input says about the appointment, in the state's shape."""
    dumped = given.model_dump()
    fields = {name: dumped[name] for name in FIELDS if name in given.model_fields_set}
    if "timezone" in fields and zone(fields["timezone"]) is None:
        raise change.fail(f"there is no time zone {fields['timezone']!r}; use a name such as Europe/Berlin")
    for attachment in fields.get("attachments", ()):
        attachment["attachment_id"] = attachment["attachment_id"] or change.draw_id()
    if "recurrence_exceptions" in fields:
        fields["recurrence_exceptions"] = list(dict.fromkeys(fields["recurrence_exceptions"]))
    return fields


def _plain(address: str) -> str:
    return address.strip().lower()
