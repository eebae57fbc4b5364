"""How the weather changes, and how it is shown and searched."""

import math
from collections.abc import Iterator
from heapq import nlargest
from typing import Any

from proctor.ues.compact import MOST_LOOKED_AT, fit
from proctor.ues.modalities.weather.models import WeatherInput, WeatherQueryRequest
from proctor.ues.modalities.weather.units import converted
from proctor.ues.modality import Change, State, StateParams, View
from proctor.ues.schema import JsonObject
from proctor.ues.times import from_text

PARTS = ("current", "minutely", "hourly", "daily", "alerts")
FORECASTS = ("minutely", "hourly", "daily")

NEAR = 0.1
"""How many degrees of a great circle, about 11 km, a place may be off to stand for the coordinates of a query."""

Report = dict[str, Any]


def key_of(latitude: float, longitude: float) -> str:
    """What a place is stored under: its coordinates to two decimals, so that a kilometre makes no other place."""
    # Adding zero turns -0.0 into 0.0.
    return f"{round(latitude, 2) + 0.0:.2f},{round(longitude, 2) + 0.0:.2f}"


def update(change: Change, payload: WeatherInput) -> None:
    """Let a report hold from now on. The one before goes into the place's history, which keeps the newest
    ``max_history_per_location``."""
    key = key_of(payload.latitude, payload.longitude)
    report = payload.report.model_dump()
    place = change.state["locations"].get(key)
    if place is None:
        change.put(
            ("locations", key),
            {
                "latitude": payload.latitude,
                "longitude": payload.longitude,
                "current_report": report,
                "first_seen": change.now,
                "last_updated": change.now,
                "update_count": 1,
                "report_history": [],
            },
        )
        return
    change.append(
        ("locations", key, "report_history"),
        {"timestamp": place["last_updated"], "report": place["current_report"]},
    )
    while len(place["report_history"]) > max(0, change.state["max_history_per_location"]):
        change.remove(("locations", key, "report_history", 0))
    change.update(
        ("locations", key),
        current_report=report,
        last_updated=change.now,
        update_count=place["update_count"] + 1,
    )


def show(view: View, params: StateParams) -> JsonObject:
    state = view.state
    places = state["locations"]
    return {
        "modality_type": "weather",
        "current_time": view.now,
        "last_updated": state["last_updated"],
        "update_count": state["update_count"],
        "locations": _compact(places) if params.compact else places,
        "location_count": len(places),
    }


def _compact(places: dict[str, Any]) -> JsonObject:
    newest = nlargest(MOST_LOOKED_AT, places.items(), key=lambda item: item[1]["last_updated"])
    return fit(((key, _without_forecasts(place)) for key, place in newest), 18_000)


def _without_forecasts(place: dict[str, Any]) -> JsonObject:
    shown = {name: value for name, value in place.items() if name != "report_history"}
    shown["current_report"] = {name: value for name, value in place["current_report"].items() if name not in FORECASTS}
    return shown


def query(view: View, request: WeatherQueryRequest) -> JsonObject:
    error = None
    reports: list[Report] = []
    place = _nearest(view.state, request.lat, request.lon)
    if request.real:
        error = "There is no real weather in a simulation; ask without `real`."
    elif place is None:
        error = f"No weather is known near {request.lat:g}, {request.lon:g}."
    elif request.from_time is None and request.to_time is None:
        reports = [place["current_report"]]
    else:
        reports = list(_within(place, request.from_time, request.to_time))
        if not reports:
            error = "No report came within the times asked for."
    offset = request.offset or 0
    shown = [
        _without(converted(report, request.units), request.exclude or [])
        for report in reports[offset : None if request.limit is None else offset + request.limit]
    ]
    return {
        "reports": shown,
        "count": len(shown),
        "total_count": len(reports),
        "error": error,
        "returned_count": len(shown),
        "query": request.model_dump(exclude_none=True),
    }


def _nearest(state: State, latitude: float, longitude: float) -> dict[str, Any] | None:
    """The place at these coordinates, else the nearest within ``NEAR``."""
    places = state["locations"]
    place: dict[str, Any] | None = places.get(key_of(latitude, longitude))
    if place is not None or not places:
        return place

    def distance(place: dict[str, Any]) -> float:
        return _degrees_between(latitude, longitude, place["latitude"], place["longitude"])

    nearest: dict[str, Any] = min(places.values(), key=distance)
    return nearest if distance(nearest) <= NEAR else None


def _degrees_between(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """The angle between two places, by the haversine formula. NaN-free for any finite numbers."""
    north, other_north = math.radians(latitude), math.radians(other_latitude)
    east = math.radians(math.remainder(other_longitude - longitude, 360))
    half = math.sin((other_north - north) / 2) ** 2 + math.cos(north) * math.cos(other_north) * math.sin(east / 2) ** 2
    return math.degrees(2 * math.asin(math.sqrt(min(1.0, max(0.0, half)))))


def _within(place: dict[str, Any], start: int | None, end: int | None) -> Iterator[Report]:
    """The place's reports that came between two Unix times, oldest first."""
    history = place["report_history"]
    for entry in (*history, {"timestamp": place["last_updated"], "report": place["current_report"]}):
        came = from_text(entry["timestamp"]).timestamp()
        if (start is None or came >= start) and (end is None or came <= end):
            yield entry["report"]


def _without(report: Report, parts: list[str]) -> Report:
    """The report with some of its parts set to null, which is how a report says that it doesn't have one."""
    return {name: None if name in PARTS and name in parts else value for name, value in report.items()}


def _sky(report: Report) -> str:
    current = report["current"]
    if current is None:
        return "no current weather"
    skies = ", ".join(condition["description"] for condition in current["weather"])
    return f"{converted(current, 'metric')['temp']:.1f} °C{', ' + skies[:40] if skies else ''}"


def digest(view: View) -> JsonObject:
    places = view.state["locations"]
    newest = sorted(places.items(), key=lambda item: item[1]["last_updated"], reverse=True)
    return {
        "locations": len(places),
        "weather": [f"{key}: {_sky(place['current_report'])}" for key, place in newest[:3]],
    }


def describe(state: State) -> str:
    return f"weather at {len(state['locations'])} locations"


def check(state: State) -> Iterator[str]:
    for key, place in state["locations"].items():
        if abs(place["latitude"]) > 90 or abs(place["longitude"]) > 180:
            yield f"weather: {key} is not a place on earth"
        if place["first_seen"] > place["last_updated"]:
            yield f"weather: {key} was first seen after its last update"
