"""How the user's location changes, and how it is shown and searched."""

from collections.abc import Iterator
from typing import Any

from proctor.ues.compact import shorten
from proctor.ues.modalities.location.models import DETAILS, LocationInput, LocationQueryRequest
from proctor.ues.modality import Change, State, StateParams, View, sort_key
from proctor.ues.problems import Impossible
from proctor.ues.schema import JsonObject

SORT_FIELDS = {name: name for name in ("timestamp", *DETAILS)}


def current(state: State) -> dict[str, Any]:
    """The current place in the form of a history entry; its coordinates are null while it is unknown."""
    return {"timestamp": state["last_updated"], **{name: state[f"current_{name}"] for name in DETAILS}}


def is_known(state: State) -> bool:
    return state["current_latitude"] is not None and state["current_longitude"] is not None


def update(change: Change, payload: LocationInput) -> None:
    """Move the user. The place left goes into the history, which keeps the newest ``max_history_size``."""
    state = change.state
    if is_known(state):
        change.append(("location_history",), current(state))
    while len(state["location_history"]) > max(0, state["max_history_size"]):
        change.remove(("location_history", 0))
    change.update((), **{f"current_{name}": getattr(payload, name) for name in DETAILS})


def show(view: View, params: StateParams) -> JsonObject:
    state = view.state
    return {
        "modality_type": "location",
        "current_time": view.now,
        "last_updated": state["last_updated"],
        "update_count": state["update_count"],
        "current": shorten(current(state)) if params.compact else current(state),
        "history": [] if params.compact else state["location_history"],
    }


def query(view: View, request: LocationQueryRequest) -> JsonObject:
    """The answer of ``POST /location/query``. Places that lack the field to sort by come last."""
    field = sort_key(request.sort_by, SORT_FIELDS, "timestamp")
    if request.sort_order not in ("asc", "desc"):
        raise Impossible(f"sort_order {request.sort_order[:40]!r} is neither asc nor desc.")
    places: list[dict[str, Any]] = [{**entry, "is_current": False} for entry in view.state["location_history"]]
    if request.include_current and is_known(view.state):
        places.append({**current(view.state), "is_current": True})
    name = request.named_location.lower() if request.named_location is not None else None
    matches = [
        place
        for place in places
        if (request.since is None or place["timestamp"] >= request.since)
        and (request.until is None or place["timestamp"] <= request.until)
        and (name is None or (place["named_location"] or "").lower() == name)
    ]
    descending = request.sort_order == "desc"
    if descending:
        # Of places alike in the field, the newest first too.
        matches.reverse()
    lacking = [place for place in matches if place[field] is None]
    having = sorted((p for p in matches if p[field] is not None), key=lambda place: place[field], reverse=descending)
    offset = request.offset or 0
    shown = (having + lacking)[offset : None if request.limit is None else offset + request.limit]
    return {
        "locations": shown,
        "count": len(shown),
        "total_count": len(matches),
        "returned_count": len(shown),
        "query": request.model_dump(exclude_none=True),
    }


def _place(state: State) -> str:
    if not is_known(state):
        return "unknown"
    label = state["current_named_location"] or state["current_address"]
    where = f"{state['current_latitude']:.4f}, {state['current_longitude']:.4f}"
    return f"{label[:60]} ({where})" if label else where


def digest(view: View) -> JsonObject:
    return {"current": _place(view.state), "places_before": len(view.state["location_history"])}


def describe(state: State) -> str:
    return f"at {_place(state)}" if is_known(state) else "no location known"


def check(state: State) -> Iterator[str]:
    if (state["current_latitude"] is None) != (state["current_longitude"] is None):
        yield "location: the current place has only one of latitude and longitude"
    for entry in (current(state), *state["location_history"]):
        if abs(entry["latitude"] or 0) > 90 or abs(entry["longitude"] or 0) > 180:
            yield f"location: {entry['latitude']}, {entry['longitude']} is not a place on earth"
