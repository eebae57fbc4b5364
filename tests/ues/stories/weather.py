"""Rain here, sun there."""

from typing import Any

from tests.ues.helpers import Sim

SKY = {"id": 500, "main": "Rain", "description": "light rain", "icon": "10d"}
SHARED = {
    "dt": 1736154000,
    "pressure": 1013,
    "humidity": 80,
    "dew_point": 283.15,
    "clouds": 75,
    "wind_speed": 10,
    "wind_deg": 200,
    "weather": [SKY],
    "uvi": 0.5,
}
SUN = {"sunrise": 1736146000, "sunset": 1736175000}


def report(lat: float = 52.52, lon: float = 13.41, temp: float = 293.15) -> dict[str, Any]:
    """A report with every part."""
    current = {**SHARED, **SUN, "temp": temp, "feels_like": temp - 1, "visibility": 10000, "wind_gust": 20}
    day = {"day": temp, "night": temp - 8, "eve": temp - 2, "morn": temp - 6}
    daily = {
        **SHARED,
        **SUN,
        "moonrise": 1736150000,
        "moonset": 1736190000,
        "moon_phase": 0.25,
        "summary": "Wet",
        "temp": {**day, "min": temp - 9, "max": temp + 1},
        "feels_like": day,
        "pop": 0.9,
        "rain": 3.5,
    }
    hourly = {**SHARED, "temp": temp, "feels_like": temp, "pop": 0.4, "rain": {"1h": 0.2}, "visibility": None}
    alert = {"sender_name": "DWD", "event": "Storm", "start": 1736154000, "end": 1736160000, "description": "Wind"}
    return {
        "lat": lat,
        "lon": lon,
        "timezone": "Europe/Berlin",
        "timezone_offset": 3600,
        "current": current,
        "minutely": [{"dt": 1736154060, "precipitation": 0.1}],
        "hourly": [hourly],
        "daily": [daily],
        "alerts": [alert],
    }


def tell(sim: Sim) -> None:
    """Two reports for one place, a bare one for another."""
    sim.do("/weather/update", latitude=52.52, longitude=13.41, report=report())
    sim.do("/weather/update", latitude=52.521, longitude=13.409, report=report(temp=280))
    bare = {"lat": 0, "lon": 0, "timezone": "UTC", "timezone_offset": 0}
    sim.do("/weather/update", latitude=0, longitude=-0.0, report=bare)
