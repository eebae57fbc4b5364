"""What the calendar's routes take and answer."""

from typing import Annotated, Any

from pydantic import Field

from proctor.ues.modalities.calendar.models import (
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
from proctor.ues.schema import JsonObject, QueryRequest, Request, Response, nullable
from proctor.ues.times import Instant

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
    title: str = Field(description="Title of the appointment.")
    description: str | None = nullable("Notes on the appointment.")
    start: Instant = Field(description="Start, ISO 8601 with offset, as 2026-03-02T09:30:00+01:00.")
    end: Instant = Field(description="End, not before start, ISO 8601 with offset, as 2026-03-02T09:30:00+01:00.")
    all_day: bool = Field(default=False, description="Whether it takes whole days.")
    timezone: str = Field(default="UTC", description="IANA time zone in which a series recurs, such as Europe/Berlin.")
    location: str | None = nullable("Place or room.")
    status: EventStatus = Field(default="confirmed", description="confirmed, tentative or cancelled.")
    organizer: str | None = nullable("Email address of the organizer.")
    attendees: list[Attendee] | None = nullable("People to invite, by email address.")
    recurrence: RecurrenceRule | None = nullable("How the appointment repeats; leave out for a single one.")
    recurrence_exceptions: list[OccurrenceText] | None = nullable("Dates or starts of occurrences to leave out.")
    reminders: list[Reminder] | None = nullable("Left out, they are the calendar's own.")
    color: str | None = nullable("Color such as #4285f4.")
    visibility: Visibility = Field(default="default", description="public, private or default.")
    transparency: Transparency = Field(
        default="opaque", description="opaque (blocks the time) or transparent (does not)."
    )
    attachments: list[Attachment] | None = nullable("Files: name, size in bytes and type.")
    conference_link: str | None = nullable("Address of the video call.")


class UpdateCalendarEventRequest(Request):
    """The body of ``POST /calendar/update``. Omitted and null fields don't change."""

    event_id: str = Field(description="Id of the event to change.")
    calendar_id: str = Field(default="primary", description="Calendar that the event is in; primary by default.")
    recurrence_scope: Scope = Field(
        default="this",
        description="Of a series: this occurrence, this_and_future or all. Needs recurrence_id unless all.",
    )
    title: str | None = nullable("New title.")
    description: str | None = nullable("Notes on the appointment.")
    start: Instant | None = nullable(
        "New start, ISO 8601 with offset, as 2026-03-02T09:30:00+01:00. An end before it is refused."
    )
    end: Instant | None = nullable("New end, ISO 8601 with offset, as 2026-03-02T09:30:00+01:00.")
    all_day: bool | None = nullable("Whether it takes whole days.")
    timezone: str | None = nullable("IANA time zone in which a series recurs, such as Europe/Berlin.")
    location: str | None = nullable("Place or room.")
    status: EventStatus | None = nullable("confirmed, tentative or cancelled.")
    organizer: str | None = nullable("Email address of the organizer.")
    attendees: list[Attendee] | None = nullable("All people invited; replaces the list.")
    recurrence: RecurrenceRule | None = nullable("How the appointment repeats; leave out for a single one.")
    recurrence_exceptions: list[OccurrenceText] | None = nullable("Dates or starts of occurrences to leave out.")
    recurrence_id: RecurrenceId = None
    reminders: list[Reminder] | None = nullable("When to remind the user; replaces the list.")
    color: str | None = nullable("Color such as #4285f4.")
    visibility: Visibility | None = nullable("public, private or default.")
    transparency: Transparency | None = nullable("opaque (blocks the time) or transparent (does not).")
    attachments: list[Attachment] | None = nullable("Files: name, size in bytes and type.")
    conference_link: str | None = nullable("Address of the video call.")


class DeleteCalendarEventRequest(Request):
    """What ``POST /calendar/delete`` takes."""

    event_id: str = Field(description="Id of the event to delete.")
    calendar_id: str = Field(default="primary", description="Calendar that the event is in; primary by default.")
    recurrence_scope: Scope = Field(
        default="this",
        description="Of a series: this occurrence, this_and_future or all. Needs recurrence_id unless all.",
    )
    recurrence_id: RecurrenceId = None


class RespondToCalendarEventRequest(Request):
    """What ``POST /calendar/respond`` takes. The attendee's address is compared in any case."""

    event_id: str = Field(description="Id of the invitation's event.")
    calendar_id: str = Field(default="primary", description="Calendar that the event is in; primary by default.")
    attendee_email: str = Field(
        description="Email address of the attendee who answers; the user's own for the user's answer."
    )
    response: Rsvp = Field(description="accepted, declined, tentative or needs-action.")
    response_comment: str | None = nullable("Text that goes with the answer.")


class CreateCalendarRequest(Request):
    """What ``POST /calendar/calendars/create`` takes. Without ``calendar_id`` one is made."""

    name: Annotated[str, Field(min_length=1)]
    calendar_id: Annotated[str, Field(min_length=1)] | None = None
    color: str = DEFAULT_COLOR
    visible: bool = True
    default_reminders: list[Reminder] | None = None


class UpdateCalendarRequest(Request):
    """The body of ``POST /calendar/calendars/update``. Omitted and null fields don't change."""

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

    calendar_ids: list[str] | None = nullable("Only these calendars.")
    start: Instant | None = nullable("Only what ends after this instant.")
    end: Instant | None = nullable("Only what begins before this instant.")
    search: str | None = nullable("Text in title, description or location, in any case.")
    status: EventStatus | None = nullable("confirmed, tentative or cancelled.")
    has_attendees: bool | None = nullable("true for events with attendees only, false for the others.")
    recurring: bool | None = nullable("Whether it is a series or an occurrence of one.")
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
