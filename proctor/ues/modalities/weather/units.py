"""Convert a report from standard units."""

from collections.abc import Callable
from typing import Any

from proctor.ues.modalities.weather.models import Units

TEMPERATURES = frozenset({"temp", "feels_like", "dew_point"})
AMOUNTS = frozenset({"rain", "snow"})
"""Amounts, which are millimetres in all units. The reporter chooses the names of an hour's amounts, such as ``1h``."""
SPEEDS = frozenset({"wind_speed", "wind_gust"})

MILES_AN_HOUR = 3600 / 1609.344
"""One metre a second, in miles an hour."""

Convert = Callable[[float], float]


def _celsius(kelvin: float) -> float:
    return round(kelvin - 273.15, 2)


def _fahrenheit(kelvin: float) -> float:
    return round((kelvin - 273.15) * 9 / 5 + 32, 2)


def _miles_an_hour(speed: float) -> float:
    return round(speed * MILES_AN_HOUR, 2)


def _keep(value: float) -> float:
    return value


CONVERSIONS: dict[Units, tuple[Convert, Convert]] = {
    "metric": (_celsius, _keep),
    "imperial": (_fahrenheit, _miles_an_hour),
}
"""The conversions of temperatures and speeds. All other values are the same in all units, as in OpenWeather."""


def converted(part: Any, units: Units) -> Any:
    """Convert a report, or a part of one, to other units; values are rounded to two decimals."""
    if units == "standard":
        return part
    if isinstance(part, list):
        return [converted(item, units) for item in part]
    if not isinstance(part, dict):
        return part
    temperature, speed = CONVERSIONS[units]
    answer = {}
    for name, value in part.items():
        if value is not None and name in TEMPERATURES:
            answer[name] = (
                {time: temperature(degrees) for time, degrees in value.items()}
                if isinstance(value, dict)
                else temperature(value)
            )
        elif value is not None and name in SPEEDS:
            answer[name] = speed(value)
        else:
            answer[name] = value if name in AMOUNTS else converted(value, units)
    return answer
