"""Show and search the calendar."""

from collections.abc import Iterator
from datetime import timedelta
from heapq import merge, nsmallest
from itertools import islice
from operator import itemgetter

from proctor.ues.compact import MOST_LOOKED_AT, fit
from proctor.ues.modalities.calendar.entries import Event
from proctor.ues.modalities.calendar.requests import CalendarQueryRequest
from proctor.ues.modalities.calendar.series import Series, overlaps, steps
from proctor.ues.modality import State, StateParams, View, page, sort_key, sortable
from proctor.ues.problems import Impossible
from proctor.ues.schema import JsonObject, Request
from proctor.ues.times import from_text, to_text, zone

MOST_OCCURRENCES = 1000
"""The most occurrences that an expanded query lists: the earliest ones."""

LEFT_OUT_OF_COMPACT = frozenset({"description", "attachments", "created_at", "updated_at", "deleted_at"})

SORT_FIELDS = sortable(
    "start start_time=start date=start end end_time=end title created_at updated_at status calendar_id location"
)


def _existing_events(state: State) -> dict[str, Event]:
    """Return the events that haven't been deleted, by id."""
    return {event_id: event for event_id, event in state["events"].items() if event["deleted_at"] is None}


def show(view: View, params: StateParams) -> JsonObject:
    state = view.state
    calendars, kept = state["calendars"], _existing_events(state)
    events = kept
    if params.compact:
        calendars = fit(
            ((key, _without(calendar, {"event_ids", "created_at"})) for key, calendar in calendars.items()), 4_000
        )
        nearest = nsmallest(MOST_LOOKED_AT, kept.items(), key=lambda item: _nearness(item[1], view.now))
        events = fit(((key, _without(event, LEFT_OUT_OF_COMPACT)) for key, event in nearest), 14_000)
    return {
        "modality_type": "calendar",
        "last_updated": state["last_updated"],
        "update_count": state["update_count"],
        "default_calendar_id": state["default_calendar_id"],
        "user_timezone": state["user_timezone"],
        "calendars": calendars,
        "events": events,
        "calendar_count": len(state["calendars"]),
        "event_count": len(kept),
    }


def _nearness(event: Event, now: str) -> tuple[bool, float]:
    """Return a sort key: appointments that aren't over, soonest first, then past ones. Series are never over."""
    is_over = event["end"] < now and event["recurrence"] is None
    distance = (from_text(event["start"]) - from_text(now)).total_seconds()
    return is_over, -distance if is_over else max(0.0, distance)


def _without(record: JsonObject, names: set[str] | frozenset[str]) -> JsonObject:
    return {name: value for name, value in record.items() if name not in names}


def list_calendars(view: View, _params: Request) -> JsonObject:
    state = view.state
    events = _existing_events(state)
    calendars = [
        {
            **{name: calendar[name] for name in ("calendar_id", "name", "color", "visible")},
            "event_count": sum(event_id in events for event_id in calendar["event_ids"]),
            **{name: calendar[name] for name in ("created_at", "updated_at")},
        }
        for calendar in state["calendars"].values()
    ]
    return {"calendars": calendars, "count": len(calendars), "default_calendar_id": state["default_calendar_id"]}


def query(view: View, request: CalendarQueryRequest) -> JsonObject:
    key = sort_key(request.sort_by, SORT_FIELDS, "start")
    if request.sort_order not in ("asc", "desc"):
        raise Impossible(f"sort_order {request.sort_order[:40]!r} is neither asc nor desc.")
    matches = _find(view, request, steps())
    matches.sort(key=lambda event: (event[key] or "", event["start"]), reverse=request.sort_order == "desc")
    answer = page(matches, request, "events", "calendar")
    return {**answer, "count": answer["returned_count"]}


def _matches(event: Event, request: CalendarQueryRequest, calendars: frozenset[str] | None) -> bool:
    """Whether an event or a series matches all filters except the window of time."""
    is_recurring = event["recurrence"] is not None or event["parent_event_id"] is not None
    return (
        (calendars is None or event["calendar_id"] in calendars)
        and (request.status is None or event["status"] == request.status)
        and (request.has_attendees is None or bool(event["attendees"]) == request.has_attendees)
        and (request.recurring is None or is_recurring == request.recurring)
        and (request.search is None or _contains(event, request.search.lower()))
    )


def _contains(event: Event, text: str) -> bool:
    return any(text in (event[name] or "").lower() for name in ("title", "description", "location"))


