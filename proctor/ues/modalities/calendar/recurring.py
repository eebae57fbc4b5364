"""What an event can do to a series: to one occurrence (``this``), to it and what follows (``this_and_future``), or to
all of it.

An occurrence that differs from the others is a separate event (``parent_event_id``, ``recurrence_id``), and
the series has an exception in its place. "This and future" ends the series before the occurrence and, for an update,
starts another one there. ``recurrence_id`` is kept as the caller wrote it: a date, or when the occurrence starts.
"""

from copy import deepcopy
from datetime import date, timedelta

from proctor.ues.modalities.calendar.entries import Event, add, remove, revise
from proctor.ues.modalities.calendar.models import CalendarInput
from proctor.ues.modalities.calendar.series import DATE_LENGTH, Occurrence, Series, moved_rule
from proctor.ues.modality import Change, State
from proctor.ues.schema import JsonObject
from proctor.ues.times import from_text, to_text


def meant(change: Change, event: Event, payload: CalendarInput) -> tuple[Event, str | None]:
    """The event that an input is about and None, or a series and the ``recurrence_id`` of its occurrence. An event that
    replaces an occurrence leads to its series when the payload's scope goes beyond it.
    """
    series = change.state["events"].get(event["parent_event_id"])
    if payload.recurrence_scope != "this" and series is not None and series["recurrence"] and event["recurrence_id"]:
        return series, event["recurrence_id"]
    return event, payload.recurrence_id if event["recurrence"] else None


def replacements(state: State, event: Event) -> list[Event]:
    """The events that stand for occurrences of a series. A file may say of an event that it is its own parent."""
    event_id = event["event_id"]
    return [
        other
        for other in state["events"].values()
        if other["parent_event_id"] == event_id != other["event_id"]
        and other["recurrence_id"]
        and other["deleted_at"] is None
    ]


def single(change: Change, event: Event, recurrence_id: str) -> Event:
    """One occurrence of a series as a separate event, which is made where there is none.

    ``event`` is the series, ``recurrence_id`` the occurrence's date or start. Raises OperationFailed where the series
    has no such occurrence, or leaves it out.
    """
    series, occurrence = _find(change, event, recurrence_id)
    own = _own(change, event, series, occurrence)
    if own is not None:
        return own
    _refuse_if_left_out(change, event, series, occurrence)
    event_id = change.draw_id()
    made = {
        **deepcopy(event),
        "event_id": event_id,
        "start": occurrence.start,
        "end": occurrence.end,
        "recurrence": None,
        "recurrence_exceptions": [],
        "recurrence_id": recurrence_id,
        "parent_event_id": event["event_id"],
        "created_at": change.now,
        "updated_at": change.now,
    }
    change.append(("events", event["event_id"], "recurrence_exceptions"), recurrence_id)
    return add(change, made)


def revise_all(change: Change, event: Event, fields: JsonObject, recurrence_id: str | None = None) -> None:
    """Change an event, and if it is a series all of it. With an occurrence named, a new start or end is that
    occurrence's, and the others move as far. Exceptions, and days that the rule names, move along.
    """
    if event["recurrence"] is None:
        revise(change, event, fields)
        return
    before = Series(event)
    if recurrence_id is not None and not fields.keys().isdisjoint({"start", "end"}):
        before, occurrence = _find(change, event, recurrence_id)
        fields = {**fields, **_moved(change, before, occurrence, fields)}
    revise(change, event, fields)
    after = Series(event)
    if after.first == before.first:
        return
    path, shift = ("events", event["event_id"]), after.first.date() - before.first.date()
    if "recurrence" not in fields:
        rule = moved_rule(event["recurrence"], before.first.date(), after.first.date())
        change.update(path, recurrence=rule)
    if "recurrence_exceptions" not in fields:
        texts = [_renamed(text, before, after, shift) for text in event["recurrence_exceptions"]]
        change.update(path, recurrence_exceptions=list(dict.fromkeys(texts)))
    for own in replacements(change.state, event):
        renamed = _renamed(own["recurrence_id"], before, after, shift)
        change.update(("events", own["event_id"]), recurrence_id=renamed)


def revise_from(change: Change, event: Event, recurrence_id: str, fields: JsonObject) -> None:
    """Change ``fields`` of an occurrence and of those after it, which become a separate series.

    Raises OperationFailed where the series has no such occurrence (``recurrence_id``: its date or start).
    """
    series, occurrence = _find(change, event, recurrence_id)
    if series.begins_on(occurrence.day):
        revise_all(change, event, fields, recurrence_id)
        return
    rule = event["recurrence"]
    if rule["end_type"] == "count":
        rule = {**rule, "count": rule["count"] - series.count_before(occurrence.day)}
    later = deepcopy({**event, "recurrence": rule, "start": occurrence.start, "end": occurrence.end})
    later["event_id"] = change.draw_id()
    later["recurrence_exceptions"] = _exceptions(event, series, since=occurrence.day)
    later["created_at"] = later["updated_at"] = change.now
    own = _replaced_since(change, event, series, occurrence.day)
    _end_before(change, event, series, occurrence.day)
    added = add(change, later)
    for other in own:
        change.update(("events", other["event_id"]), parent_event_id=added["event_id"])
    revise_all(change, added, fields)


