"""A turn: hear what came in, settle what can be settled, propose other times for the rest, and sum up at the end."""

import re
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

from purple_sdk.agent import BasePurpleAgent
from purple_sdk.examples.reschedule_agent import letters
from purple_sdk.examples.reschedule_agent.diary import Diary
from purple_sdk.examples.reschedule_agent.orders import Orders, Wish, read_orders
from purple_sdk.examples.reschedule_agent.times import in_words, offers_in
from purple_sdk.protocol.messages import TurnCompleteMessage
from purple_sdk.settings.config import PurpleAgentConfig
from purple_sdk.ues.items import CalendarEvent

_PHONE = re.compile(r"\+?\d[\d\s]{8,}\d")
_ZONES = {"berlin": "Europe/Berlin", "london": "Europe/London", "paris": "Europe/Paris", "new york": "America/New_York"}
_THEIR_TIME = re.compile(rf"\ball times\b[^.\n]*\b({'|'.join(_ZONES)})\b", re.IGNORECASE)
_LOOKS_IN_EVERY = timedelta(hours=1)


@dataclass
class Meeting:
    """One meeting that is being moved.

    Attributes:
        event_id, length: of its entry in the calendar.
        address: email or phone of the other side.
        zone: the one in which the other side writes its times.
        proposed: the last suggestion, without an answer so far.
        agreed: the time that both sides have accepted.
        was_agreed: what they had, until something came in the way.
        offers: what the other side suggested last.
        refused: proposals that came to nothing.
        is_accepted: whether the other side has said yes to what is proposed.
    """

    wish: Wish
    event_id: str
    length: timedelta
    address: str
    zone: str
    proposed: datetime | None = None
    agreed: datetime | None = None
    was_agreed: datetime | None = None
    offers: list[datetime] = field(default_factory=list)
    refused: list[datetime] = field(default_factory=list)
    is_accepted: bool = False

    @property
    def is_text(self) -> bool:
        """Whether it is talked about by text message."""
        return self.wish.channel == "sms"

    def refuse(self, offers: list[datetime]) -> None:
        """Take note that the proposal came to nothing, and of what was offered in its place."""
        if self.proposed is not None:
            self.refused.append(self.proposed)
        self.proposed, self.offers, self.is_accepted = None, offers, False


@dataclass
class RescheduleState:
    """What the agent remembers from turn to turn.

    Attributes:
        orders: the user's wishes, once read.
        meetings: what is being moved.
        heard: ids of messages that were dealt with.
        declined: the title of the event that takes place without the user, once that is said.
        has_reported: whether the overview is written.
    """

    user: str = ""
    orders: Orders | None = None
    meetings: list[Meeting] = field(default_factory=list)
    before: dict[str, datetime] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)
    declined: str | None = None
    has_reported: bool = False


