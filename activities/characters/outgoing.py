"""Collect the participant's messages of a turn from the event log and the resulting states."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from proctor.activities.characters.messages import OutgoingMessage, ThreadEntry
from proctor.protocol.visible import visible
from purple_sdk.protocol.readings import chat_text, instant

_EMAIL_SENDING = {"send", "reply", "reply_all", "forward", "send_draft"}
_CALENDAR_TELLING = {"create", "update", "delete", "respond"}
_CALENDAR_NEWS = {"start", "end", "attendees", "location", "all_day", "recurrence"}
_ASSISTANT = "assistant"
_MORE = {
    "email": ("body_html", "reply_to_address", "attachments"),
    "sms": ("attachments",),
    "calendar": ("all_day", "timezone", "recurrence", "attachments", "conference_link"),
}
"""Fields of a message or an event that only another participant's mailbox, phone or calendar shows."""

_TIMES = ("scheduled_time", "sent_at", "timestamp", "created_at", "start", "end")

_LONGEST_THREAD = 12
_LONGEST_TEXT = 4000

Json = Mapping[str, Any]


def outgoing_messages(states: Mapping[str, Json], events: list[dict[str, Any]]) -> list[OutgoingMessage]:
    """Return everything that the participant sent: mails, text messages, chat, invitations and their changes.

    Args:
        states: the used modalities right after the turn, with all messages of the threads that the participant wrote
            to.
        events: the participant's events of the turn, in the form of ``GET /events``, in order of execution.

    Returns:
        One message for each successful event that sent one, in the same order.
    """
    done = [_with_times(event) for event in events if event.get("status") == "executed"]
    mails = _Sent(sorted(_entries(states, "email", "emails"), key=_read_time))
    texts = _Sent(sorted(_entries(states, "sms", "messages"), key=_read_time))
    appointments = _entries(states, "calendar", "events")
    chat = _Sent(_entries(states, "chat", "messages"))
    messages: list[OutgoingMessage | None] = []
    for event in done:
        data = event.get("data") or {}
        match event["modality"]:
            case "email" if data.get("operation") in _EMAIL_SENDING:
                messages.append(_find_written_message("email", mails, event, data))
            case "sms" if data.get("action") == "send_message":
                messages.append(_find_written_message("sms", texts, event, data.get("message_data") or {}))
            case "calendar" if data.get("operation") in _CALENDAR_TELLING:
                messages.append(_calendar(appointments, event, data))
            case "chat" if data.get("operation", "send_message") == "send_message" and data.get("role") == _ASSISTANT:
                messages.append(_find_chat_message(chat, event, data))
            case _:
                pass
    return [message for message in messages if message is not None]


def _entries(states: Mapping[str, Json], modality: str, table: str) -> list[Json]:
    """Return the entries of a table, which is a mapping by id or a list."""
    entries = (states.get(modality) or {}).get(table) or ()
    return [_with_times(entry) for entry in (entries.values() if isinstance(entries, Mapping) else entries)]


def _with_times(entry: Json) -> Json:
    """Return an entry or an event with its times as ``datetime``."""
    return {**entry, **{name: instant(entry[name]) for name in _TIMES if entry.get(name) is not None}}


class _Sent:
    """The sent messages in order. Each is taken once, so two equal messages of a turn stay two messages."""

    def __init__(self, messages: list[Json]) -> None:
        self.all = messages
        self._used: set[str] = set()

    def take(self, at: datetime, is_meant: Callable[[Json], bool]) -> Json | None:
        """Take the next message that was sent at this instant and that ``is_meant`` accepts."""
        for message in self.all:
            if message["message_id"] not in self._used and _read_time(message) == at and is_meant(message):
                self._used.add(message["message_id"])
                return message
        return None


def _read_time(message: Json) -> datetime:
    at: datetime = message["sent_at"] if "sent_at" in message else message["timestamp"]
    return at