def remove_all(change: Change, event: Event) -> None:
    """Remove an event; a series with the events that stand for its occurrences. Where the event itself stands for one,
    that occurrence is gone: the series doesn't have it back.
    """
    for own in replacements(change.state, event):
        remove(change, own)
    remove(change, event)
    series = change.state["events"].get(event["parent_event_id"])
    if series is not None and series["recurrence"] and event["recurrence_id"]:
        _leave_out(change, series, event["recurrence_id"])


def remove_one(change: Change, event: Event, recurrence_id: str) -> None:
    """Remove one occurrence of a series; ``recurrence_id`` is its date or start. Raises as ``single``."""
    series, occurrence = _find(change, event, recurrence_id)
    own = _own(change, event, series, occurrence)
    if own is not None:
        remove(change, own)
    else:
        _refuse_if_left_out(change, event, series, occurrence)
    _leave_out(change, event, recurrence_id)
    change.update(("events", event["event_id"]), updated_at=change.now)


def remove_from(change: Change, event: Event, recurrence_id: str) -> None:
    """Remove an occurrence of a series (``recurrence_id``) and those after it. Raises OperationFailed as ``single``."""
    series, occurrence = _find(change, event, recurrence_id)
    if series.begins_on(occurrence.day):
        remove_all(change, event)
        return
    for own in _replaced_since(change, event, series, occurrence.day):
        remove(change, own)
    _end_before(change, event, series, occurrence.day)


def _find(change: Change, event: Event, recurrence_id: str) -> tuple[Series, Occurrence]:
    """The series, and the occurrence that is named, left out or not."""
    series = Series(event)
    day = series.find_day(recurrence_id)
    if day is None:
        raise change.fail(f"recurrence_id {recurrence_id!r} is neither a date nor a date-time")
    occurrence = series.on(day)
    if occurrence is None:
        raise change.fail(f"{event['title']!r} has no occurrence on {day}")
    return series, occurrence


def _own(change: Change, event: Event, series: Series, occurrence: Occurrence) -> Event | None:
    """The event that stands for an occurrence."""
    return next(
        (own for own in replacements(change.state, event) if series.find_day(own["recurrence_id"]) == occurrence.day),
        None,
    )


def _refuse_if_left_out(change: Change, event: Event, series: Series, occurrence: Occurrence) -> None:
    if series.leaves_out(occurrence.day):
        raise change.fail(f"{event['title']!r} has no occurrence on {occurrence.day}: it was deleted")


def _leave_out(change: Change, event: Event, recurrence_id: str) -> None:
    series = Series(event)
    day = series.find_day(recurrence_id)
    if day is None or not series.leaves_out(day):
        change.append(("events", event["event_id"], "recurrence_exceptions"), recurrence_id)


def _replaced_since(change: Change, event: Event, series: Series, day: date) -> list[Event]:
    """The events that stand for occurrences on that day or later."""
    return [
        own for own in replacements(change.state, event) if (series.find_day(own["recurrence_id"]) or date.min) >= day
    ]


def _exceptions(event: Event, series: Series, *, since: date = date.min, before: date | None = None) -> list[str]:
    """The exceptions of a part of a series. One that names no day belongs to the beginning."""
    days = [(text, series.find_day(text) or date.min) for text in event["recurrence_exceptions"]]
    return [text for text, day in days if day >= since and (before is None or day < before)]


def _end_before(change: Change, event: Event, series: Series, day: date) -> None:
    """Let a series have no occurrence on that day or later."""
    rule = event["recurrence"]
    if rule["end_type"] == "count":
        ended = {**rule, "count": series.count_before(day)}
    else:
        ended = {**rule, "end_type": "until", "end_date": (day - timedelta(days=1)).isoformat()}
    change.update(
        ("events", event["event_id"]),
        recurrence=ended,
        recurrence_exceptions=_exceptions(event, series, before=day),
        updated_at=change.now,
    )


def _moved(change: Change, series: Series, occurrence: Occurrence, fields: JsonObject) -> JsonObject:
    """Start and end of a series whose occurrence is to have the start and end of ``fields``."""
    try:
        wanted: str = fields.get("start", occurrence.start)
        length = from_text(fields.get("end", occurrence.end)) - from_text(wanted)
        start = series.move_start(occurrence.start, wanted)
        return {"start": start, "end": to_text(from_text(start) + length)}
    except OverflowError:
        raise change.fail("the series would lie outside the years 1 to 9999") from None


def _renamed(text: str, before: Series, after: Series, shift: timedelta) -> str:
    """An exception or ``recurrence_id`` of a series that has moved."""
    day = before.find_day(text)
    try:
        if day is None:
            return text
        return (day + shift).isoformat() if len(text) == DATE_LENGTH else after.start_on(day + shift)
    except OverflowError:
        return text
