"""The calendar's shapes: what a scenario file holds, and an event's data. ``requests.py`` has those of the routes."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, GetPydanticSchema, ValidationInfo, model_validator
from pydantic_core import core_schema

from proctor.ues.schema import InputModel, Int, Record, StateModel, nullable
from proctor.ues.times import Instant, Years

EventStatus = Literal["confirmed", "tentative", "cancelled"]
Scope = Literal["this", "this_and_future", "all"]
Visibility = Literal["public", "private", "default"]
Transparency = Literal["opaque", "transparent"]
Rsvp = Literal["accepted", "declined", "tentative", "needs-action"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

DEFAULT_COLOR = "#4285f4"

Day = Annotated[
    str,
    GetPydanticSchema(
        lambda _source, _handler: core_schema.with_info_after_validator_function(
            lambda day, info: _within_years(day.isoformat(), info),
            core_schema.date_schema(),
            serialization=core_schema.simple_ser_schema("str"),
        )
    ),
]
"""An ISO 8601 date in a request; held as text."""


def _within_years(text: str, info: ValidationInfo[Any]) -> str:
    if isinstance(info.context, Years) and text[:4].isdecimal():
        info.context.refuse_others(text)
    return text


OccurrenceText = Annotated[str, AfterValidator(_within_years)]
"""Which occurrence of a series: a date or an instant, kept as it was written."""


class Attendee(Record):
    """Somebody invited; ``response`` is the answer so far and ``comment`` what came with it."""

    email: str = Field(description="Email address of the person invited.")
    display_name: str | None = nullable("Name of the person.")
    optional: bool = Field(default=False, description="Whether attendance is optional.")
    response: Rsvp = Field(default="needs-action", description="The person's answer so far.")
    comment: str | None = nullable("Text that came with the answer.")


class Reminder(Record):
    """When and how the user is to be reminded."""

    minutes_before: Annotated[Int, Field(ge=0)] = Field(description="Minutes before the start.")
    type: Literal["notification", "email", "both"] = Field(
        default="notification", description="notification, email or both."
    )


class Attachment(Record):
    """A file of an event. ``size`` in bytes. Its id is made where none is given."""

    filename: str = Field(description="File name with extension.")
    size: Annotated[Int, Field(ge=0)] = Field(description="Size in bytes.")
    mime_type: str = Field(description="Media type, such as application/pdf.")
    url: str | None = nullable("Address of the file.")
    data: str | None = nullable("Content of the file, as text.")
    attachment_id: str = Field(default_factory=str, description="Id; made by the simulator when left out.")


class RecurrenceRule(Record):
    """How an event recurs, counted from its start, in its time zone. See ``series.py`` for what each field means."""

    frequency: Literal["daily", "weekly", "monthly", "yearly"] = Field(description="daily, weekly, monthly or yearly.")
    interval: Annotated[Int, Field(ge=1)] = Field(default=1, description="Every how many days, weeks, months or years.")
    days_of_week: list[Weekday] | None = nullable("Weekdays of a weekly series, such as monday.")
    day_of_month: Annotated[Int, Field(ge=1, le=31)] | None = nullable("Day of a monthly or yearly series, 1 to 31.")
    month_of_year: Annotated[Int, Field(ge=1, le=12)] | None = nullable("Month of a yearly series, 1 to 12.")
    end_type: Literal["never", "until", "count"] = Field(
        default="never", description="never, until (needs end_date) or count (needs count)."
    )
    end_date: Day | None = nullable("Last day, such as 2026-12-31.")
    count: Annotated[Int, Field(ge=1)] | None = nullable("How many occurrences.")


class Calendar(Record):
    """One of the user's calendars. ``default_reminders`` are those of a new event that names none."""

    calendar_id: str
    name: str
    color: str = DEFAULT_COLOR
    visible: bool = True
    created_at: Instant = Field(default_factory=str)
    updated_at: Instant = Field(default_factory=str)
    event_ids: list[str] = Field(default_factory=list, json_schema_extra={"uniqueItems": True})
    default_reminders: list[Reminder] = Field(default_factory=list)


