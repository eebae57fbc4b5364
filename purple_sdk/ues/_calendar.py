"""Endpoints for the user's calendars."""

from collections.abc import Sequence
from typing import Literal

from purple_sdk.ues import _call as wire
from purple_sdk.ues._call import OWN_EMAIL, Room, Runner
from purple_sdk.ues._control import Time
from purple_sdk.ues._messages import Item
from purple_sdk.ues.answers import ActionResult, json_object

EventState = Literal["confirmed", "tentative", "cancelled"]
Scope = Literal["this", "this_and_future", "all"]
Visibility = Literal["public", "private", "default"]
Transparency = Literal["opaque", "transparent"]


class CalendarRoom(Room[Runner]):
    """The user's calendars, ``/calendar``."""

    @wire.get("/calendar/state", json_object)
    def get_state(self, *, compact: bool | None = None) -> None:
        """Read all calendars and events."""

    @wire.get("/calendar/get", json_object)
    def get(self, event_id: str) -> None:
        """Read one appointment by its id (proctor's simulator only)."""

    @wire.query("/calendar/query", json_object)
    def query(
        self,
        *,
        calendar_ids: Sequence[str] | None = None,
        start: Time | None = None,
        end: Time | None = None,
        search: str | None = None,
        status: EventState | None = None,
        has_attendees: bool | None = None,
        recurring: bool | None = None,
        expand_recurring: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort_by: str | None = None,
        sort_order: str | None = None,
    ) -> None:
        """Find events: ``{events, count, total_count}``; ``expand_recurring`` lists each occurrence."""

    @wire.post("/calendar/create", ActionResult.read)
    def create(
        self,
        *,
        title: str,
        start: Time,
        end: Time,
        calendar_id: str | None = None,
        description: str | None = None,
        all_day: bool | None = None,
        timezone: str | None = None,
        location: str | None = None,
        status: EventState | None = None,
        organizer: str | None = None,
        attendees: Sequence[Item] | None = None,
        recurrence: Item | None = None,
        recurrence_exceptions: Sequence[str] | None = None,
        reminders: Sequence[Item] | None = None,
        color: str | None = None,
        visibility: Visibility | None = None,
        transparency: Transparency | None = None,
        attachments: Sequence[Item] | None = None,
        conference_link: str | None = None,
    ) -> None:
        """Make an event; it goes into the calendar ``primary`` where none is given."""

    @wire.post("/calendar/update", ActionResult.read)
    def update(
        self,
        *,
        event_id: str,
        calendar_id: str | None = None,
        recurrence_scope: Scope | None = None,
        recurrence_id: str | None = None,
        title: str | None = None,
        description: str | None = None,
        start: Time | None = None,
        end: Time | None = None,
        all_day: bool | None = None,
        timezone: str | None = None,
        location: str | None = None,
        status: EventState | None = None,
        organizer: str | None = None,
        attendees: Sequence[Item] | None = None,
        recurrence: Item | None = None,
        recurrence_exceptions: Sequence[str] | None = None,
        reminders: Sequence[Item] | None = None,
        color: str | None = None,
        visibility: Visibility | None = None,
        transparency: Transparency | None = None,
        attachments: Sequence[Item] | None = None,
        conference_link: str | None = None,
    ) -> None:
        """Change the fields that are given."""

    @wire.post("/calendar/delete", ActionResult.read)
    def delete(
        self,
        event_id: str,
        *,
        calendar_id: str | None = None,
        recurrence_scope: Scope | None = None,
        recurrence_id: str | None = None,
    ) -> None:
        """Delete an event, or some occurrences of a recurring one."""

    @wire.post("/calendar/respond", ActionResult.read, own={"attendee_email": OWN_EMAIL})
    def respond(
        self,
        *,
        event_id: str,
        response: Literal["accepted", "declined", "tentative", "needs-action"],
        calendar_id: str | None = None,
        attendee_email: str | None = None,
        response_comment: str | None = None,
    ) -> None:
        """Answer an invitation, as the user where no attendee is given."""

    @wire.get("/calendar/calendars", json_object)
    def list_calendars(self) -> None:
        """List the calendars: ``{calendars, count, default_calendar_id}``."""

    @wire.post("/calendar/calendars/create", json_object)
    def create_calendar(
        self,
        *,
        name: str,
        calendar_id: str | None = None,
        color: str | None = None,
        visible: bool | None = None,
        default_reminders: Sequence[Item] | None = None,
    ) -> None:
        """Make a calendar."""

    @wire.post("/calendar/calendars/update", json_object)
    def update_calendar(
        self,
        *,
        calendar_id: str,
        name: str | None = None,
        color: str | None = None,
        visible: bool | None = None,
        default_reminders: Sequence[Item] | None = None,
    ) -> None:
        """Change a calendar."""

    @wire.post("/calendar/calendars/delete", json_object)
    def delete_calendar(self, calendar_id: str) -> None:
        """Delete a calendar."""

    @wire.post("/calendar/calendars/set-default", json_object)
    def set_default_calendar(self, calendar_id: str) -> None:
        """Choose the calendar that new events go into."""
