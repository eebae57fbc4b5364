"""Calendar: the user's appointments, series of them, invitations and their answers, in one or more calendars."""

from typing import Any

from proctor.ues.modalities.calendar import calendars, models, operations, requests, views
from proctor.ues.modality import Action, Modality, Query, Read, State, find_operations, read_by_id
from proctor.ues.problems import Impossible
from proctor.ues.schema import JsonObject


def _input_of_create(request: Any, _state: State) -> JsonObject:
    """Return the input of a creation. If the caller gives no ``calendar_id``, it has none, and the default applies."""
    _refuse_end_before_start(request)
    unnamed = {"calendar_id"} - request.model_fields_set
    fields: JsonObject = request.model_dump(exclude_none=True, exclude=unnamed)
    return fields


def _input_of_update(request: Any, _state: State) -> JsonObject:
    _refuse_end_before_start(request)
    fields: JsonObject = request.model_dump(exclude_none=True)
    return fields


def _refuse_end_before_start(request: Any) -> None:
    if request.start is not None and request.end is not None and request.end < request.start:
        raise Impossible(f"end {request.end} is before start {request.start}. Choose an end at or after the start.")


MODALITY = Modality(
    name="calendar",
    summary="The user's calendars: appointments, recurring ones, invitations and answers to them.",
    state=models.CalendarState,
    input=models.CalendarInput,
    operations=find_operations(models.CalendarInput, "operation", operations, calendars),
    initial=calendars.initial,
    complete=calendars.complete,
    state_response=(requests.CalendarStateResponse,),
    show=views.show,
    digest=views.digest,
    describe=views.describe,
    check=views.check,
    query=Query(request=requests.CalendarQueryRequest, response=requests.CalendarQueryResponse, run=views.query),
    reads=(
        Read(
            path="calendars",
            response=requests.CalendarListResponse,
            run=views.list_calendars,
            summary="List the calendars.",
            permission="calendar:calendars:list",
        ),
        read_by_id("calendar", "events", "appointment", "event_id", models.CalendarEvent, "CalendarEventIdParams"),
    ),
    actions=(
        Action(
            path="create",
            operation="create",
            request=requests.CreateCalendarEventRequest,
            build=_input_of_create,
            detail=lambda state: f"calendar_event_id: {next(reversed(state['events']))}",
            summary="Enter an appointment, or a series of them.",
            participant=True,
        ),
        Action(
            path="update",
            operation="update",
            request=requests.UpdateCalendarEventRequest,
            build=_input_of_update,
            summary="Change an appointment: some occurrences of a series or all.",
            participant=True,
        ),
        Action(
            path="delete",
            operation="delete",
            request=requests.DeleteCalendarEventRequest,
            summary="Delete an appointment: some occurrences of a series or all.",
            participant=True,
        ),
        Action(
            path="respond",
            operation="respond",
            request=requests.RespondToCalendarEventRequest,
            summary="Answer an invitation, for an attendee.",
            participant=True,
        ),
        Action("calendars/create", "create_calendar", requests.CreateCalendarRequest, "Make a calendar."),
        Action(
            path="calendars/update",
            operation="update_calendar",
            request=requests.UpdateCalendarRequest,
            summary="Change a calendar's name, color, visibility or reminders.",
        ),
        Action(
            path="calendars/delete",
            operation="delete_calendar",
            request=requests.CalendarIdRequest,
            summary="Delete a calendar with all that is in it.",
        ),
        Action(
            path="calendars/set-default",
            operation="set_default_calendar",
            request=requests.CalendarIdRequest,
            summary="Choose the calendar that new appointments go into.",
            permission="calendar:calendars:default",
        ),
    ),
)
