"""The operations of events on a series of appointments, with the scope ``this``, ``this_and_future`` or ``all``.

An occurrence that differs from its series is a separate event (``parent_event_id``, ``recurrence_id``), and the series
has an exception for it. ``this_and_future`` ends the series before the occurrence; an update then adds a second series
that begins with the occurrence. ``recurrence_id`` is stored as the caller wrote it: a date, or the occurrence's start.
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
    """Return the selected event and None, or a series and the ``recurrence_id`` of its selected occurrence.

    If the event replaces an occurrence, a scope other than ``this`` selects the series.
    """
    series = change.state["events"].get(event["parent_event_id"])
    if payload.recurrence_scope != "this" and series is not None and series["recurrence"] and event["recurrence_id"]:
        return series, event["recurrence_id"]
    return event, payload.recurrence_id if event["recurrence"] else None


def replacements(state: State, event: Event) -> list[Event]:
    """Return the events that replace occurrences of a series. In a file, an event may wrongly be its own parent."""
    event_id = event["event_id"]
    return [
        other
        for other in state["events"].values()
        if other["parent_event_id"] == event_id != other["event_id"]
        and other["recurrence_id"]
        and other["deleted_at"] is None
    ]


def single(change: Change, event: Event, recurrence_id: str) -> Event:
    """Return the separate event of one occurrence; if there is none, make it.

    ``event`` is the series, ``recurrence_id`` the occurrence's date or start. Raises OperationFailed if the series has
    no such occurrence, or leaves it out.
    """
    series, occurrence = _find(change, event, recurrence_id)
    own = _find_replacement(change, event, series, occurrence)
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
    """Change an event or a whole series.

    If ``recurrence_id`` names an occurrence, a new start or end is that of the occurrence, and all others move by the
    same time. Exceptions, and days that the rule names, move with them.
    """
    if event["recurrence"] is None:
        revise(change, event, fields)
        return
    before = Series(event)
    if recurrence_id is not None and not fields.keys().isdisjoint({"start", "end"}):
        before, occurrence = _find(change, event, recurrence_id)
        fields = {**fields, **_move_times(change, before, occurrence, fields)}
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


def revise_following(change: Change, event: Event, recurrence_id: str, fields: JsonObject) -> None:
    """Change ``fields`` of an occurrence and of all later ones, which become a separate series.

    Raises OperationFailed if the series has no such occurrence (``recurrence_id``: its date or start).
    """
    series, occurrence = _find(change, event, recurrence_id)
    if series.is_first_day(occurrence.day):
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
    """Remove an event, or a series with the events that replace its occurrences.

    If the event replaces an occurrence, its series leaves the occurrence out.
    """
    for own in replacements(change.state, event):
        remove(change, own)
    remove(change, event)
    series = change.state["events"].get(event["parent_event_id"])
    if series is not None and series["recurrence"] and event["recurrence_id"]:
        _leave_out(change, series, event["recurrence_id"])


def remove_one(change: Change, event: Event, recurrence_id: str) -> None:
    """Remove one occurrence of a series; ``recurrence_id`` is its date or start. Raises the errors of ``single``."""
    series, occurrence = _find(change, event, recurrence_id)
    own = _find_replacement(change, event, series, occurrence)
    if own is not None:
        remove(change, own)
    else:
        _refuse_if_left_out(change, event, series, occurrence)
    _leave_out(change, event, recurrence_id)
    change.update(("events", event["event_id"]), updated_at=change.now)


def remove_following(change: Change, event: Event, recurrence_id: str) -> None:
    """Remove an occurrence of a series (``recurrence_id``) and those after it. Raises the errors of ``single``."""
    series, occurrence = _find(change, event, recurrence_id)
    if series.is_first_day(occurrence.day):
        remove_all(change, event)
        return
    for own in _replaced_since(change, event, series, occurrence.day):
        remove(change, own)
    _end_before(change, event, series, occurrence.day)


def _find(change: Change, event: Event, recurrence_id: str) -> tuple[Series, Occurrence]:
    """Return the series and the named occurrence, whether or not it is left out."""
    series = Series(event)
    day = series.find_day(recurrence_id)
    if day is None:
        raise change.fail(f"recurrence_id {recurrence_id!r} is neither a date nor a date-time")
    occurrence = series.on(day)
    if occurrence is None:
        raise change.fail(f"{event['title']!r} has no occurrence on {day}")
    return series, occurrence


def _find_replacement(change: Change, event: Event, series: Series, occurrence: Occurrence) -> Event | None:
    """Return the event that replaces an occurrence; None if none does."""
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
    """Return the events that replace occurrences on a day or later."""
    return [
        own for own in replacements(change.state, event) if (series.find_day(own["recurrence_id"]) or date.min) >= day
    ]


def _exceptions(event: Event, series: Series, *, since: date = date.min, before: date | None = None) -> list[str]:
    """Return the exceptions of a part of a series. An exception without a valid day belongs to the beginning."""
    days = [(text, series.find_day(text) or date.min) for text in event["recurrence_exceptions"]]
    return [text for text, day in days if day >= since and (before is None or day < before)]


def _end_before(change: Change, event: Event, series: Series, day: date) -> None:
    """End a series before a day."""
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


def _move_times(change: Change, series: Series, occurrence: Occurrence, fields: JsonObject) -> JsonObject:
    """Return the start and end of the series that give an occurrence the start and end in ``fields``."""
    try:
        wanted: str = fields.get("start", occurrence.start)
        length = from_text(fields.get("end", occurrence.end)) - from_text(wanted)
        start = series.move_start(occurrence.start, wanted)
        return {"start": start, "end": to_text(from_text(start) + length)}
    except OverflowError:
        raise change.fail("the series would lie outside the years 1 to 9999") from None


def _renamed(text: str, before: Series, after: Series, shift: timedelta) -> str:
    """Return the text of an exception or a ``recurrence_id`` after its series has moved."""
    day = before.find_day(text)
    try:
        if day is None:
            return text
        return (day + shift).isoformat() if len(text) == DATE_LENGTH else after.find_start(day + shift)
    except OverflowError:
        return text
