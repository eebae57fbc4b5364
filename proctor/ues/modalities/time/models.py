"""The shapes of the user's time preferences: state, input and query."""

from typing import Literal

from pydantic import Field

from proctor.ues.schema import InputModel, Int, QueryRequest, Record, StateModel
from proctor.ues.times import Instant

HourFormat = Literal["12h", "24h"]
WeekStart = Literal["sunday", "monday"]

SETTINGS = ("timezone", "format_preference", "date_format", "locale", "week_start")


class TimeSettingsHistoryEntry(Record):
    """Settings that held from ``timestamp`` on, until the next entry or the current ones."""

    timestamp: Instant
    timezone: str
    format_preference: HourFormat
    date_format: str | None = None
    locale: str | None = None
    week_start: WeekStart | None = None


class TimeState(StateModel):
    """Time preferences under ``modality_states``. ``timezone`` is an IANA name such as Europe/Berlin."""

    modality_type: str = "time"
    timezone: str = "UTC"
    format_preference: HourFormat = "12h"
    date_format: str | None = None
    locale: str | None = None
    week_start: WeekStart | None = None
    settings_history: list[TimeSettingsHistoryEntry] = Field(default_factory=list)
    max_history_size: Int = 50


class TimeInput(InputModel):
    """An event's ``data`` for time preferences. A setting that isn't given stays as it is."""

    modality_type: str = "time"
    timezone: str
    format_preference: HourFormat
    date_format: str | None = None
    locale: str | None = None
    week_start: WeekStart | None = None


class TimeQueryRequest(QueryRequest):
    """What ``POST /environment/modalities/time/query`` takes: which settings held when."""

    since: Instant | None = None
    until: Instant | None = None
    timezone: str | None = None
    format_preference: HourFormat | None = None
    sort_by: Literal["timestamp", "timezone", "format_preference"] = "timestamp"
    include_current: bool = True


class FoundTimeSettings(TimeSettingsHistoryEntry):
    """Settings and whether they are those that hold now."""

    is_current: bool
