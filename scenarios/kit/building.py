"""Functions for a scenario's ``build.py``: make the initial state in the simulator's format, and write files.

Times are ISO 8601 texts with an offset, as in the files.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

State = dict[str, Any]


def initial_state(
    *, start: str, description: str, modalities: Mapping[str, State], events: Iterable[State] = ()
) -> State:
    """The content of ``initial_state.json``: the state at the start, and the later events.

    Args:
        start: the scenario's ``start_time``.
        description: the scenario in words.
        modalities: the states by the modalities' names: ``email``, ``sms``, ``chat``, ``calendar``, …
        events: results of ``event``.
    """
    return {
        "metadata": {
            "ues_version": "0.3",
            "scenario_version": "1",
            "created_at": start,
            "description": description,
        },
        "environment": {
            "time_state": {
                "current_time": start,
                "time_scale": 1.0,
                "is_paused": False,
                "last_wall_time_update": start,
                "auto_advance": False,
            },
            "modality_states": dict(modalities),
        },
        "events": {"events": sorted(events, key=lambda event: datetime.fromisoformat(event["scheduled_time"]))},
    }


def _modality(name: str, start: str) -> State:
    return {"modality_type": name, "last_updated": start, "update_count": 0}


def event(event_id: str, at: str, modality: str, data: Mapping[str, Any], *, start: str) -> State:
    """An event with its time; ``data`` is the modality's input (``operation``, …)."""
    return {
        "event_id": event_id,
        "scheduled_time": at,
        "modality": modality,
        "data": {"modality_type": modality, "timestamp": at, "input_id": f"in-{event_id}", **data},
        "status": "pending",
        "created_at": start,
        "priority": 50,
        "metadata": {},
    }


def mail(
    message_id: str,
    at: str,
    sender: str,
    to: Sequence[str],
    subject: str,
    body: str,
    *,
    thread_id: str | None = None,
    in_reply_to: str | None = None,
    is_read: bool = False,
    folder: str = "inbox",
) -> State:
    """A mail of the mailbox; ``mail_comes`` turns a later one into an event."""
    return {
        "message_id": message_id,
        "thread_id": thread_id or f"thread-{message_id}",
        "from_address": sender,
        "to_addresses": list(to),
        "cc_addresses": [],
        "bcc_addresses": [],
        "subject": subject,
        "body_text": body.strip() + "\n",
        "attachments": [],
        "in_reply_to": in_reply_to,
        "references": [in_reply_to] if in_reply_to else [],
        "sent_at": at,
        "received_at": at,
        "is_read": is_read,
        "is_starred": False,
        "priority": "normal",
        "folder": folder,
        "labels": [],
    }


_NOT_IN_INPUTS = ("sent_at", "received_at", "is_read", "is_starred", "folder")


def mail_comes(arriving: State, *, start: str) -> State:
    """The event of a mail that arrives at its time."""
    content = {name: value for name, value in arriving.items() if name not in _NOT_IN_INPUTS}
    data = {"operation": "receive", **content}
    return event(f"ev-{arriving['message_id']}", arriving["received_at"], "email", data, start=start)


def mailbox(user: str, mails: Iterable[State], *, start: str) -> State:
    """The state of the mailbox with that address; threads and folders are made from the mails."""
    folders: dict[str, list[str]] = {"inbox": [], "sent": [], "drafts": [], "archive": [], "trash": [], "spam": []}
    threads: dict[str, State] = {}
    emails: dict[str, State] = {}
    for email in mails:
        emails[email["message_id"]] = email
        folders[email["folder"]].append(email["message_id"])
        thread = threads.setdefault(
            email["thread_id"],
            {
                "thread_id": email["thread_id"],
                "subject": email["subject"],
                "participant_addresses": [],
                "message_ids": [],
                "created_at": email["received_at"],
                "message_count": 0,
                "unread_count": 0,
            },
        )
        people = [
            *thread["participant_addresses"],
            email["from_address"],
            *email["to_addresses"],
            *email["cc_addresses"],
        ]
        thread["participant_addresses"] = list(dict.fromkeys(people))
        thread["message_ids"].append(email["message_id"])
        thread["last_message_at"] = email["received_at"]
        thread["message_count"] += 1
        thread["unread_count"] += not email["is_read"]
    return {
        **_modality("email", start),
        "emails": emails,
        "threads": threads,
        "folders": folders,
        "labels": {},
        "drafts": {},
        "user_email_address": user,
    }


def text(message_id: str, at: str, sender: str, to: Sequence[str], body: str, *, is_outgoing: bool = False) -> State:
    """A text message of the phone; ``text_comes`` turns a later one into an event."""
    numbers = sorted({sender, *to})
    return {
        "message_id": message_id,
        "thread_id": f"sms-{'-'.join(number.lstrip('+') for number in numbers)}",
        "from_number": sender,
        "to_numbers": list(to),
        "body": body,
        "message_type": "sms",
        "direction": "outgoing" if is_outgoing else "incoming",
        "sent_at": at,
        "delivered_at": at,
        "read_at": at,
        "is_read": True,
        "delivery_status": "delivered",
    }


