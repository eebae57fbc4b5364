"""The operations of events on whole calendars, and the completion of an import."""

from proctor.ues.modalities.calendar.models import Calendar, CalendarInput, find_missing_end
from proctor.ues.modality import Change, State
from proctor.ues.schema import JsonObject

SETTINGS = ("name", "color", "visible", "default_reminders")
"""The fields of a calendar that a caller sets."""

PRIMARY_NAME = "Personal"
"""The name of the first calendar of every simulation."""


def initial(now: str) -> JsonObject:
    """Return the fields of a new state: one empty calendar, the primary one."""
    return {"last_updated": now, "calendars": {"primary": {"name": PRIMARY_NAME, "created_at": now, "updated_at": now}}}


def add_calendar(change: Change, calendar_id: str) -> None:
    """Make a calendar that a new entry names and that doesn't exist yet."""
    change.put(("calendars", calendar_id), unnamed_calendar(calendar_id, change.now))


def unnamed_calendar(calendar_id: str, now: str) -> JsonObject:
    """Return a calendar of which only the id is known; its name is the id in title case."""
    name = PRIMARY_NAME if calendar_id == "primary" else calendar_id.title()
    return Calendar(calendar_id=calendar_id, name=name, created_at=now, updated_at=now).model_dump()


def create_calendar(change: Change, payload: CalendarInput) -> None:
    calendar_id = payload.calendar_id if "calendar_id" in payload.present_fields else change.draw_id()
    if calendar_id in change.state["calendars"]:
        raise change.fail(f"calendar_id {calendar_id!r} is taken")
    calendar = Calendar.model_validate({**_settings(payload), "calendar_id": calendar_id}).model_dump()
    change.put(("calendars", calendar_id), {**calendar, "created_at": change.now, "updated_at": change.now})


def update_calendar(change: Change, payload: CalendarInput) -> None:
    path = ("calendars", _find_calendar_id(change, payload))
    change.update(path, **_settings(payload), updated_at=change.now)


def delete_calendar(change: Change, payload: CalendarInput) -> None:
    """Delete a calendar with all its entries. The default calendar can't be deleted."""
    calendar_id = _find_calendar_id(change, payload)
    if calendar_id == change.state["default_calendar_id"]:
        raise change.fail(f"{calendar_id!r} is the default calendar; make another one the default first")
    events = change.state["events"]
    for event_id in [event_id for event_id, event in events.items() if event["calendar_id"] == calendar_id]:
        change.remove(("events", event_id))
    change.remove(("calendars", calendar_id))


def set_default_calendar(change: Change, payload: CalendarInput) -> None:
    """Choose the calendar that new appointments go into."""
    change.put(("default_calendar_id",), _find_calendar_id(change, payload))


def _find_calendar_id(change: Change, payload: CalendarInput) -> str:
    calendars = change.state["calendars"]
    if payload.calendar_id not in calendars:
        raise change.fail(f"there is no calendar {payload.calendar_id!r}; there are {', '.join(map(repr, calendars))}")
    return payload.calendar_id


def _settings(payload: CalendarInput) -> JsonObject:
    dumped = payload.model_dump()
    return {name: dumped[name] for name in SETTINGS if name in payload.present_fields}


def complete(state: State) -> None:
    """Fill in data that a scenario file may omit: times, attachments' ids, and calendars that only events name.

    Each calendar's list of events is derived from the events' ``calendar_id``. A series becomes endless if the value
    that its ``end_type`` needs is missing.
    """
    calendars, events, now = state["calendars"], state["events"], state["last_updated"]
    wanted = dict.fromkeys((state["default_calendar_id"], *(event["calendar_id"] for event in events.values())))
    for calendar_id in wanted:
        if calendar_id not in calendars:
            calendars[calendar_id] = unnamed_calendar(calendar_id, now)
    lists: dict[str, dict[str, None]] = {calendar_id: {} for calendar_id in calendars}
    for event_id, event in events.items():
        event["created_at"] = event["created_at"] or event["updated_at"] or now
        event["updated_at"] = event["updated_at"] or event["created_at"]
        for place, attachment in enumerate(event["attachments"]):
            attachment["attachment_id"] = attachment["attachment_id"] or f"{event_id}-attachment-{place + 1}"
        if event["recurrence"] and find_missing_end(event["recurrence"]):
            event["recurrence"]["end_type"] = "never"
        lists[event["calendar_id"]][event_id] = None
    for calendar_id, calendar in calendars.items():
        calendar["created_at"] = calendar["created_at"] or calendar["updated_at"] or now
        calendar["updated_at"] = calendar["updated_at"] or calendar["created_at"]
        own = lists[calendar_id]
        calendar["event_ids"] = list(dict.fromkeys([*(i for i in calendar["event_ids"] if i in own), *own]))