class CalendarEvent(Record):
    """An appointment, a series of them (``recurrence``), or one occurrence of a series that differs from the others
    (``parent_event_id`` is the series, ``recurrence_id`` when the occurrence began originally).
    """

    event_id: str
    calendar_id: str
    title: str
    start: Instant
    end: Instant
    all_day: bool = False
    timezone: str = "UTC"
    description: str | None = None
    location: str | None = None
    status: str = "confirmed"
    organizer: str | None = None
    attendees: list[Attendee] = Field(default_factory=list)
    recurrence: RecurrenceRule | None = None
    recurrence_exceptions: list[str] = Field(default_factory=list, json_schema_extra={"uniqueItems": True})
    recurrence_id: str | None = None
    parent_event_id: str | None = None
    reminders: list[Reminder] = Field(default_factory=list)
    color: str | None = None
    visibility: str = "default"
    transparency: str = "opaque"
    attachments: list[Attachment] = Field(default_factory=list)
    conference_link: str | None = None
    created_at: Instant = Field(default_factory=str)
    updated_at: Instant = Field(default_factory=str)
    deleted_at: Instant | None = None


class CalendarState(StateModel):
    """The calendar under ``modality_states``."""

    modality_type: str = "calendar"
    calendars: dict[str, Calendar] = Field(default_factory=dict)
    events: dict[str, CalendarEvent] = Field(default_factory=dict)
    default_calendar_id: str = "primary"
    user_timezone: str = "UTC"

    @model_validator(mode="before")
    @classmethod
    def _entries_are_called_by_their_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {
            **data,
            **{
                table: _called(data[table], name)
                for table, name in (("calendars", "calendar_id"), ("events", "event_id"))
                if table in data
            },
        }


def _called(table: Any, name: str) -> Any:
    """The entries of a state's table, each called what its key says."""
    if not isinstance(table, dict):
        return table
    return {key: {**entry, name: key} if isinstance(entry, dict) else entry for key, entry in table.items()}


_NEEDED: dict[str, tuple[str, ...]] = {
    "create": ("title", "start", "end"),
    "update": ("event_id",),
    "delete": ("event_id",),
    "respond": ("event_id", "attendee_email", "response"),
    "create_calendar": ("name",),
    "update_calendar": ("calendar_id",),
    "delete_calendar": ("calendar_id",),
    "set_default_calendar": ("calendar_id",),
}
"""Which fields each operation can't do without."""


def missing_end_of(rule: dict[str, Any]) -> str | None:
    """The field that a recurrence rule's ``end_type`` asks for, if it isn't there."""
    needed = {"until": "end_date", "count": "count"}.get(rule["end_type"])
    return needed if needed is not None and rule[needed] is None else None


class CalendarInput(InputModel):
    """An event's ``data`` for the calendar. A field that is null is not given."""

    modality_type: str = "calendar"
    operation: Literal[
        "create",
        "update",
        "delete",
        "respond",
        "create_calendar",
        "update_calendar",
        "delete_calendar",
        "set_default_calendar",
    ]
    event_id: str | None = None
    calendar_id: str = "primary"
    recurrence_scope: Scope = "this"
    title: str | None = None
    description: str | None = None
    start: Instant | None = None
    end: Instant | None = None
    all_day: bool = False
    timezone: str = "UTC"
    location: str | None = None
    status: EventStatus = "confirmed"
    organizer: str | None = None
    attendees: list[Attendee] | None = None
    recurrence: RecurrenceRule | None = None
    recurrence_exceptions: list[str] | None = None
    recurrence_id: str | None = None
    reminders: list[Reminder] | None = None
    color: str | None = None
    visibility: Visibility = "default"
    transparency: Transparency = "opaque"
    attachments: list[Attachment] | None = None
    conference_link: str | None = None
    attendee_email: str | None = None
    response: Rsvp | None = None
    response_comment: str | None = None
    name: str | None = None
    visible: bool | None = None
    default_reminders: list[Reminder] | None = None

    @property
    def present_fields(self) -> set[str]:
        """The fields that the caller gave, other than null."""
        return {name for name in self.model_fields_set if getattr(self, name) is not None}

    @model_validator(mode="after")
    def _fields_of_the_operation(self) -> "CalendarInput":
        missing = [name for name in _NEEDED[self.operation] if name not in self.present_fields]
        if missing:
            raise ValueError(f"{self.operation} needs {', '.join(missing)}")
        if self.start is not None and self.end is not None and self.end < self.start:
            raise ValueError(f"end {self.end} is before start {self.start}. Choose an end at or after the start")
        if self.recurrence is not None and (missing_end := missing_end_of(self.recurrence.model_dump())):
            raise ValueError(f"recurrence with end_type {self.recurrence.end_type!r} needs {missing_end}")
        return self
