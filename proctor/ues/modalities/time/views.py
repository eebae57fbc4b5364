"""How the user's time preferences change, and how they are shown and searched."""

from collections.abc import Iterator
from datetime import UTC
from operator import itemgetter
from typing import Any

from proctor.ues.modalities.time.models import SETTINGS, TimeInput, TimeQueryRequest
from proctor.ues.modality import Change, State, View, page
from proctor.ues.schema import JsonObject
from proctor.ues.times import from_text, zone


def current(state: State) -> dict[str, Any]:
    """The current settings in the form of a history entry."""
    return {"timestamp": state["last_updated"], **{name: state[name] for name in SETTINGS}}


def update(change: Change, payload: TimeInput) -> None:
    """Change settings. Those before go into the history, which keeps the newest ``max_history_size``.

    Fails for a time zone that doesn't exist, as a phone's settings wouldn't offer it.
    """
    if zone(payload.timezone) is None:
        raise change.fail(f"there is no time zone {payload.timezone[:80]!r}; use an IANA name such as Europe/Berlin")
    change.append(("settings_history",), current(change.state))
    while len(change.state["settings_history"]) > max(0, change.state["max_history_size"]):
        change.remove(("settings_history", 0))
    change.update((), **payload.model_dump(include=set(SETTINGS), exclude_none=True))


def local_time(view: View) -> str:
    """The current time in the user's time zone; in UTC when a scenario file names a zone that doesn't exist."""
    now = from_text(view.now)
    try:
        return now.astimezone(zone(view.state["timezone"]) or UTC).isoformat()
    except OverflowError:
        # At the very ends of the calendar the local time lies in the year 0 or 10000.
        return now.isoformat()


def query(view: View, request: TimeQueryRequest) -> JsonObject:
    """The settings that held when, each with the instant from which it held."""
    entries = [{**entry, "is_current": False} for entry in view.state["settings_history"]]
    if request.include_current:
        entries.append({**current(view.state), "is_current": True})
    matches = [
        entry
        for entry in entries
        if (request.since is None or entry["timestamp"] >= request.since)
        and (request.until is None or entry["timestamp"] <= request.until)
        and (request.timezone is None or entry["timezone"] == request.timezone)
        and (request.format_preference is None or entry["format_preference"] == request.format_preference)
    ]
    if request.sort_by != "timestamp":
        matches.sort(key=itemgetter(request.sort_by))
    if request.sort_order != "asc":
        matches.reverse()
    return page(matches, request, "settings", "time")


def digest(view: View) -> JsonObject:
    state = view.state
    return {"local_time": local_time(view), "timezone": state["timezone"][:60], "format": state["format_preference"]}


def describe(state: State) -> str:
    return f"{state['timezone'][:60]}, {state['format_preference']} clock"


def check(state: State) -> Iterator[str]:
    if zone(state["timezone"]) is None:
        yield f"time: there is no time zone {state['timezone'][:80]!r}"
