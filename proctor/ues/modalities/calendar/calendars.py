"""What an event can do to whole calendars, and what an import derives."""

from proctor.ues.modalities.calendar.models import Calendar, CalendarInput, missing_end_of
from proctor.ues.modality import Change, State
from proctor.ues.schema import JsonObject

SETTINGS = ("name", "color", "visible", "default_reminders")
"""What a caller says about a calendar."""

PRIMARY_NAME = "Personal"
"""The name of the calendar that every simulation begins with."""


def initial(now: str) -> JsonObject:
    """The fields of a new state: one empty calendar, the primary one."""
    return {"last_updated": now, "calendars": {"primary": {"name": PRIMARY_NAME, "created_at": now, "updated_at": now}}}


def add_calendar(change: Change, calendar_id: str) -> None:
    """Make the calendar that something new names, and that isn't there yet."""
    change.put(("calendars", calendar_id), unnamed_calendar(calendar_id, change.now))


def unnamed_calendar(calendar_id: str, now: str) -> JsonObject:
    """A calendar of which no more is known than its id: it is called so, in title case."""
    name = PRIMARY_NAME if calendar_id == "primary" else calendar_id.title()
    return Calendar(calendar_id=calendar_id, name=name, created_at=now, updated_at=now).model_dump()


def create_calendar(change: Change, payload: CalendarInput) -> None:
    calendar_id = payload.calendar_id if "calendar_id" in payload.present_fields else change.draw_id()
    if calendar_id in change.state["calendars"]:
        raise change.fail(f"calendar_id {calendar_id!r} is taken")
    calendar = Calendar.model_validate({**_settings(payload), "calendar_id": calendar_id}).model_dump()
    change.put(("calendars", calendar_id), {**calendar, "created_at": change.now, "updated_at": change.now})


def update_calendar(change: Change, payload: CalendarInput) -> None:
    path = ("calendars", _known(change, payload))
    change.update(path, **_settings(payload), updated_at=change.now)


def delete_calendar(change: Change, payload: CalendarInput) -> None:
    """Delete a calendar with all that is in it. The default calendar can't be deleted."""
    calendar_id = _known(change, payload)
    if calendar_id == change.state["default_calendar_id"]:
        raise change.fail(f"{calendar_id!r} is the default calendar; make another one the default first")
    events = change.state["events"]
    for event_id in [event_id for event_id, event in events.items() if event["calendar_id"] == calendar_id]:
        change.remove(("events", event_id))
    change.remove(("calendars", calendar_id))


def set_default_calendar(change: Change, payload: CalendarInput) -> None:
    """Choose the calendar that new appointments go into."""
    change.put(("default_calendar_id",), _known(change, payload))


def _known(change: Change, payload: CalendarInput) -> str:
    calendars = change.state["calendars"]
    if payload.calendar_id not in calendars:
        raise change.fail(f"there is no calendar {payload.calendar_id!r}; there are {', '.join(map(repr, calendars))}")
    return payload.calendar_id


def _settings(payload: CalendarInput) -> JsonObject:
    dumped = payload.model_dump()
    return {name: dumped[name] for name in SETTINGS if name in payload.present_fields}


def complete(state: State) -> None:
    """Fill in what a scenario file may leave out: times of creation, attachments' ids, the calendars that are
    named and missing, and each calendar's list of events. An event's own ``calendar_id`` counts. A series that ends
    without a known time never does.
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
        if event["recurrence"] and missing_end_of(event["recurrence"]):
            event["recurrence"]["end_type"] = "never"
        lists[event["calendar_id"]][event_id] = None
    for calendar_id, calendar in calendars.items():
        calendar["created_at"] = calendar["created_at"] or calendar["updated_at"] or now
        calendar["updated_at"] = calendar["updated_at"] or calendar["created_at"]
        own = lists[calendar_id]
        calendar["event_ids"] = list(dict.fromkeys([*(i for i in calendar["event_ids"] if i in own), *own]))