class RescheduleAgent(BasePurpleAgent):
    """Clears a day by rules."""

    name: ClassVar[str] = "reschedule-agent"
    description: ClassVar[str] = "Moves the meetings of a day to times that their people agree to; uses no model."

    state: RescheduleState

    def __init__(self, config: PurpleAgentConfig) -> None:
        super().__init__(config)
        self.state = RescheduleState()

    async def execute_turn(self) -> TurnCompleteMessage:
        """Go through all meetings."""
        self._zone = await self.ues_client.get_user_timezone()
        self._today = self.current_time.astimezone(self._zone).date()
        if self.state.orders is None:
            await self._begin()
        if (orders := self.state.orders) is None:
            return self.complete_turn(notes="nothing to clear")
        events = await self._events(orders)
        for meeting in self.state.meetings:
            await self._hear(meeting, events)
        for meeting in self.state.meetings:
            await self._settle(meeting, orders, events)
        for meeting in self.state.meetings:
            if meeting.agreed is None and meeting.proposed is None:
                await self._propose(meeting, orders, events)
        await self._decline(orders)
        if self._is_last_look(orders) and not self.state.has_reported and await self.may_act():
            await self.ues_client.send_chat_message(self._overview(await self._events(orders)))
            self.state.has_reported = True
        agreed = sum(meeting.agreed is not None for meeting in self.state.meetings)
        return self.complete_turn(notes=f"{agreed} of {len(self.state.meetings)} meetings agreed")

    async def _begin(self) -> None:
        orders = read_orders(await self.get_user_instructions(), self._today)
        if orders is None:
            return
        self.state.orders = orders
        address = str((await self.ues.email.get_state(compact=True)).get("user_email_address", ""))
        self.state.user = re.split(r"[._@-]", address)[0].capitalize()
        events = await self._events(orders)
        for wish in orders.moves:
            event = self._on_the_cleared_day(wish.title, orders, events)
            if event is not None and (address := await self._address_of(wish, event)):
                zone = await self._zone_of(wish, address)
                self.state.meetings.append(Meeting(wish, event.event_id, event.end - event.start, address, zone))
        moved = {meeting.event_id for meeting in self.state.meetings}
        self.state.before = {event.event_id: event.start for event in events if event.event_id not in moved}

    async def _events(self, orders: Orders) -> list[CalendarEvent]:
        """All appointments from the cleared day to the last one that is offered."""
        first, last = (
            datetime.combine(day, time(), self._zone)
            for day in (orders.cleared, max(orders.days, default=orders.cleared))
        )
        return await self.ues_client.get_events_in_range(first, last + timedelta(days=1))

    def _on_the_cleared_day(self, title: str, orders: Orders, events: list[CalendarEvent]) -> CalendarEvent | None:
        matches = (
            event
            for event in events
            if title.lower() in event.title.lower() and event.start.astimezone(self._zone).date() == orders.cleared
        )
        return next(matches, None)

    async def _address_of(self, wish: Wish, event: CalendarEvent) -> str:
        """Where somebody is reached; empty where that can't be found out."""
        if wish.channel != "sms":
            return next((one.email for one in event.attendees if wish.surname.lower() in one.email.lower()), "")
        written = _PHONE.search(event.description or "")
        digits = re.sub(r"\D", "", written[0])[-9:] if written else "none"
        answer = await self.ues.sms.query(limit=1000)
        numbers = [number for text in answer["messages"] for number in (text["from_number"], *text["to_numbers"])]
        known = (number for number in numbers if re.sub(r"\D", "", number).endswith(digits))
        return next(known, written[0] if written else "")

    async def _zone_of(self, wish: Wish, address: str) -> str:
        """The zone that somebody says to write in, in any of their mails; else the user's."""
        if wish.channel == "email":
            answer = await self.ues.email.query(from_address=address, limit=50)
            for mail in answer["emails"]:
                if zone := _THEIR_TIME.search(str(mail["body_text"])):
                    return _ZONES[zone[1].lower()]
        return str(self._zone)

    async def _hear(self, meeting: Meeting, events: list[CalendarEvent]) -> None:
        """Take note of what the other side says, and of what has come in the way of what was agreed."""
        if meeting.agreed is not None:
            end = meeting.agreed + meeting.length
            others = (event for event in events if event.event_id != meeting.event_id)
            if any(event.start < end and event.end > meeting.agreed for event in others):
                meeting.was_agreed, meeting.agreed = meeting.agreed, None
                meeting.proposed, meeting.offers = None, []
        for text in await self._answers(meeting, events):
            offers = offers_in(text, self._today, ZoneInfo(meeting.zone))
            if meeting.proposed is not None and meeting.proposed in offers:
                meeting.is_accepted = True
            elif meeting.agreed is None:
                meeting.refuse(offers)

    async def _answers(self, meeting: Meeting, events: list[CalendarEvent]) -> list[str]:
        """The other side's messages since the last look."""
        if meeting.wish.channel == "invitation":
            event = next((event for event in events if event.event_id == meeting.event_id), None)
            answers = [one for one in event.attendees if one.email == meeting.address] if event else []
            if event is None or meeting.proposed is None or not answers:
                return []
            meeting.is_accepted = answers[0].response == "accepted"
            return [answers[0].comment or "no"] if answers[0].response == "declined" else []
        if meeting.is_text:
            answer = await self.ues.sms.query(
                from_number=meeting.address, sort_by="sent_at", sort_order="asc", limit=500
            )
            bodies = {str(text["message_id"]): str(text["body"]) for text in answer["messages"]}
        else:
            answer = await self.ues.email.query(
                from_address=meeting.address, sort_by="received_at", sort_order="asc", limit=500
            )
            bodies = {str(mail["message_id"]): str(mail["body_text"]) for mail in answer["emails"]}
        new = [text for key, text in bodies.items() if key not in self.state.heard]
        self.state.heard.update(bodies)
        is_first_look = meeting.proposed is None and not meeting.refused and meeting.was_agreed is None
        return [] if is_first_look else new

    def _diary(self, meeting: Meeting, orders: Orders, events: list[CalendarEvent]) -> Diary:
        """When the user has time for a meeting: not where others are, and where something else is suggested."""
        moved = {each.event_id for each in self.state.meetings}
        diary = Diary(orders.days, self._zone)
        diary.add(event for event in events if event.event_id not in moved)
        for other in self.state.meetings:
            if other is not meeting and (start := other.agreed or other.proposed) is not None:
                diary.taken.append((start, start + other.length))
        return diary

    async def _settle(self, meeting: Meeting, orders: Orders, events: list[CalendarEvent]) -> None:
        diary = self._diary(meeting, orders, events)
        if meeting.proposed is not None:
            if meeting.is_accepted and diary.fits(meeting.proposed, meeting.length):
                await self._agree(meeting, meeting.proposed)
            elif meeting.is_accepted:
                meeting.refuse([])
            return
        fitting = [offer for offer in meeting.offers if diary.fits(offer, meeting.length)]
        if fitting and meeting.agreed is None:
            if meeting.wish.channel == "invitation":
                await self._move(meeting, fitting[0])
                meeting.proposed, meeting.offers = fitting[0], []
            else:
                await self._agree(meeting, fitting[0])

    async def _agree(self, meeting: Meeting, start: datetime) -> None:
        start = start.astimezone(self._zone)
        if meeting.wish.channel != "invitation":
            await self._move(meeting, start)
            text = letters.confirmation(
                meeting.wish.first_name, self.state.user, start, self._city, is_text=meeting.is_text
            )
            await self._write(meeting, text)
        meeting.agreed, meeting.proposed, meeting.offers, meeting.is_accepted = start, None, [], False

    async def _propose(self, meeting: Meeting, orders: Orders, events: list[CalendarEvent]) -> None:
        """Suggest the earliest time that isn't on a day that failed; after a change of our own, the nearest one."""
        diary = self._diary(meeting, orders, events)
        free = [start for start in diary.free(meeting.length) if start not in meeting.refused]
        if meeting.was_agreed is not None:
            before = meeting.was_agreed
            free.sort(key=lambda start: abs(start - before))
        failed = {start.date() for start in meeting.refused}
        failed -= {meeting.was_agreed.date()} if meeting.was_agreed else set()
        free.sort(key=lambda start: start.date() in failed)
        if not free or not await self.may_act():
            return
        start = free[0]
        if meeting.wish.channel == "invitation":
            await self._move(meeting, start)
        else:
            names = (meeting.wish.first_name, self.state.user)
            is_new = not meeting.refused and meeting.was_agreed is None
            was_settled = meeting.was_agreed is not None
            text = (
                letters.request(*names, meeting.wish.title, start, self._city, is_text=meeting.is_text)
                if is_new
                else letters.other_time(*names, start, self._city, is_text=meeting.is_text, was_settled=was_settled)
            )
            await self._write(meeting, text)
        meeting.proposed, meeting.offers, meeting.is_accepted = start, [], False

    async def _move(self, meeting: Meeting, start: datetime) -> None:
        if await self.may_act():
            await self.ues_client.move_event(meeting.event_id, start, start + meeting.length)

    async def _write(self, meeting: Meeting, text: str) -> None:
        if not await self.may_act():
            return
        if meeting.is_text:
            await self.ues_client.send_sms(meeting.address, text)
        else:
            await self.ues_client.send_email([meeting.address], f"{meeting.wish.title}: a new time", text)

    async def _decline(self, orders: Orders) -> None:
        """Decline the event that takes place without the user, and inform the person that the user named."""
        if orders.declined is None or self.state.declined is not None:
            return
        event = self._on_the_cleared_day(orders.declined, orders, await self._events(orders))
        if event is None or not await self.may_act():
            return
        await self.ues_client.rsvp_to_event(event.event_id, "declined")
        self.state.declined = event.title
        surname = (orders.informed or "").rpartition(" ")[2].lower()
        address = next((one.email for one in event.attendees if surname and surname in one.email.lower()), None)
        if orders.informed and address and await self.may_act():
            first_name = orders.informed.partition(" ")[0]
            text = letters.absence(first_name, self.state.user, orders.declined)
            await self.ues_client.send_email([address], f"{orders.declined}: {self.state.user} can't attend", text)

    def _is_last_look(self, orders: Orders) -> bool:
        """Whether the user leaves before the next turn."""
        own = self.current_time.astimezone(self._zone)
        end = orders.ends or time(17)
        return own + _LOOKS_IN_EVERY >= datetime.combine(own.date(), end, self._zone)

    def _overview(self, events: list[CalendarEvent]) -> str:
        """What has become of everything, in the user's time."""
        lines = [f"This is how it stands, {self.state.user}. All times {self._city}:", ""]
        for meeting in self.state.meetings:
            start, title = meeting.agreed, f"- {meeting.wish.title}, {meeting.wish.person}"
            if start is None:
                asked = f", {in_words(meeting.proposed)} is suggested" if meeting.proposed else ""
                lines.append(f"{title}: still open{asked}.")
            else:
                lines.append(f"{title}: {in_words(start)} to {start + meeting.length:%H:%M}. Agreed.")
        lines.append("")
        if self.state.declined:
            lines.append(f"{self.state.declined}: declined for you, and they have been told.")
        for event in events:
            before = self.state.before.get(event.event_id)
            if before is not None and before != event.start:
                start, end = event.start.astimezone(self._zone), event.end.astimezone(self._zone)
                lines.append(f"Changed otherwise: {event.title} is now {in_words(start)} to {end:%H:%M}.")
        return "\n".join(lines)

    @property
    def _city(self) -> str:
        return str(self._zone).rpartition("/")[2].replace("_", " ")