def text_comes(arriving: State, *, start: str) -> State:
    """The event of a text message that arrives at its time."""
    names = ("message_id", "thread_id", "from_number", "to_numbers", "body", "message_type")
    data = {"action": "receive_message", "message_data": {name: arriving[name] for name in names}}
    return event(f"ev-{arriving['message_id']}", arriving["sent_at"], "sms", data, start=start)


def chat_comes(message_id: str, at: str, content: str, *, start: str) -> State:
    """The event of a chat message that the user writes at its time."""
    data = {"operation": "send_message", "role": "user", "content": content, "conversation_id": "default"}
    return event(f"ev-{message_id}", at, "chat", data, start=start)


def phone(user: str, texts: Iterable[State], *, start: str) -> State:
    """The state of the phone with that number; conversations are made from the text messages."""
    messages = {message["message_id"]: message for message in texts}
    conversations: dict[str, State] = {}
    for message in messages.values():
        people = list(dict.fromkeys([message["from_number"], *message["to_numbers"]]))
        conversation = conversations.setdefault(
            message["thread_id"],
            {
                "thread_id": message["thread_id"],
                "conversation_type": "one_on_one" if len(people) < 3 else "group",
                "participants": [{"phone_number": number, "joined_at": message["sent_at"]} for number in people],
                "created_at": message["sent_at"],
                "created_by": message["from_number"],
                "message_count": 0,
                "unread_count": 0,
            },
        )
        conversation["last_message_at"] = message["sent_at"]
        conversation["message_count"] += 1
    return {
        **_modality("sms", start),
        "messages": messages,
        "conversations": conversations,
        "user_phone_number": user,
    }


def address_book(contacts: Iterable[State], *, start: str) -> State:
    """The state of the address book; each contact has a ``contact_id`` and other fields that the simulator knows."""
    return {
        **_modality("contacts", start),
        "contacts": {
            contact["contact_id"]: {**contact, "created_at": start, "updated_at": start} for contact in contacts
        },
    }


def chat_that_asks(prompt: str, at: str, *, start: str, message_id: str = "chat-1") -> State:
    """The state of a chat that has the user's prompt."""
    return {
        **_modality("chat", start),
        "messages": [
            {
                "message_id": message_id,
                "conversation_id": "default",
                "role": "user",
                "content": prompt,
                "timestamp": at,
                "metadata": {},
            }
        ],
        "conversations": {
            "default": {
                "conversation_id": "default",
                "created_at": at,
                "last_message_at": at,
                "message_count": 1,
                "participant_roles": ["user"],
            }
        },
        "max_history_size": 1000,
        "default_conversation_id": "default",
    }


def calendar_of(
    name: str,
    entries: Iterable[State],
    *,
    start: str,
    timezone: str,
    since: str | None = None,
    reminders: Sequence[State] = (),
) -> State:
    """The state of one person's calendar.

    Args:
        name: the person's name.
        entries: with ``event_id``, ``title``, ``start``, ``end`` and other fields that the simulator knows.
        start: the scenario's ``start_time``.
        timezone: the user's, such as ``Europe/London``.
        since: when the calendar was made; at the start by default.
        reminders: the reminders of each new entry, such as ``{"minutes_before": 10, "type": "notification"}``.
    """
    events = {entry["event_id"]: entry for entry in entries}
    return {
        **_modality("calendar", start),
        "calendars": {
            "primary": {
                "calendar_id": "primary",
                "name": name,
                "color": "#4285f4",
                "visible": True,
                "created_at": since or start,
                "updated_at": start,
                "event_ids": list(events),
                "default_reminders": list(reminders),
            }
        },
        "events": events,
        "default_calendar_id": "primary",
        "user_timezone": timezone,
    }


def whereabouts(visited: Sequence[State]) -> State:
    """The state of the user's location: the visited places, oldest first; the last place is the current one.

    Each has ``timestamp``, ``latitude``, ``longitude`` and ``named_location``.
    """
    *earlier, last = visited
    current = {f"current_{name}": value for name, value in last.items() if name != "timestamp"}
    return {
        "modality_type": "location",
        "last_updated": last["timestamp"],
        "update_count": len(visited),
        **current,
        "location_history": earlier,
    }


def weather(reports: Iterable[tuple[str, State]], *, start: str) -> State:
    """The state of the weather: one report for each place, with the time when it came."""
    return {
        **_modality("weather", start),
        "locations": {
            f"{report['lat']:.2f},{report['lon']:.2f}": {
                "latitude": report["lat"],
                "longitude": report["lon"],
                "current_report": report,
                "first_seen": at,
                "last_updated": at,
            }
            for at, report in reports
        },
    }


def as_json(content: Mapping[str, Any]) -> str:
    """The text of a file."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write(files: Mapping[Path, str], arguments: Sequence[str]) -> int:
    """Write the files that have changed; with ``--check``, only print their names and return 1."""
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.name} is out of date: run build.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(files[path], encoding="utf-8")
        print(f"wrote {path.name}")
    return 0