def _find(view: View, request: CalendarQueryRequest, budget: Iterator[int]) -> list[Event]:
    """Find matching events and series, in any order. An expanded query gets the occurrences of series instead.

    Matches beyond the budget are left out.
    """
    calendars = None if request.calendar_ids is None else frozenset(request.calendar_ids)
    events = [event for event in _existing_events(view.state).values() if _matches(event, request, calendars)]
    matches = [
        event
        for event in events
        if event["recurrence"] is None and overlaps(event["start"], event["end"], request.start, request.end)
    ]
    recurring = [event for event in events if event["recurrence"] is not None]
    replaced = view.derive("replaced", lambda: _replaced(view.state))
    if request.expand_recurring:
        listed = [_occurrences(event, request, view.now, replaced, budget) for event in recurring]
        return [*matches, *islice(merge(*listed, key=itemgetter("start")), MOST_OCCURRENCES)]
    if request.start is None and request.end is None:
        return [*matches, *recurring]
    for event in recurring:
        series = _series(event, replaced, budget)
        if series is not None and next(series.list_between(request.start, request.end, budget), None) is not None:
            matches.append(event)
    return matches


def _series(event: Event, replaced: dict[str, list[str]], budget: Iterator[int]) -> Series | None:
    """Return the series of an event; None if the budget doesn't cover its exceptions."""
    own = replaced.get(event["event_id"], ())
    cost = len(own) + len(event["recurrence_exceptions"])
    if cost and next(islice(budget, cost - 1, None), None) is None:
        return None
    return Series(event, own)


def _replaced(state: State) -> dict[str, list[str]]:
    """Return, for each series, the occurrences that separate events replace."""
    replaced: dict[str, list[str]] = {}
    for event in _existing_events(state).values():
        if event["parent_event_id"] and event["recurrence_id"]:
            replaced.setdefault(event["parent_event_id"], []).append(event["recurrence_id"])
    return replaced


def _occurrences(
    event: Event, request: CalendarQueryRequest, now: str, replaced: dict[str, list[str]], budget: Iterator[int]
) -> Iterator[Event]:
    """Yield a series' occurrences in the request's window of time, as copies of the event with other times.

    If neither the window nor the series has an end, the list ends a year after the window's start, or after now if
    that is later.
    """
    over = request.end
    if over is None and event["recurrence"]["end_type"] == "never":
        over = _a_year_after(max(now, request.start or now))
    series = _series(event, replaced, budget)
    for occurrence in series.list_between(request.start, over, budget) if series is not None else ():
        yield {
            **event,
            "start": occurrence.start,
            "end": occurrence.end,
            "recurrence_id": occurrence.start,
            "parent_event_id": event["event_id"],
        }


def _a_year_after(moment: str) -> str | None:
    try:
        return to_text(from_text(moment) + timedelta(days=366))
    except OverflowError:
        return None


def digest(view: View) -> JsonObject:
    events = _existing_events(view.state)
    request = CalendarQueryRequest(start=view.now, expand_recurring=True)
    coming = nsmallest(3, _find(view, request, steps()), key=itemgetter("start"))
    return {
        "events": len(events),
        "calendars": len(view.state["calendars"]),
        "next": [f"{event['start'][:16]} {event['title'][:50]}" for event in coming],
    }


def describe(state: State) -> str:
    return f"{len(_existing_events(state))} events in {len(state['calendars'])} calendars"


def check(state: State) -> Iterator[str]:
    calendars, events = state["calendars"], state["events"]
    if state["default_calendar_id"] not in calendars:
        yield f"calendar: the default calendar {state['default_calendar_id']!r} doesn't exist"
    for calendar_id, calendar in calendars.items():
        for event_id in calendar["event_ids"]:
            if event_id not in events or events[event_id]["calendar_id"] != calendar_id:
                yield f"calendar: {calendar_id!r} lists {event_id}, which isn't in it"
    for event_id, event in events.items():
        if event_id not in calendars.get(event["calendar_id"], {"event_ids": ()})["event_ids"]:
            yield f"calendar: {event_id} is missing from the list of its calendar {event['calendar_id']!r}"
        if event["end"] < event["start"]:
            yield f"calendar: {event_id} ends before it starts"
        if zone(event["timezone"]) is None:
            yield f"calendar: {event_id} has the unknown time zone {event['timezone']!r}"
