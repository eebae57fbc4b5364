"""Records of the user's places and their forecasts, for the simulation's location and weather."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from proctor.scenarios.kit import building
from proctor.scenarios.kit.building import State
from proctor.scenarios.kit.making.records import Fact, Record

if TYPE_CHECKING:
    from proctor.scenarios.kit.making.days import Day

_HOURS = 4
"""A forecast's hours before and after the hour in question."""

_ICONS = {
    "Rain": (501, "moderate rain", "10d"),
    "Clouds": (803, "broken clouds", "04d"),
    "Clear": (800, "clear", "01d"),
}


_AIR: State = {
    "temp": 288.2,
    "feels_like": 287.6,
    "pressure": 1012,
    "humidity": 70,
    "dew_point": 282.1,
    "uvi": 2.0,
    "visibility": 10_000,
    "wind_speed": 4.1,
    "wind_deg": 230,
}
"""The fields of a forecast for every hour, in the units of the simulation's weather."""


class Spot(NamedTuple):
    """A place with its coordinates, in degrees to two decimals."""

    name: str
    latitude: float
    longitude: float

    @property
    def coordinates(self) -> str:
        """Latitude and longitude, the name of the weather's places: ``51.47,-0.31``."""
        return f"{self.latitude:.2f},{self.longitude:.2f}"


def visit(day: "Day", name: str, at: datetime, spot: Spot) -> Record:
    """A record that the user was at a place before the day began."""
    fields = {"latitude": spot.latitude, "longitude": spot.longitude}
    record = Record(day.id(name), "place", at, day.user, (), spot.name, spot.coordinates, fields=fields)
    return record.with_facts(Fact("lies", spot.name, spot.coordinates))


def forecast(day: "Day", name: str, at: datetime, spot: Spot, skies: Sequence[tuple[datetime, str]]) -> Record:
    """A forecast that comes for a place.

    Args:
        day: the day.
        name: the record's name.
        at: when it comes; at or before the day's start, it exists from the beginning.
        spot: the place.
        skies: hours with their sky (``Rain``, ``Clouds`` or ``Clear``).
    """
    lines = "\n".join(f"{hour.isoformat(timespec='minutes')} {sky}" for hour, sky in skies)
    hourly = [_hour(hour, sky) for hour, sky in skies]
    fields = {"latitude": spot.latitude, "longitude": spot.longitude, "hourly": hourly}
    record = Record(day.id(name), "forecast", at, day.user, (), spot.coordinates, lines, fields=fields)
    facts = (Fact("sky", f"{spot.coordinates} {hour.isoformat()}", sky) for hour, sky in skies)
    return record.with_facts(*facts)


def skies_around(day: "Day", name: str, hour: datetime, sky: str) -> list[tuple[datetime, str]]:
    """The sky of an hour, and drawn skies around it, among them the opposite one."""
    opposite = "Clear" if sky == "Rain" else "Rain"
    hours = [hour + timedelta(hours=shift) for shift in range(-_HOURS, _HOURS + 1)]
    drawn = {time: day.draws.pick(("Rain", "Clouds", "Clear"), name, place) for place, time in enumerate(hours)}
    before = day.draws.pick((-2, -1, 1, 2), name, "opposite")
    return list({**drawn, hour + timedelta(hours=before): opposite, hour: sky}.items())


def modalities(records: Iterable[Record], *, start: datetime) -> dict[str, State]:
    """Location and weather at the start, if the records have places and forecasts."""
    there = [record for record in records if record.at <= start]
    places = sorted((place for place in there if place.kind == "place"), key=lambda each: each.at)
    forecasts = [record for record in there if record.kind == "forecast"]
    states: dict[str, State] = {}
    if places:
        visited = (
            {"timestamp": place.at.isoformat(), "named_location": place.title, **place.fields} for place in places
        )
        states["location"] = building.whereabouts(list(visited))
    if forecasts:
        reports = [(record.at.isoformat(), _report(record)) for record in forecasts]
        states["weather"] = building.weather(reports, start=start.isoformat())
    return states


def comes(record: Record, *, start: str) -> State:
    """The event of a forecast that comes after the start."""
    report = _report(record)
    data = {"latitude": report["lat"], "longitude": report["lon"], "report": report}
    return building.event(f"ev-{record.id}", record.at.isoformat(), "weather", data, start=start)


def _report(record: Record) -> State:
    fields = record.fields
    offset = record.at.utcoffset() or timedelta()
    return {
        "lat": fields["latitude"],
        "lon": fields["longitude"],
        "timezone": "local",
        "timezone_offset": int(offset.total_seconds()),
        "hourly": fields["hourly"],
    }


def _hour(hour: datetime, sky: str) -> State:
    number, description, icon = _ICONS[sky]
    wet = sky == "Rain"
    return {
        "dt": int(hour.timestamp()),
        **_AIR,
        "clouds": 20 if sky == "Clear" else 85,
        "weather": [{"id": number, "main": sky, "description": description, "icon": icon}],
        "pop": 0.9 if wet else 0.0,
        **({"rain": {"1h": 2.4}} if wet else {}),
    }
