"""A player's view of the user's environment: mails, texts, appointments and chat, each with a fixed number."""

from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from proctor.cli.play.actions import NotUnderstoodError
from purple_sdk import BasePurpleAgent
from purple_sdk.processes.together import do_all
from purple_sdk.ues.answers import UESAnswer
from purple_sdk.ues.items import SMS, CalendarEvent, ChatMessage, Email, read_items

_LONG_AGO = 0.0


@dataclass
class EnvironmentView:
    """The items that the last call of ``look`` read. An item keeps its number from turn to turn.

    Attributes:
        mails, texts, entries, chat: the items, oldest first.
        zone: the user's time zone.
    """

    mails: list[Email] = field(default_factory=list)
    texts: list[SMS] = field(default_factory=list)
    entries: list[CalendarEvent] = field(default_factory=list)
    chat: list[ChatMessage] = field(default_factory=list)
    zone: tzinfo = field(default_factory=lambda: ZoneInfo("UTC"))
    own: set[str] = field(default_factory=set)
    _numbers: dict[str, dict[str, int]] = field(default_factory=dict)
    _shown: dict[str, str] = field(default_factory=dict)

    async def look(self, agent: BasePurpleAgent) -> None:
        ues = agent.ues
        mail, sms, calendar, chat = await do_all(
            ues.email.get_state(), ues.sms.get_state(), ues.calendar.get_state(), ues.chat.get_state()
        )
        self.zone = await agent.ues_client.get_user_timezone()
        self.own = {str(mail.get("user_email_address")), str(sms.get("user_phone_number"))}
        mails = read_items(Email, {"emails": list(mail.get("emails", {}).values())}, "emails")
        texts = read_items(SMS, {"messages": list(sms.get("messages", {}).values())}, "messages")
        entries = read_items(CalendarEvent, {"events": list(calendar.get("events", {}).values())}, "events")
        self.mails = sorted(mails, key=lambda one: _seconds(one.received_at or one.sent_at))
        self.texts = sorted(texts, key=lambda one: _seconds(one.sent_at))
        self.entries = sorted(
            (one for one in entries if one.status != "cancelled" and not getattr(one, "deleted_at", None)),
            key=lambda one: _seconds(one.start),
        )
        self.chat = read_items(ChatMessage, chat, "messages")
        others = [
            *(("email", one) for one in self.mails if not self.is_own(one)),
            *(("sms", one) for one in self.texts if not self.is_own(one)),
            *(("calendar", one) for one in self.entries),
        ]
        for kind, item in others:  # the person's own items get a number when they are shown
            self._number(kind, _id(item))

    def news(self) -> "EnvironmentView":
        """The messages and entries of other people that are new or changed since the last call."""
        new = EnvironmentView(zone=self.zone, own=self.own, _numbers=self._numbers)
        new.mails = [one for one in self.mails if self._is_news(one.message_id) and not self.is_own(one)]
        new.texts = [one for one in self.texts if self._is_news(one.message_id) and not self.is_own(one)]
        new.chat = [one for one in self.chat if self._is_news(one.message_id) and one.role == "user"]
        new.entries = [one for one in self.entries if self._is_news(one.event_id, _as_others_have_it(one))]
        return new

    def is_own(self, item: Email | SMS) -> bool:
        return (item.from_address if isinstance(item, Email) else item.from_number) in self.own

    def find_number(self, item: Email | SMS | CalendarEvent) -> int:
        kind = {Email: "email", SMS: "sms", CalendarEvent: "calendar"}[type(item)]
        return self._number(kind, _id(item))

    def find_id(self, kind: str, number: int) -> str:
        """The id of the item with a number."""
        known = self._numbers.get(kind, {})
        for name, its_number in known.items():
            if its_number == number:
                return name
        what = {"email": "mail", "sms": "text", "calendar": "appointment"}.get(kind, kind)
        has = f"there are 1 to {len(known)}" if known else "there is none"
        raise NotUnderstoodError(f"there is no {what} {number}: {has}")

    def _number(self, kind: str, item_id: str) -> int:
        known = self._numbers.setdefault(kind, {})
        return known.setdefault(item_id, len(known) + 1)

    def _is_news(self, item_id: str, content: str = "") -> bool:
        is_known = self._shown.get(item_id) == content
        self._shown[item_id] = content
        return not is_known


def _id(item: UESAnswer) -> str:
    return item.event_id if isinstance(item, CalendarEvent) else str(getattr(item, "message_id", ""))


def _as_others_have_it(entry: CalendarEvent) -> str:
    answers = sorted(f"{who.email} {who.response} {who.comment}" for who in entry.attendees)
    return f"{entry.title} {entry.start} {entry.end} {entry.location} {answers}"


def _seconds(at: datetime | None) -> float:
    return at.timestamp() if at else _LONG_AGO
