"""Converting a report from standard units."""

from collections.abc import Callable
from typing import Any

from proctor.ues.modalities.weather.models import Units

TEMPERATURES = frozenset({"temp", "feels_like", "dew_point"})
AMOUNTS = frozenset({"rain", "snow"})
"""Millimetres in all units; an hour's are under names of the reporter's own choice, such as ``1h``."""
SPEEDS = frozenset({"wind_speed", "wind_gust"})

MILES_AN_HOUR = 3600 / 1609.344
"""Miles an hour in a metre a second."""

Convert = Callable[[float], float]


def _celsius(kelvin: float) -> float:
    return round(kelvin - 273.15, 2)


def _fahrenheit(kelvin: float) -> float:
    return round((kelvin - 273.15) * 9 / 5 + 32, 2)


def _miles_an_hour(speed: float) -> float:
    return round(speed * MILES_AN_HOUR, 2)


def _as_is(value: float) -> float:
    return value


CONVERSIONS: dict[Units, tuple[Convert, Convert]] = {
    "metric": (_celsius, _as_is),
    "imperial": (_fahrenheit, _miles_an_hour),
}
"""How temperatures and speeds are converted. Everything else is the same in all units, as OpenWeather has it."""


def converted(part: Any, units: Units) -> Any:
    """A report, or a part of one, in other units; rounded to two decimals."""
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
