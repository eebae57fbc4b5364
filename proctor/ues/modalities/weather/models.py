"""Weather's models: state, input, requests and answers.

A report has the fields of OpenWeather's "one call". It is stored unchanged, in standard units: kelvin, metres a second,
metres, hectopascal and millimetres. Its times (``dt``, ``sunrise``, …) are Unix seconds.
"""

from typing import Annotated, Literal

from pydantic import Field

from proctor.ues.places import Latitude, Longitude
from proctor.ues.schema import InputModel, Int, JsonObject, Record, Request, Response, StateModel, nullable
from proctor.ues.times import Instant

Units = Literal["standard", "metric", "imperial"]
"""Kelvin and metres a second; degrees Celsius and metres a second; degrees Fahrenheit and miles an hour."""


class WeatherCondition(Record):
    """A condition of the sky."""

    id: Int
    main: str
    description: str
    icon: str


class CurrentWeather(Record):
    """The weather at ``dt``."""

    dt: Int
    sunrise: Int
    sunset: Int
    temp: float
    feels_like: float
    pressure: Int
    humidity: Int
    dew_point: float
    uvi: float
    clouds: Int
    visibility: Int
    wind_speed: float
    wind_deg: Int
    wind_gust: float | None = None
    weather: list[WeatherCondition]


class MinutelyForecast(Record):
    """One minute: millimetres of precipitation an hour."""

    dt: Int
    precipitation: float


class HourlyForecast(Record):
    """One hour. ``pop`` is the probability of precipitation, ``rain`` and ``snow`` are like ``{"1h": mm}``."""

    dt: Int
    temp: float
    feels_like: float
    pressure: Int
    humidity: Int
    dew_point: float
    uvi: float
    clouds: Int
    visibility: Int | None = None
    wind_speed: float
    wind_deg: Int
    wind_gust: float | None = None
    weather: list[WeatherCondition]
    pop: float
    rain: dict[str, float] | None = None
    snow: dict[str, float] | None = None


class DailyTemperature(Record):
    """Temperatures of a day."""

    day: float
    min: float
    max: float
    night: float
    eve: float
    morn: float


class DailyFeelsLike(Record):
    """Felt temperatures of a day."""

    day: float
    night: float
    eve: float
    morn: float


class DailyForecast(Record):
    """One day. ``rain`` and ``snow`` are millimetres."""

    dt: Int
    sunrise: Int
    sunset: Int
    moonrise: Int
    moonset: Int
    moon_phase: float
    summary: str | None = None
    temp: DailyTemperature
    feels_like: DailyFeelsLike
    pressure: Int
    humidity: Int
    dew_point: float
    wind_speed: float
    wind_deg: Int
    wind_gust: float | None = None
    weather: list[WeatherCondition]
    clouds: Int
    pop: float
    rain: float | None = None
    snow: float | None = None
    uvi: float


class WeatherAlert(Record):
    """A warning by some authority."""

    sender_name: str
    event: str
    start: Int
    end: Int
    description: str
    tags: list[str] = Field(default_factory=list)


class WeatherReport(Record):
    """The weather at a place. A part that is null is not part of the report."""

    lat: float
    lon: float
    timezone: str
    timezone_offset: Int
    current: CurrentWeather | None = None
    minutely: list[MinutelyForecast] | None = None
    hourly: list[HourlyForecast] | None = None
    daily: list[DailyForecast] | None = None
    alerts: list[WeatherAlert] | None = None


class WeatherReportHistoryEntry(Record):
    """A report that applied from ``timestamp`` on, until the next one."""

    timestamp: Instant
    report: WeatherReport


class WeatherLocationState(Record):
    """A place: its report since ``last_updated``, and the earlier ones."""

    latitude: float
    longitude: float
    current_report: WeatherReport
    first_seen: Instant
    last_updated: Instant
    update_count: Int = 1
    report_history: list[WeatherReportHistoryEntry] = Field(default_factory=list)


class WeatherState(StateModel):
    """Weather under ``modality_states``. A place is named by its coordinates to two decimals, about a kilometre."""

    modality_type: str = "weather"
    locations: dict[str, WeatherLocationState] = Field(default_factory=dict)
    max_history_per_location: Int = 100
    openweather_api_key: str | None = None


class UpdateWeatherRequest(Request):
    """The body of ``POST /weather/update``: a report in standard units."""

    latitude: Latitude
    longitude: Longitude
    report: WeatherReport


class WeatherInput(InputModel, UpdateWeatherRequest):
    """An event's ``data`` for weather: the new report at a place."""

    modality_type: str = "weather"


class WeatherQueryRequest(Request):
    """The body of ``POST /weather/query``.

    Without ``from_time`` and ``to_time``, the answer is the current report at the place nearest to the coordinates;
    with either, every report that came within these Unix seconds (inclusive), oldest first.
    """

    lat: Latitude = Field(description="Degrees north, -90 to 90.")
    lon: Longitude = Field(description="Degrees east, -180 to 180.")
    exclude: list[str] | None = nullable("Parts to leave out: current, minutely, hourly, daily, alerts.")
    units: Units = Field(
        default="standard", description="standard (kelvin, m/s), metric (Celsius, m/s) or imperial (Fahrenheit, mph)."
    )
    from_time: Int | None = nullable("Reports from this Unix time in seconds on.")
    to_time: Int | None = nullable("Reports up to this Unix time in seconds.")
    real: bool = Field(default=False, description="Ask for the world's real weather, which a simulator doesn't have.")
    limit: Annotated[Int, Field(ge=1, le=1000)] | None = nullable("Most reports to return, 1 to 1000.")
    offset: Annotated[Int, Field(ge=0)] | None = Field(
        default=0, description="How many matches to leave out from the start."
    )


class WeatherStateResponse(Response):
    """The answer of ``GET /weather/state``, in standard units. With ``compact``, it has the places with the newest
    weather, as many as fit into some 20 kB, without history and forecasts.
    """

    modality_type: str = "weather"
    current_time: Instant
    last_updated: Instant
    update_count: int
    locations: JsonObject
    location_count: int


class WeatherQueryResponse(Response):
    """The answer of ``POST /weather/query``; ``error`` is the reason if there is no report."""

    reports: list[WeatherReport]
    count: int
    total_count: int = 0
    error: str | None = None
    returned_count: int
    query: JsonObject
