"""What the calendar's routes take and answer."""

from typing import Annotated, Any

from pydantic import Field

from ues_sim.modalities.calendar.models import (
    DEFAULT_COLOR,
    Attachment,
    Attendee,
    CalendarEvent,
    EventStatus,
    OccurrenceText,
    RecurrenceRule,
    Reminder,
    Rsvp,
    Scope,
    Transparency,
    Visibility,
)
from ues_sim.schema import JsonObject, QueryRequest, Request, Response
from ues_sim.times import Instant

RecurrenceId = Annotated[
    OccurrenceText | None,
    Field(
        description="Which occurrence of a series: when it begins, or the day, as an expanded query tells. Without it "
        "the whole series is meant."
    ),
]


class CreateCalendarEventRequest(Request):
    """What ``POST /calendar/create`` takes."""

    calendar_id: str = Field(default="primary", description="Left out, it is the default calendar.")
    title: str
    description: str | None = None
    start: Instant
    end: Instant
    all_day: bool = False
    timezone: str = "UTC"
    location: str | None = None
    status: EventStatus = "confirmed"
    organizer: str | None = None
    attendees: list[Attendee] | None = None
    recurrence: RecurrenceRule | None = None
    recurrence_exceptions: list[OccurrenceText] | None = None
    reminders: list[Reminder] | None = Field(default=None, description="Left out, they are the calendar's own.")
    color: str | None = None
    visibility: Visibility = "default"
    transparency: Transparency = "opaque"
    attachments: list[Attachment] | None = None
    conference_link: str | None = None


class UpdateCalendarEventRequest(Request):
    """What ``POST /calendar/update`` takes. What is left out or null stays as it is."""

    event_id: str
    calendar_id: str = "primary"
    recurrence_scope: Scope = "this"
    title: str | None = None
    description: str | None = None
    start: Instant | None = None
    end: Instant | None = None
    all_day: bool | None = None
    timezone: str | None = None
    location: str | None = None
    status: EventStatus | None = None
    organizer: str | None = None
    attendees: list[Attendee] | None = None
    recurrence: RecurrenceRule | None = None
    recurrence_exceptions: list[OccurrenceText] | None = None
    recurrence_id: RecurrenceId = None
    reminders: list[Reminder] | None = None
    color: str | None = None
    visibility: Visibility | None = None
    transparency: Transparency | None = None
    attachments: list[Attachment] | None = None
    conference_link: str | None = None


class DeleteCalendarEventRequest(Request):
    """What ``POST /calendar/delete`` takes."""

    event_id: str
    calendar_id: str = "primary"
    recurrence_scope: Scope = "this"
    recurrence_id: RecurrenceId = None


class RespondToCalendarEventRequest(Request):
    """What ``POST /calendar/respond`` takes. The attendee's address is compared in any case."""

    event_id: str
    calendar_id: str = "primary"
    attendee_email: str
    response: Rsvp
    response_comment: str | None = None


class CreateCalendarRequest(Request):
    """What ``POST /calendar/calendars/create`` takes. Without ``calendar_id`` one is made."""

    name: Annotated[str, Field(min_length=1)]
    calendar_id: Annotated[str, Field(min_length=1)] | None = None
    color: str = DEFAULT_COLOR
    visible: bool = True
    default_reminders: list[Reminder] | None = None


class UpdateCalendarRequest(Request):
    """What ``POST /calendar/calendars/update`` takes. What is left out or null stays as it is."""

    calendar_id: str
    name: Annotated[str, Field(min_length=1)] | None = None
    color: str | None = None
    visible: bool | None = None
    default_reminders: list[Reminder] | None = None


class CalendarIdRequest(Request):
    """What ``POST /calendar/calendars/delete`` and ``/set-default`` take."""

    calendar_id: str


class CalendarQueryRequest(QueryRequest):
    """What ``POST /calendar/query`` takes. Every filter given must match."""

    calendar_ids: list[str] | None = None
    start: Instant | None = Field(default=None, description="Only what ends after this instant.")
    end: Instant | None = Field(default=None, description="Only what begins before this instant.")
    search: str | None = Field(default=None, description="Text in title, description or location, in any case.")
    status: EventStatus | None = None
    has_attendees: bool | None = None
    recurring: bool | None = Field(default=None, description="Whether it is a series or an occurrence of one.")
    expand_recurring: bool = Field(
        default=False,
        description="List the occurrences of a series, each with its recurrence_id, rather than the series: at most "
        "1000 in all, the earliest. An endless series without `end` is listed for a year.",
    )
    sort_by: str = Field(
        default="start", description="start, end, title, created_at, updated_at, status, calendar_id or location."
    )
    sort_order: str = Field(default="asc", description="asc or desc.")  # type: ignore[assignment]


class CalendarStateResponse(Response):
    """What ``GET /calendar/state`` answers. Compact, it is the events that come next, then the last ones, as many as
    fit into some 20 kB; they carry neither descriptions nor attachments nor when they were changed, and calendars don't
    list their events.
    """

    modality_type: str
    last_updated: Instant
    update_count: int
    default_calendar_id: str
    user_timezone: str
    calendars: dict[str, Any]
    events: dict[str, Any]
    calendar_count: int
    event_count: int


class CalendarQueryResponse(Response):
    """What ``POST /calendar/query`` answers. ``count`` is ``returned_count`` under its older name."""

    modality_type: str = "calendar"
    events: list[CalendarEvent]
    count: int
    total_count: int
    returned_count: int
    query: JsonObject


class CalendarSummary(Response):
    """One calendar, without its events."""

    calendar_id: str
    name: str
    color: str
    visible: bool
    event_count: int
    created_at: Instant
    updated_at: Instant


class CalendarListResponse(Response):
    """What ``GET /calendar/calendars`` answers."""

    calendars: list[CalendarSummary]
    count: int
    default_calendar_id: str
