"""The operations of events on appointments. ``calendars.py`` has the operations on whole calendars.

An update changes only the fields that it names: attendees' answers stay when an appointment is moved. Deleted
appointments are removed from the state. A scenario file may contain deleted ones, which have ``deleted_at``.
"""

from proctor.ues.modalities.calendar import recurring
from proctor.ues.modalities.calendar.calendars import add_calendar
from proctor.ues.modalities.calendar.entries import Event, add, revise
from proctor.ues.modalities.calendar.models import CalendarEvent, CalendarInput
from proctor.ues.modalities.calendar.series import day_or_instant
from proctor.ues.modality import Change
from proctor.ues.people import same_address
from proctor.ues.schema import JsonObject
from proctor.ues.times import zone

FIELDS = tuple(
    name
    for name in CalendarEvent.model_fields
    if name in CalendarInput.model_fields and name not in ("event_id", "calendar_id", "recurrence_id")
)
"""The fields of an appointment that a caller sets."""


def create(change: Change, payload: CalendarInput) -> None:
    """Add an appointment, to the default calendar if none is named."""
    event_id = payload.event_id or change.draw_id()
    if event_id in change.state["events"]:
        raise change.fail(f"event_id {event_id!r} is taken")
    calendar_id = find_or_make_calendar(change, payload)
    fields = _fields(change, payload)
    fields.setdefault("reminders", change.state["calendars"][calendar_id]["default_reminders"])
    event = CalendarEvent.model_validate({"event_id": event_id, "calendar_id": calendar_id, **fields}).model_dump()
    event["created_at"] = event["updated_at"] = change.now
    add(change, event)


def update(change: Change, payload: CalendarInput) -> None:
    """Change the given fields of an appointment, of a series, or of the selected part of a series."""
    fields = _fields(change, payload)
    event, recurrence_id = recurring.meant(change, _event(change, payload), payload)
    if recurrence_id is None or payload.recurrence_scope == "all":
        recurring.revise_all(change, event, fields, recurrence_id)
    elif payload.recurrence_scope == "this_and_future":
        recurring.revise_following(change, event, recurrence_id, fields)
    elif "recurrence" in fields:
        raise change.fail("one occurrence can't recur; change recurrence with scope this_and_future or all")
    else:
        revise(change, recurring.single(change, event, recurrence_id), fields)


def delete(change: Change, payload: CalendarInput) -> None:
    """Delete an appointment, a series, or the selected part of a series."""
    event, recurrence_id = recurring.meant(change, _event(change, payload), payload)
    if recurrence_id is None or payload.recurrence_scope == "all":
        recurring.remove_all(change, event)
    elif payload.recurrence_scope == "this_and_future":
        recurring.remove_following(change, event, recurrence_id)
    else:
        recurring.remove_one(change, event, recurrence_id)


def respond(change: Change, payload: CalendarInput) -> None:
    """Note the answer of an attendee, who is the user or another person.

    An earlier answer and its comment are replaced.
    """
    event, recurrence_id = recurring.meant(change, _event(change, payload), payload)
    if recurrence_id is not None and payload.recurrence_scope == "this":
        event = recurring.single(change, event, recurrence_id)
    address = payload.attendee_email or ""
    invited = enumerate(event["attendees"])
    place = next((n for n, attendee in invited if same_address("email", attendee["email"], address)), None)
    if place is None:
        others = ", ".join(attendee["email"] for attendee in event["attendees"]) or "nobody is"
        raise change.fail(f"{payload.attendee_email!r} isn't invited to {event['title']!r}; invited: {others}")
    path = ("events", event["event_id"])
    change.update((*path, "attendees", place), response=payload.response, comment=payload.response_comment)
    change.update(path, updated_at=change.now)


# --- steps that the operations share ----------------------------------------------------------------------------------


def find_or_make_calendar(change: Change, payload: CalendarInput) -> str:
    """Return the id of the calendar for a new appointment; a missing calendar is made.

    If no calendar has the id ``primary``, this id means the default calendar.
    """
    calendars, default = change.state["calendars"], change.state["default_calendar_id"]
    named = payload.calendar_id if "calendar_id" in payload.present_fields else default
    if named not in calendars and named == "primary":
        named = default
    if named not in calendars:
        add_calendar(change, named)
    return named


def _event(change: Change, payload: CalendarInput) -> Event:
    """Return the appointment with the payload's id.

    Raises OperationFailed if there is none, or if the payload names another calendar than the appointment's. The
    input's default, ``primary``, fits any calendar.
    """
    event: Event | None = change.state["events"].get(payload.event_id)
    if event is None or event["deleted_at"] is not None:
        raise change.fail(f"there is no calendar event {payload.event_id!r}")
    if payload.calendar_id not in ("primary", event["calendar_id"]):
        raise change.fail(
            f"event {payload.event_id!r} is in the calendar {event['calendar_id']!r}, not in {payload.calendar_id!r}"
        )
    return event


def _fields(change: Change, payload: CalendarInput) -> JsonObject:
    """Return the appointment's fields from the input, in the state's shape."""
    dumped = payload.model_dump()
    fields = {name: dumped[name] for name in FIELDS if name in payload.present_fields}
    if "timezone" in fields and zone(fields["timezone"]) is None:
        raise change.fail(f"there is no time zone {fields['timezone']!r}; use a name such as Europe/Berlin")
    for attachment in fields.get("attachments", ()):
        attachment["attachment_id"] = attachment["attachment_id"] or change.draw_id()
    if "recurrence_exceptions" in fields:
        wrong = [text for text in fields["recurrence_exceptions"] if day_or_instant(text) is None]
        if wrong:
            raise change.fail(f"recurrence_exceptions: {', '.join(map(repr, wrong))} is neither date nor date-time")
        fields["recurrence_exceptions"] = list(dict.fromkeys(fields["recurrence_exceptions"]))
    return fields