def _thread(earlier: Sequence[Json], sender: str, text: Callable[[Json], str]) -> list[ThreadEntry]:
    """Return the latest of a thread's earlier messages, oldest first."""
    return [
        ThreadEntry(sender=str(message[sender]), at=_read_time(message), text=text(message)[:_LONGEST_TEXT])
        for message in earlier[-_LONGEST_THREAD:]
    ]


def _find_chat_message(chat: _Sent, event: Json, data: Json) -> OutgoingMessage | None:
    message = chat.take(
        event["scheduled_time"],
        lambda each: bool(each["role"] == _ASSISTANT and each["content"] == data.get("content")),
    )
    if message is None:
        return None
    conversation, before = message["conversation_id"], chat.all[: chat.all.index(message)]
    return OutgoingMessage(
        modality="chat",
        message_id=message["message_id"],
        thread_id=conversation,
        sender=_ASSISTANT,
        body=chat_text(message["content"]),
        sent_at=_read_time(message),
        thread=_thread(
            [chat_message for chat_message in before if chat_message["conversation_id"] == conversation],
            "role",
            lambda each: chat_text(each["content"]),
        ),
    )


def _find_written_message(
    modality: Literal["email", "sms"], sent: _Sent, event: Json, data: Json
) -> OutgoingMessage | None:
    is_mail = modality == "email"
    body, sender = ("body_text", "from_address") if is_mail else ("body", "from_number")
    place, of_user = ("folder", "sent") if is_mail else ("direction", "outgoing")
    message = sent.take(
        event["scheduled_time"],
        lambda each: each.get(place) == of_user and (data.get(body) is None or data[body] in (each.get(body) or "")),
    )
    if message is None:
        return None
    thread_id, at = message.get("thread_id"), _read_time(message)
    earlier = [
        candidate for candidate in sent.all if candidate.get("thread_id") == thread_id and _read_time(candidate) <= at
    ]
    return OutgoingMessage(
        modality=modality,
        message_id=message["message_id"],
        thread_id=thread_id,
        sender=message[sender],
        to=message["to_addresses" if is_mail else "to_numbers"],
        cc=message.get("cc_addresses") or [],
        bcc=message.get("bcc_addresses") or [],
        subject=message["subject"] if is_mail else None,
        body=message[body],
        sent_at=at,
        thread=_thread([other for other in earlier if other is not message], sender, _subject_and_body),
        more=_more(modality, message),
    )


def _calendar(appointments: Iterable[Json], event: Json, data: Json) -> OutgoingMessage | None:
    operation = data["operation"]
    if operation == "update" and not _CALENDAR_NEWS & {name for name, value in data.items() if value is not None}:
        return None
    at = event["scheduled_time"]
    appointment = next((a for a in appointments if _is_meant(a, data, operation, at)), None)
    if appointment is None:
        return None
    return OutgoingMessage(
        modality="calendar",
        message_id=event["event_id"],
        sender=appointment.get("organizer"),
        sent_at=at,
        operation=operation,
        event_id=appointment["event_id"],
        calendar_id=appointment.get("calendar_id"),
        title=appointment["title"],
        start=appointment["start"],
        end=appointment["end"],
        location=appointment.get("location"),
        description=appointment.get("description"),
        attendees=[attendee["email"] for attendee in appointment.get("attendees") or []],
        attendee=data.get("attendee_email"),
        response=data.get("response"),
        comment=data.get("response_comment"),
        more=_more("calendar", appointment),
    )


def _more(modality: str, message: Json) -> dict[str, Any]:
    """Return the other fields of a message. A false ``all_day`` is kept, since the event may have been all-day
    before.
    """
    return {name: value for name in _MORE[modality] if (value := message.get(name)) not in (None, [])}


def _is_meant(appointment: Json, data: Json, operation: str, at: datetime) -> bool:
    if operation == "create" and not data.get("event_id"):
        return bool(appointment["title"] == data.get("title") and appointment["created_at"] == at)
    return bool(appointment["event_id"] == data.get("event_id"))


def _subject_and_body(message: Json) -> str:
    html = message.get("body_html")
    body = visible(str(html)) if html else str(message.get("body_text", message.get("body", "")))
    return f"{message['subject']}\n{body}" if message.get("subject") else body
