"""The most frequent actions of participants, named as in the task (seed 000, section 4.5), with typed answers."""

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, time, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from purple_sdk.ues import ActionResult, AsyncUESClient, NotFoundError, UESResponseError, UnexpectedAnswerError
from purple_sdk.ues.items import SMS, CalendarEvent, ChatMessage, Contact, Email, Item, read_items

_PAGE = 500
_MOST = 10_000
_CREATED = re.compile(r"calendar_event_id: (\S+)")


class PurpleUESClient:
    """The user's environment, by a personal assistant's most frequent actions.

    All actions go through the given client, which reports them. An action returns an ``ActionResult``; its
    ``succeeded`` tells whether the action was carried out. ``create_event`` returns the new appointment.

    Raises (every method):
        purple_sdk.ues.UESError: the subclass tells the kind of error.
    """

    def __init__(self, client: AsyncUESClient) -> None:
        self._ues = client

    async def get_unread_emails(self, folder: str = "inbox") -> list[Email]:
        """Return the unread emails of a folder, oldest first."""
        return await self._all(
            Email,
            "emails",
            lambda **page: self._ues.email.query(
                folder=folder, is_read=False, sort_by="received_at", sort_order="asc", **page
            ),
        )

    async def get_emails_by_label(self, label: str) -> list[Email]:
        """Return the emails with a label, oldest first."""
        return await self._all(
            Email,
            "emails",
            lambda **page: self._ues.email.query(labels=[label], sort_by="received_at", sort_order="asc", **page),
        )

    async def get_email(self, email_id: str) -> Email:
        """Return one email. Raises NotFoundError if none has that id."""
        state = await self._ues.email.get_state()
        email = state.get("emails", {}).get(email_id)
        if email is None:
            raise NotFoundError(f"there is no email with the id {email_id!r}", 404, None)
        return read_items(Email, {"emails": [email]}, "emails")[0]

    async def reply_to_email(
        self, email: Email | str, body: str, cc: Sequence[str] | None = None, *, to_all: bool = False
    ) -> ActionResult:
        """Answer an email, which is given as an object or by its id. The answer goes to the sender; with ``to_all``,
        also to all other people on it.
        """
        mail = await self.get_email(email) if isinstance(email, str) else email
        to = [mail.reply_to_address or mail.from_address]
        copies = list(cc or [])
        if to_all:
            state = await self._ues.email.get_state(compact=True)
            own = str(state.get("user_email_address", "")).lower()
            others = [one for one in mail.to_addresses if one.lower() not in {own, to[0].lower()}]
            to += others
            copies += [one for one in mail.cc_addresses if one.lower() != own and one not in copies]
        subject = mail.subject if re.match(r"re:", mail.subject, re.IGNORECASE) else f"Re: {mail.subject}"
        return await self._ues.email.send(to_addresses=to, subject=subject, body_text=body, cc_addresses=copies or None)

    async def send_email(
        self, to: Sequence[str], subject: str, body: str, cc: Sequence[str] | None = None
    ) -> ActionResult:
        """Send an email as the user: ``to`` and ``cc`` are addresses, ``body`` is plain text."""
        return await self._ues.email.send(
            to_addresses=list(to), subject=subject, body_text=body, cc_addresses=list(cc) if cc else None
        )

    async def mark_email_read(self, *email_ids: str) -> ActionResult:
        """Mark emails as read."""
        return await self._ues.email.read(list(email_ids))

    async def label_email(self, email_id: str, *labels: str) -> ActionResult:
        """Put labels on an email."""
        return await self._ues.email.label([email_id], list(labels))

    async def archive_email(self, *email_ids: str) -> ActionResult:
        """Move emails to the archive."""
        return await self._ues.email.archive(list(email_ids))

    async def get_todays_events(self) -> list[CalendarEvent]:
        """Return the appointments of the simulated day, in the user's time zone, by their start."""
        zone = await self.get_user_timezone()
        today = (await self.get_current_time()).astimezone(zone).date()
        start = datetime.combine(today, time(), zone)
        return await self.get_events_in_range(start, datetime.combine(today + timedelta(days=1), time(), zone))

    async def get_events_in_range(self, start: datetime, end: datetime) -> list[CalendarEvent]:
        """Return the appointments that overlap a span of time, recurring ones once for each occurrence."""
        events = await self._all(
            CalendarEvent,
            "events",
            lambda **page: self._ues.calendar.query(
                start=start, end=end, expand_recurring=True, sort_by="start", sort_order="asc", **page
            ),
        )
        return sorted(
            (event for event in events if event.start < end and event.end > start), key=lambda event: event.start
        )

    async def create_event(
        self, title: str, start: datetime, end: datetime, *, attendees: Sequence[str] | None = None, **fields: Any
    ) -> CalendarEvent:
        """Make an appointment. ``attendees`` are email addresses; further ``fields`` are those of
        ``ues.calendar.create``. Raises UnexpectedAnswerError if the appointment was refused, or can't be found
        afterwards.
        """
        invited = [{"email": address} for address in attendees] if attendees else None
        done = await self._ues.calendar.create(title=title, start=start, end=end, attendees=invited, **fields)
        named = _CREATED.search(done.message)
        if not done.succeeded or named is None:
            raise UnexpectedAnswerError(f"the appointment was not made: {done.message or done.status}")
        state = await self._ues.calendar.get_state()
        made = state.get("events", {}).get(named[1])
        return read_items(CalendarEvent, {"events": [made]}, "events")[0]

    async def move_event(self, event_id: str, start: datetime, end: datetime) -> ActionResult:
        """Move an appointment: ``start`` and ``end`` are aware datetimes, ``end`` not before ``start``."""
        return await self._ues.calendar.update(event_id=event_id, start=start, end=end)

    async def rsvp_to_event(
        self, event_id: str, status: Literal["accepted", "declined", "tentative"], comment: str | None = None
    ) -> ActionResult:
        """Answer an invitation as the user; the organizer sees ``comment``."""
        return await self._ues.calendar.respond(event_id=event_id, response=status, response_comment=comment)

    async def get_user_timezone(self) -> ZoneInfo:
        """Return the user's time zone; UTC if the simulator's is unknown here."""
        state = await self._ues.calendar.get_state(compact=True)
        try:
            return ZoneInfo(str(state.get("user_timezone") or "UTC"))
        except (KeyError, ValueError, OSError):
            return ZoneInfo("UTC")

    async def get_unread_sms(self) -> list[SMS]:
        """Return the unread incoming text messages, oldest first."""
        return await self._all(
            SMS,
            "messages",
            lambda **page: self._ues.sms.query(
                direction="incoming", is_read=False, sort_by="sent_at", sort_order="asc", **page
            ),
        )

    async def send_sms(self, to: str, message: str) -> ActionResult:
        """Send a text message as the user."""
        return await self._ues.sms.send(to_numbers=[to], body=message)

    async def get_chat_messages(self, role: Literal["user", "assistant"] | None = None) -> list[ChatMessage]:
        """Return the chat between user and assistant, oldest first."""
        return await self._all(
            ChatMessage,
            "messages",
            lambda **page: self._ues.chat.query(role=role, sort_by="timestamp", sort_order="asc", **page),
        )

    async def send_chat_message(self, content: str) -> ActionResult:
        """Write to the user, as the assistant."""
        return await self._ues.chat.send(role="assistant", content=content)

    async def find_contacts(self, text: str | None = None) -> list[Contact]:
        """Find contacts whose names, addresses or notes contain a text. Without a text, return all. Empty without an
        address book.
        """
        try:
            return await self._all(
                Contact, "contacts", lambda **page: self._ues.contacts.query(search_text=text, **page)
            )
        except UESResponseError as error:
            if error.status == 404:  # a simulator of UES 0.1
                return []
            raise

    async def get_current_time(self) -> datetime:
        """Return the simulated time."""
        return (await self._ues.time.get_state()).current_time

    async def get_full_state(self) -> dict[str, Any]:
        """Return the whole state at once, which is large. ``ues.environment.get_state(compact=True)`` returns one
        page.
        """
        return await self._ues.environment.get_state()

    async def _all(self, kind: type[Item], key: str, ask: Callable[..., Awaitable[dict[str, Any]]]) -> list[Item]:
        """Return the items of every page of a query."""
        items: list[Item] = []
        while len(items) < _MOST:
            page = read_items(kind, await ask(limit=_PAGE, offset=len(items)), key)
            items += page
            if len(page) < _PAGE:
                break
        return items
